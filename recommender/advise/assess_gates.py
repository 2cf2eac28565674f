"""The figures by which steps of a roll-out are judged: one function a figure, each beside its threshold and its basis.

Pure. A figure that is not known yet is not met: waiting is the answer to "we do not know".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

import dataframely as dy
import polars as pl

from exporters.core.money import pounds
from exporters.core.units import SECONDS_PER_HOUR
from recommender.advise.assess_record import ClusterNow, Gate, PendingElsewhere, PilotCandidate
from recommender.advise.plan import Plan
from recommender.frames import WORKLOAD_KEY, ClusterCost
from recommender.rollout_settings import RolloutSettings

Unit = Literal["ratio", "days", "count"]


@dataclass(frozen=True, slots=True)
class Track:
    """What the ledger knows of the past.

    Args:
        first_evaluated_at: the first evaluation that left a trace; None: there is none.
        decided: recommendations that somebody accepted, carried out or dismissed.
        taken: those that were accepted or carried out and not taken back.
        verified: moves whose saving was measured.
        realised_gbp: what they saved in the windows in which they were measured.
        predicted_gbp: what their proposals would make of the same hours.
        scheduler_moves: moves that a scheduler decided as advised.
    """

    first_evaluated_at: datetime | None = None
    decided: int = 0
    taken: int = 0
    verified: int = 0
    realised_gbp: Decimal = Decimal(0)
    predicted_gbp: Decimal = Decimal(0)
    scheduler_moves: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What the steps are judged by.

    Args:
        plan: the advice.
        clusters: the first part of the assessment.
        pilots: the second.
        track: the ledger's record.
        costs: every workload in every cluster now.
        costs_before: the same a day before; None: there were no prices or no usage.
        pending: pods that wait for another scheduler; None: it is not told.
    """

    plan: Plan
    clusters: Sequence[ClusterNow]
    pilots: Sequence[PilotCandidate]
    track: Track
    costs: dy.DataFrame[ClusterCost]
    costs_before: dy.DataFrame[ClusterCost] | None
    pending: Sequence[PendingElsewhere] | None


def steady_ratio(now: pl.DataFrame, before: pl.DataFrame, *, min_saving_ratio: float) -> float | None:
    """This will return the share of workloads whose cheapest allowed cluster of a day before is still good enough.

    Good enough: still allowed, and the cheapest one now saves no more than the threshold against it. This is what a
    score must hold: by ratios of cost no scheduler with that margin would have moved the workload.

    Args:
        now: ClusterCost.
        before: ClusterCost of a day before.
        min_saving_ratio: of the cost.

    Returns:
        None: no workload is in both.
    """
    key = [*WORKLOAD_KEY, "to_cluster"]
    rows = now.filter("allowed").group_by(key).agg(pl.col("gbp_per_hour").min())
    best_now = rows.group_by(WORKLOAD_KEY).agg(best=pl.col("gbp_per_hour").min())
    best_then = (
        before.filter("allowed")
        .sort(*WORKLOAD_KEY, "gbp_per_hour", "to_cluster")
        .group_by(WORKLOAD_KEY, maintain_order=True)
        .agg(pl.col("to_cluster").first())
    )
    both = best_then.join(best_now, on=WORKLOAD_KEY).join(rows, on=key, how="left")
    if both.is_empty():
        return None
    least = pl.col("gbp_per_hour") * (1 - min_saving_ratio)
    held = (pl.col("best") >= least - 1e-12).fill_null(value=False)
    return float(both.select(held.mean()).item())


def coverage(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how much of the window the least observed cluster was observed for."""
    least = min(found.clusters, key=lambda one: one.coverage_ratio, default=None)
    return _gate(
        "coverage",
        "Clusters observed",
        None if least is None else least.coverage_ratio,
        settings.min_coverage_ratio,
        basis="there is no cluster" if least is None else f"share of the window; the least is {least.cluster}",
    )


def priced(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge of how many workloads the cost is known."""
    priced, all_of_them = found.plan.summary.workloads_priced, found.plan.summary.workloads
    return _gate(
        "priced",
        "Workloads with a known cost",
        priced / all_of_them if all_of_them else None,
        settings.min_priced_ratio,
        basis=f"{priced} of {all_of_them}" if all_of_them else "no workload was seen",
    )


def live(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how many sources of prices are asked, exchange rates left out."""
    used = [one for one in found.plan.inputs.snapshots if one.source != "fx"]
    packaged = sorted(one.source for one in used if one.origin == "packaged")
    return _gate(
        "live-prices",
        "Price sources that are asked",
        (len(used) - len(packaged)) / len(used) if used else None,
        settings.min_live_prices_ratio,
        basis=f"packaged: {', '.join(packaged)}" if packaged else "none is packaged" if used else "there are none",
    )


def recorded(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how long evaluations have been written down."""
    first = found.track.first_evaluated_at
    days = None if first is None else (found.plan.generated_at - first).total_seconds() / (24 * SECONDS_PER_HOUR)
    return _gate(
        "recorded-days",
        "Days on record",
        days,
        settings.min_recorded_days,
        unit="days",
        basis="the ledger has no evaluation" if first is None else f"since {first:%-d %B %Y}",
    )


def steady(found: Found, settings: RolloutSettings, min_saving_ratio: float) -> Gate:
    """This will judge whether yesterday's choice of cluster would still do."""
    before = found.costs_before
    value = None if before is None else steady_ratio(found.costs, before, min_saving_ratio=min_saving_ratio)
    basis = f"workloads that yesterday's cheapest cluster would still serve within {min_saving_ratio:.0%}"
    return _gate(
        "steady-scores",
        "Steady scores",
        value,
        settings.min_steady_ratio,
        basis=basis if value is not None else "a day before there were not the same sources of prices, or no usage",
    )


def taken(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how much of what was decided was taken."""
    track = found.track
    return _gate(
        "taken",
        "Advice taken",
        track.taken / track.decided if track.decided else None,
        settings.min_taken_ratio,
        basis=f"{track.taken} accepted or carried out of {track.decided} decided"
        if track.decided
        else "nothing was decided yet",
    )


def suited(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge whether there are workloads to pilot with."""
    return _gate(
        "pilots",
        "Workloads that suit a pilot",
        float(len(found.pilots)),
        settings.min_pilots,
        unit="count",
        basis="non-critical, small state, tolerant, not regulated, known long enough",
    )


def verified(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how many moves were measured."""
    number = found.track.verified
    return _gate(
        "verified",
        "Moves that were measured",
        float(number),
        settings.min_verified,
        unit="count",
        basis="tuppence verify, 14 days after each move",
    )


def realised(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge what was really saved of what was predicted."""
    track = found.track
    known = track.verified and track.predicted_gbp > 0
    sums = f"{pounds(track.realised_gbp)} of {pounds(track.predicted_gbp)}"
    return _gate(
        "realised",
        "Realised of predicted saving",
        float(track.realised_gbp / track.predicted_gbp) if known else None,
        settings.min_realised_ratio,
        basis=sums if known else "no saving was measured yet",
    )


def by_scheduler(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge whether a scheduler does what is advised."""
    return _gate(
        "scheduler-moves",
        "Moves decided by a scheduler as advised",
        float(found.track.scheduler_moves),
        settings.min_scheduler_moves,
        unit="count",
        basis="tuppence feedback",
    )


def pending(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how many replicas wait for a node where most do."""
    told = [one for one in found.clusters if one.pending_ratio is not None]
    worst = max(told, key=lambda one: one.pending_ratio or 0.0, default=None)
    return _gate(
        "pending",
        "Replicas without a node",
        None if worst is None else worst.pending_ratio,
        settings.max_pending_ratio,
        bound="at-most",
        basis="nothing ran" if worst is None else f"of all replica-hours; the most in {worst.cluster}",
    )


def waiting_elsewhere(found: Found) -> Gate:
    """This will judge whether pods wait for a scheduler that is not the default one."""
    pending = found.pending
    if pending is None:
        basis = "the source of usage does not tell schedulers"
    else:
        basis = f"for {pending[0].minutes} minutes or longer" if pending else "none waits"
    return _gate(
        "other-scheduler",
        "Pods that wait for another scheduler",
        None if pending is None else float(sum(one.pods for one in pending)),
        0,
        bound="at-most",
        unit="count",
        basis=basis,
    )


def forecast(found: Found, settings: RolloutSettings) -> Gate:
    """This will judge how well the next hour is foretold."""
    told = [one.forecast.wape_ratio for one in found.clusters if one.forecast and one.forecast.wape_ratio is not None]
    median = pl.Series(told, dtype=pl.Float64).median()
    return _gate(
        "forecast",
        "Error of the next hour's forecast",
        median if isinstance(median, float) else None,
        settings.max_forecast_wape_ratio,
        bound="at-most",
        basis="Σ|error| ÷ Σ demand, the median over the clusters" if told else "nothing can be forecast yet",
    )


def _gate(
    identifier: str,
    name: str,
    value: float | None,
    threshold: float,
    *,
    basis: str,
    bound: Literal["at-least", "at-most"] = "at-least",
    unit: Unit = "ratio",
) -> Gate:
    met = value is not None and (value >= threshold if bound == "at-least" else value <= threshold)
    shown = None if value is None else round(value, 4)
    return Gate(
        id=identifier, name=name, value=shown, bound=bound, threshold=threshold, unit=unit, met=met, basis=basis
    )
