"""What DaemonSets take of every node, and what nodes tell of their room."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dataframely as dy
import polars as pl
import pytest

from recommender.frames import ObservedPool
from recommender.place.overhead import node_room, with_per_node, with_room
from tests.recommender.world import workload, workloads

NODE = pl.DataFrame(
    {
        "to_cluster": ["eks-lon", "eks-lon", "gke-bel"],
        "to_pool": ["general", "gpu", "general"],
        "to_instance_type": ["m5.xlarge", "g5.xlarge", "n2-standard-4"],
        "to_vcpus": [4.0, 4.0, 4.0],
        "to_memory_gib": [16.0, 16.0, 16.0],
        "to_allocatable_vcpus": [3.9, 3.9, 3.9],
        "to_allocatable_memory_gib": [13.3, 13.3, 13.3],
    }
)


def agent(**changes: Any) -> dict[str, Any]:
    """A DaemonSet on ten nodes: 0.25 vCPU and 0.5 GiB on each."""
    size = {"replicas_mean": 10.0, "vcpu_request_mean": 2.5, "memory_gib_request_mean": 5.0}
    return workload("agent", **({"workload_kind": "DaemonSet", "is_system": True} | size | changes))


def seen(*rows: tuple[str, str, float, float | None]) -> dy.DataFrame[ObservedPool]:
    """Nodes by pool, machine type, count and allocatable vCPUs of one."""
    at = datetime(2026, 11, 30, tzinfo=UTC)
    fixed = {"cluster": "eks-lon", "capacity_type": "on-demand", "provider": "aws", "region": "eu-west-2", "zone": ""}
    return ObservedPool.validate(
        pl.DataFrame(
            [
                fixed
                | {
                    "pool": pool, "instance_type": name, "gpu_model": "", "in_settings": True, "nodes": count,
                    "nodes_mean": count, "nodes_peak": count, "vcpus_per_node": vcpus, "memory_gib_per_node": None,
                    "gpus_per_node": None, "last_seen": at,
                }
                for pool, name, count, vcpus in rows
            ],
            schema=ObservedPool.create_empty().schema,
        )
    )  # fmt: skip


def room(rows: list[dict[str, Any]], nodes_seen: dy.DataFrame[ObservedPool] | None = None) -> list[tuple[float, float]]:
    """What each node of NODE leaves."""
    told = node_room(with_per_node(workloads(*rows), nodes_seen), nodes_seen)
    return with_room(NODE, told).select("to_allocatable_vcpus", "to_allocatable_memory_gib").rows()


def test_a_daemon_set_takes_one_pod_of_every_node_of_its_cluster_whatever_the_pool() -> None:
    assert room([agent(), workload()]) == [pytest.approx((3.65, 12.8))] * 2 + [(3.9, 13.3)]


def test_other_system_pods_take_nothing_of_other_nodes() -> None:
    assert room([agent(workload_kind="Deployment")]) == [(3.9, 13.3)] * 3


def test_a_daemon_set_larger_than_a_node_leaves_nothing_and_never_less() -> None:
    assert room([agent(vcpu_request_mean=100.0)])[0] == pytest.approx((0.0, 12.8))


@pytest.mark.parametrize(("replicas", "everywhere"), [(10.0, True), (5.0, True), (4.9, False)])
def test_a_daemon_set_seen_on_fewer_than_half_of_the_nodes_is_bound_to_some_of_them(
    replicas: float, everywhere: bool
) -> None:
    nodes = seen(("general", "m5.xlarge", 8.0, None), ("gpu", "g5.xlarge", 2.0, None))
    [found] = with_per_node(workloads(agent(replicas_mean=replicas)), nodes)["per_node"]
    assert found is everywhere


def test_a_daemon_set_that_asks_for_gpus_is_bound_to_nodes_that_have_some() -> None:
    assert with_per_node(workloads(agent(gpu_request_mean=1.0)), None)["per_node"].to_list() == [False]


def test_what_nodes_tell_stands_over_the_formula_and_daemon_sets_come_off_it() -> None:
    nodes = seen(("general", "m5.xlarge", 20.0, 3.7), ("gpu", "g5.xlarge", 0.0, 3.5))
    # The GPU pool had no node, so the formula stands there; the agent on 10 of 20 nodes is on all of them.
    assert room([agent()], nodes)[:2] == [pytest.approx((3.45, 12.8)), pytest.approx((3.65, 12.8))]


@pytest.mark.parametrize("told", [0.0, 4.5])
def test_a_node_that_tells_what_cannot_be_is_not_believed(told: float) -> None:
    assert room([workload()], seen(("general", "m5.xlarge", 1.0, told)))[0] == (3.9, 13.3)
