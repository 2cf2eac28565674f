"""Where a workload runs is read from usage, filled in where the fleet leaves one answer, and never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.place.located import locate
from tests.recommender.world import GENERAL, SPOT, policy, pool, pools, workload, workloads


def located(fleet: Any, **changes: Any) -> dict[str, Any]:
    return locate(workloads(workload(**changes)), fleet, policy(), min_coverage_ratio=0.8).row(0, named=True)


def test_the_only_pool_of_a_cluster_fills_in_pool_machine_and_capacity_type() -> None:
    row = located(pools(SPOT), pool="", instance_type="", capacity_type="")
    assert (row["pool"], row["instance_type"], row["capacity_type"]) == ("spot", "m5.xlarge", "spot")
    assert row["reason"] is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pool": ""}, "unknown-pool"),
        ({"pool": "gone", "instance_type": ""}, "unknown-instance-type"),
        ({"pool": "gone", "capacity_type": ""}, "unknown-capacity-type"),
        ({"capacity_type": "spot"}, "capacity-type-conflict"),
        ({"coverage_ratio": 0.79}, "coverage"),
        ({"residency_class": "never-written"}, "unknown-residency-class"),
        ({"cluster": "elsewhere"}, "unknown-cluster"),
        ({"vcpu_request_mean": 0.0, "memory_gib_request_mean": 0.0}, "no-requests"),
    ],
)
def test_what_is_not_known_is_a_reason_and_not_a_guess(changes: dict[str, Any], reason: str) -> None:
    assert located(pools(GENERAL, SPOT), **changes)["reason"] == reason


def test_a_machine_type_is_not_guessed_in_a_pool_that_may_use_several() -> None:
    mixed = pools(GENERAL, pool("eks-lon", "general", "m6i.xlarge"))
    assert located(mixed, instance_type="")["reason"] == "unknown-instance-type"


def test_coverage_at_the_threshold_is_enough() -> None:
    assert located(pools(GENERAL), coverage_ratio=0.8)["reason"] is None
