"""The edge of a week's report: everything that it rests on besides the plan is read here, and nothing is put in words.

    usage of two weeks and their prices → what changed; snapshots → price history; the history of demand → what was
    foretold; the ledger → what happened and what was saved

What cannot be known is a reason in words instead of a figure. A ledger that cannot be read is an error: a report that
leaves out what was decided and saved would look like one in which nothing was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import dataframely as dy
import polars as pl
import structlog

from exporters.core.errors import PricesUnavailableError, TuppenceError
from exporters.store.read import Prices
from recommender.advise.capacity_record import CapacityRecommendation, advice_of
from recommender.advise.decision import Question
from recommender.advise.plan import Plan
from recommender.advise.record import Recommendation
from recommender.burst.frames import CapacityFrame
from recommender.forecast.foretold import Foretold, foretold
from recommender.forecast.frames import ForecastFrame, NotForecast
from recommender.inputs import policy_of, prices_at, usage_at
from recommender.ledger.measurement import Realised
from recommender.ledger.memory import verified
from recommender.ledger.store import Ledger
from recommender.observe.coverage import Window
from recommender.observe.fleet import pools
from recommender.observe.latency import latencies
from recommender.observe.workloads import observe
from recommender.outlook import Ahead, ahead_at
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from recommender.week.events import WeekEvent, week_events
from recommender.week.frames import PricePoint
from recommender.week.price_archive import price_history_of
from recommender.week.quarter import Quarter
from recommender.week.spend import Spend, WeekAsked, spend_changes

MOST_EVENTS = 2_000
"""Events whose advice is read; of more, only the number is told."""

_log = structlog.get_logger(__name__)

Advised = Recommendation | CapacityRecommendation


@dataclass(frozen=True, slots=True)
class Past:
    """What the ledger knows of the week.

    Args:
        since: the first moment of the events (UTC).
        until: the last moment.
        events: what happened, by kind and time.
        advice: what the events are about, by recommendation; of the first MOST_EVENTS.
        measured: every measurement that was written down by then, oldest first.
        quarter: that realised savings are added up for.
    """

    since: datetime
    until: datetime
    events: tuple[WeekEvent, ...]
    advice: Mapping[str, Advised]
    measured: tuple[Realised, ...]
    quarter: Quarter


@dataclass(frozen=True, slots=True)
class Demanded:
    """Demand of the week and what had been foretold of it.

    Args:
        steps: of every series that can be forecast.
        capacity: what owned nodes admit of the mix at the end of the week.
        forecasts: the last one of each series, with its accuracy.
        not_forecast: series of which nothing is foretold.
    """

    steps: dy.DataFrame[Foretold]
    capacity: dy.DataFrame[CapacityFrame]
    forecasts: dy.DataFrame[ForecastFrame]
    not_forecast: dy.DataFrame[NotForecast]


@dataclass(frozen=True, slots=True)
class WeekFacts:
    """What a week's report rests on besides the plan.

    Args:
        week: the week.
        spend: its cost against the week before; None: see no_spend.
        no_spend: why there is no comparison, as a sentence.
        prices: the history of the cheapest prices.
        demanded: demand and forecasts; None: see no_demand.
        no_demand: why there is none, as a sentence.
        past: from the ledger; None: it was left out.
    """

    week: Week
    spend: Spend | None = None
    no_spend: str = ""
    prices: dy.DataFrame[PricePoint] = field(default_factory=PricePoint.create_empty)
    demanded: Demanded | None = None
    no_demand: str = ""
    past: Past | None = None


def week_facts(
    settings: RecommenderSettings,
    week: Week,
    *,
    at: datetime,
    with_ledger: bool = True,
    ahead: Ahead | None = None,
) -> WeekFacts:
    """This will read what a week's report rests on besides the plan.

    Args:
        settings: checked settings.
        week: one that has ended.
        at: the evaluation time (UTC).
        with_ledger: whether what was decided and saved is read.
        ahead: the look ahead of the evaluation, if it was made already; None: it is made here.

    Raises:
        StoreError: the ledger or the snapshot store cannot be read.
    """
    spend, no_spend = _spend(settings, week, at=at)
    demanded, no_demand = _demanded(settings, week, at=at, ahead=ahead)
    return WeekFacts(
        week=week,
        spend=spend,
        no_spend=no_spend,
        prices=price_history_of(settings, until=at, gpu_models=_gpu_models(demanded)),
        demanded=demanded,
        no_demand=no_demand,
        past=_past(settings, week, at=at) if with_ledger else None,
    )


def _spend(settings: RecommenderSettings, week: Week, *, at: datetime) -> tuple[Spend | None, str]:
    window = week.window
    before = Week(week.monday - timedelta(days=7)).window
    try:
        old_prices = prices_at(settings, at=before.end, known_at=at)
    except PricesUnavailableError:
        return None, f"no prices of {before.end:%-d %B %Y} are kept, so there is nothing to compare with."
    try:
        weeks = [
            _asked(settings, before, old_prices, at=at),
            _asked(settings, window, prices_at(settings, at=at), at=at),
        ]
    except TuppenceError as error:
        return None, f"the week before cannot be compared: {error.what}."
    if weeks[0] is None or weeks[1] is None:
        which = before if weeks[0] is None else window
        return None, f"no usage is known of the week from {which.start:%-d %B %Y}, so there is nothing to compare."
    return spend_changes(weeks[0], weeks[1], pools(settings.clusters)), ""


def _asked(settings: RecommenderSettings, window: Window, prices: Prices, *, at: datetime) -> WeekAsked | None:
    """One week as a question; None: no cluster was observed in it."""
    usage, period = usage_at(settings, at=at, window=window)
    if usage.observed.filter(window.holds()).is_empty():
        return None
    policy = policy_of(settings)
    seen = observe(usage, policy, clusters=settings.clusters, window=period)
    question = Question(
        prices=prices,
        workloads=seen.workloads,
        pools=pools(settings.clusters),
        policy=policy,
        at=at,
        usage_window=(period.start, period.end),
        expires_after_hours=settings.recommend.expires_after_hours,
        min_coverage_ratio=settings.usage.min_coverage_ratio,
        latency=latencies(settings.latency.file),
        unfit=seen.not_enough_data,
        nodes_seen=seen.pools,
    )
    return WeekAsked(question, seen.flows)


def _demanded(
    settings: RecommenderSettings, week: Week, *, at: datetime, ahead: Ahead | None
) -> tuple[Demanded | None, str]:
    end = min(week.window.end + timedelta(seconds=settings.forecast.embargo_seconds), at)
    try:
        known = ahead or ahead_at(settings, at=at if _is_last(week, at) else end)
        steps = foretold(known.demand, settings.forecast, at=end, since=week.window.start)
    except TuppenceError as error:
        return None, f"Demand of the week cannot be shown: {error.what}."
    except Exception as error:  # noqa: BLE001 - advice on moves does not depend on it; what failed stands in its place
        _log.error("forecast_failed", error=str(error), exc_info=True)
        return None, f"Demand of the week cannot be shown: {error}."
    return Demanded(steps, known.bursts.capacity, known.forecasts.forecasts, known.forecasts.not_forecast), ""


def _gpu_models(demanded: Demanded | None) -> Collection[str]:
    """The GPU models that were asked for."""
    if demanded is None:
        return ()
    return sorted(demanded.steps.filter(pl.col("resource") == "gpu")["resource_class"].unique())


def _past(settings: RecommenderSettings, week: Week, *, at: datetime) -> Past:
    window = week.window
    # A report of the week that has just ended tells what happened until it was made.
    until = at if _is_last(week, at) else window.end
    with Ledger.at(settings.ledger).reading() as reader:
        histories = reader.histories()
        # What an evaluation writes down at its own time is of its report.
        events = week_events(histories, since=window.start, until=until + timedelta(microseconds=1))
        read = events[:MOST_EVENTS]
        texts = reader.documents({one.recommendation_id: one.proposal for one in read}.values())
        return Past(
            since=window.start,
            until=until,
            events=events,
            advice={identifier: advice_of(text) for (identifier, _), text in texts.items()},
            measured=verified(reader, histories, at=at),
            quarter=Quarter.of(window.end - timedelta(seconds=1)),
        )


def _is_last(week: Week, at: datetime) -> bool:
    """Whether the week is the one that has just ended."""
    return Week.last_whole(at) == week


def owners_of(plan: Plan, facts: WeekFacts | None = None) -> Sequence[str]:
    """This will return the owners that a plan or its week has anything of, by name; nobody is none."""
    named = {one.owner for one in plan.placements} | {one.target.owner for one in plan.recommendations}
    spent = set() if facts is None or facts.spend is None else set(facts.spend.by_owner)
    return sorted(name for name in named | spent if name)
