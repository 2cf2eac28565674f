"""The report in Markdown (CommonMark with tables), for a wiki or a pull request. Names cannot break out of a cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recommender.report import markdown_week as week
from recommender.report.markdown_words import left, table, text
from recommender.report.view import MOST_ROWS, Advice, Place, Report


def render(report: Report) -> str:
    """This will return the report as Markdown."""
    return "\n".join(line for part in _parts(report) for line in part).rstrip() + "\n"


def _parts(report: Report) -> Iterable[Sequence[str]]:
    yield [f"# Tuppence: {text(report.title)}", ""]
    yield [f"{text(report.scope)}. Usage: {text(report.usage)}. Made on {text(report.made_at)}.", ""]
    yield [f"Exchange rates: {text('; '.join(report.rates))}", ""]
    if report.assessment:
        yield [f"Before a roll-out: [the assessment]({report.assessment}.md)", ""]
    yield [line for notice in report.notices for line in (f"> **Note.** {text(notice)}", "")]
    yield table(("", "", ""), [(f"**{one.name}**", f"**{one.value}**", one.note) for one in report.figures], raw=(0, 1))
    yield from week.spend(report)
    if report.owed:
        yield ["## Owed to a rule", ""]
        yield _advice(report.owed[:MOST_ROWS], owed=True)
        yield left(len(report.owed) - MOST_ROWS)
    yield ["## Do these first", ""]
    yield _advice(report.top, owed=False) if report.top else ["No move is worth it.", ""]
    if report.rest:
        yield ["## Then these", ""]
        yield _advice(report.rest[:MOST_ROWS], owed=False)
        yield left(len(report.rest) - MOST_ROWS)
    yield from week.ledger(report)
    yield from _rules(report)
    yield from _standing(report)
    yield from _reasons(report)
    yield ["## How we count", "", *(f"- {text(line)}" for line in report.counting)]


def _advice(rows: Sequence[Advice], *, owed: bool) -> Sequence[str]:
    money = ("Cost a month",) if owed else ("Saving a month", "Range")
    head = ("#", "Advice", "Owner", "From", "To", *money, "Confidence", "Effort")
    return table(
        head,
        [
            (
                one.rank,
                one.title,
                one.owner,
                _place(one.current),
                _place(one.recommended),
                *((one.change,) if owed else (one.saving, one.saving_range)),
                one.confidence,
                one.effort,
            )
            for one in rows
        ],
        right=(0, 5) if owed else (0, 5, 6),
    )


def _rules(report: Report) -> Iterable[Sequence[str]]:
    if not report.rule_costs:
        return
    yield ["## What the rules cost", ""]
    yield table(
        ("Rule", "Workloads", "A month", "Legal basis"),
        [(one.rule, one.workloads, one.cost, one.legal_basis) for one in report.rule_costs],
        right=(1, 2),
    )
    yield ["### The dearest refusals", ""]
    yield table(
        ("Workload", "Refused offer", "Rule", "Why", "Would save a month"),
        [
            (one.workload, _place(one.offer), one.rule, " ".join(filter(None, (one.why, one.legal_basis))), one.cost)
            for one in report.refused
        ],
        right=(4,),
    )


def _standing(report: Report) -> Iterable[Sequence[str]]:
    if report.owned:
        yield ["## Owned capacity", ""]
        yield table(
            (
                "Pool",
                "Nodes",
                "Used now",
                "Used as advised",
                "One more is worth",
                "Extend or commit",
                "Marginal, node-hour",
                "Full, node-hour",
                "Full, month",
            ),
            [
                (
                    one.pool,
                    one.nodes,
                    one.used,
                    one.planned,
                    one.shadow or "nothing: there is room",
                    one.advice or "neither is advised",
                    one.marginal,
                    one.full,
                    one.full_month,
                )
                for one in report.owned
            ],
            right=(2, 3, 6, 7, 8),
        )
    yield from _commitments(report)
    yield from week.demand(report)
    yield from _capacity(report)
    yield from _learnt(report)
    yield from week.owners(report)
    yield from week.prices(report)
    yield ["## How fresh the prices are", ""]
    yield table(
        ("Source", "State", "Where from", "As of", "Age"),
        [(one.name, one.state, one.origin, one.taken, one.age) for one in report.sources],
        right=(4,),
    )
    yield ["## Not enough data", ""]
    if report.unknown:
        yield table(
            ("Of", "Why", "Next step"), [(one.what, one.why, one.next_step) for one in report.unknown[:MOST_ROWS]]
        )
        yield left(len(report.unknown) - MOST_ROWS)
    else:
        yield ["Something could be said of every workload.", ""]


def _commitments(report: Report) -> Iterable[Sequence[str]]:
    if not report.commitments:
        return
    yield ["## Commitments", ""]
    yield table(
        ("Commitment", "Scope", "An hour", "Used now", "Used as advised", "Unused, an hour", "Ends", "Note"),
        [
            (one.id, one.scope, one.cost, one.used, one.planned, one.unused, one.ends, one.note)
            for one in report.commitments[:MOST_ROWS]
        ],
        right=(2, 3, 4, 5),
    )
    yield left(len(report.commitments) - MOST_ROWS)


def _capacity(report: Report) -> Iterable[Sequence[str]]:
    if not report.capacity:
        return
    yield ["## Bursts and owned capacity", ""]
    yield table(
        ("Advice", "Kind", "State", "Of", "To", "Cost", "When", "Confidence"),
        [
            (one.title, one.kind, one.state, one.of, one.to, one.change, one.when, one.confidence)
            for one in report.capacity[:MOST_ROWS]
        ],
        right=(5,),
    )
    yield left(len(report.capacity) - MOST_ROWS)
    for one in report.capacity[:MOST_ROWS]:
        yield [f"### {text(one.title)}", "", f"`{one.id}`, {one.kind}.", ""]
        yield [*(f"- {text(line)}" for line in (*one.moves, *one.explanation))]
        yield [f"- Confidence is {one.confidence}: {text(one.confidence_why)}.", ""]


def _learnt(report: Report) -> Iterable[Sequence[str]]:
    learnt = report.calibration
    if learnt is None:
        return
    yield ["## Realised against predicted", "", text(learnt.realised), ""]
    if learnt.expected:
        yield table(
            ("Kind", "Predicted a month", "Such moves save", "Expected a month"),
            [(one.kind, one.predicted, f"× {one.factor}", one.expected) for one in learnt.expected],
            right=(1, 2, 3),
        )
    if learnt.proposed:
        yield ["### Figures of the policy to approve", ""]
        yield table(
            ("Setting", "Now", "Proposed", "Why"),
            [(one.setting, one.now, one.proposed, one.why) for one in learnt.proposed],
            right=(1, 2),
        )
        yield [text(learnt.how), ""]
    yield ["### What is known", ""]
    yield [*(f"- {text(one.subject)}: {text(one.says)}." for one in learnt.findings), ""]


def _reasons(report: Report) -> Iterable[Sequence[str]]:
    if report.shown:
        yield ["## Why, one by one", ""]
    for one in report.shown:
        yield [f"### {one.rank}. {text(one.title)}", "", f"`{one.id}`, {one.kind}. It needs {text(one.needs)}.", ""]
        yield [*(f"- {text(line)}" for line in one.explanation)]
        yield [f"- Confidence is {one.confidence}: {text(one.confidence_why)}.", ""]


def _place(place: Place) -> str:
    return f"{place.machine} in {place.where}"
