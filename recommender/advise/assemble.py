"""The decision becomes a plan: placements, recommendations, what was refused, what is not known, and the sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from exporters.core.money import GBP
from exporters.store.read import Prices
from exporters.store.snapshot import Manifest
from recommender.advise.build import DIGITS, Builder, id_of
from recommender.advise.commitments import commitments_planned
from recommender.advise.current_nodes import Current, seen_nodes, unpriced
from recommender.advise.decision import Decision, Question
from recommender.advise.evidence import FlowFinder, PriceFinder
from recommender.advise.first_fit import Packed
from recommender.advise.gaps import gaps
from recommender.advise.identity import frame_sha256, model_sha256
from recommender.advise.inversions import inversions
from recommender.advise.machines import Packer, Place, PoolMachines, on_named_types, pack_pools, pool_machines
from recommender.advise.node_mix import machines, node_mix, packed_as_current
from recommender.advise.owned import owned_pools, scarce_capacity
from recommender.advise.paid_nodes import current_less_paid, less_paid
from recommender.advise.plan import (
    Breach,
    DiscountUsed,
    Inputs,
    Placement,
    Plan,
    RateUsed,
    SnapshotUsed,
    UsageWindow,
    WorkloadRefusal,
)
from recommender.advise.rank import ranked
from recommender.advise.record import Recommendation
from recommender.advise.refusals import counts, refusals
from recommender.advise.simulate import simulated
from recommender.advise.totals import summary
from recommender.place.committed import nodes_are, pool_of
from recommender.place.constraints import BINDING
from recommender.place.effective import used_discounts
from recommender.place.rule import reasons


@dataclass(frozen=True, slots=True)
class _Broken:
    rule: str
    why: str
    legal_basis: str | None


def assemble(question: Question, decided: Decision) -> Plan:
    """This will write the plan; moves that do not find a node are taken out first."""
    pools = pool_machines(decided)
    packer = Packer(pools)
    decision = simulated(decided, packer)
    moving = decision.moving.filter("within_cap")
    told = refusals(decision.pairs, decision.moving, question.policy.steady, decision.withheld)
    broken = _broken(decision.workloads)
    advice = _recommendations(question, decision, moving, told, broken)
    placed = planned(decision.workloads, moving)
    scarce = scarce_capacity(decision.unguarded.prices, decision.limits)
    ids = {row["w"]: id_of(row) for row in moving.iter_rows(named=True)}
    now, then = pack_pools(decision.workloads, moving, packer)
    paid = {} if decision.covered is None else decision.covered.nodes
    current = current_less_paid(_current(question, decision, pools, now), paid)
    now, then = less_paid(now, pools, paid), less_paid(then, pools, paid)
    return Plan(
        generated_at=question.at,
        inputs=_inputs(question),
        summary=summary(decision, placed, moving, refused_offers=counts(decision.pairs)),
        node_mix=node_mix(placed, now, then, pools, current, paid=paid),
        machines=machines(now, then, current),
        owned_capacity=owned_pools(decision.workloads, placed, decision.fleet, scarce),
        scarce_capacity=scarce,
        commitments=commitments_planned(
            decision.covered,
            decision.workloads,
            moving,
            at=question.at,
            horizon_hours=question.policy.steady.payback_hours,
        ),
        placements=_placements(placed, ids),
        recommendations=advice,
        refused=tuple(one for rows in told.values() for one in rows),
        not_enough_data=gaps(question, decision.workloads, decision.fleet, nodes=unpriced(current)),
        breaches=_breaches(decision.workloads, broken, ids),
        price_warnings=inversions(question.prices, question.pools),
    )


def _current(
    question: Question, decision: Decision, pools: Mapping[Place, PoolMachines], now: Mapping[Place, Packed]
) -> Current:
    """Nodes that were seen; else those of the machine types that usage names; else those that packing needs."""
    seen = seen_nodes(question)
    if seen is not None:
        return seen
    if (question.workloads["instance_type"] == "").all():
        return packed_as_current("packed", now, pools)
    return packed_as_current("usage", on_named_types(decision.workloads, pools, now), pools)


def planned(workloads: pl.DataFrame, moving: pl.DataFrame) -> pl.DataFrame:
    """This will return every priced workload at the place the plan gives it, in the order of w.

    Returns:
        w, the workload's key and owner, `to_…`, gbp_per_hour, full_gbp_per_hour, current_gbp_per_hour, mean requests.
    """
    sure = workloads.filter(pl.col("reason").is_null() & ~pl.col("is_system"))
    staying = sure.join(moving, on="w", how="anti").with_columns(current_gbp_per_hour="gbp_per_hour")
    columns = [name for name in staying.columns if name in moving.columns]
    return pl.concat([staying.select(columns), moving.select(columns)], how="vertical_relaxed").sort("w")


def _recommendations(
    question: Question,
    decision: Decision,
    moving: pl.DataFrame,
    told: Mapping[int, tuple[WorkloadRefusal, ...]],
    broken: Mapping[int, _Broken],
) -> tuple[Recommendation, ...]:
    builder = Builder(
        question=question,
        prices=PriceFinder(question.prices, moving),
        flows=FlowFinder(question.prices, decision.lines, moving),
        broken={w: (one.why, one.legal_basis) for w, one in broken.items()},
    )
    return ranked(builder.build(row, told.get(row["w"], ())) for row in moving.iter_rows(named=True))


def _placements(placed: pl.DataFrame, ids: Mapping[int, str]) -> tuple[Placement, ...]:
    # One a workload, and all values are our own: they are not checked again.
    columns = ("w", "from_cluster", "namespace", "workload_kind", "workload", "to_cluster", "to_pool")
    more = ("to_instance_type", "to_capacity_type", "gbp_per_hour", "current_gbp_per_hour", "owner")
    return tuple(
        Placement.model_construct(
            cluster=cluster,
            namespace=namespace,
            workload_kind=kind,
            workload=workload,
            to_cluster=to_cluster,
            to_pool=pool_of(to_pool),
            instance_type=instance_type,
            capacity_type=nodes_are(to_pool, capacity_type),
            gbp_per_hour=round(gbp, DIGITS),
            current_gbp_per_hour=round(now, DIGITS),
            owner=owner or None,
            recommendation_id=ids.get(w),
        )
        for w, cluster, namespace, kind, workload, to_cluster, to_pool, instance_type, capacity_type, gbp, now, owner
        in placed.select(*columns, *more).iter_rows()
    )  # fmt: skip


def _broken(workloads: pl.DataFrame) -> dict[int, _Broken]:
    """The first binding rule that each workload runs against; of a cluster outside the fleet nothing is said."""
    unsaid = pl.col("reason").is_in(["unknown-cluster", "unknown-residency-class"]).fill_null(value=False)
    rows = workloads.filter((pl.col("breaks").list.len() > 0) & ~pl.col("is_system") & ~unsaid)
    with_legal_basis = {rule.id for rule in BINDING if rule.has_legal_basis}
    told = reasons(rows.with_columns(rule=pl.col("breaks").list.first()), BINDING, rule="rule")
    return {
        row["w"]: _Broken(
            rule=row["rule"],
            why=row["why"],
            legal_basis=(row["legal_basis"] or None) if row["rule"] in with_legal_basis else None,
        )
        for row in told.iter_rows(named=True)
    }


def _breaches(workloads: pl.DataFrame, broken: Mapping[int, _Broken], ids: Mapping[int, str]) -> tuple[Breach, ...]:
    named = workloads.select("w", "from_cluster", "namespace", "workload_kind", "workload")
    return tuple(
        Breach(
            cluster=cluster,
            namespace=namespace,
            workload_kind=kind,
            workload=workload,
            rule=broken[w].rule,
            why=broken[w].why,
            legal_basis=broken[w].legal_basis,
            recommendation_id=ids.get(w),
        )
        for w, cluster, namespace, kind, workload in named.filter(pl.col("w").is_in(list(broken))).iter_rows()
    )


def _inputs(question: Question) -> Inputs:
    start, end = question.usage_window
    return Inputs(
        price_basis=question.prices.basis,
        discounts=_discounts(question),
        snapshots=_snapshots(question.prices.used),
        stale_snapshots=_snapshots(question.prices.stale),
        exchange_rates=_rates(question.prices),
        usage_window=UsageWindow(start=start, end=end, hours=round(question.window_hours, 6)),
        usage_sha256=frame_sha256(question.workloads),
        fleet_sha256=frame_sha256(question.pools),
        policy_sha256=model_sha256(question.policy),
    )


def _discounts(question: Question) -> tuple[DiscountUsed, ...]:
    """Of machines of the fleet."""
    return tuple(
        DiscountUsed(
            region=one["region"] or None,
            instance_family=one["instance_family"] or None,
            **{name: one[name] for name in _OF_DISCOUNT},
        )
        for one in used_discounts(question.prices, question.pools).iter_rows(named=True)
    )


_OF_DISCOUNT = ("provider", "capacity_type", "discount_ratio", "list_gbp", "paid_gbp", "days", "last_day")


def _rates(prices: Prices) -> tuple[RateUsed, ...]:
    """The rate of each foreign currency that a price is in, as the prices carry it."""
    columns = ("currency", "gbp_per_unit", "fx_date", "fx_source")
    found = pl.concat([prices.offers.select(columns), prices.egress.select(columns)]).unique().sort(columns)
    foreign = found.filter(pl.col("currency") != GBP)
    return tuple(
        RateUsed(currency=currency, gbp_per_unit=rate, rate_date=day, fx_source=source)
        for currency, rate, day, source in foreign.iter_rows()
    )


def _snapshots(manifests: tuple[Manifest, ...]) -> tuple[SnapshotUsed, ...]:
    return tuple(
        SnapshotUsed(
            id=one.id,
            source=one.source,
            taken_at=one.taken_at,
            origin=one.origin.value,
            max_age_hours=one.max_age_hours,
        )
        for one in sorted(manifests, key=lambda manifest: manifest.id)
    )
