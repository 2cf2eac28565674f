"""What schedulers decided: objects as `kubectl get -o json` gives them, or a hub's API, become decisions. Pure.

Read are Open Cluster Management's PlacementDecisions (`status.decisions[].clusterName`), with their Placements, which
carry the ids of the advice, and Kueue's Workloads (`status.clusterName`, set by MultiKueue, and the condition
`Admitted`). Only what these say is taken: a decision names clusters, not whether pods run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from exporters.core.clock import parse_utc
from exporters.core.errors import SettingsError

Manifest = Mapping[str, Any]
PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
_OCM = "cluster.open-cluster-management.io/"
_KUEUE = "kueue.x-k8s.io/"


@dataclass(frozen=True, slots=True)
class OwnedBy:
    """The workload that an object belongs to, by its own name."""

    namespace: str
    workload_kind: str
    workload: str


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of a scheduler.

    Args:
        system: whose.
        source: kind, namespace and name of what was decided, for people.
        clusters: the clusters that were chosen, by name; none: it is undecided.
        advice_ids: ids of the advice that the object carries; none: it carries none.
        owner: the workload it is about; None: it does not say.
        decided_at: when; None: it does not say.
    """

    system: Literal["ocm", "kueue"]
    source: str
    clusters: tuple[str, ...]
    advice_ids: tuple[str, ...] = ()
    owner: OwnedBy | None = None
    decided_at: datetime | None = None


def decisions_of(objects: Sequence[object], *, label_prefix: str, where: str) -> tuple[Decided, ...]:
    """This will read decisions, in the order of their sources; the pages of one Placement are one decision.

    Args:
        objects: Kubernetes objects as JSON values; other kinds than those named above are left out.
        label_prefix: before the slash of our labels and annotations.
        where: what errors call the objects by.

    Raises:
        SettingsError: an object is not one of Kubernetes, or a field of it is not what its API says.
    """
    known = [_checked(one, where=where) for one in objects]
    id_key = f"{label_prefix}/recommendation-id"
    placements = {_name(one): _ids(one, id_key) for one in known if _is(one, _OCM, "Placement")}
    found = [_of_placement(one, placements, id_key) for one in known if _is(one, _OCM, "PlacementDecision")]
    found += [_of_workload(one, id_key, where) for one in known if _is(one, _KUEUE, "Workload")]
    return tuple(sorted(_joined(found), key=lambda one: one.source))


def _checked(one: object, *, where: str) -> Manifest:
    if (
        not isinstance(one, Mapping)
        or not isinstance(one.get("kind"), str)
        or not isinstance(one.get("apiVersion"), str)
    ):
        raise _wrong("an entry is no Kubernetes object: it has no kind and apiVersion", where)
    metadata = one.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        raise _wrong(f"a {one['kind']} has no name", where)
    if not isinstance(one.get("status") or {}, Mapping):
        raise _wrong(f"the status of {one['kind']} {metadata['name']} is not an object", where)
    return one


def _of_placement(one: Manifest, placements: Mapping[tuple[str, str], tuple[str, ...]], id_key: str) -> Decided:
    namespace, name = _name(one)
    placement = str((one["metadata"].get("labels") or {}).get(PLACEMENT_LABEL, ""))
    rows = _list((one.get("status") or {}).get("decisions"))
    return Decided(
        system="ocm",
        source=f"Placement {namespace}/{placement}" if placement else f"PlacementDecision {namespace}/{name}",
        clusters=tuple(sorted({str(row["clusterName"]) for row in rows if row.get("clusterName")})),
        advice_ids=_ids(one, id_key) or placements.get((namespace, placement), ()),
    )


def _of_workload(one: Manifest, id_key: str, where: str) -> Decided:
    namespace, name = _name(one)
    status = one.get("status") or {}
    owners = _list(one["metadata"].get("ownerReferences"))
    owner = next((row for row in owners if row.get("controller")), owners[0] if len(owners) == 1 else None)
    admitted = next((row for row in _list(status.get("conditions")) if row.get("type") == "Admitted"), {})
    cluster = str(status.get("clusterName") or "")
    return Decided(
        system="kueue",
        source=f"Workload {namespace}/{name}",
        clusters=(cluster,) if cluster and admitted.get("status") == "True" else (),
        advice_ids=_ids(one, id_key),
        owner=None if owner is None else OwnedBy(namespace, str(owner.get("kind")), str(owner.get("name"))),
        decided_at=_time(admitted.get("lastTransitionTime"), f"{where}: Workload {namespace}/{name}"),
    )


def _joined(found: Iterable[Decided]) -> Iterator[Decided]:
    by_source: dict[str, Decided] = {}
    for one in found:
        before = by_source.get(one.source)
        if before is None:
            by_source[one.source] = one
            continue
        clusters = tuple(sorted({*before.clusters, *one.clusters}))
        ids = tuple(dict.fromkeys((*before.advice_ids, *one.advice_ids)))
        by_source[one.source] = replace(before, clusters=clusters, advice_ids=ids)
    yield from by_source.values()


def _ids(one: Manifest, id_key: str) -> tuple[str, ...]:
    """A list of very many ends in how many more there are; those that it names count."""
    metadata = one["metadata"]
    text = (metadata.get("annotations") or {}).get(id_key) or (metadata.get("labels") or {}).get(id_key) or ""
    return tuple(part.split(" and ")[0].strip() for part in str(text).split(",") if part.strip())


def _is(one: Manifest, group: str, kind: str) -> bool:
    return one["kind"] == kind and str(one["apiVersion"]).startswith(group)


def _name(one: Manifest) -> tuple[str, str]:
    return (str(one["metadata"].get("namespace") or ""), one["metadata"]["name"])


def _list(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _time(value: object, where: str) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    try:
        return parse_utc(str(value))
    except ValueError as error:
        raise _wrong(f"{value!r} is not an RFC 3339 time", where) from error


def _wrong(what: str, where: str) -> SettingsError:
    return SettingsError(what, where=where, next_step="Give what kubectl get … -o json, or -o yaml, prints.")
