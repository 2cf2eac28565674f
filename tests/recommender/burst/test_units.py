"""What runs and waits now, as units that are placed all or none."""

from __future__ import annotations

from typing import Any

import polars as pl

from recommender.burst.units import Unit, current, overhead, units
from tests.recommender.observe.usage_rows import samples, usage
from tests.recommender.world import workload, workloads

WEB = {"cluster": "c1", "namespace": "shop"}


def now(*groups: list[dict[str, Any]], **observed: Any) -> pl.DataFrame:
    found = usage(*groups, **observed)
    return current(found.samples, found.observed, "c1")


def of(*groups: list[dict[str, Any]], **attributes: Any) -> list[Unit]:
    return units(now(*groups), workloads(workload("web", **WEB, **attributes)), {"uk": ("A100-80GB",)})


def test_every_replica_is_a_unit_and_those_that_wait_come_last() -> None:
    found = of(samples([0], replicas=2.0, vcpu_request=4.0, pending_replicas=1.0))
    assert [(one.replicas, one.vcpus, one.is_waiting) for one in found] == [(1, 2, False), (1, 2, False), (1, 2, True)]


def test_gangs_are_units() -> None:
    found = of(samples([0], replicas=8.0), gang_size=4)
    assert [one.replicas for one in found] == [4, 4]


def test_a_workload_with_state_is_one_unit() -> None:
    assert [one.replicas for one in of(samples([0], replicas=3.0), state_gib=10.0)] == [3]


def test_only_the_last_observed_moment_counts() -> None:
    assert len(of(samples([0], replicas=9.0), samples([1], replicas=2.0))) == 2


def test_a_workload_that_is_gone_at_the_last_moment_is_no_unit() -> None:
    assert (
        of(samples([0]), samples([1], workload="other", replicas=0.0, vcpu_request=0.0, memory_gib_request=0.0)) == []
    )


def test_gpus_may_be_of_the_models_that_the_class_accepts() -> None:
    (one,) = of(samples([0], gpu_request=1.0, gpu_model="H100"))
    assert one.gpu_models == {"H100", "A100-80GB"}
    assert one.amounts()["gpu", "H100"] == 1


def test_system_pods_are_no_units_but_overhead() -> None:
    found = now(samples([0]), samples([0], workload="agent", vcpu_request=0.5, memory_gib_request=1.0))
    known = workloads(workload("web", **WEB), workload("agent", is_system=True, **WEB))
    assert len(units(found, known, {})) == 1
    assert overhead(found, known) == (0.5, 1.0)


def test_replicas_that_request_nothing_need_no_room() -> None:
    assert of(samples([0], vcpu_request=0.0, memory_gib_request=0.0)) == []


def test_a_cluster_that_was_never_observed_has_nothing() -> None:
    found = usage(samples([0]))
    assert current(found.samples, found.observed, "elsewhere").is_empty()
