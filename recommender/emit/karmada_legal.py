"""Before Karmada's policies: what every workload may and costs where, looked up by its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recommender.emit.contract import Subject
from recommender.emit.karmada_policy import policy_name
from recommender.emit.node_labels import capacity_labels, spot_taint
from recommender.emit.order import allowed_costs, expiry
from recommender.emit.provenance import Advice, metadata
from recommender.emit.subject import Key
from recommender.frames import WORKLOAD_KEY


@dataclass(frozen=True, slots=True)
class Nodes:
    """How nodes of one capacity type are told apart in a cluster."""

    labels: Mapping[str, str]
    tolerations: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Legal:
    """What may be, by workload.

    Args:
        prices: £/h by workload, cluster and capacity type, of what is allowed.
        cheapest: the least of them by workload and cluster.
        rows: the workloads' own rows.
        nodes: by cluster and capacity type, of clusters that have several; a cluster with one needs no telling apart.
    """

    prices: Mapping[tuple[Key, str, str], float]
    cheapest: Mapping[tuple[Key, str], float]
    rows: Mapping[Key, Mapping[str, Any]]
    nodes: Mapping[tuple[str, str], Nodes]

    def is_allowed(self, key: Key, cluster: str, capacity_type: str = "") -> bool:
        """This will say whether a workload may be in a cluster, on nodes of a capacity type or on any."""
        if capacity_type:
            return (key, cluster, capacity_type) in self.prices
        return self.price(key, cluster) is not None

    def price(self, key: Key, cluster: str) -> float | None:
        """This will return the cheapest £/h of a workload in a cluster; None: it is not allowed there."""
        return self.cheapest.get((key, cluster))

    def state_gib(self, key: Key) -> float:
        """This will return the GiB that move with a workload."""
        return float(self.rows[key]["state_gib"])

    def gang_size(self, key: Key) -> int:
        """This will return how many replicas must run together in one cluster."""
        return int(self.rows[key]["gang_size"])

    def metadata(self, subject: Subject, key: Key, advice: Sequence[Advice]) -> dict[str, Any]:
        """This will return the metadata of a workload's policy."""
        return metadata(subject, policy_name(key), namespace=key[1], advice=advice, expires_at=expiry(subject, advice))


def legal_of(subject: Subject) -> Legal:
    """This will look up once what all parts of the emitter ask."""
    prices: dict[tuple[Key, str, str], float] = {
        ((row[0], row[1], row[2], row[3]), row[4], row[5]): row[6]
        for row in allowed_costs(subject).select(*WORKLOAD_KEY, "to_cluster", "to_capacity_type", "gbp_per_hour").rows()
    }
    cheapest: dict[tuple[Key, str], float] = {}
    for (key, cluster, _), price in prices.items():
        cheapest[key, cluster] = min(price, cheapest.get((key, cluster), price))
    rows = {
        (row["cluster"], row["namespace"], row["workload_kind"], row["workload"]): row
        for row in subject.workloads.iter_rows(named=True)
    }
    nodes: dict[tuple[str, str], Nodes] = {}
    for site in subject.clusters:
        types = {pool.capacity_type for pool in site.pools}
        for one in sorted(types) if len(types) > 1 else []:
            taint = spot_taint(subject.settings, site.provider)
            tolerated = {"key": taint["key"], "operator": "Equal", "value": taint["value"], "effect": taint["effect"]}
            labels = capacity_labels(subject.settings, site.provider, one)
            nodes[site.name, one] = Nodes(labels, [tolerated] if one == "spot" else [])
    return Legal(prices, cheapest, rows, nodes)
