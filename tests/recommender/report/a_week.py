"""What a week adds to the example report, with a hostile name in every place where a name can stand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from recommender.advise.plan import Plan
from recommender.advise.record import Range
from recommender.burst.frames import CapacityFrame
from recommender.forecast.foretold import Foretold
from recommender.forecast.frames import ForecastFrame, NotForecast
from recommender.ledger.events import EventKind
from recommender.ledger.measurement import Outcome, Realised
from recommender.week.calendar import Week
from recommender.week.events import Happened, WeekEvent
from recommender.week.facts import Advised, Demanded, Past, WeekFacts
from recommender.week.frames import PricePoint
from recommender.week.quarter import Quarter
from recommender.week.spend import Contribution, Spend, SpendChange
from tests.recommender.ledger.happened import event

START = datetime(2026, 11, 23, tzinfo=UTC)
END = datetime(2026, 11, 30, tzinfo=UTC)


def change(*, owner: str = "shop-team", name: str = "web", **figures: Any) -> SpendChange:
    """This will return £100.00 that became £110.00: usage +£12.00, prices −£3.00, exchange rates +£1.00."""
    values: dict[str, Any] = {
        "before_start": START - timedelta(days=7),
        "after_start": START,
        "before_gbp": Decimal("100.00"),
        "usage_gbp": Decimal("12.00"),
        "price_gbp": Decimal("-3.00"),
        "exchange_rate_gbp": Decimal("1.00"),
        "after_gbp": Decimal("110.00"),
        "compared": 4,
        "not_compared": 1,
        "without_old_price": 2,
        "contributions": (
            Contribution(("eks-lon", "shop", "Deployment", name), owner, Decimal("11.00"), "usage"),
            Contribution(("eks-lon", "shop", "Deployment", "old"), "", Decimal("-2.00"), "gone"),
        ),
    }
    return SpendChange(**values | figures)


def move(title: str, *, owner: str | None = "shop-team", at: datetime = END, identifier: str = "m1") -> Realised:
    """This will return a move of which £40.00 was predicted for its days and £36.00 was saved."""
    return Realised(
        recommendation_id=identifier,
        title=title,
        owner=owner,
        outcome=Outcome.MEASURED,
        why=f"14.0 days of usage after {title}",
        implemented_at=at - timedelta(days=15),
        window_start=at - timedelta(days=14),
        window_end=at,
        predicted_gbp_per_month=Decimal("86.90"),
        saving=Range(p10=Decimal("70.00"), p50=Decimal("78.21"), p90=Decimal("85.00")),
        realised_gbp=Decimal("36.00"),
        predicted_gbp=Decimal("40.00"),
    )


def happened(identifier: str, what: Happened, *, hours: float = 1.0, **changes: Any) -> WeekEvent:
    """This will return something that happened some hours into the week."""
    values: dict[str, Any] = {
        "recommendation_id": identifier,
        "what": what,
        "at": START + timedelta(hours=hours),
        "author": "ann",
        "reason": "",
        "until": None,
        "proposal": event(EventKind.PROPOSED, recommendation_id=identifier),
    }
    return WeekEvent(**values | changes)


def past(plan: Plan, hostile: str, **changes: Any) -> Past:
    """This will return a week in which every recommendation of a plan was new, and the first was dismissed."""
    moves: dict[str, Advised] = {one.id: one for one in plan.recommendations}
    advice: Mapping[str, Advised] = moves | {one.id: one for one in plan.capacity}
    new = [happened(one, Happened.NEW, author="tuppence") for one in advice]
    first = plan.recommendations[0].id
    refused = happened(first, Happened.DISMISSED, hours=5, author=hostile, reason=hostile, until=END)
    values: dict[str, Any] = {
        "since": START,
        "until": END,
        "events": (*new, refused),
        "advice": advice,
        "measured": (move("Move shop/cart"), move(hostile, owner=hostile, identifier="m2")),
        "quarter": Quarter(date(2026, 10, 1)),
    }
    return Past(**values | changes)


def demanded(cluster: str = "onprem-lon", hostile: str = "odd") -> Demanded:
    """This will return a week of 10 vCPUs and 14 from noon to three, where the nodes admit 12."""
    hours = [START + timedelta(hours=n) for n in range(168)]
    steps = [
        {
            "cluster": cluster,
            "resource": "vcpu",
            "resource_class": "amd64",
            "at": at,
            "step_seconds": 3600,
            "demand": 14.0 if at.hour in {12, 13, 14} else 10.0,
            "p50": None if n < 24 else 10.0,
            "p90": None if n < 24 else 13.0,
        }
        for n, at in enumerate(hours)
    ]
    capacity = {"cluster": cluster, "resource": "vcpu", "resource_class": "amd64", "admissible": 12.0, "nominal": 16.0}
    forecast = {
        "cluster": cluster,
        "resource": "vcpu",
        "resource_class": "amd64",
        "at": END,
        "visible_until": END,
        "horizon_seconds": 3600,
        "demand": 10.0,
        "p50": 10.0,
        "p90": 13.0,
        "model": "seasonal-median",
        "model_p50": "persistence",
        "origins": 144,
        "beats_both_naives": True,
        "coverage_p90_ratio": 0.92,
        "wape_ratio": 0.06,
        "verdict": f"seasonal-median beats {hostile}",
    }
    unknown = {
        "cluster": hostile,
        "resource": "gpu",
        "resource_class": hostile,
        "reason": "too-short",
        "why": hostile,
        "next_step": "Wait.",
    }
    return Demanded(
        Foretold.cast(pl.DataFrame(steps, schema=Foretold.create_empty().schema)),
        CapacityFrame.cast(pl.DataFrame([capacity])),
        ForecastFrame.cast(pl.DataFrame([forecast])),
        NotForecast.cast(pl.DataFrame([unknown])),
    )


def prices(hostile: str = "odd") -> Any:
    """This will return two days of a vCPU's price in two regions, and one of a GPU's."""
    rows = [
        (date(2026, 11, 22), "aws", "eu-west-2", "vCPU", 0.04),
        (date(2026, 11, 29), "aws", "eu-west-2", "vCPU", 0.03),
        (date(2026, 11, 29), "book", hostile, "vCPU", 0.05),
        (date(2026, 11, 29), "aws", "eu-west-2", "L4", 0.6),
    ]
    return PricePoint.validate(pl.DataFrame(rows, schema=PricePoint.create_empty().schema, orient="row"))


def facts(plan: Plan, hostile: str = "odd") -> WeekFacts:
    """This will return everything that a week of the example plan adds."""
    whole = change(owner=hostile, name=hostile)
    return WeekFacts(
        week=Week.parse("2026-W48"),
        spend=Spend(whole, {"shop-team": change()}),
        prices=prices(hostile),
        demanded=demanded(hostile=hostile),
        past=past(plan, hostile),
    )
