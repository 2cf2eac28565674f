"""How far advice about owned capacity can be trusted, and what demand and capacity it rests on."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from recommender.advise.capacity_question import DIGITS, CapacityQuestion, Row
from recommender.advise.capacity_record import CapacityTarget, Shortage
from recommender.advise.expected import trust
from recommender.advise.record import Confidence, PriceEvidence, Risk
from recommender.forecast.frames import SERIES_KEY

_HELD = 0.8
"""Share of past bounds that must have held; nine in ten are meant to."""
_MONTH_DAYS = 28.0
_STALE = timedelta(hours=1)
_ORDER = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
Doubt = tuple[Confidence, str]


def risk(
    question: CapacityQuestion,
    target: CapacityTarget,
    prices: tuple[PriceEvidence, ...],
    doubts: list[Doubt],
    *,
    interruptions_per_month: float = 0.0,
) -> Risk:
    """This will say how sure advice is: as sure as the weakest of prices, history and its own doubts."""
    days, coverage = question.observed(target)
    base = trust(prices, days=days, coverage=coverage, on_spot=any(one.capacity_type == "spot" for one in prices))
    found = [*doubts, *((base.confidence, text) for text in base.why if base.confidence is not Confidence.HIGH)]
    worst = max((level for level, _ in found), key=_ORDER.index, default=Confidence.HIGH)
    why = tuple(dict.fromkeys(text for level, text in found if level == worst))
    return Risk(
        interruptions_per_month=round(interruptions_per_month, DIGITS),
        confidence=worst,
        confidence_why=why or (f"{days:.1f} days observed, live prices",),
    )


def forecast_doubts(question: CapacityQuestion, target: CapacityTarget) -> list[Doubt]:
    """This will say what speaks against the forecast of a class, and whether it is of the next hour at all."""
    doubts = []
    if question.at - question.bursts.at > _STALE:
        doubts.append((Confidence.LOW, f"usage is known until {question.bursts.at:%Y-%m-%d %H:%M} UTC only"))
    row = _of(question.forecasts.forecasts, target)
    if row is None:
        reason = _of(question.forecasts.not_forecast, target)
        why = "it has no history" if reason is None else reason["why"]
        doubts.append((Confidence.LOW, f"there is no forecast ({why}), so demand alone decided"))
    elif row["coverage_p90_ratio"] is not None and row["coverage_p90_ratio"] < _HELD:
        held = f"its P90 held in {row['coverage_p90_ratio']:.0%} of past hours, nine in ten are meant to"
        doubts.append((Confidence.MEDIUM, held))
    return doubts


def month_doubts(question: CapacityQuestion, target: CapacityTarget) -> list[Doubt]:
    """This will say whether less than four weeks were seen, which buying for a year rests on."""
    days, _ = question.observed(target)
    few = f"{days:.1f} days were observed, four weeks show a month"
    return [(Confidence.MEDIUM, few)] if days < _MONTH_DAYS else []


def shortage(question: CapacityQuestion, target: CapacityTarget) -> Shortage | None:
    """This will return demand, forecast and capacity of a class; None: nothing was seen of it."""
    row = _of(question.bursts.triggers, target)
    if row is None:
        return None
    foretold = _of(question.forecasts.forecasts, target)
    return Shortage(
        demand=round(row["demand"], DIGITS),
        p50=None if foretold is None else round(foretold["p50"], DIGITS),
        p90=None if row["p90"] is None else round(row["p90"], DIGITS),
        capacity=round(row["admissible"], DIGITS),
        short=round(row["short"], DIGITS),
        exceeded=row["exceeded"],
        evaluations=row["evaluations"],
        short_at=row["short_at"],
    )


def trigger_of(question: CapacityQuestion, target: CapacityTarget) -> Row | None:
    """This will return the trigger of a class; None: nothing was seen of it."""
    return _of(question.bursts.triggers, target)


def _of(rows: pl.DataFrame, target: CapacityTarget) -> Row | None:
    key = {name: getattr(target, name) for name in SERIES_KEY}
    found = rows.filter(**key)
    return found.row(0, named=True) if found.height else None
