"""Pods that are alike become one item with a count; offers that another offer beats are left out.

Needs and capacities become whole numbers (millionths of a vCPU and of a GPU, bytes of memory), which is finer than
Kubernetes counts, so that sums have no rounding errors and a pod that fills a node exactly fits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recommender.place.packing.problem import Limit, NodeOffer, Pod, Unplaced

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_UNITS = (1_000_000, 2**30, 1_000_000)
_ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class Rows:
    """A constraint over nodes: the sum of `weights` over the nodes is at most, or at least, `bound`.

    Args:
        weights: one an offer of the model.
        bound: the right-hand side.
        at_most: whether the sum may not exceed the bound; else it may not fall below it.
        item: where not None, each node counts as often as it holds pods of this item.
    """

    weights: tuple[float, ...]
    bound: float
    at_most: bool
    item: int | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """The question in numbers.

    Args:
        pods: pod ids of each item.
        needs: what one pod of each item needs (items × 3).
        counts: pods of each item.
        offers: offers worth looking at, by id.
        gives: what a node of each offer holds (offers × 3).
        prices: £/h of each offer.
        surcharges: £/h of one pod of each item on each offer, beside the node (offers × items).
        usable: which items each offer may hold (offers × items).
        row_of: the cover row that an item fills on a node of an offer (offers × items); -1 where not usable.
        demand: pods that each cover row asks for.
        gangs: for each gang, for each cluster it fits in, its cover rows.
        gang_of: the number of each item's gang; -1 without.
        limits: the limits, in the order of their ids.
    """

    pods: tuple[tuple[str, ...], ...]
    needs: Ints
    counts: Ints
    offers: tuple[NodeOffer, ...]
    gives: Ints
    prices: npt.NDArray[np.float64]
    surcharges: npt.NDArray[np.float64]
    usable: Bools
    row_of: Ints
    demand: Ints
    gangs: tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]
    gang_of: tuple[int, ...]
    limits: tuple[Rows, ...]


def compile_model(
    pods: tuple[Pod, ...], offers: tuple[NodeOffer, ...], limits: tuple[Limit, ...]
) -> tuple[Model, dict[str, Unplaced]]:
    """This will count alike pods, leave out what cannot be placed, and say why.

    Args:
        pods: in any order.
        offers: in any order.
        limits: in any order.

    Returns:
        The model of the pods that fit somewhere, and the reason of each other pod.
    """
    ordered = sorted(offers, key=lambda offer: offer.id)
    unplaced = _alone(pods, ordered)
    homes = _gang_homes([pod for pod in pods if pod.gang], ordered, limits)
    broken = {pod.gang for pod in pods if pod.id in unplaced}
    for pod in pods:
        if pod.gang and pod.id not in unplaced and not homes[pod.gang]:
            member = pod.gang in broken
            unplaced[pod.id] = Unplaced.GANG_MEMBER_UNPLACED if member else Unplaced.GANG_LARGER_THAN_ANY_CLUSTER
    left = [pod for pod in pods if pod.id not in unplaced]
    return _model(left, _undominated(left, ordered, limits), limits, homes), unplaced


def _need(pod: Pod) -> tuple[int, ...]:
    values = (pod.vcpus, pod.memory_gib, pod.gpus)
    return tuple(round(value * unit) for value, unit in zip(values, _UNITS, strict=True))


def _give(offer: NodeOffer) -> tuple[int, ...]:
    values = (offer.vcpus, offer.memory_gib, offer.gpus)
    return tuple(math.floor(value * unit + _ROUNDING) for value, unit in zip(values, _UNITS, strict=True))


def _class_serves(pod: Pod, offer: NodeOffer) -> bool:
    return pod.allowed is None or offer.offer_class in pod.allowed


def _model_serves(pod: Pod, offer: NodeOffer) -> bool:
    return pod.gpus == 0 or not pod.gpu_models or offer.gpu_model in pod.gpu_models


def _fits(pod: Pod, offer: NodeOffer) -> bool:
    return all(need <= give for need, give in zip(_need(pod), _give(offer), strict=True))


def _serves(pod: Pod, offer: NodeOffer) -> bool:
    return _class_serves(pod, offer) and _model_serves(pod, offer) and _fits(pod, offer)


def _kind(pod: Pod) -> tuple[object, ...]:
    """What makes two pods alike; sortable."""
    allowed = ("",) if pod.allowed is None else ("only", *sorted(pod.allowed))
    return (
        *_need(pod),
        tuple(sorted(pod.gpu_models)) if pod.gpus else (),
        allowed,
        pod.gang,
        tuple(sorted(pod.surcharges)),
    )


def _alone(pods: tuple[Pod, ...], offers: list[NodeOffer]) -> dict[str, Unplaced]:
    """The pods that no node can hold, even empty."""
    reasons: dict[tuple[object, ...], Unplaced | None] = {}
    found: dict[str, Unplaced] = {}
    for pod in pods:
        kind = _kind(pod)
        if kind not in reasons:
            reasons[kind] = _reason(pod, offers)
        reason = reasons[kind]
        if reason is not None:
            found[pod.id] = reason
    return found


def _reason(pod: Pod, offers: list[NodeOffer]) -> Unplaced | None:
    allowed = [offer for offer in offers if _class_serves(pod, offer)]
    with_model = [offer for offer in allowed if _model_serves(pod, offer)]
    if any(_fits(pod, offer) for offer in with_model):
        return None
    if not allowed:
        return Unplaced.NO_ALLOWED_OFFER
    return Unplaced.LARGER_THAN_ANY_NODE if with_model else Unplaced.GPU_MODEL_NOWHERE


def _gang_homes(members: list[Pod], offers: list[NodeOffer], limits: tuple[Limit, ...]) -> dict[str, tuple[str, ...]]:
    """The clusters in which a gang could run: each member fits a node, and limits leave enough in sum."""
    gangs: dict[str, list[Pod]] = defaultdict(list)
    for pod in members:
        gangs[pod.gang].append(pod)
    clusters = sorted({offer.cluster for offer in offers})
    return {
        gang: tuple(cluster for cluster in clusters if _gang_fits(pods, _of(cluster, offers), limits))
        for gang, pods in sorted(gangs.items())
    }


def _of(cluster: str, offers: list[NodeOffer]) -> list[NodeOffer]:
    return [offer for offer in offers if offer.cluster == cluster]


def _gang_fits(pods: list[Pod], offers: list[NodeOffer], limits: tuple[Limit, ...]) -> bool:
    alike = list({_kind(pod): pod for pod in pods}.values())
    if not all(any(_serves(pod, offer) for offer in offers) for pod in alike):
        return False
    useful = [offer for offer in offers if any(_serves(pod, offer) for pod in alike)]
    most = [_most_nodes(offer, limits) for offer in useful]
    gives = [_give(offer) for offer in useful]
    return all(
        sum(_need(pod)[axis] for pod in pods)
        <= sum(nodes * give[axis] for nodes, give in zip(most, gives, strict=True) if give[axis])
        for axis in range(3)
    )


def _most_nodes(offer: NodeOffer, limits: tuple[Limit, ...]) -> float:
    each = [limit.at_most // amount for limit in limits for name, amount in limit.uses if name == offer.id and amount]
    return min(each, default=math.inf)


def _undominated(pods: list[Pod], offers: list[NodeOffer], limits: tuple[Limit, ...]) -> list[NodeOffer]:
    """The offers that no other beats.

    One beats another that is as large for these pods, as allowed, in the same cluster, not dearer (surcharges
    included), and unlimited. Where no gang is there, clusters do not matter.
    """
    alike = list({_kind(pod): pod for pod in sorted(pods, key=_kind)}.values())
    limited = {name for limit in limits for name, _ in limit.uses}
    gangs = any(pod.gang for pod in pods)
    total = np.array([_need(pod) for pod in pods], dtype=np.int64).reshape(-1, 3).sum(axis=0)
    serves = {offer.id: np.array([_serves(pod, offer) for pod in alike], dtype=bool) for offer in offers}
    useful = [offer for offer in offers if serves[offer.id].any()]
    gives = {offer.id: np.minimum(np.array(_give(offer)), total) for offer in useful}
    extra = {offer.id: _surcharges(alike, offer) for offer in useful}
    useful.sort(key=lambda one: (one.gbp_per_hour, *(-give for give in gives[one.id].tolist()), one.id))
    kept: list[NodeOffer] = []
    for offer in useful:
        beaten = any(
            one.id not in limited
            and (not gangs or one.cluster == offer.cluster)
            and bool((gives[one.id] >= gives[offer.id]).all())
            and bool((serves[one.id] >= serves[offer.id]).all())
            and bool((extra[one.id] <= extra[offer.id])[serves[offer.id]].all())
            for one in kept
        )
        if not beaten:
            kept.append(offer)
    return sorted(kept, key=lambda one: one.id)


def _surcharges(alike: list[Pod], offer: NodeOffer) -> npt.NDArray[np.float64]:
    return np.array([dict(pod.surcharges).get(offer.offer_class, 0.0) for pod in alike], dtype=np.float64)


def _model(
    pods: list[Pod], offers: list[NodeOffer], limits: tuple[Limit, ...], homes: dict[str, tuple[str, ...]]
) -> Model:
    groups: dict[tuple[object, ...], list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda one: (_kind(one), one.id)):
        groups[_kind(pod)].append(pod)
    alike = [members[0] for members in groups.values()]
    counts = [len(members) for members in groups.values()]
    usable = np.array([[_serves(pod, offer) for pod in alike] for offer in offers], dtype=bool)
    usable = usable.reshape(len(offers), len(alike))
    row_of = np.full(usable.shape, -1, dtype=np.int64)
    demand: list[int] = []
    gangs: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for item, pod in enumerate(alike):
        for cluster in homes[pod.gang] if pod.gang else ("",):
            held = usable[:, item] & np.array([not pod.gang or one.cluster == cluster for one in offers], dtype=bool)
            row_of[held, item] = len(demand)
            if pod.gang:
                gangs[pod.gang][cluster].append(len(demand))
            demand.append(counts[item])
    return Model(
        pods=tuple(tuple(pod.id for pod in members) for members in groups.values()),
        needs=np.array([_need(pod) for pod in alike], dtype=np.int64).reshape(-1, 3),
        counts=np.array(counts, dtype=np.int64),
        offers=tuple(offers),
        gives=np.array([_give(offer) for offer in offers], dtype=np.int64).reshape(-1, 3),
        prices=np.array([offer.gbp_per_hour for offer in offers], dtype=np.float64),
        surcharges=np.array([_surcharges(alike, offer) for offer in offers]).reshape(usable.shape),
        usable=row_of >= 0,
        row_of=row_of,
        demand=np.array(demand, dtype=np.int64),
        gangs=tuple(
            tuple((cluster, tuple(rows)) for cluster, rows in sorted(one.items())) for _, one in sorted(gangs.items())
        ),
        gang_of=tuple(sorted(gangs).index(pod.gang) if pod.gang else -1 for pod in alike),
        limits=tuple(_limit_row(limit, offers) for limit in sorted(limits, key=lambda one: one.id)),
    )


def _limit_row(limit: Limit, offers: list[NodeOffer]) -> Rows:
    uses = dict(limit.uses)
    return Rows(weights=tuple(uses.get(offer.id, 0.0) for offer in offers), bound=limit.at_most, at_most=True)
