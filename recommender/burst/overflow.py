"""What leaves a full cluster, and onto which nodes: the cheapest nodes for what the owned ones do not hold.

The owned nodes are paid for, so they cost nothing here and are limited; every unit may stay, and may leave for the
places that the rules let it have. The packing solver then chooses what leaves, because that is most of the money: first
come, first served sends away whatever came last. What leaving costs beside nodes (egress, interruption, the move)
weighs against it, and keeps at home what has much data. Critical units leave only if there is no other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from recommender.burst.admissible import Shape
from recommender.burst.legal import Places
from recommender.burst.namespaces import closed_namespaces
from recommender.burst.node_price import PLACE, Row, place_id, price_of
from recommender.burst.units import Key, Unit
from recommender.frames import WORKLOAD_KEY
from recommender.place.packing.problem import Effort, Limit, NodeOffer, Packing, Pod
from recommender.place.packing.solve import pack
from recommender.settings import BurstSettings, Policy

_TERMS = ("egress_gbp_per_hour", "interruption_gbp_per_hour", "lost_work_gbp_per_hour", "latency_gbp_per_hour")
_HOME = "home"
_DEFAULT_EFFORT = Effort()


@dataclass(frozen=True, slots=True)
class Surcharge:
    """What one replica costs at a place beside its node.

    Args:
        running_gbp_per_hour: egress, expected interruption, lost work, distance.
        once_gbp: state that moves, the restart, and the interruption that leaving is.
    """

    running_gbp_per_hour: float
    once_gbp: float

    def gbp_per_hour(self, expected_hours: float) -> float:
        """This will spread what it costs once over the hours that a burst is expected to last."""
        return self.running_gbp_per_hour + self.once_gbp / expected_hours


Beside = dict[str, Surcharge]
"""By place."""
Surcharges = dict[Key, Beside]


@dataclass(frozen=True, slots=True)
class Question:
    """One cluster's overflow.

    Args:
        cluster: that is short.
        mix: what runs and waits in it.
        growth: units expected within the hour; they stay, so that others make room for them.
        shapes: the owned nodes.
        places: where workloads may go.
        policy: what an interruption is worth.
        settings: over how many hours a move is spread.
        effort: how far the packing searches.
    """

    cluster: str
    mix: Sequence[Unit]
    growth: Sequence[Unit]
    shapes: Sequence[Shape]
    places: Places
    policy: Policy
    settings: BurstSettings
    effort: Effort = _DEFAULT_EFFORT


@dataclass(frozen=True, slots=True)
class Leaving:
    """The choice.

    Args:
        packing: the solver's answer: nodes at home and away.
        units: unit by pod id.
        away: row of the fleet by offer id.
        surcharges: beside nodes, of one replica, by unit id and place.
        left_out: units that were not even asked for, so that no critical one waits.
    """

    packing: Packing
    units: dict[str, Unit]
    away: dict[str, Row]
    surcharges: dict[str, Beside]
    left_out: tuple[Unit, ...]

    @property
    def gbp_per_hour(self) -> float:
        """This will return what the burst costs, nodes and surcharges."""
        return self.packing.cost_gbp_per_hour

    def waiting(self) -> dict[str, str]:
        """This will return the reason of each unit that has no place, by unit id."""
        found = {self.units[pod].id: reason.value for pod, reason in self.packing.unplaced}
        return found | {one.id: "limits-used-up" for one in self.left_out}


def choose_overflow(question: Question) -> Leaving:
    """This will choose what leaves.

    Room for what is expected is made as long as everything that is there keeps a place. Critical units are kept at
    home first; if then one of them has no place they may leave too. If there is still no place for one of them or for
    what runs, units that wait, are not critical and may not leave stand back.
    """
    if question.growth:
        roomy = _chosen(question)
        if all(roomy.units[pod] in question.growth for pod, _ in roomy.packing.unplaced) and not roomy.left_out:
            return roomy
    return _chosen(replace(question, growth=()))


def _chosen(question: Question) -> Leaving:
    away = _away(question)
    extra = _surcharges(question)
    found = _packed(question, away, extra, pinned=True, without=())
    if any(found.units[pod].is_critical for pod, _ in found.packing.unplaced):
        found = _packed(question, away, extra, pinned=False, without=())
    if any(found.units[pod].is_critical or not found.units[pod].is_waiting for pod, _ in found.packing.unplaced):
        back = tuple(
            one for one in question.mix if one.is_waiting and not one.is_critical and not _places_of(one, extra)
        )
        found = _packed(question, away, extra, pinned=False, without=back)
    return found


def pod_ids(unit: Unit) -> list[str]:
    """This will return a word for each replica of a unit."""
    return [f"{unit.id}#{number:04d}" for number in range(unit.replicas)]


def _away(question: Question) -> dict[str, Row]:
    """The places outside the cluster that have a price; one without is unknown, not free."""
    limited = set(question.places.free_nodes.select("to_cluster", "to_pool").iter_rows())
    found: dict[str, Row] = {}
    for row in question.places.fleet.iter_rows(named=True):
        if row["to_cluster"] == question.cluster or row["to_vcpus"] is None:
            continue
        price = price_of(row)
        if price is not None and (price > 0 or (row["to_cluster"], row["to_pool"]) in limited):
            found[place_id(row)] = row
    return found


def _packed(
    question: Question, away: dict[str, Row], extra: Surcharges, *, pinned: bool, without: tuple[Unit, ...]
) -> Leaving:
    mix = [one for one in question.mix if one not in without]
    known = set(away)
    closed = closed_namespaces(mix, question.places.shared)
    leaves_for = {}
    for one in mix:
        open_to = {key for key in known if (one.id, away[key]["to_cluster"]) not in closed}
        leaves_for[one.id] = _leaves_for(one, question, extra, open_to, pinned=pinned)
    hours = question.settings.expected_hours
    pods = [pod for one in mix for pod in _pods(one, leaves_for[one.id], hours)]
    pods += [pod for one in question.growth for pod in _pods(one, {}, hours)]
    home = _home_offers(question)
    offers = (*home, *(_offer(key, row) for key, row in away.items()))
    limits = (*_home_limits(home, question.shapes), *_limits(away, question.places))
    packing = pack(tuple(pods), offers, limits, question.effort)
    units = {pod: one for one in (*mix, *question.growth) for pod in pod_ids(one)}
    return Leaving(packing, units, away, leaves_for, without)


def _leaves_for(unit: Unit, question: Question, extra: Surcharges, known: set[str], *, pinned: bool) -> Beside:
    """The places a unit may leave for, with the surcharge there."""
    if pinned and unit.is_critical:
        return {}
    penalty = _penalty(unit, question)
    return {
        place: replace(one, once_gbp=one.once_gbp + penalty)
        for place, one in _places_of(unit, extra).items()
        if place in known
    }


def _places_of(unit: Unit, extra: Surcharges) -> Beside:
    return extra.get(unit.workload, {})


def _penalty(unit: Unit, question: Question) -> float:
    """Pounds for one replica: a unit that runs and does not tolerate interruption is interrupted by leaving."""
    if unit.is_waiting or unit.is_tolerant:
        return 0.0
    return question.policy.weights.interruption_gbp / unit.replicas


def _pods(unit: Unit, leaves_for: Beside, expected_hours: float) -> list[Pod]:
    home = f"{_HOME}/{unit.architecture}"
    dearer = ((place, one.gbp_per_hour(expected_hours)) for place, one in leaves_for.items())
    surcharges = tuple(sorted((place, gbp) for place, gbp in dearer if gbp > 0))
    return [
        Pod(
            id=pod,
            vcpus=unit.vcpus,
            memory_gib=unit.memory_gib,
            gpus=unit.gpus,
            gpu_models=unit.gpu_models,
            allowed=frozenset((home, *leaves_for)),
            gang=unit.id if unit.replicas > 1 else "",
            surcharges=surcharges,
        )
        for pod in pod_ids(unit)
    ]


def _home_offers(question: Question) -> tuple[NodeOffer, ...]:
    return tuple(
        NodeOffer(
            id=f"{_HOME}/{shape.pool}",
            cluster=question.cluster,
            offer_class=f"{_HOME}/{shape.architecture}",
            vcpus=shape.vcpus,
            memory_gib=shape.memory_gib,
            gpus=shape.gpus,
            gpu_model=shape.gpu_model,
            gbp_per_hour=0.0,
        )
        for shape in question.shapes
    )


def _home_limits(home: Sequence[NodeOffer], shapes: Sequence[Shape]) -> tuple[Limit, ...]:
    return tuple(
        Limit(offer.id, ((offer.id, 1.0),), float(shape.nodes)) for offer, shape in zip(home, shapes, strict=True)
    )


def _offer(key: str, row: Row) -> NodeOffer:
    price = price_of(row)
    assert price is not None
    return NodeOffer(
        id=key,
        cluster=row["to_cluster"],
        offer_class=key,
        vcpus=row["to_allocatable_vcpus"],
        memory_gib=row["to_allocatable_memory_gib"],
        gpus=row["to_gpus"],
        gpu_model=row["to_gpu_model"] or "",
        gbp_per_hour=price,
    )


def _limits(away: dict[str, Row], places: Places) -> list[Limit]:
    """Whole free nodes of pools, and what is left of quotas."""
    found = []
    for cluster, pool, free in places.free_nodes.select("to_cluster", "to_pool", "free_nodes").iter_rows():
        uses = tuple((key, 1.0) for key, row in away.items() if (row["to_cluster"], row["to_pool"]) == (cluster, pool))
        if uses:
            found.append(Limit(f"pool {cluster}/{pool}", uses, float(free)))
    for quota in places.quotas.iter_rows(named=True):
        own = {key: row for key, row in away.items() if row["to_cluster"] == quota["to_cluster"]}
        for name, column in (("vcpus", "to_vcpus"), ("gpus", "to_gpus"), ("nodes", "")):
            left = quota[f"quota_{name}"]
            if left is not None and own:
                uses = tuple((key, float(row[column]) if column else 1.0) for key, row in own.items())
                found.append(Limit(f"quota {quota['to_cluster']} {name}", uses, float(left)))
    return found + _region_limits(away, places)


def _region_limits(away: dict[str, Row], places: Places) -> list[Limit]:
    """What is left of quotas over all clusters of a region, in machines' vCPUs and GPUs."""
    found = []
    for quota in places.shared.regions.iter_rows(named=True):
        site = (quota["to_provider"], quota["to_region"])
        own = {key: row for key, row in away.items() if (row["to_provider"], row["to_region"]) == site}
        for name in ("vcpus", "gpus"):
            left = quota[f"region_{name}"]
            if left is not None and own:
                uses = tuple((key, float(row[f"to_{name}"])) for key, row in own.items())
                found.append(Limit(f"quota {'/'.join(site)} {name}", uses, float(left)))
    return found


def _surcharges(question: Question) -> Surcharges:
    """What one replica of each workload costs beside nodes at each place the rules let it have.

    Costs are the workload's, divided by its replicas now.
    """
    replicas: dict[Key, int] = {}
    for one in question.mix:
        replicas[one.workload] = replicas.get(one.workload, 0) + one.replicas
    open_pairs = question.places.pairs.filter(
        pl.col("refused").list.len() == 0, pl.col("from_cluster") == question.cluster
    )
    columns = ["from_cluster", *WORKLOAD_KEY[1:], *PLACE, *_TERMS, "one_off_gbp"]
    found: Surcharges = {}
    for row in open_pairs.select(columns).iter_rows(named=True):
        key: Key = (row["from_cluster"], *(row[name] for name in WORKLOAD_KEY[1:]))
        terms = [row[name] for name in (*_TERMS, "one_off_gbp")]
        if key not in replicas or any(term is None for term in terms):
            continue
        found.setdefault(key, {})[place_id(row)] = Surcharge(sum(terms[:-1]) / replicas[key], terms[-1] / replicas[key])
    return found
