"""What `recommend` shows on a terminal: the advice, what was refused and what that costs, and what is not known."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import polars as pl
from rich.markup import escape

from exporters.core.output import ListFormat, print_table
from recommender.report.csv import rows_as_csv
from recommender.report.json import render as as_json
from recommender.report.view import Place, Report


def write_plan(report: Report, form: ListFormat) -> None:
    """This will write a plan to stdout: tables for people, the whole plan as JSON, the recommendations as CSV."""
    if form is ListFormat.JSON:
        sys.stdout.write(as_json(report))
    elif form is ListFormat.CSV:
        sys.stdout.write(rows_as_csv(report))
    else:
        _write_tables(report)


def _write_tables(report: Report) -> None:
    if report.advice:
        print_table(advice_table(report), title="Recommendations", right=("#", "a month"))
    else:
        sys.stdout.write("No move is worth it: nothing legal beats the thresholds of the policy.\n")
    if report.capacity:
        sys.stdout.write("\n")
        print_table(capacity_table(report), title="Bursts and owned capacity", right=("cost",))
    if report.commitments:
        sys.stdout.write("\n")
        print_table(
            commitment_table(report), title="Commitments", right=("£/h", "used now", "by the plan", "unused £/h")
        )
    if report.refused:
        sys.stdout.write("\n")
        print_table(refused_table(report), title="Refused, and what that costs", right=("a month",))
    if report.unknown:
        sys.stdout.write("\n")
        print_table(unknown_table(report), title="Not enough data")
    sys.stdout.write("\n" + "\n".join(totals(report)) + "\n")


def advice_table(report: Report) -> pl.DataFrame:
    """This will return one row a recommendation, as a person reads it."""
    return _table(
        {
            "#": one.rank,
            "advice": f"{one.title}\n{one.id}",
            "owner": one.owner,
            "from": _place(one.current),
            "to": _place(one.recommended),
            "a month": f"saves {one.saving}\n{one.saving_range}" if one.saving else f"{one.change}\nowed to a rule",
            "confidence": one.confidence,
            "effort": one.effort,
        }
        for one in report.advice
    )


def capacity_table(report: Report) -> pl.DataFrame:
    """This will return one row a piece of advice on owned capacity."""
    return _table(
        {
            "advice": f"{one.title}\n{one.id}",
            "of": one.of,
            "to": one.to,
            "cost": one.change,
            "when": one.when,
            "confidence": one.confidence,
        }
        for one in report.capacity
    )


def commitment_table(report: Report) -> pl.DataFrame:
    """This will return one row a commitment that has not ended."""
    return _table(
        {
            "commitment": one.id,
            "scope": f"{one.scope}\n{one.note}" if one.note else one.scope,
            "£/h": one.cost,
            "used now": one.used,
            "by the plan": one.planned,
            "unused £/h": one.unused,
            "ends": one.ends,
        }
        for one in report.commitments
    )


def refused_table(report: Report) -> pl.DataFrame:
    """This will return the dearest refusals."""
    return _table(
        {
            "workload": one.workload,
            "refused offer": _place(one.offer),
            "rule": one.rule,
            "why": " ".join(filter(None, (one.why, one.legal_basis))),
            "a month": f"would save {one.cost}",
        }
        for one in report.refused
    )


def unknown_table(report: Report) -> pl.DataFrame:
    """This will return what nothing is said of."""
    return _table({"of": one.what, "why": one.why, "next step": one.next_step} for one in report.unknown)


def totals(report: Report) -> list[str]:
    """This will return the lines below the tables: the figures, the rates, and how a month is counted."""
    figures = [f"{one.name}: {one.value} ({one.note})" for one in report.figures]
    rates = f"Exchange rates: {'; '.join(report.rates)}"
    notes = [f"Note: {notice}" for notice in report.notices]
    packed = [report.machines] if report.machines else []
    return [*figures, *packed, rates, f"Usage: {report.usage}", report.counting[0], *notes]


def _place(place: Place) -> str:
    return f"{place.machine}\n{place.where}"


def _table(rows: Iterable[Mapping[str, str]]) -> pl.DataFrame:
    return pl.DataFrame([{name: escape(text) for name, text in row.items()} for row in rows])
