"""Data flows are priced from the place the bytes leave, at the tier that the fleet has reached."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.place.egress import egress_cost, egress_lines, state_cost
from tests.builders import egress_rate

LONDON, IRELAND, BELGIUM = ("aws", "eu-west-2"), ("aws", "eu-west-1"), ("gcp", "europe-west1")
CURRENT = pl.DataFrame([(0, *LONDON), (1, *LONDON)], schema=["w", "provider", "region"], orient="row")


def rate(price: float, **changes: Any) -> Any:
    return egress_rate(gbp_per_gib=price, currency="GBP", gbp_per_unit=1.0, **changes)


RATES = pl.concat(
    [
        rate(0.0),
        rate(0.08, tier_start_gib=100.0),
        rate(0.10, provider="gcp", from_region="europe-west1"),
        rate(0.02, destination="region", to_region=""),
        rate(0.01, destination="region", to_region="eu-west-1"),
    ]
)


def flows(*rows: tuple[int, str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["w", "to", "direction", "gib_per_hour"], orient="row")


def line(rows: pl.DataFrame, at: tuple[str, str], w: int = 0) -> dict[str, Any]:
    regions = pl.DataFrame([LONDON, IRELAND, BELGIUM], schema=["provider", "region"], orient="row")
    lines = egress_lines(rows, CURRENT, regions, RATES)
    here = (pl.col("provider") == at[0]) & (pl.col("region") == at[1]) & (pl.col("w") == w)
    return lines.filter(here).row(0, named=True)


def test_bytes_to_the_internet_pay_the_average_price_of_the_months_volume() -> None:
    found = line(flows((0, "internet", "out", 1.0)), LONDON)
    assert found["basis"] == "internet"
    # 730 GiB a month: 100 free, 630 at 0.08.
    assert found["gbp_per_hour"] == pytest.approx(630 * 0.08 / 730)


def test_the_free_tier_is_given_once_to_the_whole_fleet() -> None:
    both = flows((0, "internet", "out", 1.0), (1, "internet", "out", 3.0))
    each = (2920 - 100) * 0.08 / 2920
    assert line(both, LONDON, w=0)["gbp_per_hour"] == pytest.approx(each)
    assert line(both, LONDON, w=1)["gbp_per_hour"] == pytest.approx(3 * each)


def test_a_mover_pays_on_top_of_what_already_leaves_the_region_it_goes_to() -> None:
    rows = flows((0, "internet", "out", 1.0), (1, "aws/eu-west-2", "in", 1.0))
    # Workload 1 is in London, so its bytes stay there; in Belgium they would leave London beside those of workload 0.
    assert line(rows, LONDON, w=1)["basis"] == "same-region"
    assert line(rows, BELGIUM, w=1)["gbp_per_hour"] == pytest.approx((1460 - 100) * 0.08 / 1460)


def test_two_regions_of_one_provider_pay_the_pair_and_else_the_rate_to_any_region() -> None:
    to_ireland = line(flows((0, "aws/eu-west-1", "out", 2.0)), LONDON)
    assert (to_ireland["basis"], to_ireland["gbp_per_hour"]) == ("region-pair", pytest.approx(0.02))
    to_frankfurt = line(flows((0, "aws/eu-central-1", "out", 2.0)), LONDON)
    assert to_frankfurt["gbp_per_hour"] == pytest.approx(0.04)


def test_bytes_that_come_in_are_paid_where_they_leave() -> None:
    found = line(flows((0, "gcp/europe-west1", "in", 1.0)), LONDON)
    assert (found["from_region"], found["gbp_per_gib"]) == ("gcp/europe-west1", pytest.approx(0.10))
    assert line(flows((0, "gcp/europe-west1", "in", 1.0)), BELGIUM)["basis"] == "same-region"


def test_bytes_from_the_internet_cost_nothing() -> None:
    assert line(flows((0, "internet", "in", 5.0)), LONDON)["gbp_per_hour"] == 0.0


def test_a_rate_that_nobody_published_is_not_known_and_leaves_the_whole_sum_unknown() -> None:
    rows = flows((0, "internet", "out", 1.0), (0, "onprem/leeds", "in", 1.0))
    regions = pl.DataFrame([LONDON], schema=["provider", "region"], orient="row")
    lines = egress_lines(rows, CURRENT, regions, RATES)
    assert lines.filter(pl.col("to") == "onprem/leeds")["gbp_per_hour"].to_list() == [None]
    assert egress_cost(lines)["egress_gbp_per_hour"].to_list() == [None]


def test_a_flow_of_no_bytes_needs_no_rate() -> None:
    assert line(flows((0, "onprem/leeds", "in", 0.0)), LONDON)["gbp_per_hour"] == 0.0


def test_state_that_moves_pays_the_tier_that_the_fleet_has_reached() -> None:
    moving = pl.DataFrame({"w": [0], "state_gib": [50.0]})
    regions = pl.DataFrame([LONDON, IRELAND, BELGIUM], schema=["provider", "region"], orient="row")
    busy = flows((1, "internet", "out", 1.0))
    found = state_cost(moving, busy, CURRENT, regions, RATES)
    cost = {(row["provider"], row["region"]): row["state_gbp"] for row in found.iter_rows(named=True)}
    assert cost[LONDON] == 0.0
    assert cost[IRELAND] == pytest.approx(50 * 0.01)
    assert cost[BELGIUM] == pytest.approx(50 * 0.08)
