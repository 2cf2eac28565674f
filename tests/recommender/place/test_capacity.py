"""What pools and quotas have left, peaks counted, the unknown counted everywhere."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.place.capacity import free_in_pools, free_in_quotas
from tests.recommender.world import quotas

FLEET = pl.DataFrame(
    {
        "to_cluster": ["lon", "lon", "lon"],
        "to_pool": ["metal", "metal", "cloud"],
        "to_nodes_max": [4, 4, None],
        "to_nodes_limited": [True, True, False],
        "to_allocatable_vcpus": [30.0, 60.0, 4.0],
        "to_allocatable_memory_gib": [100.0, 90.0, 16.0],
        "to_gpus": [0.0, 0.0, 0.0],
    }
)


def running(*rows: dict[str, Any]) -> pl.DataFrame:
    default = {
        "from_cluster": "lon",
        "from_pool": "metal",
        "vcpu_request_peak": 10.0,
        "memory_gib_request_peak": 20.0,
        "gpu_request_peak": 0.0,
        "nodes_needed": 0.5,
        "from_vcpus": 32.0,
        "from_gpus": 0.0,
    }
    return pl.DataFrame([default | row for row in rows])


def test_a_pool_of_several_machine_types_counts_as_if_all_nodes_were_its_smallest() -> None:
    [row] = free_in_pools(FLEET, running({})).to_dicts()
    assert (row["free_vcpus"], row["free_memory_gib"]) == (4 * 30.0 - 10.0, 4 * 90.0 - 20.0)
    # 10 of 30 vCPU is the greatest share of a node: 3.67 nodes are left, 3 of them whole.
    assert row["free_nodes"] == 3.0


def test_a_workload_of_an_unknown_pool_counts_against_every_pool_of_its_cluster() -> None:
    [row] = free_in_pools(FLEET, running({"from_pool": ""}, {"from_cluster": "elsewhere"})).to_dicts()
    assert row["free_vcpus"] == 110.0


def test_a_pool_that_is_overfull_has_nothing_left() -> None:
    [row] = free_in_pools(FLEET, running({"vcpu_request_peak": 1e3})).to_dicts()
    assert (row["free_vcpus"], row["free_nodes"]) == (0.0, 0.0)


def test_a_pool_without_a_known_machine_has_no_room() -> None:
    unknown = FLEET.with_columns(to_allocatable_vcpus=pl.lit(None, pl.Float64))
    [row] = free_in_pools(unknown, running({})).to_dicts()
    assert row["free_vcpus"] == 0.0


def test_quotas_count_machines_and_not_requests() -> None:
    limits = quotas({"cluster": "lon", "vcpus": 64.0, "gpus": None, "nodes": 10.0})
    [row] = free_in_quotas(limits, running({}, {})).to_dicts()
    assert row["quota_vcpus"] == pytest.approx(64 - 2 * 0.5 * 32)
    assert row["quota_nodes"] == pytest.approx(9.0)
    assert row["quota_gpus"] is None
