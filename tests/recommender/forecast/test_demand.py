"""From samples to demand: requested and waiting, by class."""

from __future__ import annotations

from datetime import timedelta

import dataframely as dy
import polars as pl

from recommender.forecast.demand import demand
from recommender.forecast.frames import Demand
from recommender.frames import Workload
from recommender.observe.usage import Usage
from tests.recommender.observe.usage_rows import MONDAY, samples, usage
from tests.recommender.world import workload, workloads

NONE = workloads()


def of(found: Usage, known: dy.DataFrame[Workload] = NONE) -> dy.DataFrame[Demand]:
    return demand(found.samples, found.observed, known)


def values(found: pl.DataFrame, resource: str, name: str = "amd64") -> list[float]:
    return found.filter(resource=resource, resource_class=name).sort("timestamp")["demand"].to_list()


def test_requests_add_up_over_the_workloads_of_a_cluster() -> None:
    found = of(usage(samples([0]), samples([0], workload="api", vcpu_request=3.0)))
    assert values(found, "vcpu") == [5]
    assert values(found, "memory_gib") == [16]


def test_a_waiting_replica_counts_as_its_running_ones() -> None:
    # Two replicas request 4 vCPU, so the one that waits would request 2.
    found = of(usage(samples([0], replicas=2.0, vcpu_request=4.0, pending_replicas=1.0)))
    assert values(found, "vcpu") == [6]


def test_a_workload_that_only_waits_counts_by_what_it_requested_before() -> None:
    ran = samples([0], replicas=1.0, gpu_request=4.0, gpu_model="H100")
    waits = samples([1], replicas=0.0, vcpu_request=0.0, memory_gib_request=0.0, pending_replicas=2.0, pool="")
    assert values(of(usage(ran, waits)), "gpu", "H100") == [4, 8]


def test_what_a_workload_that_never_ran_requests_is_not_guessed() -> None:
    waits = samples([0], replicas=0.0, vcpu_request=0.0, memory_gib_request=0.0, pending_replicas=9.0)
    assert values(of(usage(samples([0], workload="api"), waits)), "vcpu") == [2]


def test_an_observed_hour_without_the_class_is_zero_and_an_unobserved_one_is_no_row() -> None:
    job = samples([0], workload="job", gpu_request=2.0, gpu_model="L4")
    found = of(usage(samples([0, 1, 3]), job))
    assert values(found, "gpu", "L4") == [2, 0, 0]
    assert MONDAY + timedelta(hours=2) not in found["timestamp"].to_list()


def test_gpus_are_counted_by_model_and_unknown_is_a_class_of_its_own() -> None:
    known = samples([0], gpu_request=1.0, gpu_model="L4")
    found = of(usage(known, samples([0], workload="x", gpu_request=3.0)))
    assert values(found, "gpu", "L4") == [1]
    assert values(found, "gpu", "unknown") == [3]


def test_system_pods_are_overhead_and_arm_is_a_class_of_its_own() -> None:
    same = {"cluster": "c1", "namespace": "shop"}
    known = workloads(workload("agent", is_system=True, **same), workload("web", architecture="arm64", **same))
    found = of(usage(samples([0]), samples([0], workload="agent")), known)
    assert values(found, "vcpu", "arm64") == [2]
    assert values(found, "vcpu") == []
