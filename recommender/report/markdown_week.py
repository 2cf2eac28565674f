"""What a week adds to the Markdown report; charts stand as their text and their figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recommender.report.charts.drawing import Chart
from recommender.report.markdown_words import left, table, text
from recommender.report.view import MOST_ROWS, Report


def spend(report: Report) -> Iterable[Sequence[str]]:
    """This will say why the week cost what it did."""
    section = report.spend
    if section is None:
        return
    yield ["## Why the week cost what it did", "", text(section.sentence), ""]
    for one in report.charts_of("spend"):
        yield _figures(one)
    yield [line for note in section.notes for line in (f"- {text(note)}",)] + [""] * bool(section.notes)
    if section.reasons:
        yield table(
            ("What changed most", "Owner", "Week on week", "Because"),
            [(one.workload, one.owner, one.change, one.because) for one in section.reasons],
            right=(2,),
        )


def ledger(report: Report) -> Iterable[Sequence[str]]:
    """This will say what was saved and what happened to advice."""
    if report.realised is not None:
        yield ["## What was really saved", "", text(report.realised.sentence), ""]
        if report.realised.moves:
            yield table(
                ("Move", "Owner", "Predicted a month", "Saved a month", "Range", "In its days", "Measured by"),
                [
                    (one.title, one.owner, one.predicted, one.saved, one.range, one.in_its_days, one.why)
                    for one in report.realised.moves[:MOST_ROWS]
                ],
                right=(2, 3, 4, 5),
            )
            yield left(len(report.realised.moves) - MOST_ROWS)
    if report.events is None:
        return
    yield ["## What happened to the advice", "", f"{text(report.events.period)}.", ""]
    if not report.events.counts:
        yield ["Nothing was proposed or decided.", ""]
        return
    yield [f"{', '.join(f'{one.count} {one.what}' for one in report.events.counts)}.", ""]
    yield table(
        ("Advice", "Id", "Owner", "What", "Money", "By", "When", "Why"),
        [
            (one.title, one.id, one.owner, one.what, one.money, one.by, one.when, one.reason)
            for one in report.events.lines
        ],
        right=(4,),
    )
    yield [report.events.left, ""] if report.events.left else []


def demand(report: Report) -> Iterable[Sequence[str]]:
    """This will say how demand and the owned nodes met, and how good the forecasts were."""
    section = report.demand
    if section is None:
        return
    yield ["## Demand, bursts and forecasts", "", text(section.sentence), ""]
    yield [line for one in report.charts_of("demand") for line in (f"- {text(one.text)}",)] + [""]
    if section.bursts:
        yield ["### Days beyond the owned nodes", ""]
        yield table(
            ("Day", "Of", "Hours", "Peak demand", "The nodes admit"),
            [(one.day, one.of, one.hours, one.peak, one.capacity) for one in section.bursts],
            right=(2, 3, 4),
        )
    if section.accuracy:
        yield ["### How good the forecasts were", ""]
        yield table(
            ("Of", "Error (WAPE)", "Under the bound", "Model", "Why this one"),
            [(one.of, one.error, one.covered, one.model, one.verdict) for one in section.accuracy],
            right=(1, 2),
        )
    if section.not_forecast:
        yield ["Nothing is foretold of:", "", *(f"- {text(line)}" for line in section.not_forecast), ""]


def owners(report: Report) -> Iterable[Sequence[str]]:
    """This will write the tables by owner."""
    if not report.owners:
        return
    is_week = report.spend is not None
    spent_head = ("Spent in the week", "Change") if is_week else ()
    yield ["## By owner", ""]
    yield table(
        ("Owner", "Workloads", *spent_head, "Cost a month", "Open saving a month", "Recommendations"),
        [
            (
                one.name,
                one.workloads,
                *((one.spent, one.spent_change) if is_week else ()),
                one.current,
                one.saving,
                one.advice,
            )
            for one in report.owners
        ],
        right=range(1, 5 + len(spent_head)),
    )
    for owner in report.owner_tables:
        yield [f"### {text(owner.name)}", ""]
        yield table(
            ("Do first", "A month", "Confidence"),
            [(one.title, one.money, one.confidence) for one in owner.rows],
            right=(1,),
        )
        yield [owner.left, ""] if owner.left else []


def prices(report: Report) -> Iterable[Sequence[str]]:
    """This will write the cheapest prices by region."""
    charts = report.charts_of("price")
    if charts:
        yield ["## What an hour costs", "", "The cheapest on-demand offer in each region of the fleet.", ""]
    for one in charts:
        yield [f"### {text(one.title)}", "", text(one.text), ""]
        yield _figures(one)


def _figures(chart: Chart) -> Sequence[str]:
    return table(chart.head, chart.rows[:MOST_ROWS], right=range(1, len(chart.head)))
