"""From pods and node offers to the cheapest nodes that hold them, what that must cost at least, and what has no room.

A pure function: no clock, no chance, no order of its inputs, one thread; the same question gives the same answer.
"""

from __future__ import annotations

from collections import defaultdict

from recommender.place.packing.branch import Search, Searched
from recommender.place.packing.draft import Draft
from recommender.place.packing.items import Model, compile_model
from recommender.place.packing.problem import (
    Effort,
    Limit,
    NodeOffer,
    Nodes,
    Packing,
    Pod,
    ShadowPrice,
    Unplaced,
    check,
)

_DEFAULT = Effort()


def pack(
    pods: tuple[Pod, ...], offers: tuple[NodeOffer, ...], limits: tuple[Limit, ...] = (), effort: Effort = _DEFAULT
) -> Packing:
    """This will find the cheapest nodes for the pods.

    Args:
        pods: with what the rules leave them.
        offers: with what a node leaves for pods.
        limits: node counts of pools, quotas.
        effort: how far to search.

    Returns:
        The plan, its lower bound, and the pods without a node, each with a reason. Where limits leave no room for
        every pod, as many as possible are placed and the bound is that of the pods placed.

    Raises:
        SettingsError: the question has no honest answer.
    """
    check(pods, offers, limits)
    left_out: dict[str, Unplaced] = {}
    while True:
        model, unplaced = compile_model(tuple(pod for pod in pods if pod.id not in left_out), offers, limits)
        unplaced |= left_out
        if not model.pods:
            return _empty(unplaced, limits)
        found = Search(model, effort).run()
        if found.draft is not None:
            return _packing(model, found, found.draft, unplaced, _shadows(found, limits, offers))
        for ids, count in zip(model.pods, found.left_out.tolist(), strict=True):
            left_out |= dict.fromkeys(ids[len(ids) - count :], Unplaced.LIMITS_USED_UP)


def _empty(unplaced: dict[str, Unplaced], limits: tuple[Limit, ...]) -> Packing:
    shadows = tuple(ShadowPrice(name, 0.0, None) for name in sorted(limit.id for limit in limits))
    return Packing((), (), tuple(sorted(unplaced.items())), 0.0, 0.0, shadows, 0, 0)


def _packing(
    model: Model,
    found: Searched,
    draft: Draft,
    unplaced: dict[str, Unplaced],
    shadows: tuple[ShadowPrice, ...],
) -> Packing:
    waiting = {item: list(reversed(pods)) for item, pods in enumerate(model.pods)}
    groups: list[tuple[str, float, list[tuple[str, ...]]]] = []
    for column, count in draft.nodes:
        packing = [
            tuple(sorted(waiting[item].pop() for item, held in column.contents for _ in range(held)))
            for _ in range(count)
        ]
        groups.append((model.offers[column.offer].id, float(model.prices[column.offer]), packing))
    nodes = tuple(Nodes(offer, len(packing), price * len(packing), tuple(packing)) for offer, price, packing in groups)
    return Packing(
        nodes=nodes,
        assignment=_assignment(nodes),
        unplaced=tuple(sorted(unplaced.items())),
        cost_gbp_per_hour=draft.cost,
        lower_bound_gbp_per_hour=found.bound,
        shadow_prices=shadows,
        branches=found.branches,
        rounds=found.rounds,
    )


def _assignment(nodes: tuple[Nodes, ...]) -> tuple[tuple[str, str, int], ...]:
    started: dict[str, int] = defaultdict(int)
    rows = []
    for group in nodes:
        for contents in group.packing:
            rows += [(pod, group.offer, started[group.offer]) for pod in contents]
            started[group.offer] += 1
    return tuple(sorted(rows))


def _shadows(found: Searched, limits: tuple[Limit, ...], offers: tuple[NodeOffer, ...]) -> tuple[ShadowPrice, ...]:
    gpus = {offer.id: offer.gpus for offer in offers}
    shadows = []
    for limit, dual in zip(sorted(limits, key=lambda one: one.id), found.duals.tolist(), strict=True):
        per_unit = {gpus[offer] / amount for offer, amount in limit.uses if amount}
        devices = per_unit.pop() if len(per_unit) == 1 else 0.0
        price = max(-dual, 0.0)
        shadows.append(ShadowPrice(limit.id, price, price / devices if devices else None))
    return tuple(shadows)
