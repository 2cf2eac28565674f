"""The arrow emit → Kueue: the switch of a burst, on and off.

A burst gets a ClusterQueue of its own in the cluster that it goes to, as large as what overflows. On: it admits. Off:
stopPolicy Hold, so that nothing new starts there while what runs is left to end; HoldAndDrain would evict it. A return
switches off the queue of the burst that it ends. Where the settings tell a ClusterQueue that has the flavour, that one
is patched: its stopPolicy when it has no other flavour, else the flavour's quota, which evicts nothing either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recommender.advise.capacity_record import CapacityMove, CapacityPlace, CapacityRecommendation
from recommender.advise.record import Kind
from recommender.emit.contract import Document, Emitted, Form, Manifest, NotExpressed, Subject
from recommender.emit.kueue_flavors import flavor_name, stated_flavor
from recommender.emit.kueue_patch import Patched, flavors_of, stopped, widened
from recommender.emit.kueue_queue import queue_object
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.order import allowed_costs, live_capacity
from recommender.emit.planned import NOTHING, Needs, lawful_namespaces
from recommender.emit.provenance import metadata
from recommender.emit.subject import key_of
from recommender.emit_settings import KueueQueue
from recommender.frames import WORKLOAD_KEY


@dataclass(frozen=True, slots=True)
class _Change:
    """What a switch writes, what takes it back, and the command."""

    form: Form
    queue: str
    objects: tuple[Manifest, ...]
    rollback_objects: tuple[Manifest, ...]
    apply: str
    does: str


def switches(subject: Subject) -> Emitted:
    """This will switch on every burst that is advised, and off every one that is to return."""
    documents: list[Document] = []
    said: list[NotExpressed] = []
    for advice in live_capacity(subject):
        made = _switch(subject, advice)
        if isinstance(made, Document):
            documents.append(made)
        else:
            said.append(NotExpressed(advice.id, made))
    return Emitted(tuple(documents), tuple(said))


def burst_queue(advice: CapacityRecommendation) -> str:
    """This will return the name of the ClusterQueue that a burst goes through, the same for its return."""
    return dns_subdomain("burst", advice.burst_id or advice.id)


def _switch(subject: Subject, advice: CapacityRecommendation) -> Document | str:
    if advice.kind in (Kind.EXTEND, Kind.COMMIT):
        return "Kueue shares out capacity that is there; it can buy none"
    on = advice.kind is Kind.BURST
    place = advice.recommended if on else advice.current
    if place is None or not advice.moves:
        return "it does not say what bursts, and where to"
    if on and (refused := _refused(subject, advice, place)):
        return f"{refused} may not run in {place.cluster} on {place.capacity_type} nodes"
    queue = _known(subject, advice, place)
    change = _whole(subject, advice, place) if queue is None else _patch(advice, place, queue)
    return change if isinstance(change, str) else _document(subject, advice, place, change)


def _known(subject: Subject, advice: CapacityRecommendation, place: CapacityPlace) -> KueueQueue | None:
    """The ClusterQueue of the settings that has the flavour: the burst's own, else the only one."""
    having = [
        one
        for one in subject.settings.kueue.queues
        if one.cluster == place.cluster
        and one.current is not None
        and stated_flavor(one, place.capacity_type) in flavors_of(one.current)
    ]
    own = [one for one in having if one.name == burst_queue(advice)]
    chosen = own or having
    return chosen[0] if len(chosen) == 1 else None


def _whole(subject: Subject, advice: CapacityRecommendation, place: CapacityPlace) -> _Change:
    on = advice.kind is Kind.BURST
    meta = metadata(subject, burst_queue(advice), advice=[advice], expires_at=advice.expires_at)
    flavors = [(flavor_name(place.cluster, place.capacity_type), _needs(advice.moves))]
    namespaces = sorted({one.namespace for one in advice.moves})
    opened, held = (
        queue_object(subject, meta=meta, flavors=flavors, namespaces=namespaces, stop=stop) for stop in ("None", "Hold")
    )
    return _Change(
        form="manifest",
        queue=burst_queue(advice),
        objects=(opened if on else held,),
        rollback_objects=(held if on else opened,),
        apply=f"In {place.cluster}: kubectl apply -f FILE; point a LocalQueue of the namespaces "
        f"{', '.join(namespaces)} to it.",
        does="admits" if on else "holds: nothing new starts, what runs is left to end",
    )


def _patch(advice: CapacityRecommendation, place: CapacityPlace, queue: KueueQueue) -> _Change | str:
    assert queue.current is not None
    on = advice.kind is Kind.BURST
    flavor = stated_flavor(queue, place.capacity_type)
    if flavors_of(queue.current) == {flavor}:
        made = stopped(queue.current, "None" if on else "Hold")
    else:
        made = _quota(queue.current, flavor, advice, on=on)
    if isinstance(made, str):
        return f"ClusterQueue {queue.name} of {queue.cluster}: {made}"
    return _Change(
        form="json-patch",
        queue=queue.name,
        objects=made.operations,
        rollback_objects=made.rollback,
        apply=f"In {place.cluster}: kubectl patch clusterqueue {queue.name} --type=json --patch-file FILE.",
        does=made.says,
    )


def _quota(current: Mapping[str, Any], flavor: str, advice: CapacityRecommendation, *, on: bool) -> Patched | str:
    return widened(current, flavor, _needs(advice.moves), by=1 if on else -1)


def _document(subject: Subject, advice: CapacityRecommendation, place: CapacityPlace, change: _Change) -> Document:
    on = advice.kind is Kind.BURST
    patch = change.form == "json-patch"
    target = {
        "apiVersion": subject.settings.kueue.api_version,
        "kind": "ClusterQueue",
        "namespace": "",
        "name": change.queue,
    }
    replicas = sum(one.replicas for one in advice.moves)
    back = "The same command with" if patch else "kubectl apply -f"
    return Document(
        path=f"burst/{file_name('on' if on else 'off', advice.id, ending='json' if patch else 'yaml')}",
        form=change.form,
        objects=change.objects,
        says=f"{advice.title}: ClusterQueue {change.queue} of {place.cluster} {change.does} ({replicas} replicas).",
        apply=change.apply,
        rollback=f"{back} the file of the roll-back.",
        rollback_objects=change.rollback_objects,
        expires_at=advice.expires_at,
        patches=target if patch else {},
        recommendations=(advice.id,),
        clusters=(place.cluster,) if on else (),
        workloads=tuple(key_of(one) for one in advice.moves) if on else (),
    )


def _refused(subject: Subject, advice: CapacityRecommendation, place: CapacityPlace) -> str:
    """The first workload that may not run at the place, or whose namespace holds one that may not; empty: none."""
    fields = [*WORKLOAD_KEY, "to_cluster", "to_capacity_type"]
    allowed = set(allowed_costs(subject).select(fields).rows())
    lawful = lawful_namespaces(subject, place.cluster)
    for move in advice.moves:
        if (*key_of(move), place.cluster, place.capacity_type) not in allowed:
            return "/".join(key_of(move))
        if move.namespace not in lawful:
            return f"a workload of namespace {move.namespace}"
    return ""


def _needs(moves: tuple[CapacityMove, ...]) -> Needs:
    """What the replicas request; whole gangs, because a gang is admitted whole or not at all."""
    total = NOTHING
    for one in moves:
        count = max(one.replicas, one.gang_size)
        total = total + Needs(one.replica_vcpus * count, one.replica_memory_gib * count, one.replica_gpus * count)
    return total
