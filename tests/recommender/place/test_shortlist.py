"""Places that no workload has among its cheapest are not priced."""

from __future__ import annotations

from typing import Any

import polars as pl

from recommender.place.candidates import places
from recommender.place.shortlist import undominated
from tests.recommender.world import machine, pool, pools

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
