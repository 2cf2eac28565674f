"""What the week cost and why it changed, in words and as a waterfall."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import polars as pl

from exporters.core.clock import LONDON
from exporters.core.money import pence, pounds
from recommender.advise.plan import Plan
from recommender.report import words
from recommender.report.charts.drawing import Chart
from recommender.report.charts.frames import Change
from recommender.report.charts.waterfall import waterfall
from recommender.report.view_week import SpendReason, SpendSection
from recommender.week.facts import WeekFacts
from recommender.week.spend import SpendChange

_BECAUSE = {"new": "it is new", "gone": "it is gone"}


def spent(plan: Plan) -> Decimal:
    """This will return what the usage of the plan's window cost, pounds: of every workload that is priced."""
    return pence(plan.summary.current_gbp_per_hour * plan.inputs.usage_window.hours)


def spend_section(facts: WeekFacts) -> SpendSection:
    """This will say what changed, and what is not in the figures."""
    if facts.spend is None:
        return SpendSection(sentence=words.shown(facts.no_spend[:1].upper() + facts.no_spend[1:]))
    whole = facts.spend.whole
    return SpendSection(
        sentence=_sentence(whole),
        notes=tuple(_notes(whole)),
        reasons=tuple(
            SpendReason(
                workload=words.shown("/".join((one.key[0], one.key[1], one.key[3]))),
                owner=words.shown(one.owner or words.NOBODY),
                change=words.signed(one.change_gbp),
                because=_BECAUSE.get(one.because, one.because),
            )
            for one in whole.contributions
        ),
    )


def spend_chart(facts: WeekFacts) -> Chart | None:
    """This will draw the steps from the week before to the week; None: they cannot be compared."""
    if facts.spend is None or not facts.spend.whole.compared:
        return None
    whole = facts.spend.whole
    steps = [
        (f"{whole.before_start.astimezone(LONDON):%-d %B}", whole.before_gbp, True),
        ("usage", whole.usage_gbp, False),
        ("prices", whole.price_gbp, False),
        ("exchange rates", whole.exchange_rate_gbp, False),
        (f"{whole.after_start.astimezone(LONDON):%-d %B}", whole.after_gbp, True),
    ]
    rows = [
        {"order": number, "reason": reason, "gbp": float(gbp), "is_total": is_total}
        for number, (reason, gbp, is_total) in enumerate(steps)
    ]
    return waterfall(Change.cast(pl.DataFrame(rows)), name="spend", title="Why the week cost more or less")


def change_note(facts: WeekFacts) -> str:
    """This will say the change in a few words, for the figure at the top."""
    if facts.spend is None:
        return "no week before to compare with"
    whole = facts.spend.whole
    return f"{_more(whole)} than the week before"


def change_of(whole: SpendChange) -> str:
    """This will say the change with its sign and share: ``+£12.00 (3%)``."""
    change = whole.after_gbp - whole.before_gbp
    return f"{words.signed(change)}{_share(whole)}" if change else "no change"


def _sentence(whole: SpendChange) -> str:
    parts = {"usage": whole.usage_gbp, "prices": whole.price_gbp, "exchange rates": whole.exchange_rate_gbp}
    said = ", ".join(f"{name} {words.signed(gbp) if gbp else 'nothing'}" for name, gbp in parts.items())
    return f"{pounds(whole.after_gbp)} after {pounds(whole.before_gbp)} the week before, {_more(whole)}: {said}."


def _more(whole: SpendChange) -> str:
    change = whole.after_gbp - whole.before_gbp
    return f"{words.change(change)}{_share(whole)}" if change else "no more and no less"


def _share(whole: SpendChange) -> str:
    change = abs(whole.after_gbp - whole.before_gbp)
    return f" ({words.percent(float(change / whole.before_gbp))})" if whole.before_gbp and change else ""


def _notes(whole: SpendChange) -> Iterator[str]:
    if whole.not_compared:
        many = words.count(whole.not_compared, "workload")
        yield f"{many} of which a price is not known in one of the weeks: in neither sum."
    if whole.without_old_price:
        many = words.count(whole.without_old_price, "workload")
        yield f"{many} of which no price of the week before is kept: at this week's prices in both weeks."
