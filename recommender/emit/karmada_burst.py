"""The arrow emit → Karmada: overflowing from owned capacity to a cloud, and coming home.

Overflow (Karmada 1.18) fills the clusters of the first tier and only then the next, and empties them in the reverse
order. Coming home withdraws the tiers, and a WorkloadRebalancer has Karmada place the replicas anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from recommender.advise.capacity_record import CapacityMove, CapacityRecommendation
from recommender.advise.record import Kind
from recommender.emit.contract import Document, Manifest, NotExpressed, Subject
from recommender.emit.karmada_legal import Legal
from recommender.emit.karmada_policy import (
    DIVISIBLE,
    document_name,
    override,
    propagation,
    resource,
    selector,
    unnameable,
)
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.order import live_capacity
from recommender.emit.provenance import metadata
from recommender.emit.subject import Key, key_of

_Tier = tuple[CapacityRecommendation, CapacityMove]


def bursts(subject: Subject, legal: Legal) -> Iterator[Document | NotExpressed]:
    """This will write how workloads overflow, one file a workload, and how they return, one file a return and home."""
    tiers: dict[Key, list[_Tier]] = {}
    returns: list[CapacityRecommendation] = []
    for advice in live_capacity(subject):
        if advice.kind is Kind.BURST and advice.recommended is not None:
            for move in advice.moves:
                tiers.setdefault(key_of(move), []).append((advice, move))
        elif advice.kind is Kind.BURST_RETURN and advice.current is not None:
            returns.append(advice)
        else:
            yield NotExpressed(advice.id, "Karmada places on capacity that is there; it can buy none")
    for key, found in sorted(tiers.items()):
        yield from _overflow(subject, legal, key, found)
    for advice in returns:
        yield from _return(subject, legal, advice)


def _overflow(subject: Subject, legal: Legal, key: Key, found: list[_Tier]) -> Iterator[Document | NotExpressed]:
    kept = []
    for advice, move in sorted(found, key=lambda tier: (tier[1].gbp_per_hour / tier[1].replicas, tier[0].id)):
        why = _why_not(legal, key, move) or _not_there(legal, key, advice)
        if why:
            yield NotExpressed(f"{advice.id} for {'/'.join(key)}", why)
        else:
            kept.append(advice)
    if kept:
        yield _overflow_document(subject, legal, key, kept)


def _why_not(legal: Legal, key: Key, move: CapacityMove) -> str:
    if why := unnameable(key, key[0]):
        return why
    if key not in legal.rows or not legal.is_allowed(key, key[0]):
        return f"it may not run in {key[0]}, where its replicas would stay and return to"
    if key[2] not in DIVISIBLE:
        return f"Karmada divides no {key[2]}, so none of it can overflow"
    gang = max(move.gang_size, legal.gang_size(key))
    return f"a gang of {gang} must be in one cluster, and overflow divides replicas one by one" if gang > 1 else ""


def _not_there(legal: Legal, key: Key, advice: CapacityRecommendation) -> str:
    assert advice.recommended is not None
    to = advice.recommended
    if why := unnameable(key, to.cluster):
        return why
    allowed = legal.is_allowed(key, to.cluster, to.capacity_type)
    return "" if allowed else f"it may not run in {to.cluster} on {to.capacity_type} nodes"


def _overflow_document(subject: Subject, legal: Legal, key: Key, kept: list[CapacityRecommendation]) -> Document:
    places = {one.recommended.cluster: one.recommended.capacity_type for one in reversed(kept) if one.recommended}
    order = list(dict.fromkeys(one.recommended.cluster for one in kept if one.recommended))
    meta = legal.metadata(subject, key, kept)
    tiers = [(f"burst-{number}", cluster) for number, cluster in enumerate(order, 1)]
    overrides = override(legal, key, {cluster: places[cluster] for cluster in order})
    objects: list[Manifest] = [propagation(meta, key, [("home", [key[0]])], overflow=tiers)]
    if overrides:
        objects.append({**resource(meta, "OverridePolicy"), "spec": overrides})
    return Document(
        path=file_name(*document_name(key), ending="yaml"),
        form="manifest",
        objects=tuple(objects),
        says=f"{key[2]} {key[1]}/{key[3]} fills {key[0]} first and overflows to {', then to '.join(order)}.",
        apply="On Karmada's API server (1.18 or later): kubectl apply -f FILE. The policy is lazy: it takes effect "
        "when the workload changes next, such as when it is scaled."
        + (" The override replaces a nodeSelector and tolerations that the workload has." if overrides else ""),
        rollback="kubectl apply -f the file of the roll-back: it keeps the workload at home and has it placed anew.",
        rollback_objects=(
            propagation(meta, key, [("home", [key[0]])]),
            _rebalancer(subject, kept[0], [key], of=(key[2].lower(), key[3])),
        ),
        expires_at=min(one.expires_at for one in kept),
        recommendations=tuple(sorted(one.id for one in kept)),
        clusters=(key[0], *order),
        workloads=(key,),
    )


def _return(subject: Subject, legal: Legal, advice: CapacityRecommendation) -> Iterator[Document | NotExpressed]:
    homes: dict[str, list[Key]] = {}
    for move in advice.moves:
        key = key_of(move)
        if why := _why_not(legal, key, move):
            yield NotExpressed(f"{advice.id} for {'/'.join(key)}", why)
        else:
            homes.setdefault(key[0], []).append(key)
    for home, keys in sorted(homes.items()):
        yield _return_document(subject, legal, advice, home, keys)


def _return_document(
    subject: Subject, legal: Legal, advice: CapacityRecommendation, home: str, keys: list[Key]
) -> Document:
    policies = [propagation(legal.metadata(subject, key, [advice]), key, [("home", [home])]) for key in keys]
    return Document(
        path=file_name("return", advice.id, home, ending="yaml"),
        form="manifest",
        objects=(*policies, _rebalancer(subject, advice, keys, of=(home,))),
        says=f"{advice.title}: {len(keys)} workloads are propagated to {home} alone and placed anew.",
        apply="On Karmada's API server: kubectl apply -f FILE. The WorkloadRebalancer acts at once.",
        rollback="Apply the file of the burst again while it is advised; else scale the workload at home.",
        expires_at=advice.expires_at,
        recommendations=(advice.id,),
        clusters=(home,),
        workloads=tuple(keys),
    )


def _rebalancer(subject: Subject, advice: CapacityRecommendation, keys: list[Key], *, of: tuple[str, ...]) -> Manifest:
    """One that has a name of its own: Karmada acts on a WorkloadRebalancer once."""
    name = dns_subdomain("tuppence", advice.id, *of)
    meta = metadata(subject, name, advice=[advice], expires_at=advice.expires_at)
    return {
        "apiVersion": "apps.karmada.io/v1alpha1",
        "kind": "WorkloadRebalancer",
        "metadata": meta,
        "spec": {"workloads": [selector(key) for key in keys]},
    }
