"""The report for machines: the plan's document with what the week adds, under a published schema.

Figures are numbers in pounds and units, not words; what is not known is absent. ``docs/reference/report.schema.json``
is made from these models (JSON Schema 2020-12).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from pydantic import Field

from recommender.advise.plan import Plan
from recommender.advise.record import Gbp, Part
from recommender.ledger.measurement import Realised, Savings
from recommender.report.week_demand import burst_days
from recommender.report.week_ledger import owner_of
from recommender.week.facts import Demanded, Past, WeekFacts
from recommender.week.quarter import measured_in
from recommender.week.spend import SpendChange

OF_ALL_OWNERS = (
    "gap_ratio",
    "lower_bound_gbp_per_hour",
    "planned_full_gbp_per_hour",
    "withheld_by_guards_gbp_per_hour",
)
"""Figures of the summary that no owner's report has."""


class SpendReasonPart(Part):
    """What one workload adds to the change."""

    cluster: str
    namespace: str
    workload_kind: str
    workload: str
    owner: str | None = None
    change_gbp: Gbp
    because: str = Field(description="new, gone, usage, price or exchange rate.")


class SpendPart(Part):
    """before + usage + price + exchange_rate = after, to the penny."""

    before_start: datetime
    after_start: datetime
    before_gbp: Gbp
    usage_gbp: Gbp
    price_gbp: Gbp
    exchange_rate_gbp: Gbp
    after_gbp: Gbp
    compared: int = Field(description="Workloads in the sums.")
    not_compared: int = Field(description="Workloads without a price in a week they ran in; in neither sum.")
    without_old_price: int = Field(description="At this week's prices in both weeks.")
    contributions: tuple[SpendReasonPart, ...]


class RealisedPart(Part):
    """What moves measured in a quarter saved in their measured days."""

    quarter_start: date
    realised_gbp: Gbp
    predicted_gbp: Gbp = Field(description="What the proposals would make of the same hours.")
    moves: tuple[Realised, ...]


class EventPart(Part):
    """One thing that happened to a piece of advice."""

    recommendation_id: str
    what: str
    at: datetime
    author: str
    reason: str | None = None
    until: datetime | None = None
    kind: str | None = Field(default=None, description="Absent, with title and owner: there were too many to read.")
    title: str | None = None
    owner: str | None = None


class BurstDayPart(Part):
    """A day (London's) on which demand of a class was beyond what owned nodes admit."""

    day: date
    cluster: str
    resource: str
    resource_class: str
    hours: float
    peak: float
    admissible: float


class ForecastPart(Part):
    """How well a series was foretold, one hour ahead."""

    cluster: str
    resource: str
    resource_class: str
    model: str
    origins: int
    wape_ratio: float | None = None
    coverage_p90_ratio: float | None = None
    beats_both_naives: bool


class PricePointPart(Part):
    """The cheapest on-demand price of a unit in a region on one day."""

    day: date
    provider: str
    region: str
    unit: str = Field(description="vCPU, or the GPU's model.")
    gbp_per_hour: float


class ReportDocument(Plan):
    """A report: the plan, and what the week adds to it."""

    week: str | None = Field(default=None, description="ISO 8601, such as 2026-W48; absent: no week's report.")
    owner: str | None = Field(default=None, description="Whose; absent: everybody's.")
    spend: SpendPart | None = Field(default=None, description="Absent: see no_spend.")
    no_spend: str | None = Field(default=None, description="Why the week is not compared with the one before.")
    realised: RealisedPart | None = Field(default=None, description="Absent: the ledger was left out.")
    events: tuple[EventPart, ...] | None = None
    burst_days: tuple[BurstDayPart, ...] | None = None
    forecast_accuracy: tuple[ForecastPart, ...] | None = None
    price_history: tuple[PricePointPart, ...] | None = None
    calibration: dict[str, Any] | None = Field(default=None, description="Figures of the policy that are proposed.")


def week_document(facts: WeekFacts) -> dict[str, Any]:
    """This will return what a week adds to the document, as JSON values."""
    parts: dict[str, Part | list[Part]] = {
        "price_history": [PricePointPart(**row) for row in facts.prices.iter_rows(named=True)]
    }
    if facts.spend is not None:
        parts["spend"] = _spend(facts.spend.whole)
    if facts.past is not None:
        parts["realised"] = _realised(facts.past)
        parts["events"] = list(_events(facts.past))
    if facts.demanded is not None:
        parts["burst_days"] = [BurstDayPart(**row) for row in burst_days(facts.demanded).iter_rows(named=True)]
        parts["forecast_accuracy"] = list(_accuracy(facts.demanded))
    made: dict[str, Any] = {name: _json(part) for name, part in parts.items()}
    return made | ({"no_spend": facts.no_spend} if facts.no_spend else {})


def schema() -> dict[str, Any]:
    """This will return the JSON Schema of the document."""
    made = ReportDocument.model_json_schema(mode="serialization")
    summary = made["$defs"]["Summary"]
    summary["required"] = [name for name in summary["required"] if name not in OF_ALL_OWNERS]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def _json(part: Part | list[Part]) -> Any:  # noqa: ANN401 - JSON values
    if isinstance(part, list):
        return [one.model_dump(mode="json", exclude_none=True) for one in part]
    return part.model_dump(mode="json", exclude_none=True)


def _spend(whole: SpendChange) -> SpendPart:
    figures = {name: getattr(whole, name) for name in SpendPart.model_fields if name != "contributions"}
    names = ("cluster", "namespace", "workload_kind", "workload")
    return SpendPart(
        **figures,
        contributions=tuple(
            SpendReasonPart(
                **dict(zip(names, one.key, strict=True)),
                owner=one.owner or None,
                change_gbp=one.change_gbp,
                because=one.because,
            )
            for one in whole.contributions
        ),
    )


def _realised(past: Past) -> RealisedPart:
    rows = measured_in(past.measured, past.quarter)
    savings = Savings.of(rows)
    return RealisedPart(
        quarter_start=past.quarter.first,
        realised_gbp=savings.realised_gbp,
        predicted_gbp=savings.predicted_gbp,
        moves=rows,
    )


def _events(past: Past) -> Iterator[EventPart]:
    for one in past.events:
        advice = past.advice.get(one.recommendation_id)
        yield EventPart(
            recommendation_id=one.recommendation_id,
            what=one.what.value,
            at=one.at,
            author=one.author,
            reason=one.reason or None,
            until=one.until,
            kind=None if advice is None else advice.kind.value,
            title=None if advice is None else advice.title,
            owner=None if advice is None else owner_of(advice) or None,
        )


def _accuracy(known: Demanded) -> Iterator[ForecastPart]:
    for row in known.forecasts.iter_rows(named=True):
        yield ForecastPart(
            **{name: row["model_p50" if name == "model" else name] for name in ForecastPart.model_fields}
        )
