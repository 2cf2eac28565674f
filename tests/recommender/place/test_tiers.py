"""Every tier is paid for its own part of a month's volume."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.place.tiers import PATH, cost_of_volume
from tests.builders import egress_rate


def tier(start: float, price: float, **changes: Any) -> Any:
    return egress_rate(tier_start_gib=start, gbp_per_gib=price, currency="GBP", gbp_per_unit=1.0, **changes)


LONDON = pl.concat([tier(0, 0.0), tier(100, 0.08), tier(10_240, 0.06)])


def cost(volume: float, rates: pl.DataFrame = LONDON) -> float | None:
    row = pl.DataFrame([("aws", "eu-west-2", "internet", "", volume)], schema=(*PATH, "gib_per_month"), orient="row")
    return cost_of_volume(row, rates)["gbp_per_month"].item()


@pytest.mark.parametrize(
    ("volume", "pounds"),
    [
        (0.0, 0.0),
        (100.0, 0.0),
        (150.0, 50 * 0.08),
        (10_240.0, 10_140 * 0.08),
        (20_240.0, 10_140 * 0.08 + 10_000 * 0.06),
    ],
)
def test_a_volume_fills_the_tiers_from_below(volume: float, pounds: float) -> None:
    assert cost(volume) == pytest.approx(pounds)


def test_a_path_without_a_price_list_costs_nobody_knows_what() -> None:
    assert cost(10.0, LONDON.filter(pl.col("from_region") == "eu-west-1")) is None


def test_a_price_list_that_does_not_begin_at_its_first_gib_is_no_price() -> None:
    assert cost(10.0, LONDON.filter(pl.col("tier_start_gib") > 0)) is None


def test_a_contract_in_a_book_replaces_the_whole_list_and_is_not_mixed_into_it() -> None:
    contract = tier(0, 0.05, source="book")
    assert cost(150.0, pl.concat([LONDON, contract])) == pytest.approx(150 * 0.05)
