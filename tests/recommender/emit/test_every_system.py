"""What holds of every system: nothing may run where the policy forbids it, order is nothing, objects are valid."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import dataframely as dy
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recommender.emit.contract import Document, Manifest, Subject, System
from recommender.emit.registry import SYSTEMS
from recommender.emit.subject import allowed_clusters
from recommender.emit.write import files_of
from tests.properties import examples
from tests.recommender.emit.crds import CRDS, needs_schemas
from tests.recommender.emit.golden import handed_over
from tests.recommender.emit.placing import burst, placing, worker, worker_move
from tests.recommender.emit.subjects import CLUSTERS, subject
from tests.recommender.world import flow, flows, workload

NAMES = [cluster.name for cluster in CLUSTERS]
PLACES = {
    ("eks-lon", "general"): ("m5.xlarge", "on-demand"),
    ("eks-lon", "spot"): ("m5.xlarge", "spot"),
    ("gke-bel", "general"): ("n2-standard-4", "on-demand"),
    ("onprem-lon", "metal"): ("r760", "owned"),
}
OBSERVATIONS = {"AddOnPlacementScore", "ClusterClaim", "ClusterProfile"}
"""Kinds that say how a cluster is, a forbidden one too, and let nothing run."""


@st.composite
def fleets(draw: st.DrawFn) -> Subject:
    """Workloads of all kinds anywhere, also where they may not be, on the small fleet."""
    rows = []
    for number in range(draw(st.integers(1, 4))):
        cluster, pool = draw(st.sampled_from(sorted(PLACES)))
        instance_type, capacity_type = PLACES[cluster, pool]
        rows.append(
            workload(
                f"w{number}",
                cluster=cluster,
                pool=pool,
                instance_type=instance_type,
                capacity_type=capacity_type,
                workload_kind=draw(st.sampled_from(["Deployment", "StatefulSet", "Job", "CronJob", "Workflow"])),
                residency_class=draw(st.sampled_from(["uk", "europe", "anywhere", ""])),
                criticality=draw(st.sampled_from(["low", "medium", "high"])),
                interruption_tolerance=draw(st.sampled_from(["none", "spot"])),
                state_gib=draw(st.sampled_from([0.0, 30.0])),
                local_volume=draw(st.booleans()),
                architecture=draw(st.sampled_from(["", "amd64", "arm64"])),
                gang_size=draw(st.sampled_from([1, 2])),
                minimum_runtime_minutes=draw(st.sampled_from([0.0, 45.0])),
                vcpu_request_mean=draw(st.sampled_from([2.0, 4.0, 40.0])),
                coverage_ratio=draw(st.sampled_from([1.0, 1.0, 0.1])),
            )
        )
    sent = [
        flow(row["workload"], to="gcp/europe-west1")
        | {"cluster": row["cluster"], "workload_kind": row["workload_kind"]}
        for row in rows
    ]
    made = subject(*rows, flows=flows(*sent), settings=handed_over().settings)
    applications = [
        {"namespace": "shop", "workload": row["workload"], "path": "apps", "repo_url": "https://git.example.org/a.git"}
        for row in rows
    ]
    told = made.settings.model_copy(
        update={"argocd": type(made.settings.argocd).model_validate({"applications": applications})}
    )
    return replace(made, settings=told)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def named(objects: Sequence[Manifest]) -> set[str]:
    """Clusters that objects name, in whatever string, but for what a patch only tests or takes away."""
    changing = [one for one in objects if one.get("op") not in {"test", "remove"}]
    texts = [text for one in changing if one.get("kind") not in OBSERVATIONS for text in strings(dict(one))]
    return {name for name in NAMES for text in texts if re.search(rf"(?<![\w-]){name}(?![\w-])", text)}


def forbidden(given_subject: Subject, document: Document) -> set[tuple[str, str]]:
    """Clusters that a document lets its workloads run in, or names for them, and that are not allowed for one."""
    allowed = allowed_clusters(given_subject)
    clusters = set(document.clusters) | named(document.objects) | named(document.rollback_objects)
    return {
        (cluster, "/".join(key))
        for key in document.workloads
        for cluster in clusters
        if cluster not in allowed.get(key, ())
    }


def shuffled(given_subject: Subject, seed: int) -> Subject:
    """The same subject with every row and every piece of advice in another order."""
    dice = random.Random(seed)

    def mixed(frame: dy.DataFrame[Any]) -> Any:
        return frame.sample(fraction=1.0, shuffle=True, seed=seed)

    plan = given_subject.plan
    return replace(
        given_subject,
        plan=plan.model_copy(
            update={
                name: tuple(dice.sample(getattr(plan, name), len(getattr(plan, name))))
                for name in ("recommendations", "capacity", "owned_capacity", "node_mix", "placements")
            }
        ),
        costs=mixed(given_subject.costs),
        workloads=mixed(given_subject.workloads),
        flows=mixed(given_subject.flows),
        clusters=tuple(dice.sample(given_subject.clusters, len(given_subject.clusters))),
    )


@settings(max_examples=examples(4, 25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fleets(), st.integers(0, 1000))
def test_no_system_is_told_of_a_cluster_that_the_policy_forbids_and_the_order_of_input_is_nothing(
    given_subject: Subject, seed: int
) -> None:
    emitted = [(system, system.emit(given_subject)) for system in SYSTEMS]
    for system, one in emitted:
        for document in one.documents:
            assert not forbidden(given_subject, document), (system.name, document.path)
            assert not document.workloads or document.clusters, (system.name, document.path)
            assert document.expires_at > given_subject.at, (system.name, document.path)
    again = shuffled(given_subject, seed)
    mixed = [(system, system.emit(again)) for system in SYSTEMS]
    assert files_of(given_subject, emitted) == files_of(again, mixed)
    assert [one.not_expressed for _, one in emitted] == [one.not_expressed for _, one in mixed]


BELGIUM = {
    "cluster": "gke-bel",
    "pool": "general",
    "provider": "gcp",
    "region": "europe-west1",
    "jurisdiction": "EEA",
    "instance_type": "n2-standard-4",
    "capacity_type": "on-demand",
}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_advice_that_names_a_forbidden_cluster_is_written_by_no_system(system: System) -> None:
    """Whatever made such advice: the emitters look for themselves."""
    overflow = placing(worker(residency_class="uk"), capacity=(burst(worker_move(), recommended=BELGIUM),))
    given_subject = handed_over()
    (web,) = [one for one in given_subject.plan.recommendations if one.target.workload == "web"]
    wrong = web.model_copy(update={"recommended": web.recommended.model_copy(update=BELGIUM)})
    moved = replace(given_subject, plan=given_subject.plan.model_copy(update={"recommendations": (wrong,)}))
    for each in (overflow, moved):
        for document in system.emit(each).documents:
            assert not forbidden(each, document), document.path
            assert wrong.id not in document.recommendations, document.path


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_forbidden_cluster_would_be_seen(system: System) -> None:
    """The check above has teeth: the same documents are refused when every cluster is forbidden."""
    given_subject = handed_over()
    nowhere = replace(given_subject, costs=given_subject.costs.with_columns(allowed=pl.lit(value=False)))
    with_workloads = [one for one in system.emit(given_subject).documents if one.workloads]
    assert all(forbidden(nowhere, one) for one in with_workloads)
    assert not any(one.workloads for one in system.emit(nowhere).documents)


@cache
def checker() -> ModuleType:
    """The checker of manifests, which stands beside its schemas."""
    spec = importlib.util.spec_from_file_location("check_manifests", CRDS.parent / "tools" / "check_manifests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_schemas
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_every_object_is_valid_by_the_schema_of_its_kind(
    system: System, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given_subject = handed_over()
    emitted = system.emit(given_subject)
    objects = [one for document in emitted.documents if document.form == "manifest" for one in document.objects]
    for name, text in files_of(given_subject, [(system, emitted)]).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    wrong = checker().main(["--strict", str(tmp_path)])
    told = capsys.readouterr().out
    assert not objects or wrong == 0, told
    assert "VIOLATES" not in told
