"""What the packing solver is asked and what it answers.

Nodes are given by what they leave for pods (allocatable), never by what their maker says of them. Money is £/h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from exporters.core.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod, or one replica of a workload.

    Args:
        id: unique among the pods.
        vcpus: requested.
        memory_gib: requested.
        gpus: requested; fractions are read as shares of a device.
        gpu_models: models that serve; empty: any model does.
        allowed: offer classes that the rules leave this pod; None: every class.
        gang: pods with the same gang run in one cluster, all or none; empty: no gang.
        surcharges: offer class and £/h that this pod costs there beside the node (egress, expected interruption,
            penalties); a class that is not named has none.
    """

    id: str
    vcpus: float
    memory_gib: float
    gpus: float = 0.0
    gpu_models: frozenset[str] = frozenset()
    allowed: frozenset[str] | None = None
    gang: str = ""
    surcharges: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """One kind of node that can be had, by what it leaves for pods.

    Args:
        id: unique among the offers.
        cluster: the cluster the node joins.
        offer_class: the word that rules name it by (a pool, a capacity type, a jurisdiction).
        vcpus: allocatable.
        memory_gib: allocatable GiB.
        gpus: allocatable devices.
        gpu_model: their model; empty without GPUs or where unknown.
        gbp_per_hour: cash price of one node; zero only where a limit names the offer.
    """

    id: str
    cluster: str
    offer_class: str
    vcpus: float
    memory_gib: float
    gbp_per_hour: float
    gpus: float = 0.0
    gpu_model: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """What some offers together may take: nodes of an owned pool, vCPUs of a quota.

    Args:
        id: unique among the limits.
        uses: offer id and what one of its nodes takes.
        at_most: how much there is.
    """

    id: str
    uses: tuple[tuple[str, float], ...]
    at_most: float


@dataclass(frozen=True, slots=True)
class Effort:
    """How far the search goes, in counts and never in seconds, so that equal inputs give equal plans.

    Args:
        rounds: of column generation at one branch.
        labels: partial packings kept while one node is packed; beyond, an integer programme packs it.
        node_nodes: branch-and-bound nodes of that; beyond, the bound is weaker but still holds.
        branches: branches solved; 1: only the first linear programme.
        integer_nodes: branch-and-bound nodes of each integer master.
        near_columns: columns added to the choice beside those that the linear programme asked for.
        gap_ratio: stop once the plan is known to be this near to the best.
    """

    rounds: int = 200
    labels: int = 1_000
    node_nodes: int = 5_000
    branches: int = 20
    integer_nodes: int = 200
    near_columns: int = 300
    gap_ratio: float = 0.001


class Unplaced(StrEnum):
    """Why a pod has no node."""

    NO_ALLOWED_OFFER = "no-allowed-offer"
    GPU_MODEL_NOWHERE = "gpu-model-nowhere"
    LARGER_THAN_ANY_NODE = "larger-than-any-node"
    GANG_LARGER_THAN_ANY_CLUSTER = "gang-larger-than-any-cluster"
    GANG_MEMBER_UNPLACED = "gang-member-unplaced"
    LIMITS_USED_UP = "limits-used-up"


@dataclass(frozen=True, slots=True)
class Nodes:
    """Some equal nodes with equal contents.

    Args:
        offer: offer id.
        count: how many.
        gbp_per_hour: of all of them together, without surcharges.
        packing: for each node, the ids of its pods.
    """

    offer: str
    count: int
    gbp_per_hour: float
    packing: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ShadowPrice:
    """What one more unit of a limit would save.

    Args:
        limit: limit id.
        gbp_per_hour: for one more unit (for a pool: one more node).
        gbp_per_gpu_hour: the same for one GPU, where every offer of the limit has the same GPUs; else None.
    """

    limit: str
    gbp_per_hour: float
    gbp_per_gpu_hour: float | None


@dataclass(frozen=True, slots=True)
class Packing:
    """The plan and its proof.

    Args:
        nodes: the node mix, in the order of offer ids.
        assignment: pod id and offer id and the number of the node among that offer's nodes, in the order of pod ids.
        unplaced: pod id and reason, in the order of pod ids.
        cost_gbp_per_hour: of all nodes, and the surcharges of all pods.
        lower_bound_gbp_per_hour: no plan that places the same pods costs less.
        shadow_prices: one a limit, in the order of limit ids, from the linear programme.
        branches: solved.
        rounds: of column generation, over all branches.
    """

    nodes: tuple[Nodes, ...]
    assignment: tuple[tuple[str, str, int], ...]
    unplaced: tuple[tuple[str, Unplaced], ...]
    cost_gbp_per_hour: float
    lower_bound_gbp_per_hour: float
    shadow_prices: tuple[ShadowPrice, ...]
    branches: int
    rounds: int

    @property
    def gap_ratio(self) -> float:
        """This will return how much dearer than the bound the plan can at most be; 0 for an empty plan."""
        if self.cost_gbp_per_hour <= self.lower_bound_gbp_per_hour:
            return 0.0
        if self.lower_bound_gbp_per_hour <= 0:
            return math.inf
        return self.cost_gbp_per_hour / self.lower_bound_gbp_per_hour - 1


def check(pods: tuple[Pod, ...], offers: tuple[NodeOffer, ...], limits: tuple[Limit, ...]) -> None:
    """This will refuse a question that has no honest answer.

    Raises:
        SettingsError: ids that repeat, negative or non-finite numbers, a price of zero without a limit, a limit on an
            offer that does not exist.
    """
    for what, ids in (
        ("pod", [pod.id for pod in pods]),
        ("offer", [offer.id for offer in offers]),
        ("limit", [limit.id for limit in limits]),
    ):
        repeated = sorted({one for one in ids if ids.count(one) > 1}) if len(set(ids)) < len(ids) else []
        if repeated:
            raise _refused(f"the {what} id {repeated[0]!r} stands twice", "Give each its own id.")
    for pod in pods:
        numbers = (pod.vcpus, pod.memory_gib, pod.gpus, *(gbp for _, gbp in pod.surcharges))
        _finite(f"pod {pod.id}", numbers)
    limited = {offer for limit in limits for offer, _ in limit.uses}
    for offer in offers:
        _finite(f"offer {offer.id}", (offer.vcpus, offer.memory_gib, offer.gpus, offer.gbp_per_hour))
        if offer.gbp_per_hour == 0 and offer.id not in limited:
            raise _refused(f"offer {offer.id} costs nothing and has no limit", "Leave out offers without a price.")
    unknown = sorted(limited - {offer.id for offer in offers})
    if unknown:
        raise _refused(f"a limit names the offer {unknown[0]!r}, which is not there", "Name offers that are given.")
    for limit in limits:
        _finite(f"limit {limit.id}", (limit.at_most, *(amount for _, amount in limit.uses)))


def _finite(what: str, values: tuple[float, ...]) -> None:
    if not all(math.isfinite(value) and value >= 0 for value in values):
        raise _refused(f"{what} has a negative number or one that is not finite", "Give zero or more.")


def _refused(what: str, next_step: str) -> SettingsError:
    return SettingsError(what, where="place.packing", next_step=next_step)
