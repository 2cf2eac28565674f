"""Patches of pod templates: applied to objects, taken back, and refused where they would replace something."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from recommender.advise.record import Kind, State
from recommender.emit.contract import Document, Manifest, Subject
from recommender.emit.kubernetes import TEMPLATES, emit
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.subjects import subject
from tests.recommender.world import GENERAL, SPOT, pools, workload

CLOUD = pools(GENERAL, SPOT)
"""One cluster: advice cannot leave it."""


class PatchRefusedError(Exception):
    """A test of a patch failed, or a path is not there."""


def patched(given: dict[str, Any], patch: Sequence[Manifest]) -> dict[str, Any]:
    """Applies a JSON Patch (RFC 6902) as the API server does: a test of null holds where a member is absent."""
    made = copy.deepcopy(given)
    for one in patch:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:]]
        place: Any = made
        for part in parents:
            if part not in place:
                raise PatchRefusedError(one)
            place = place[part]
        if one["op"] == "test":
            if place.get(last) != one["value"]:
                raise PatchRefusedError(one)
        elif one["op"] == "remove":
            del place[last]
        else:
            if one["op"] == "replace" and last not in place:
                raise PatchRefusedError(one)
            place[last] = copy.deepcopy(one["value"])
    return made


def interruptible(name: str = "web", **changes: Any) -> dict[str, Any]:
    return workload(name, interruption_tolerance="spot", **changes)


def only(given: Subject) -> Document:
    (document,) = emit(given).documents
    return document


def live(kind: str, name: str = "web", **pod: Any) -> dict[str, Any]:
    """An object of a kind with one container, as an API server keeps it."""
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "example"}], "schedulerName": "default-scheduler"}
    template = {"template": {"spec": spec | pod}}
    return {
        "apiVersion": TEMPLATES[kind].api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"jobTemplate": {"spec": template}} if kind == "CronJob" else template,
    }


def pod_of(given: dict[str, Any]) -> dict[str, Any]:
    spec = given["spec"]
    spec = spec["jobTemplate"]["spec"] if given["kind"] == "CronJob" else spec
    pod: dict[str, Any] = spec["template"]["spec"]
    return pod


@pytest.mark.parametrize("kind", sorted(set(TEMPLATES) - {"DaemonSet"}))
def test_a_patch_finds_the_template_of_each_kind_and_its_roll_back_restores_it(kind: str) -> None:
    document = only(subject(interruptible(workload_kind=kind), pools=CLOUD))
    before = live(kind)
    after = patched(before, document.objects)
    (wish,) = pod_of(after)["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wish["preference"]["matchExpressions"] == [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    ]
    assert pod_of(after)["tolerations"][0]["value"] == "spot"
    assert patched(after, document.rollback_objects) == before


@pytest.mark.parametrize(
    "own", [{"affinity": {"podAntiAffinity": {}}}, {"tolerations": [{"key": "gpu", "operator": "Exists"}]}]
)
def test_a_patch_is_refused_where_the_template_has_an_affinity_or_tolerations_of_its_own(own: dict[str, Any]) -> None:
    document = only(subject(interruptible(), pools=CLOUD))
    with pytest.raises(PatchRefusedError):
        patched(live("Deployment", **own), document.objects)


def test_a_roll_back_is_refused_where_somebody_changed_what_was_added() -> None:
    document = only(subject(interruptible(), pools=CLOUD))
    after = patched(live("Deployment"), document.objects)
    pod_of(after)["affinity"]["nodeAffinity"].clear()
    with pytest.raises(PatchRefusedError):
        patched(after, document.rollback_objects)


def test_a_patch_is_for_one_object_and_no_other() -> None:
    document = only(subject(interruptible(), pools=CLOUD))
    with pytest.raises(PatchRefusedError):
        patched(live("Deployment", name="other"), document.objects)
    with pytest.raises(PatchRefusedError):
        patched(live("StatefulSet"), document.objects)
    assert document.patches == {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}


def test_the_region_is_required_of_a_class_with_a_residency_and_the_architecture_of_all() -> None:
    required = [
        one["key"]
        for one in patched(live("Deployment"), only(subject(interruptible(), pools=CLOUD)).objects)["spec"]["template"][
            "spec"
        ]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0][
            "matchExpressions"
        ]
    ]
    assert required == ["kubernetes.io/arch", "topology.kubernetes.io/region"]
    anywhere = only(subject(interruptible(residency_class="anywhere"), pools=CLOUD))
    assert "topology.kubernetes.io/region" not in str(anywhere.objects)


def test_a_job_is_patched_in_its_repository_because_one_that_exists_keeps_its_template() -> None:
    job = only(subject(interruptible(workload_kind="Job"), pools=CLOUD))
    assert "in its repository, for its next run" in job.apply
    assert "kubectl" not in job.apply
    assert "kubectl patch deployment web -n shop" in only(subject(interruptible(), pools=CLOUD)).apply


def test_a_name_that_a_shell_would_read_is_quoted_in_the_command() -> None:
    document = only(subject(interruptible("a;reboot", namespace="$(id)"), pools=CLOUD))
    assert "kubectl patch deployment 'a;reboot' -n '$(id)'" in document.apply
    assert ";" not in document.path


def test_a_kind_without_a_known_template_is_said_and_not_guessed() -> None:
    given = emit(subject(interruptible(workload_kind="Workflow"), pools=CLOUD))
    assert given.documents == ()
    assert "a Workflow keeps its pod's template is not known" in given.not_expressed[0].why


def test_a_move_to_another_cluster_is_said_to_have_no_word() -> None:
    given = emit(subject(workload("web")))
    assert given.documents == ()
    assert "another cluster" in given.not_expressed[0].why


def test_advice_that_nobody_waits_for_is_not_written() -> None:
    given = subject(interruptible(), pools=CLOUD)
    dismissed = [one.model_copy(update={"state": State.DISMISSED}) for one in given.plan.recommendations]
    assert dismissed
    plan = given.plan.model_copy(update={"recommendations": tuple(dismissed)})
    silent = Subject(
        plan, given.costs, given.workloads, given.flows, given.clusters, given.policy, given.settings, given.at
    )
    assert emit(silent).documents == ()


def test_a_pilot_gets_its_scheduler_by_a_patch_of_its_own_with_the_patch_back() -> None:
    settings = EmitSettings.model_validate(
        {"kubernetes": {"pilot_scheduler": "kai-scheduler", "pilot_namespaces": ["shop"]}}
    )
    given = subject(interruptible(criticality="low"), pools=CLOUD, settings=settings)
    placed, scheduled = emit(given).documents
    assert "schedulerName" not in str(placed.objects)
    before = live("Deployment")
    after = patched(before, scheduled.objects)
    assert pod_of(after)["schedulerName"] == "kai-scheduler"
    assert patched(after, scheduled.rollback_objects) == before
    with pytest.raises(PatchRefusedError):
        patched(live("Deployment", schedulerName="volcano"), scheduled.objects)


@pytest.mark.parametrize("changes", [{"criticality": "medium"}, {"criticality": "low", "namespace": "payments"}])
def test_only_workloads_of_low_criticality_in_listed_namespaces_are_pilots(changes: dict[str, Any]) -> None:
    settings = EmitSettings.model_validate(
        {"kubernetes": {"pilot_scheduler": "kai-scheduler", "pilot_namespaces": ["shop"]}}
    )
    given = emit(subject(interruptible(**changes), pools=CLOUD, settings=settings))
    assert len(given.documents) == 1
    assert "schedulerName" not in str(given.documents[0].objects)


def test_a_workload_that_may_not_be_on_spot_is_kept_off_it_by_a_required_rule() -> None:
    given = subject(workload("web", pool="spot", capacity_type="spot", criticality="high"), pools=CLOUD)
    (one,) = given.plan.recommendations
    assert one.kind is Kind.COMPLIANCE
    required = str(only(given).objects[3]["value"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"])
    assert "{'key': 'karpenter.sh/capacity-type', 'operator': 'NotIn', 'values': ['spot']}" in required
    assert "tolerations" not in str(only(given).objects)


def test_labels_of_the_settings_stand_before_those_of_the_clouds() -> None:
    settings = EmitSettings.model_validate(
        {"kubernetes": {"pool_labels": {"eks-lon": {"spot": {"eks.amazonaws.com/nodegroup": "spot-a"}}}}}
    )
    document = only(subject(interruptible(), pools=CLOUD, settings=settings))
    assert "'eks.amazonaws.com/nodegroup', 'operator': 'In', 'values': ['spot-a']" in str(document.objects)
