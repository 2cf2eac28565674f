"""The arrow emit → Karmada: where a workload runs, how it overflows and returns, how its nodes are bought.

Every policy names its clusters one by one, and only clusters that the workload may be in: that list is what keeps a
residency. Policies are lazy: an edit waits until the workload itself changes, so applying one moves nothing by itself.
Sources: Karmada, pkg/apis/policy/v1alpha1 (propagation_types, override_types) and pkg/util/validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recommender.advise.record import Kind, Recommendation
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.karmada_burst import bursts
from recommender.emit.karmada_legal import Legal, legal_of
from recommender.emit.karmada_policy import (
    document_name,
    override,
    propagation,
    resource,
    runs_in,
    unnameable,
)
from recommender.emit.karmada_split import splits
from recommender.emit.names import file_name
from recommender.emit.order import live
from recommender.emit.subject import Key, key_of
from recommender.frames import WORKLOAD_KEY

_SEVERAL = 2
_MOVES = (Kind.PLACEMENT, Kind.COMPLIANCE, Kind.PURCHASE_OPTION)


def emit(subject: Subject) -> Emitted:
    """This will write the policies of workloads that are split, that burst or return, and that move; one a workload."""
    legal = legal_of(subject)
    taken: dict[tuple[str, ...], str] = {}
    documents: list[Document] = []
    said: list[NotExpressed] = []
    for part in (splits(subject, legal), bursts(subject, legal), _moves(subject, legal)):
        for one in part:
            if isinstance(one, NotExpressed):
                said.append(one)
                continue
            names = [key[1:] for key in one.workloads]
            before = next((taken[name] for name in names if name in taken), None)
            if before is None:
                documents.append(one)
                taken |= dict.fromkeys(names, one.path)
            else:
                what = ", ".join(one.recommendations) or one.path
                said.append(NotExpressed(what, f"a workload has one policy in Karmada, and {before} is it"))
    return Emitted(tuple(documents), tuple(said))


def _moves(subject: Subject, legal: Legal) -> Iterator[Document | NotExpressed]:
    places = _places(subject)
    for advice in live(subject):
        if advice.kind in _MOVES:
            why = _twins(places, key_of(advice.target)) or _why_not(legal, advice)
            yield NotExpressed(advice.id, why) if why else _move(subject, legal, advice)


def _places(subject: Subject) -> dict[tuple[str, ...], list[str]]:
    """The clusters in which each name of a workload was seen."""
    found: dict[tuple[str, ...], list[str]] = {}
    for cluster, *name in subject.workloads.select(WORKLOAD_KEY).sort(WORKLOAD_KEY).iter_rows():
        found.setdefault(tuple(name), []).append(cluster)
    return found


def _twins(places: Mapping[tuple[str, ...], list[str]], key: Key) -> str:
    clusters = places.get(key[1:], [])
    if len(clusters) < _SEVERAL:
        return ""
    return (
        f"{' and '.join(clusters)} run a workload of this name, which is one object to Karmada; say in "
        "emit.karmada.split among which clusters it is divided"
    )


def _why_not(legal: Legal, advice: Recommendation) -> str:
    key = key_of(advice.target)
    to = advice.recommended
    if why := unnameable(key, to.cluster):
        return why
    if not legal.is_allowed(key, to.cluster, to.capacity_type):
        return f"it may not run in {to.cluster} on {to.capacity_type} nodes, or has no price there"
    moves = to.cluster != advice.target.cluster
    if moves and legal.state_gib(key) > 0:
        return (
            f"Karmada moves pods, not data, and {legal.state_gib(key):g} GiB of state would stay behind; move it first"
        )
    if not moves and not override(legal, key, {to.cluster: to.capacity_type}):
        return (
            f"the nodes of {to.cluster} are all bought in one way; which of its pools is used is not Karmada's to say"
        )
    return ""


def _move(subject: Subject, legal: Legal, advice: Recommendation) -> Document:
    key = key_of(advice.target)
    to, here = advice.recommended.cluster, advice.target.cluster
    overrides = override(legal, key, {to: advice.recommended.capacity_type})
    meta = legal.metadata(subject, key, [advice])
    stays = to == here
    fallback = not stays and legal.is_allowed(key, here)
    groups = [("advised", [to])] + ([("before", [here])] if fallback else [])
    policy = [] if stays else [propagation(meta, key, groups)]
    undo = [] if stays or not fallback else [propagation(meta, key, [("before", [here])])]
    return Document(
        path=file_name(*document_name(key), ending="yaml"),
        form="manifest",
        objects=(*policy, *([{**resource(meta, "OverridePolicy"), "spec": overrides}] if overrides else [])),
        says=f"{advice.title}{'' if stays else f': {runs_in(key, [to, here] if fallback else [to])}'}.",
        apply="On Karmada's API server: kubectl apply -f FILE. The policy is lazy: it takes effect when the workload "
        "changes next."
        + (" The override replaces a nodeSelector and tolerations that the workload has." if overrides else ""),
        rollback="kubectl apply -f the file of the roll-back, then a WorkloadRebalancer for the workload."
        if undo
        else "kubectl delete -f FILE; what is propagated stays where it is.",
        rollback_objects=tuple(undo),
        expires_at=advice.expires_at,
        recommendations=(advice.id,),
        clusters=tuple(cluster for _, names in groups for cluster in names),
        workloads=(key,),
    )
