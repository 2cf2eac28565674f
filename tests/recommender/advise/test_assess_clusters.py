"""What clusters cost and how they perform, by figures worked out by hand from the prices of the small fleet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from recommender.advise.assess_record import ClusterNow
from recommender.frames import ObservedPool
from tests.recommender.advise.assessing import assessed, good, ground, hourly, observed
from tests.recommender.world import WEEK, workload

METAL: dict[str, Any] = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}


def cluster(name: str, *rows: dict[str, Any], **changes: Any) -> ClusterNow:
    return next(one for one in assessed(ground(*rows, **changes)).clusters if one.cluster == name)


def nodes(**changes: Any) -> Any:
    row = {
        "cluster": "eks-lon", "pool": "general", "instance_type": "m5.xlarge", "capacity_type": "on-demand",
        "provider": "aws", "region": "eu-west-2", "zone": "", "gpu_model": "", "in_settings": True,
        "nodes": 3.0, "nodes_mean": 2.5, "nodes_peak": 3.0, "vcpus_per_node": 3.9, "memory_gib_per_node": 14.0,
        "gpus_per_node": None, "last_seen": WEEK[1] - timedelta(hours=1),
    } | changes  # fmt: skip
    return ObservedPool.validate(pl.DataFrame([row], schema=ObservedPool.create_empty().schema))


def test_cash_and_full_are_sums_and_the_vcpu_hour_is_their_share() -> None:
    """Each: 4 vCPU × £0.03 + 16 GiB × £0.004 = £0.184; two of them over 8 vCPUs: £0.046."""
    one = cluster("eks-lon", workload("web"), workload("api"))
    assert (one.workloads, one.workloads_priced) == (2, 2)
    assert (one.gbp_per_hour, one.full_gbp_per_hour) == (0.368, 0.368)
    assert (one.gbp_per_vcpu_hour, one.full_gbp_per_vcpu_hour) == (0.046, 0.046)
    assert (one.vcpu_request, one.memory_gib_request, one.gpu_request) == (8.0, 32.0, 0.0)


def test_owned_capacity_is_cheaper_in_cash_than_in_full() -> None:
    """In full 4 × £0.01 + 16 × £0.002 = £0.072; in cash the same share of £0.32 a node as of its £0.576: £0.04."""
    one = cluster("onprem-lon", workload(**METAL))
    assert one.full_gbp_per_hour == pytest.approx(0.072, abs=1e-6)
    assert one.gbp_per_hour == pytest.approx(0.072 * 0.32 / 0.576, abs=1e-6)


def test_a_workload_without_a_known_cost_is_counted_and_in_no_sum() -> None:
    one = cluster("eks-lon", workload("web"), workload("lost", pool="", instance_type="", capacity_type=""))
    assert (one.workloads, one.workloads_priced, one.gbp_per_hour) == (2, 1, 0.184)
    assert one.capacity_type_unknown_vcpu == 4.0


def test_a_cluster_without_a_priced_workload_costs_nothing_that_is_known() -> None:
    one = cluster("gke-bel", workload())
    assert (one.workloads, one.gbp_per_hour, one.gbp_per_vcpu_hour) == (0, None, None)


def test_the_spot_share_is_of_vcpus_whose_capacity_type_is_known() -> None:
    spot = workload("batch", pool="spot", capacity_type="spot", vcpu_request_mean=12.0)
    assert cluster("eks-lon", workload("web"), spot).spot_ratio == 0.75


def test_nodes_that_were_seen_leave_what_they_say() -> None:
    """2.5 nodes on average × 3.9 vCPU and 14 GiB."""
    one = cluster("eks-lon", workload(), seen={"nodes": nodes()})
    assert (one.vcpu_allocatable, one.memory_gib_allocatable, one.gpu_allocatable) == (9.75, 35.0, 0.0)
    assert one.allocatable_basis == "seen"


def test_a_node_that_does_not_tell_its_size_makes_the_whole_unknown() -> None:
    one = cluster("eks-lon", workload(), seen={"nodes": nodes(memory_gib_per_node=None)})
    assert (one.vcpu_allocatable, one.memory_gib_allocatable, one.allocatable_basis) == (None, None, None)


def test_without_nodes_only_what_is_paid_for_in_any_case_is_known() -> None:
    """Two r760 of 32 vCPU; Kubernetes keeps 0.06 + 0.01 + 0.01 + 28 × 0.0025 = 0.15 of each."""
    owned, cloud = cluster("onprem-lon", workload()), cluster("eks-lon", workload())
    assert owned.allocatable_basis == "settings"
    assert owned.vcpu_allocatable == pytest.approx(2 * 31.85)
    assert (cloud.allocatable_basis, cloud.vcpu_allocatable) == (None, None)


def test_waiting_is_a_share_of_replica_hours_and_of_the_observed_hours() -> None:
    """Two replicas run for 168 hours; two wait in 42 of them: 84 of 420 replica-hours, a quarter of the hours."""
    first = WEEK[0] + timedelta(hours=42)
    waits = pl.when(pl.col("timestamp") < first).then(2.0).otherwise(0.0).alias("pending_replicas")
    one = cluster("eks-lon", workload(), seen={"samples": hourly([workload()]).with_columns(waits)})
    assert (one.pending_ratio, one.pending_hours_ratio, one.pending_replicas_peak) == (0.2, 0.25, 2.0)


def test_a_cluster_that_was_not_observed_is_not_idle() -> None:
    one = cluster("gke-bel", good(), seen={"observed": observed("eks-lon", "onprem-lon")})
    assert (one.coverage_ratio, one.pending_hours_ratio) == (0.0, None)


def test_coverage_is_the_observed_share_of_the_window() -> None:
    half = cluster("eks-lon", good(), seen={"observed": observed("eks-lon", hours=84)})
    assert half.coverage_ratio == 0.5


def test_every_cluster_is_told_with_its_place() -> None:
    made = assessed(ground(good()))
    assert [(one.cluster, one.provider, one.jurisdiction, one.tier) for one in made.clusters] == [
        ("eks-lon", "aws", "GB", "cloud"),
        ("gke-bel", "gcp", "EEA", "cloud"),
        ("onprem-lon", "onprem", "GB", "owned"),
    ]
