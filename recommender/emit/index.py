"""The index of what is handed over: for each piece of advice and each system what was written, or why nothing was.

These models are the published schema of index.json (`tuppence emit --schema`); index.md says the same to people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import Field

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.plan import Inputs
from recommender.advise.record import SAVING_KINDS, Gbp, Kind, Part, Recommendation, State, WorkloadName
from recommender.emit.contract import Document, Emitted, Form, Subject, System
from recommender.emit.overtaken import Overtaken
from recommender.emit.provenance import prices_of
from recommender.emit.subject import all_advice

SCHEMA_VERSION: Final = 1


class ObjectName(Part):
    """An object as Kubernetes names it."""

    api_version: str
    kind: str
    namespace: str | None = Field(default=None, description="Absent: it has none, or takes that of its place.")
    name: str


class Written(Part):
    """A file of the folder."""

    path: str = Field(description="Below the folder of the index.")
    form: Form
    says: str
    apply: str
    rollback: str
    rollback_path: str | None = Field(default=None, description="What undoes it. Absent: `rollback` says how.")
    patches: ObjectName | None = Field(default=None, description="What a patch is for. Absent: whole objects.")
    objects: tuple[ObjectName, ...] = Field(default=(), description="Empty: a patch.")
    recommendations: tuple[str, ...] = Field(description="Ids; empty: it serves a class.")
    clusters: tuple[str, ...] = Field(description="Clusters on which it lets something run.")
    workloads: tuple[WorkloadName, ...] = Field(description="Workloads that it lets run there.")
    expires_at: datetime = Field(description="It must not be applied from then on.")


class Unexpressed(Part):
    """What a system has no words for, or may not be handed."""

    what: str = Field(description="The advice's id, or a class, cluster or workload.")
    why: str


class SystemPart(Part):
    """What one system gets."""

    name: str
    title: str
    documents: tuple[Written, ...]
    not_expressed: tuple[Unexpressed, ...]


class Advised(Part):
    """One piece of advice, and where it is written."""

    id: str
    etag: str
    kind: Kind
    state: State
    title: str
    saving_gbp_per_month: Gbp | None = Field(default=None, description="Kinds that save.")
    cost_delta_gbp_per_hour: float | None = Field(default=None, description="Kinds that may cost.")
    expires_at: datetime
    prices: tuple[dict[str, Any], ...] = Field(description="As the record has them, each once.")
    written: dict[str, tuple[str, ...]] = Field(description="Paths, by system.")
    not_expressed: dict[str, tuple[str, ...]] = Field(description="Reasons, by system.")


class NotHandedOver(Part):
    """Advice that was not handed over."""

    id: str
    kind: str
    title: str
    state: State
    why: str


class Index(Part):
    """The folder that is handed over."""

    format: Literal["tuppence-emit"] = "tuppence-emit"
    schema_version: int = SCHEMA_VERSION
    evaluated_at: datetime
    inputs: Inputs
    saving_gbp_per_month: Gbp = Field(description="Of the advice that is handed over and saves.")
    recommendations: tuple[Advised, ...]
    systems: tuple[SystemPart, ...]
    left_out: tuple[NotHandedOver, ...] = Field(description="Advised, but in a state in which nobody waits for it.")
    superseded: tuple[NotHandedOver, ...] = Field(
        description="Open or accepted in the ledger; its precondition no longer holds: do not apply what was written."
    )
    files: tuple[str, ...] = Field(description="Every file of the folder but the index itself.")


def index_of(
    subject: Subject,
    emitted: Sequence[tuple[System, Emitted]],
    *,
    left_out: Sequence[Recommendation | CapacityRecommendation] = (),
    superseded: Sequence[Overtaken] = (),
    files: Sequence[str] = (),
) -> Index:
    """This will return the index.

    Args:
        subject: what there was to hand over.
        emitted: what each system gets.
        left_out: advice in a state in which nobody waits for it.
        superseded: see emit.overtaken.
        files: paths below the folder.
    """
    systems = tuple(_system(system, one) for system, one in emitted)
    advice = all_advice(subject.plan)
    return Index(
        evaluated_at=subject.at,
        inputs=subject.plan.inputs,
        saving_gbp_per_month=sum((_saving(one) or Decimal(0) for one in advice), Decimal(0)),
        recommendations=tuple(_advised(one, systems) for one in advice),
        systems=systems,
        left_out=tuple(
            NotHandedOver(
                id=one.id, kind=one.kind.value, title=one.title, state=one.state, why=f"it is {one.state.value}"
            )
            for one in left_out
        ),
        superseded=tuple(
            NotHandedOver(id=one.id, kind=one.kind, title=one.title, state=one.state, why=one.why) for one in superseded
        ),
        files=tuple(files),
    )


def path_of(system: System, document: Document) -> str:
    """This will return a document's path below the folder of the index."""
    return f"{system.name}/{document.path}"


def rollback_path(path: str) -> str:
    """This will return the path of what undoes the file at a path."""
    stem, _, ending = path.rpartition(".")
    return f"{stem}.rollback.{ending}"


def _saving(one: Recommendation | CapacityRecommendation) -> Decimal | None:
    if isinstance(one, Recommendation) and one.kind in SAVING_KINDS and one.monthly is not None:
        return one.monthly.saving.p50
    return None


def _advised(one: Recommendation | CapacityRecommendation, systems: Sequence[SystemPart]) -> Advised:
    written = {
        part.name: tuple(each.path for each in part.documents if one.id in each.recommendations) for part in systems
    }
    silent = {part.name: tuple(each.why for each in part.not_expressed if each.what == one.id) for part in systems}
    return Advised(
        id=one.id,
        etag=one.etag,
        kind=one.kind,
        state=one.state,
        title=one.title,
        saving_gbp_per_month=_saving(one),
        cost_delta_gbp_per_hour=one.cost_delta_gbp_per_hour,
        expires_at=one.expires_at,
        prices=tuple(prices_of([one])),
        written={name: paths for name, paths in written.items() if paths},
        not_expressed={name: reasons for name, reasons in silent.items() if reasons},
    )


def _system(system: System, emitted: Emitted) -> SystemPart:
    return SystemPart(
        name=system.name,
        title=system.title,
        documents=tuple(_written(system, one) for one in emitted.documents),
        not_expressed=tuple(Unexpressed(what=one.what, why=one.why) for one in emitted.not_expressed),
    )


def _written(system: System, one: Document) -> Written:
    path = path_of(system, one)
    return Written(
        path=path,
        form=one.form,
        says=one.says,
        apply=one.apply,
        rollback=one.rollback,
        rollback_path=rollback_path(path) if one.rollback_objects else None,
        patches=_name(one.patches) if one.patches else None,
        objects=tuple(
            _name({"apiVersion": each["apiVersion"], "kind": each["kind"], **each["metadata"]}) for each in one.objects
        )
        if one.form == "manifest"
        else (),
        recommendations=one.recommendations,
        clusters=one.clusters,
        workloads=tuple(
            WorkloadName(cluster=cluster, namespace=namespace, workload_kind=kind, workload=name)
            for cluster, namespace, kind, name in one.workloads
        ),
        expires_at=one.expires_at,
    )


def _name(given: Mapping[str, Any]) -> ObjectName:
    return ObjectName(
        api_version=given["apiVersion"],
        kind=given["kind"],
        namespace=given.get("namespace") or None,
        name=given["name"],
    )
