"""Which nodes a commitment pays for: the nodes that run first, then those that could still be started for nothing.

    commitments, node groups → Allotment: nodes of a group that a commitment pays for, and how many more it would

What a node takes of a commitment follows from its unit: one machine, or as many as the bought type is smaller (regional
reservations of AWS and Azure are flexible in size within a family; AWS EC2 User Guide, "How Reserved Instances are
applied"); its vCPUs, GiB and GPUs, whichever runs out first (Google, "Resource-based CUDs"); or its price an hour
(AWS, "How Savings Plans apply to your usage"). Narrow commitments are used before wide ones, as AWS does: reservations
before Savings Plans, those of a family before those of any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

_ROUNDING = 1e-9
_FLEXIBLE = frozenset({"aws", "azure"})


@dataclass(frozen=True, slots=True)
class Bought:
    """A commitment that pays for something now.

    Args:
        key: provider, account, commitment_id.
        provider: whose machines.
        where: region or zone; empty: everywhere.
        family: empty: any.
        instance_type: empty: any of the family.
        gpu_model: empty: any.
        amounts: what was bought, by unit: instances, vcpus, memory_gib, gpus, money_gbp.
        capacity_type: committed-1y or committed-3y.
        gbp_per_hour: what all of it costs; None: not known.
        ends_at: when it lapses.
        vcpus_of_type: vCPUs of instance_type; None: not known, so no other size of the family takes from it.
        offers_more: whether what nothing takes is offered to what could move there.
    """

    key: tuple[str, str, str]
    provider: str
    where: str
    family: str
    instance_type: str
    gpu_model: str
    amounts: Mapping[str, float]
    capacity_type: str
    gbp_per_hour: float | None
    ends_at: datetime
    vcpus_of_type: float | None = None
    offers_more: bool = True


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """On-demand nodes of one machine type in a pool.

    Args:
        prices: what a node is charged, £/h, by capacity type: on-demand, and what a commitment of a term charges it.
        nodes: that run at peak; whole.
        nodes_max: most that the pool may have; None: no limit.
    """

    cluster: str
    pool: str
    instance_type: str
    provider: str
    region: str
    zone: str
    family: str
    vcpus: float
    memory_gib: float
    gpus: float
    gpu_model: str
    prices: Mapping[str, float]
    nodes: int
    nodes_max: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Cluster, pool, machine type."""
        return (self.cluster, self.pool, self.instance_type)


@dataclass(frozen=True, slots=True)
class Allotment:
    """What a commitment gives to a group of nodes.

    Args:
        covered: of the nodes that run, those that it pays for; not whole where it pays for a part of one.
        free: more nodes that it would pay for.
        share_per_node: share of the commitment that a node takes.
    """

    commitment: tuple[str, str, str]
    group: tuple[str, str, str]
    covered: float
    free: int
    share_per_node: float


def allot(commitments: Iterable[Bought], groups: Iterable[NodeGroup]) -> tuple[Allotment, ...]:
    """This will share out commitments, each unit once, in an order that does not depend on that of the rows.

    Args:
        commitments: narrow ones are used before wide ones, of equal ones those that end first.
        groups: by cluster, pool and machine type; those that run are paid for before room is offered to others, and
            what is left goes to groups that have such nodes already before it goes to others.
    """
    ordered = sorted(groups, key=lambda one: one.key)
    bought = sorted(commitments, key=_narrowest_first)
    unpaid = {one.key: float(one.nodes) for one in ordered}
    left = {one.key: 1.0 for one in bought}
    covered: dict[tuple[tuple[str, str, str], tuple[str, str, str]], float] = {}
    for one in bought:
        for group in ordered:
            share = share_per_node(one, group)
            if share is None:
                continue
            nodes = min(unpaid[group.key], _nodes(left[one.key], share))
            unpaid[group.key] -= nodes
            left[one.key] = max(0.0, left[one.key] - nodes * share)
            covered[one.key, group.key] = nodes
    free = _offered(bought, ordered, covered, unpaid, left)
    shares = {(one.key, group.key): share_per_node(one, group) for one in bought for group in ordered}
    return tuple(
        Allotment(commitment, group, nodes, free.get((commitment, group), 0), shares[commitment, group] or 0.0)
        for (commitment, group), nodes in covered.items()
        if nodes > 0 or free.get((commitment, group), 0) > 0
    )


def _offered(
    bought: Sequence[Bought],
    groups: Sequence[NodeGroup],
    covered: Mapping[tuple[tuple[str, str, str], tuple[str, str, str]], float],
    unpaid: Mapping[tuple[str, str, str], float],
    left: dict[tuple[str, str, str], float],
) -> dict[tuple[tuple[str, str, str], tuple[str, str, str]], int]:
    """Whole nodes that could be started for nothing; of a group only where all that runs in it is paid for."""
    # Of the nodes a pool may have, those of its other machine types are taken.
    taken: dict[tuple[str, str], int] = {}
    for group in groups:
        taken[group.key[:2]] = taken.get(group.key[:2], 0) + group.nodes
    found: dict[tuple[tuple[str, str, str], tuple[str, str, str]], int] = {}
    for one in bought:
        fitting = [group for group in groups if one.offers_more and (one.key, group.key) in covered]
        for group in sorted(fitting, key=lambda each: (covered[one.key, each.key] == 0, each.key)):
            share = share_per_node(one, group)
            assert share is not None, "only groups that it fits were covered"
            room = math.inf if group.nodes_max is None else group.nodes_max - taken[group.key[:2]]
            more = min(math.floor(_nodes(left[one.key], share) + _ROUNDING), room) if unpaid[group.key] <= 0 else 0
            if more >= 1 and not math.isinf(more):
                found[one.key, group.key] = int(more)
                taken[group.key[:2]] += int(more)
                left[one.key] = max(0.0, left[one.key] - more * share)
    return found


def share_per_node(one: Bought, group: NodeGroup) -> float | None:
    """This will return the share of a commitment that one node takes; None: it does not pay for such nodes."""
    if not _fits(one, group):
        return None
    needs: dict[str, float] = {
        "instances": _machines(one, group),
        "vcpus": group.vcpus,
        "memory_gib": group.memory_gib,
        "gpus": group.gpus,
        "money_gbp": group.prices.get(one.capacity_type, group.prices["on-demand"]),
    }
    by_part = "vcpus" in one.amounts or "memory_gib" in one.amounts
    if by_part and not {"vcpus", "memory_gib"} <= one.amounts.keys():
        return None
    shares = [_share(needs[unit], amount) for unit, amount in one.amounts.items() if needs[unit] > 0]
    return max(shares) if shares and not math.isinf(max(shares)) else None


def gbp_per_node(one: Bought, group: NodeGroup) -> float | None:
    """This will return what a node costs an hour under a commitment, used whole; None: not known."""
    share = share_per_node(one, group)
    if share is None or one.gbp_per_hour is None:
        return None
    return one.gbp_per_hour * share


def _fits(one: Bought, group: NodeGroup) -> bool:
    if one.provider != group.provider or one.where not in {"", group.region, group.zone or None}:
        return False
    if one.gpu_model and one.gpu_model != group.gpu_model:
        return False
    if one.instance_type and one.instance_type != group.instance_type:
        return _is_flexible(one, group)
    return not one.family or one.family == group.family


def _is_flexible(one: Bought, group: NodeGroup) -> bool:
    """A regional reservation pays for other sizes of its family, by vCPUs; one of machines with GPUs does not."""
    regional = one.where in {"", group.region}
    sized = one.vcpus_of_type is not None and group.gpus == 0
    return one.provider in _FLEXIBLE and regional and sized and bool(one.family) and one.family == group.family


def _machines(one: Bought, group: NodeGroup) -> float:
    if not one.instance_type or one.instance_type == group.instance_type or one.vcpus_of_type is None:
        return 1.0
    return group.vcpus / one.vcpus_of_type


def _share(need: float, amount: float) -> float:
    return need / amount if amount > 0 else math.inf


def _nodes(left: float, share: float) -> float:
    nodes = left / share
    # 4 × 0.25 is one: a node that only rounding keeps out is paid for.
    return float(round(nodes)) if abs(nodes - round(nodes)) < _ROUNDING else nodes


def _narrowest_first(one: Bought) -> tuple[bool, bool, bool, bool, datetime, tuple[str, str, str]]:
    is_money = "money_gbp" in one.amounts
    return (is_money, not one.instance_type, not one.family, not one.where, one.ends_at, one.key)
