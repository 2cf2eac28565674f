"""One chosen pair becomes one recommendation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from sys import intern
from typing import Any, Literal

from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.compact import compact
from recommender.advise.decision import Question
from recommender.advise.evidence import FlowFinder, PriceFinder
from recommender.advise.expected import observed_days, saving_range, trust
from recommender.advise.explain import explanation, title
from recommender.advise.identity import advice_id, etag
from recommender.advise.other_basis import at_other_basis
from recommender.advise.record import (
    Guards,
    Kind,
    Monthly,
    OneOff,
    PricedPlace,
    Recommendation,
    Refusal,
    Risk,
    Target,
    UsageEvidence,
)
from recommender.guard.steady import MIN_BALANCE_RATIO
from recommender.place.committed import nodes_are, pool_of
from recommender.place.cost import TERMS

DIGITS = 9
"""Decimal places of rates in the plan: a billionth of a pound an hour."""

_PLACE = ("cluster", "provider", "region", "instance_type", "architecture")
_SHARED_BY_TARGETS = ("namespace", "workload_kind", "criticality", "interruption_tolerance")
_REQUESTS = ("vcpu_request_mean", "memory_gib_request_mean", "gpu_request_mean")


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds recommendations of one plan.

    Args:
        question: the inputs.
        prices: finds offers again.
        flows: finds priced flows again.
        broken: the reason and the legal basis of the rule that a workload runs against, by its number.
    """

    question: Question
    prices: PriceFinder
    flows: FlowFinder
    broken: Mapping[int, tuple[str, str | None]]

    def build(self, row: Mapping[str, Any], refused: tuple[Refusal, ...]) -> Recommendation:
        """This will turn a chosen pair, with what was refused to the workload, into a recommendation (rank 1)."""
        kind = kind_of(row)
        target = _target(row)
        current, recommended = _side(row, "from", "current_"), _side(row, "to", "")
        one_off = _one_off(row, self.question.policy.weights.restart_minutes)
        prices, flows = self.prices.of(row), self.flows.of(row)
        hours = self.question.window_hours
        days, coverage = observed_days(row, window_hours=hours), row["coverage_ratio"]
        sure = trust(
            prices, days=days, coverage=coverage, on_spot="spot" in {row["to_capacity_type"], row["from_capacity_type"]}
        )
        owed_to, legal_basis = self.broken.get(row["w"], (None, None))
        own_refusals = tuple(Refusal(**one.model_dump(exclude={"workload"})) for one in refused)
        saves = kind is not Kind.COMPLIANCE
        made = Recommendation(
            id=id_of(row),
            etag=etag(current, recommended, one_off, prices, flows, sorted((name, row[name]) for name in _REQUESTS)),
            kind=kind,
            rank=1,
            title=title(kind, target, recommended),
            target=target,
            current=current,
            recommended=recommended,
            monthly=_monthly(row, days=days) if saves else None,
            cost_delta_gbp_per_hour=None if saves else round(-row["saving_gbp_per_hour"], DIGITS) + 0.0,
            legal_basis=legal_basis,
            one_off=one_off,
            prices=prices,
            egress=flows,
            evidence=self._usage(row, days),
            risk=Risk(
                interruptions_per_month=round(row["interruptions_per_hour"] * HOURS_PER_MONTH, DIGITS),
                confidence=sure.confidence,
                confidence_why=sure.why,
            ),
            effort=_effort(kind, row),
            restart_needed=True,
            # A pool that is full without the mover may not take it back; a bought one can be bought again.
            rollback_possible=row["from_capacity_type"] != "owned" and owed_to is None,
            xor_group="/".join((target.cluster, target.namespace, target.workload_kind, target.workload)),
            guards=self._guards(row) if saves else None,
            refused=own_refusals,
            explanation=(
                *explanation(
                    current, recommended, one_off, own_refusals, owed_to=owed_to, wants_latency=row["goal"] == "latency"
                ),
                *_paid_for(row),
                *at_other_basis(current, recommended, prices, basis=self.question.prices.basis),
            ),
            proposed_at=self.question.at,
            expires_at=self.question.at + timedelta(hours=self.question.expires_after_hours),
        )
        return compact(made)

    def _usage(self, row: Mapping[str, Any], days: float) -> UsageEvidence:
        start, end = self.question.usage_window
        return UsageEvidence(
            window_start=start,
            window_end=end,
            days=round(days, 3),
            coverage_ratio=round(row["coverage_ratio"], DIGITS),
            samples=row["samples"],
            running_ratio=round(row["running_ratio"], DIGITS),
            **{name: round(row[name], DIGITS) for name in _REQUESTS},
        )

    def _guards(self, row: Mapping[str, Any]) -> Guards:
        steady = self.question.policy.steady
        return Guards(
            saving_gbp_per_month=round(row["saving_gbp_per_hour"] * HOURS_PER_MONTH, 6),
            min_saving_gbp_per_month=steady.min_saving_gbp_per_month,
            saving_ratio=round(row["saving_ratio"], DIGITS),
            min_saving_ratio=steady.min_saving_ratio,
            payback_hours=round(row["payback_hours"], 6),
            max_payback_hours=steady.payback_hours,
            balance_ratio=round(row["balance_ratio"], DIGITS),
            min_balance_ratio=MIN_BALANCE_RATIO,
        )


def _paid_for(row: Mapping[str, Any]) -> tuple[str, ...]:
    """That nodes cost nothing because they are bought ahead."""
    if pool_of(row["to_pool"]) == row["to_pool"]:
        return ()
    return (f"Nodes there are bought ahead ({row['to_capacity_type']}): they cost no more until they are used up.",)


def kind_of(row: Mapping[str, Any]) -> Kind:
    """This will name the kind of a chosen pair."""
    if row["must_move"]:
        return Kind.COMPLIANCE
    same_cluster = row["from_cluster"] == row["to_cluster"]
    if same_cluster and row["from_capacity_type"] != nodes_are(row["to_pool"], row["to_capacity_type"]):
        return Kind.PURCHASE_OPTION
    return Kind.PLACEMENT


def id_of(row: Mapping[str, Any]) -> str:
    """This will return the id of the advice that a chosen pair becomes."""
    workload = (row["from_cluster"], row["namespace"], row["workload_kind"], row["workload"])
    return advice_id(kind_of(row), workload=workload, cluster=row["to_cluster"], pool=pool_of(row["to_pool"]))


def _target(row: Mapping[str, Any]) -> Target:
    return Target(
        cluster=intern(row["from_cluster"]),
        owner=_known(row["owner"]),
        residency_class=_known(row["residency_class"]),
        workload=row["workload"],
        gang_size=row["gang_size"],
        **{name: intern(row[name]) for name in _SHARED_BY_TARGETS},
    )


def _known(name: str | None) -> str | None:
    """A name that many records share, held once; None: it is empty."""
    return intern(name) if name else None


def _side(row: Mapping[str, Any], place: str, cost: str) -> PricedPlace:
    return PricedPlace(
        jurisdiction=_known(row[f"{place}_jurisdiction"]),
        latency_ms=row[f"{cost}latency_ms"],
        pool=intern(pool_of(row[f"{place}_pool"])),
        capacity_type=intern(nodes_are(row[f"{place}_pool"], row[f"{place}_capacity_type"])),
        **{name: intern(row[f"{place}_{name}"]) for name in _PLACE},
        **{term: round(row[f"{cost}{term}"], DIGITS) for term in (*TERMS, "gbp_per_hour", "full_gbp_per_hour")},
    )


def _monthly(row: Mapping[str, Any], *, days: float) -> Monthly:
    parts = {
        term.replace("_per_hour", ""): pence((row[f"current_{term}"] - row[term]) * HOURS_PER_MONTH) for term in TERMS
    }
    saving = saving_range(
        row["saving_gbp_per_hour"], row["current_gbp_per_hour"], days=days, coverage=row["coverage_ratio"]
    )
    return Monthly(saving=saving, hours_per_month=HOURS_PER_MONTH, **parts)


def _one_off(row: Mapping[str, Any], restart_minutes: float) -> OneOff:
    payback = row["payback_hours"]
    return OneOff(
        state_gib=row["state_gib"],
        egress_gbp=round(row["state_gbp"], DIGITS),
        restart_minutes=restart_minutes,
        restart_gbp=round(row["restart_gbp"], DIGITS),
        total_gbp=round(row["one_off_gbp"], DIGITS),
        payback_hours=None if payback is None else round(payback, 6),
    )


def _effort(kind: Kind, row: Mapping[str, Any]) -> Literal["low", "medium", "high"]:
    """Low: a node selector in the same cluster; high: state to carry to another cluster; medium: the rest."""
    if row["from_cluster"] == row["to_cluster"]:
        return "low" if kind is Kind.PURCHASE_OPTION or row["state_gib"] == 0 else "medium"
    return "high" if row["state_gib"] > 0 or row["workload_kind"] == "StatefulSet" else "medium"
