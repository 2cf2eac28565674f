"""The patch back to the default scheduler: for what may be patched and may run there, and for nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from recommender.emit.contract import Emitted
from recommender.emit.scheduler_fallback import LIFE, emit
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from tests.builders import NOON
from tests.recommender.emit.subjects import subject
from tests.recommender.world import workload


def waiting(**changes: Any) -> dict[str, Any]:
    row = {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": "web"}
    return row | {"scheduler": "kai-scheduler", "pods": 2, "minutes": 10} | changes


def emitted(row: dict[str, Any], *workloads: dict[str, Any]) -> Emitted:
    schema = PendingOnOtherScheduler.create_empty().schema
    pending = PendingOnOtherScheduler.validate(pl.DataFrame([row], schema=schema))
    return emit(replace(subject(*workloads or (workload(),)), pending=pending))


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, "MergePatch"."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def test_the_patch_takes_the_scheduler_out_and_the_one_back_puts_it_in_again() -> None:
    [one] = emitted(waiting()).documents
    there = {"spec": {"replicas": 2, "template": {"spec": {"schedulerName": "kai-scheduler", "containers": []}}}}
    without = merged(there, one.objects[0])
    assert without == {"spec": {"replicas": 2, "template": {"spec": {"containers": []}}}}
    assert merged(without, one.objects[0]) == without, "it can be applied twice"
    assert merged(without, one.rollback_objects[0]) == there


def test_it_says_what_it_is_for_and_how_long_it_holds() -> None:
    [one] = emitted(waiting()).documents
    assert one.path == "eks-lon/shop.deployment.web.kai-scheduler.yaml"
    assert (one.form, one.expires_at) == ("merge-patch", NOON + LIFE)
    assert one.patches == {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}
    assert (one.clusters, one.workloads) == (("eks-lon",), (("eks-lon", "shop", "Deployment", "web"),))
    assert one.says.startswith("2 pods of shop/web have waited for 10 minutes or longer for kai-scheduler")


def test_a_cron_job_keeps_its_template_deeper() -> None:
    [one] = emitted(waiting(workload_kind="CronJob"), workload(workload_kind="CronJob")).documents
    assert one.objects == ({"spec": {"jobTemplate": {"spec": {"template": {"spec": {"schedulerName": None}}}}}},)


@pytest.mark.parametrize(
    ("kind", "why"),
    [("Job", "the template of a Job cannot be changed"), ("Rollout", "where a Rollout keeps its pod's template")],
)
def test_what_cannot_be_patched_is_said(kind: str, why: str) -> None:
    made = emitted(waiting(workload_kind=kind), workload(workload_kind=kind))
    assert made.documents == ()
    assert why in made.not_expressed[0].why


@pytest.mark.parametrize(
    ("row", "there"),
    [
        (waiting(cluster="moon"), workload()),
        (waiting(workload="never-seen"), workload()),
        (
            waiting(cluster="gke-bel"),
            workload(cluster="gke-bel", pool="general", instance_type="n2-standard-4", residency_class="uk"),
        ),
    ],
    ids=["no cluster of the fleet", "not seen", "in breach of its residency"],
)
def test_nothing_is_written_where_the_policy_is_not_known_to_let_it_run(
    row: dict[str, Any], there: dict[str, Any]
) -> None:
    made = emitted(row, there)
    assert made.documents == ()
    assert "it is not known that the policy lets it run" in made.not_expressed[0].why


def test_a_source_that_does_not_tell_schedulers_is_not_taken_for_none_waiting() -> None:
    made = emit(subject(workload()))
    assert made.documents == ()
    assert "does not tell which scheduler" in made.not_expressed[0].why
