"""What the ledger knows of the week, in words: what happened to advice, and what moves really saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

import polars as pl

from exporters.core.money import pounds
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.ledger.measurement import Realised, Savings
from recommender.report import words
from recommender.report.capacity_lines import hourly
from recommender.report.charts.drawing import Chart
from recommender.report.charts.frames import SavingPoint
from recommender.report.charts.savings import savings_chart
from recommender.report.view_week import EventCount, EventLine, EventsSection, RealisedMove, RealisedSection
from recommender.week.events import Happened, WeekEvent
from recommender.week.facts import Advised, Past
from recommender.week.quarter import measured_in

MOST_A_KIND = 10
"""Lines of one kind of event on a page; decisions of people come first."""


def events_section(past: Past) -> EventsSection:
    """This will tell what happened to advice: all of it counted, of each kind the ten greatest or newest shown."""
    counts = Counter(one.what for one in past.events)
    shown = [line for what in Happened for line in _shown(past, what)]
    left = len(past.events) - len(shown)
    return EventsSection(
        period=f"{words.moment(past.since)} to {words.moment(past.until)}",
        counts=tuple(EventCount(what.value, words.number_text(counts[what])) for what in Happened if counts[what]),
        lines=tuple(_line(one, past.advice[one.recommendation_id]) for one in shown),
        left=f"{words.number_text(left)} more: tuppence list shows all." if left else "",
    )


def _shown(past: Past, what: Happened) -> list[WeekEvent]:
    known = [one for one in past.events if one.what is what and one.recommendation_id in past.advice]
    ranked = sorted(known, key=lambda one: (-_saving(past.advice, one), one.at, one.recommendation_id))
    return ranked[:MOST_A_KIND]


def _saving(advice: Mapping[str, Advised], one: WeekEvent) -> Decimal:
    record = advice[one.recommendation_id]
    if isinstance(record, CapacityRecommendation) or record.monthly is None:
        return Decimal(0)
    return record.monthly.saving.p50


def _line(one: WeekEvent, advice: Advised) -> EventLine:
    until = "" if one.until is None else f" until {words.day(one.until)}"
    return EventLine(
        id=one.recommendation_id,
        what=f"{one.what.value}{until}",
        title=words.shown(advice.title),
        owner=words.shown(owner_of(advice) or words.NOBODY),
        money=money_of(advice),
        when=words.moment(one.at),
        by=words.shown(one.author),
        reason=words.shown(one.reason),
    )


def owner_of(advice: Advised) -> str:
    """This will return whose a piece of advice is; empty: nobody's, or several owners'."""
    if isinstance(advice, CapacityRecommendation):
        owners = {one.owner for one in advice.moves}
        return (owners.pop() or "") if len(owners) == 1 else ""
    return advice.target.owner or ""


def money_of(advice: Advised) -> str:
    """This will say what a piece of advice saves or changes."""
    if isinstance(advice, CapacityRecommendation):
        return hourly(advice)
    if advice.monthly is not None:
        return f"saves {pounds(advice.monthly.saving.p50)} a month"
    return f"{words.change(words.month_of(advice.cost_delta_gbp_per_hour or 0.0))} a month"


def realised_section(past: Past) -> RealisedSection:
    """This will add up what the moves measured in the quarter saved in their measured days, and no more."""
    rows = measured_in(past.measured, past.quarter)
    savings = Savings.of(rows)
    month = sum((one.saving.p50 for one in rows if one.saving is not None), Decimal(0))
    if rows:
        moves = words.count(len(rows), "move")
        sentence = (
            f"{moves} measured in {past.quarter.title}: {pounds(savings.realised_gbp)} in the measured days, where "
            f"{pounds(savings.predicted_gbp)} was predicted; {pounds(month)} a month at today's usage."
        )
    else:
        sentence = f"No move was measured in {past.quarter.title}."
    return RealisedSection(
        quarter=past.quarter.title,
        total=pounds(savings.realised_gbp),
        sentence=sentence,
        moves=tuple(_move(one) for one in reversed(rows)),
    )


def _move(one: Realised) -> RealisedMove:
    saving = one.saving
    return RealisedMove(
        title=words.shown(one.title),
        owner=words.shown(one.owner or words.NOBODY),
        predicted="" if one.predicted_gbp_per_month is None else pounds(one.predicted_gbp_per_month),
        saved="" if saving is None else pounds(saving.p50),
        range="" if saving is None else f"{pounds(saving.p10)} to {pounds(saving.p90)}",
        in_its_days="" if one.realised_gbp is None else pounds(one.realised_gbp),
        why=words.shown(one.why),
    )


def saved_chart(past: Past) -> Chart | None:
    """This will draw predicted against realised savings of every measured move; None: there is none."""
    return savings_chart(
        SavingPoint.cast(pl.DataFrame(_points(past.measured), schema=SavingPoint.create_empty().schema))
    )


def _points(rows: Iterable[Realised]) -> list[dict[str, object]]:
    newest = {one.recommendation_id: one for one in rows if one.saving is not None}
    return [
        {
            "title": words.shown(one.title),
            "recommendation_id": one.recommendation_id,
            "predicted_gbp_per_month": float(one.predicted_gbp_per_month or 0),
            "realised_gbp_per_month": float(one.saving.p50),
            "low_gbp_per_month": float(one.saving.p10),
            "high_gbp_per_month": float(one.saving.p90),
        }
        for one in newest.values()
        if one.saving is not None
    ]
