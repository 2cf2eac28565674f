"""Nodes that a commitment pays for cost no cash: packed and seen nodes of a pool at what is left to pay.

A pool that shrinks loses first what is not paid for, so what is paid for is taken off what runs now and off what the
plan leaves, each time as far as there are nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from exporters.core.words import CapacityType
from recommender.advise.current_nodes import Current, MixKey, Nodes
from recommender.advise.first_fit import Packed
from recommender.advise.machines import Place, PoolMachines

Paid = Mapping[Place, Mapping[str, float]]
"""Nodes that are paid for, by cluster and pool, and machine type."""


def less_paid(packed: Mapping[Place, Packed], pools: Mapping[Place, PoolMachines], paid: Paid) -> dict[Place, Packed]:
    """This will take what is paid for off the cost of packed nodes, and off the least that they must cost."""
    found = dict(packed)
    for place in packed.keys() & paid.keys():
        one, prices = packed[place], {each.instance_type: each.gbp_per_hour for each in pools[place].machines}
        off = sum(min(count, paid[place].get(name, 0.0)) * prices[name] for name, count in one.nodes)
        most = sum(nodes * prices.get(name, 0.0) for name, nodes in paid[place].items())
        cost = max(0.0, one.gbp_per_hour - off)
        bound = min(cost, max(0.0, one.bound_gbp_per_hour - most))
        found[place] = replace(one, gbp_per_hour=cost, bound_gbp_per_hour=bound)
    return found


def current_less_paid(current: Current, paid: Paid) -> Current:
    """This will take what is paid for off the cost of the nodes that there are."""
    return replace(current, nodes={key: _left(key, one, paid) for key, one in current.nodes.items()})


def _left(key: MixKey, one: Nodes, paid: Paid) -> Nodes:
    cluster, pool, capacity_type, name = key
    nodes = paid.get((cluster, pool), {}).get(name, 0.0)
    if capacity_type != CapacityType.ON_DEMAND or one.gbp_per_hour is None or one.nodes <= 0 or nodes <= 0:
        return one
    return replace(one, gbp_per_hour=one.gbp_per_hour * max(0.0, 1.0 - nodes / one.nodes))
