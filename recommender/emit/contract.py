"""The arrow emit → schedulers: what a system's emitter gets, and what it gives back.

An emitter is a pure function from a `Subject` to `Emitted`. It promises that nothing it returns lets a workload run
where the policy does not allow it, that every document can be undone, and that what its system cannot express is said
in `not_expressed` instead of being approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import dataframely as dy

from recommender.advise.plan import Plan
from recommender.emit_settings import EmitSettings
from recommender.frames import ClusterCost, Flow, Workload
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from recommender.settings import ClusterSettings, Policy

Manifest = Mapping[str, Any]
"""A Kubernetes object as JSON values, or one operation of a JSON Patch."""

Form = Literal["manifest", "json-patch", "merge-patch"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What there is to hand over.

    Args:
        plan: the advice, with states; only what is open or accepted is handed over.
        costs: every workload in every cluster, allowed or not.
        workloads: what was observed, with the attributes that policy gave it.
        flows: their data flows.
        clusters: the fleet.
        policy: classes, weights, the scale of the scores.
        settings: names and choices for each system.
        at: the evaluation time (UTC).
        pending: pods that wait for another scheduler; None: it is not told.
    """

    plan: Plan
    costs: dy.DataFrame[ClusterCost]
    workloads: dy.DataFrame[Workload]
    flows: dy.DataFrame[Flow]
    clusters: tuple[ClusterSettings, ...]
    policy: Policy
    settings: EmitSettings
    at: datetime
    pending: dy.DataFrame[PendingOnOtherScheduler] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the folder that is handed over.

    Args:
        path: below the system's folder, with its ending (.yaml for manifests and merge patches, .json for JSON Patch).
        form: what `objects` are: whole objects, the operations of a JSON Patch, or one merge patch.
        objects: JSON values only, in the order in which they are written.
        says: what it changes, as one sentence for the index.
        apply: how it is applied, as a command or a place in a repository.
        rollback: how it is undone.
        rollback_objects: what undoes it, in the same form; written beside it as `<name>.rollback.<ending>`.
        patches: what a patch is for: apiVersion, kind, namespace (may be empty) and name; empty for manifests.
        recommendations: ids of the advice that it carries out; empty: it serves a class (scores, claims).
        clusters: every cluster on which it lets something run.
        workloads: keys (cluster, namespace, kind, name) of the workloads that it lets run there.
        expires_at: from when it must not be applied any more.
    """

    path: str
    form: Form
    objects: tuple[Manifest, ...]
    says: str
    apply: str
    rollback: str
    expires_at: datetime
    rollback_objects: tuple[Manifest, ...] = ()
    patches: Mapping[str, str] = field(default_factory=dict)
    recommendations: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    workloads: tuple[tuple[str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NotExpressed:
    """Something that a system has no words for, or that may not be handed to it.

    Args:
        what: the advice's id, or the class, cluster or workload.
        why: the reason, with what would have to be true.
    """

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Emitted:
    """What one system gets."""

    documents: tuple[Document, ...] = ()
    not_expressed: tuple[NotExpressed, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """One system that takes advice.

    Args:
        name: the word on the command line, and the folder.
        title: its name as its makers write it.
        emit: the emitter.
    """

    name: str
    title: str
    emit: Callable[[Subject], Emitted]
