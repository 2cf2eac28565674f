"""The burst board: demand, what is expected of it, what the nodes admit, and what overflows where, for how much.

Its charts are drawn here as plain lines, because they are small, many and made anew with each evaluation; the report's
are drawn by report/charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl
from fastapi import APIRouter, Request, Response

from exporters.core.money import rate
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.forecast.frames import SERIES_KEY
from recommender.outlook import Ahead
from recommender.report import words
from recommender.serve.access import Access
from recommender.serve.advice_index import Query
from recommender.serve.advice_view import Line, line_of
from recommender.serve.answers import served_now
from recommender.serve.last_plan import LastPlan
from recommender.serve.layout import html

_HERE = "/bursts"
_UNITS = {"vcpu": "vCPU", "memory_gib": "GiB", "gpu": "GPUs"}
_SHOWN = 200
_WIDTH, _HEIGHT = 300.0, 80.0


@dataclass(frozen=True, slots=True)
class Lines:
    """A chart: points of SVG polylines, and what it says to who cannot see it."""

    demand: str
    bound: str
    capacity: str
    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """One class of an owned cluster."""

    title: str
    is_short: bool
    verdict: str
    demand: str
    p50: str
    p90: str
    capacity: str
    short: str
    evaluations: str
    latest_start: str
    why: str
    chart: Lines | None


@dataclass(frozen=True, slots=True)
class Leaving:
    """Replicas that should leave."""

    workload: str
    replicas: str
    home: str
    to: str
    cost: str
    once: str
    least: str


@dataclass(frozen=True, slots=True)
class Coming:
    """A burst that runs."""

    workload: str
    where: str
    saves: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Expected:
    """The next hour of a class that has no owned nodes."""

    name: str
    demand: str
    p50: str
    p90: str
    verdict: str


def burst_page(last: LastPlan, access: Access) -> APIRouter:
    """This will return the route of the board."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(_HERE, methods=["GET", "HEAD"])
    def _bursts(request: Request) -> Response:
        served, ahead = served_now(last), last.state.ahead
        found = served.index.at(served.index.found(Query(of_capacity=True)).head(_SHOWN))
        advice: list[Line] = [line_of(one) for one in found]
        nodes = sum(
            node.gbp_per_hour
            for one in served.plan.capacity
            if isinstance(one, CapacityRecommendation) and one.kind.value == "burst"
            for node in one.nodes
        )
        return html(
            "bursts.html",
            here=_HERE,
            who=access.visitor(request).shown_name,
            made=served.plan.generated_at,
            known=ahead is not None,
            advice=advice,
            nodes=rate(nodes) if nodes else "",
            cards=cards(ahead) if ahead else (),
            leaving=leaving(ahead) if ahead else (),
            coming=coming(ahead) if ahead else (),
            expected=expected(ahead) if ahead else (),
            unknown=_unknown(ahead) if ahead else (),
        )

    return router


def cards(ahead: Ahead) -> tuple[Card, ...]:
    """This will return one card a class of an owned cluster, the shortest first."""
    foretold = ahead.forecasts.forecasts.select(*SERIES_KEY, "p50")
    rows = ahead.bursts.triggers.join(foretold, on=list(SERIES_KEY), how="left").sort(
        pl.col("is_needed"), pl.col("short"), *SERIES_KEY, descending=[True, True, False, False, False]
    )
    recent = dict(list(ahead.forecasts.recent.group_by(*SERIES_KEY)))
    return tuple(_card(row, recent.get(tuple(row[name] for name in SERIES_KEY))) for row in rows.iter_rows(named=True))


def leaving(ahead: Ahead) -> tuple[Leaving, ...]:
    """This will return what overflows, the dearest first."""
    cost = pl.col("nodes_gbp_per_hour") + pl.col("other_gbp_per_hour")
    rows = ahead.bursts.overflow.with_columns(cost=cost).sort("cost", "workload", descending=[True, False])
    return tuple(
        Leaving(
            workload=words.shown(f"{row['namespace']}/{row['workload_kind']}/{row['workload']}"),
            replicas=f"{row['replicas']}, {row['waiting_replicas']} of them waiting",
            home=words.shown(row["cluster"]),
            to=words.shown(
                f"{row['to_cluster']} / {row['to_pool']}, {row['to_instance_type']} {row['to_capacity_type']}"
            ),
            cost=rate(row["cost"]),
            once=rate(row["one_off_gbp"]),
            least=f"{row['minimum_runtime_minutes']:g} min",
        )
        for row in rows.head(_SHOWN).iter_rows(named=True)
    )


def coming(ahead: Ahead) -> tuple[Coming, ...]:
    """This will return the bursts that run, those first that are due home."""
    rows = ahead.bursts.returns.sort("is_due", "saves_gbp_per_hour", descending=[True, True])
    return tuple(
        Coming(
            workload=words.shown(f"{row['namespace']}/{row['workload_kind']}/{row['workload']}"),
            where=words.shown(f"{row['at_cluster']} → {row['cluster']}"),
            saves=rate(row["saves_gbp_per_hour"]),
            verdict=f"{'✓ come home' if row['is_due'] else 'stays'}: {words.shown(row['why'])}",
        )
        for row in rows.head(_SHOWN).iter_rows(named=True)
    )


def expected(ahead: Ahead) -> tuple[Expected, ...]:
    """This will return the next hour of the classes that no owned node serves."""
    owned = ahead.bursts.triggers.select(SERIES_KEY)
    rows = ahead.forecasts.forecasts.join(owned, on=list(SERIES_KEY), how="anti").sort(*SERIES_KEY)
    return tuple(
        Expected(
            name=words.shown(f"{row['cluster']}: {row['resource_class']}"),
            demand=_amount(row["demand"], row["resource"]),
            p50=_amount(row["p50"], row["resource"]),
            p90=_amount(row["p90"], row["resource"]),
            verdict=words.shown(row["verdict"]),
        )
        for row in rows.head(_SHOWN).iter_rows(named=True)
    )


def lines_of(
    points: Sequence[tuple[datetime, float, float]], *, p50: float | None, p90: float | None, capacity: float, unit: str
) -> Lines | None:
    """This will draw demand and bound of the last evaluations, and the next hour at their end.

    Args:
        points: time, demand and bound, oldest first.
        p50: expected of the next hour; None: no forecast.
        p90: its bound.
        capacity: what the owned nodes admit.
        unit: of all of them.
    """
    if len(points) < 2:
        return None
    demand = [one for _, one, _ in points] + ([] if p50 is None else [p50])
    bound = [one for _, _, one in points] + ([] if p90 is None else [p90])
    top = max(*demand, *bound, capacity) * 1.05 or 1.0
    steps = max(len(demand), len(bound)) - 1
    peak = max(one for _, one, _ in points)
    return Lines(
        demand=_points(demand, steps, top),
        bound=_points(bound, steps, top),
        capacity=_points([capacity] * (steps + 1), steps, top),
        text=f"Demand of the last {len(points)} evaluations peaked at {words.number_text(round(peak, 1))} {unit}; "
        f"the owned nodes admit {words.number_text(round(capacity, 1))} {unit}.",
    )


def _card(row: dict[str, object], recent: pl.DataFrame | None) -> Card:
    resource, needed = str(row["resource"]), bool(row["is_needed"])
    unit = _UNITS.get(resource, resource)
    p50, p90, latest = row["p50"], row["p90"], row["latest_start"]
    points = [] if recent is None else recent.sort("visible_until").select("visible_until", "demand", "p90").rows()
    chart = lines_of(
        points,
        p50=p50 if isinstance(p50, float) else None,
        p90=p90 if isinstance(p90, float) else None,
        capacity=_number(row["admissible"]),
        unit=unit,
    )
    short = _number(row["short"])
    verdict = "! burst" if needed else ("short, not often enough to burst" if short else "✓ fits")
    return Card(
        title=words.shown(f"{row['cluster']}: {unit} {row['resource_class']}"),
        is_short=needed,
        verdict=verdict,
        demand=_amount(row["demand"], resource),
        p50=_amount(p50, resource),
        p90=_amount(p90, resource),
        capacity=_amount(row["admissible"], resource),
        short=_amount(short, resource) if short else "nothing",
        evaluations=f"{row['exceeded']} of {row['evaluations']}",
        latest_start=words.moment(latest) if isinstance(latest, datetime) else "",
        why=words.shown(str(row["why"])),
        chart=chart,
    )


def _unknown(ahead: Ahead) -> tuple[str, ...]:
    gaps = ahead.bursts.unknown.select("cluster", "why", "next_step").unique(maintain_order=True)
    return tuple(words.shown(f"{cluster}: {why}. {step}") for cluster, why, step in gaps.iter_rows())


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value


def _amount(value: object, resource: str) -> str:
    if not isinstance(value, float):
        return "not known"
    unit = "GPU" if resource == "gpu" and value == 1 else _UNITS.get(resource, resource)
    return f"{words.number_text(round(value, 1))} {unit}"


def _points(values: Sequence[float], steps: int, top: float) -> str:
    return " ".join(
        f"{_WIDTH * number / steps:.1f},{_HEIGHT - _HEIGHT * value / top:.1f}" for number, value in enumerate(values)
    )
