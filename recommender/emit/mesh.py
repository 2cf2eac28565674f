"""The arrow emit → meshes: traffic that crosses between clusters although both run the Service it is for.

What crosses is read from data flows that end in another cluster's region; what it costs is told where the plan has it.
A Service of Cilium's Cluster Mesh is told to prefer its own cluster; with the Multi-Cluster Services API it is exported
from each cluster, and a mesh such as Submariner's answers with the cluster's own endpoints while there are any; what
moves is exported from both clusters, so that its callers find it by one name. No
Service's name is guessed, and nothing is exported from or to a cluster that the policy does not allow. That a Service
has no affinity yet is a JSON Patch `test` of null, which holds where the member is absent in the library that the API
server and kubectl use; see emit.kubernetes. Sources: Cilium, "Service Affinity"; Kubernetes, KEP-1645; Submariner,
"Service Discovery".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.provenance import metadata
from recommender.emit.subject import WAITING, Key, allowed_clusters, key_of

_GLOBAL: Final = "/metadata/annotations/service.cilium.io~1global"
_AFFINITY: Final = "/metadata/annotations/service.cilium.io~1affinity"


@dataclass(frozen=True, slots=True)
class _Crossing:
    """What a workload sends to, or gets from, a region in which another cluster of the fleet is.

    Args:
        key: the workload.
        to: provider/region.
        gib_per_hour: both ways together.
        gbp_per_hour: None: the plan has no price of it.
        others: clusters there.
        shared: those of them that run the same workload.
    """

    key: Key
    to: str
    gib_per_hour: float
    gbp_per_hour: float | None
    others: tuple[str, ...]
    shared: tuple[str, ...]

    @property
    def told(self) -> str:
        """This will say how much crosses and what it costs."""
        volume = f"{self.gib_per_hour:g} GiB an hour cross to {self.to}"
        if self.gbp_per_hour is None:
            return f"{volume}; the plan has no price of that"
        return f"{volume}, for £{self.gbp_per_hour * HOURS_PER_MONTH:,.2f} a month"


def emit(subject: Subject) -> Emitted:
    """This will return what keeps traffic in its cluster, and say of all other crossings what they cost."""
    services = {(one.cluster, one.namespace, one.workload): one.name for one in subject.settings.mesh.services}
    allowed = allowed_clusters(subject)
    documents: dict[str, Document] = {}
    silent: list[NotExpressed] = []
    for one in _crossings(subject):
        cluster, namespace, _, workload = one.key
        name = services.get((cluster, namespace, workload))
        why = _why_not(one, name, allowed.get(one.key, frozenset()))
        if why or name is None:
            silent.append(NotExpressed("/".join(one.key), f"{one.told}; {why}"))
            continue
        made = _local(subject, one, name) if subject.settings.mesh.kind == "cilium" else _exports(subject, one, name)
        documents.update((document.path, document) for document in made)
    for advice in _moving(subject):
        key = key_of(advice.target)
        name = services.get((key[0], key[1], key[3]))
        if name is None or subject.settings.mesh.kind != "mcs":
            continue
        if not {key[0], advice.recommended.cluster} <= allowed.get(key, frozenset()):
            silent.append(NotExpressed(advice.id, "the policy does not allow it at both ends, so nothing is shared"))
            continue
        documents.update((document.path, document) for document in _followed(subject, advice, name))
    return Emitted(tuple(documents[path] for path in sorted(documents)), tuple(silent))


def _moving(subject: Subject) -> Iterator[Recommendation]:
    for one in sorted(subject.plan.recommendations, key=lambda each: each.id):
        if one.state in WAITING and one.recommended.cluster != one.target.cluster:
            yield one


def _why_not(one: _Crossing, name: str | None, allowed: frozenset[str]) -> str:
    if not one.shared:
        return f"{' and '.join(one.others)} was not seen to run it, so no endpoint there or here could be preferred"
    if forbidden := [cluster for cluster in (one.key[0], *one.shared) if cluster not in allowed]:
        return f"the policy does not allow it in {forbidden[0]}, so its Service is not shared with that cluster"
    if name is None:
        return "its Service's name is not known; name it in emit.mesh.services"
    return ""


def _crossings(subject: Subject) -> Iterator[_Crossing]:
    places: dict[str, list[str]] = {}
    home: dict[str, str] = {}
    for cluster in sorted(subject.clusters, key=lambda one: one.name):
        home[cluster.name] = f"{cluster.provider}/{cluster.region}"
        places.setdefault(home[cluster.name], []).append(cluster.name)
    runs: dict[tuple[str, ...], set[str]] = {}
    for each in _keys(subject):
        runs.setdefault(each[1:], set()).add(each[0])
    prices = _prices(subject)
    volumes: dict[tuple[Key, str], list[tuple[str, float]]] = {}
    for cluster, namespace, kind, workload, to, direction, gib in subject.flows.select(
        "cluster", "namespace", "workload_kind", "workload", "to", "direction", "gib_per_hour"
    ).iter_rows():
        if to in places and home.get(cluster) != to and gib > 0:
            volumes.setdefault(((cluster, namespace, kind, workload), to), []).append((direction, gib))
    for (key, to), flows in sorted(volumes.items()):
        priced = [prices.get((key, to, direction)) for direction, _ in flows]
        known = [one for one in priced if one is not None]
        yield _Crossing(
            key=key,
            to=to,
            gib_per_hour=sum(gib for _, gib in sorted(flows)),
            gbp_per_hour=sum(known) if len(known) == len(priced) else None,
            others=tuple(places[to]),
            shared=tuple(name for name in places[to] if name in runs.get(key[1:], ())),
        )


def _keys(subject: Subject) -> list[Key]:
    rows = subject.workloads.filter(~subject.workloads["is_system"])
    return rows.select("cluster", "namespace", "workload_kind", "workload").rows()


def _prices(subject: Subject) -> Mapping[tuple[Key, str, str], float]:
    """What flows cost where the workload is, £/h: known of workloads that something is advised of."""
    return {
        (key_of(one.target), line.to, line.direction): line.gbp_per_hour
        for one in subject.plan.recommendations
        for line in one.egress
        if line.used_for == "current"
    }


def _local(subject: Subject, one: _Crossing, name: str) -> Iterator[Document]:
    cluster, namespace, _, _ = one.key
    path = f"{dns_subdomain(cluster)}/{file_name(namespace, name, ending='json')}"
    yield Document(
        path=path,
        form="json-patch",
        objects=(
            *_identity(name),
            {"op": "test", "path": _GLOBAL, "value": "true"},
            {"op": "test", "path": _AFFINITY, "value": None},
            {"op": "add", "path": _AFFINITY, "value": "local"},
        ),
        rollback_objects=(
            *_identity(name),
            {"op": "test", "path": _AFFINITY, "value": "local"},
            {"op": "remove", "path": _AFFINITY},
        ),
        says=f"Service {namespace}/{name} answers in {cluster} from its own endpoints while there are any: {one.told}.",
        apply=f"in {cluster}: kubectl patch service {name} -n {namespace} --type=json --patch-file {path}",
        rollback="in the same way, with the patch back; no pod starts again",
        patches={"apiVersion": "v1", "kind": "Service", "namespace": namespace, "name": name},
        expires_at=_until(subject),
    )


def _identity(name: str) -> Sequence[Manifest]:
    return (
        {"op": "test", "path": "/kind", "value": "Service"},
        {"op": "test", "path": "/metadata/name", "value": name},
    )


def _exports(subject: Subject, one: _Crossing, name: str) -> Iterator[Document]:
    namespace = one.key[1]
    for cluster in sorted({one.key[0], *one.shared}):
        says = (
            f"Exports Service {namespace}/{name} from {cluster}, so that each cluster is answered by its own endpoints "
            f"while it has any: {one.told}."
        )
        yield _export(subject, cluster, (namespace, name), says=says)


def _followed(subject: Subject, one: Recommendation, name: str) -> Iterator[Document]:
    """A Service that is exported from both clusters keeps its name for its callers while its workload moves."""
    namespace = one.target.namespace
    for cluster in sorted({one.target.cluster, one.recommended.cluster}):
        says = (
            f"Exports Service {namespace}/{name} from {cluster}, so that callers find it by one name before, while and "
            f"after {one.target.workload} moves to {one.recommended.cluster}; the Service has to be there too."
        )
        yield _export(subject, cluster, (namespace, name), says=says, advice=one)


def _export(
    subject: Subject, cluster: str, service: tuple[str, str], *, says: str, advice: Recommendation | None = None
) -> Document:
    namespace, name = service
    until = _until(subject) if advice is None else advice.expires_at
    path = f"{dns_subdomain(cluster)}/{file_name(namespace, name, ending='yaml')}"
    given = () if advice is None else (advice,)
    named = metadata(subject, name, namespace=namespace, advice=given, expires_at=until)
    return Document(
        path=path,
        form="manifest",
        objects=({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport", "metadata": named},),
        says=says,
        apply=f"in {cluster}: kubectl apply -f {path}; callers then name {name}.{namespace}.svc.clusterset.local",
        rollback=f"in {cluster}: kubectl delete -f {path}, when no caller names it any more",
        recommendations=tuple(one.id for one in given),
        clusters=tuple(cluster for _ in given),
        workloads=tuple(key_of(one.target) for one in given),
        expires_at=until,
    )


def _until(subject: Subject) -> datetime:
    return subject.at + timedelta(hours=subject.settings.class_expires_after_hours)
