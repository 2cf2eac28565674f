"""Places that no workload has among its cheapest are not priced; what each cluster costs is known all the same."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from exporters.core.frames import Offer
from recommender.frames import ClusterCost
from recommender.place.candidates import places
from recommender.place.shortlist import undominated
from tests.recommender.test_cycle import ROWS, world_of
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    appraisal,
    machine,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
)

OFFERS = [
    machine(
        "aws", "eu-west-2", f"m{number}", "on-demand", gbp_per_vcpu_hour=0.03 + number / 1000, gbp_per_gib_hour=0.004
    )
    for number in range(6)
]


def kept(*crowded: str, **changes: Any) -> list[str]:
    """The pools left of six whose machines are alike and each a little dearer than the one before."""
    rows = [pool("eks-lon", f"p{number}", f"m{number}", **(changes if number == 5 else {})) for number in range(6)]
    return undominated(places(pools(*rows), pl.concat(OFFERS)), frozenset(crowded))["to_pool"].to_list()


def test_a_place_is_left_out_when_four_pools_are_as_cheap_and_as_large() -> None:
    # Three are kept for each workload, and one of the four may be the pool that it is in.
    assert kept() == ["p0", "p1", "p2", "p3"]


def test_places_with_a_limit_or_in_a_cluster_with_a_quota_all_stay() -> None:
    assert kept(nodes_max=3) == ["p0", "p1", "p2", "p3", "p5"]
    assert len(kept("eks-lon")) == 6


def test_a_place_in_another_jurisdiction_is_compared_with_none_here() -> None:
    assert kept(jurisdiction="EEA") == ["p0", "p1", "p2", "p3", "p5"]


FLEET = pools(
    GENERAL,
    SPOT,
    BELGIUM,
    METAL,
    *(pool("eks-lon", f"p{number}", f"m{number}") for number in range(6)),
    *(pool("eks-dub", f"d{number}", f"m{number}", region="eu-west-1", jurisdiction="EEA") for number in range(6)),
)
ELSEWHERE = [Offer.validate(one.with_columns(region=pl.lit("eu-west-1"))) for one in OFFERS]


def costs_of(rows: list[dict[str, Any]], *, most_pairs: int) -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recommender.cycle._MOST_PAIRS", most_pairs)
        offers = [*standard_offers(), *OFFERS, *ELSEWHERE]
        return appraisal(**world_of(rows), pools=FLEET, prices=prices(offers)).costs


def same_costs(short: pl.DataFrame, whole: pl.DataFrame) -> bool:
    """Whether both have the same rows, and the same places where something may run; of the others one may differ."""
    facts = [*ClusterCost.primary_key(), "allowed", "has_room", "gbp_per_hour", "is_current"]
    place = [name for name in whole.columns if name not in facts]
    allowed = [one.filter("allowed") for one in (short, whole)]
    return short.select(facts).equals(whole.select(facts)) and allowed[0].select(place).equals(allowed[1].select(place))


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rows=ROWS)
def test_a_cluster_costs_the_same_whether_all_pairs_are_looked_at_or_few(rows: list[dict[str, Any]]) -> None:
    assert same_costs(costs_of(rows, most_pairs=0), costs_of(rows, most_pairs=300_000))


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rows=ROWS)
def test_in_many_fleets_a_cluster_costs_the_same_however_many_pairs_are_looked_at(rows: list[dict[str, Any]]) -> None:
    assert same_costs(costs_of(rows, most_pairs=0), costs_of(rows, most_pairs=300_000))


def test_where_a_workload_may_not_be_the_rule_is_told_though_nothing_was_priced_there() -> None:
    row = workload("web") | {"place": "eks-lon/general", "flow": None, "gib_per_hour": 0.0}
    (there,) = costs_of([row], most_pairs=0).filter(pl.col("to_cluster") == "eks-dub").to_dicts()
    assert (there["allowed"], there["gbp_per_hour"], there["rules"]) == (False, None, ["residency"])


def test_of_a_fleet_with_too_many_clusters_only_what_a_plan_can_use_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    row = workload("web") | {"place": "eks-lon/general", "flow": None, "gib_per_hour": 0.0}
    monkeypatch.setattr("recommender.place.shortlist.MOST_NEAREST", 0)
    assert set(costs_of([row], most_pairs=0)["to_cluster"]) < {"eks-lon", "eks-dub", "gke-bel", "onprem-lon"}
