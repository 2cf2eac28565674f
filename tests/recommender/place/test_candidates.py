"""Every workload stands beside every place but its own pool, with what it needs of a node there."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.place.candidates import at_current, candidates, current_places, places
from recommender.place.located import locate
from tests.recommender.world import (
    GENERAL,
    METAL,
    machine,
    policy,
    pool,
    pools,
    standard_offers,
    standard_pools,
    workload,
    workloads,
)

OFFERS = pl.concat(standard_offers())


def current(*rows: dict[str, Any], fleet: Any = None, offers: Any = OFFERS) -> pl.DataFrame:
    cluster = standard_pools() if fleet is None else fleet
    located = locate(workloads(*rows), cluster, policy(), min_coverage_ratio=0.8)
    return current_places(located, offers, policy())


def test_the_own_pool_is_no_candidate_with_any_of_its_machine_types() -> None:
    fleet = pools(GENERAL, pool("eks-lon", "general", "m6i.xlarge"), METAL)
    pairs = candidates(current(workload(), fleet=fleet), places(fleet, OFFERS))
    assert pairs.select("to_cluster", "to_pool").rows() == [("onprem-lon", "metal")]


def test_the_largest_replica_is_that_of_the_peak_or_of_the_mean() -> None:
    grew = workload("grew", replicas_mean=2.0, replicas_peak=4.0, vcpu_request_mean=4.0, vcpu_request_peak=6.0)
    scaled = workload("scaled", replicas_mean=2.0, replicas_peak=4.0, vcpu_request_mean=2.0, vcpu_request_peak=8.0)
    found = current(grew, scaled)
    # 6 ÷ 4 = 1.5 at peak, 4 ÷ 2 = 2 on average; 8 ÷ 4 = 2 at peak, 2 ÷ 2 = 1 on average.
    assert found["replica_vcpus"].to_list() == [2.0, 2.0]


def test_nodes_are_packed_with_whole_replicas() -> None:
    # 32 − 0.15 vCPU hold 3 replicas of 9, though their sum would fit 3.5 times.
    wide = workload(replicas_mean=6.0, vcpu_request_mean=54.0, memory_gib_request_mean=6.0)
    [row] = candidates(current(wide), places(pools(METAL), OFFERS)).to_dicts()
    assert (row["replicas_per_node"], row["nodes_needed"]) == (3.0, 2.0)


def test_what_runs_although_the_reserve_leaves_no_room_counts_by_its_share() -> None:
    # A replica of 4 vCPU on a node of 4 leaves nothing for Kubernetes, but there it is.
    [row] = at_current(current(workload(replicas_mean=2.0, vcpu_request_mean=8.0))).to_dicts()
    assert row["replicas_per_node"] == 0.0
    assert row["nodes_needed"] == pytest.approx(2.0)


def test_a_gpu_workload_that_names_no_model_needs_the_one_it_runs_on() -> None:
    gpus = machine(
        "aws",
        "eu-west-2",
        "g6",
        "on-demand",
        gbp_per_vcpu_hour=0.03,
        gbp_per_gib_hour=0.004,
        gbp_per_gpu_hour=0.5,
        gpus=1.0,
        gpu_model="L4",
    )
    found = current(workload(instance_type="g6", gpu_request_mean=1.0), offers=pl.concat([OFFERS, gpus]))
    assert found["gpu_model"].to_list() == ["L4"]
    assert found["reason"].to_list() == [None]


def test_a_place_without_a_price_stays_in_the_list_unpriced() -> None:
    fleet = places(pools(pool("eks-lon", "new", "x9.metal")), OFFERS)
    assert fleet["to_vcpus"].to_list() == [None]
