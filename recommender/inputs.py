"""The edge of an evaluation: reads prices, usage, fleet and policy, and hands them to cycle.py as frames.

What is read depends on the settings and on the evaluation time alone, so that the same time over the same files gives
the same plan: snapshots taken later are not looked at, and usage ends no later than the last whole hour.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import dataframely as dy
import polars as pl
import structlog

from exporters.core.config_file import read_document, validate
from exporters.core.cost_frames import Discount
from exporters.core.errors import PricesUnavailableError, SettingsError
from exporters.core.words import PriceBasis
from exporters.store.costs import read_costs
from exporters.store.discounts import MOST_DAYS_OLD, discounts, that_hold
from exporters.store.read import Prices, combine, last_snapshots
from exporters.store.shelf import open_readable
from exporters.store.standing import read_standing
from recommender.advise.capacity import NOTHING_HELD, Held
from recommender.advise.commit import CommitQuestion
from recommender.advise.commit_all import commitment_advice
from recommender.advise.plan import Plan
from recommender.advise.record import WorkloadName
from recommender.advise.steady_use import SteadyUse
from recommender.cycle import Evaluation, evaluate
from recommender.frames import BoughtAhead
from recommender.ledger.memory import Memory
from recommender.observe import usage_file, usage_prometheus
from recommender.observe.commitments import bought_ahead
from recommender.observe.coverage import Window
from recommender.observe.fleet import pools, quotas, region_quotas
from recommender.observe.idle_rules import idle_rules
from recommender.observe.latency import latencies
from recommender.observe.quotas_prometheus import namespace_quotas_at
from recommender.observe.usage import Usage
from recommender.observe.workloads import observe
from recommender.place.effective import at_basis
from recommender.settings import Policy, RecommenderSettings

_log = structlog.get_logger(__name__)

USAGE_CHOICES = "Set usage.file.path or usage.prometheus.url."


def evaluation(
    settings: RecommenderSettings, *, at: datetime, window: Window | None = None, memory: Memory | None = None
) -> Plan:
    """This will read everything and evaluate once; see appraisal."""
    return appraisal(settings, at=at, window=window, memory=memory).plan


def appraisal(
    settings: RecommenderSettings,
    *,
    at: datetime,
    window: Window | None = None,
    memory: Memory | None = None,
    known_at: datetime | None = None,
) -> Evaluation:
    """This will read everything and evaluate once, and tell what every workload costs in every cluster besides.

    Args:
        settings: checked settings.
        at: the evaluation time (UTC).
        window: the usage to read; default: the settings' hours before the last whole hour, for a file before its end.
        memory: moves and decisions of the past; None: there were none.
        known_at: see prices_at.

    Raises:
        TuppenceError: an input is missing or wrong; nothing is advised from half of them.
    """
    if not settings.clusters:
        raise SettingsError(
            "the fleet has no cluster",
            where="clusters",
            next_step="Describe the clusters and their pools in the settings; tuppence demo writes an example.",
        )
    policy = policy_of(settings)
    prices = prices_at(settings, at=at, known_at=known_at)
    usage, period = usage_at(settings, at=at, window=window)
    seen = observe(usage, policy, clusters=settings.clusters, window=period)
    for one in idle_rules(policy, seen.workloads):
        _log.warning("rule_without_effect", why=one)
    made = evaluate(
        prices=prices,
        workloads=seen.workloads,
        flows=seen.flows,
        pools=pools(settings.clusters),
        policy=policy,
        at=at,
        usage_window=(period.start, period.end),
        quotas=quotas(settings.clusters),
        region_quotas=region_quotas(settings.region_quotas),
        namespace_quotas=namespace_quotas_at(settings, at=period.end),
        latency=latencies(settings.latency.file),
        moves=None if memory is None else memory.moves,
        holds=None if memory is None else memory.holds(usage_start=period.start),
        not_enough_data=seen.not_enough_data,
        nodes_seen=seen.pools,
        commitments=commitments_at(settings, prices, at=at),
        min_coverage_ratio=settings.usage.min_coverage_ratio,
        expires_after_hours=settings.recommend.expires_after_hours,
    )
    return _with_commitments(settings, made, prices, usage, at=at, held=NOTHING_HELD if memory is None else memory.held)


def _with_commitments(
    settings: RecommenderSettings, made: Evaluation, prices: Prices, usage: Usage, *, at: datetime, held: Held
) -> Evaluation:
    """The evaluation with advice on what to buy ahead and what not to renew."""
    if made.covered is None:
        return made
    question = CommitQuestion(
        covered=made.covered,
        use=SteadyUse(
            usage.samples.filter(pl.col("timestamp") < at),
            usage.observed.filter(pl.col("timestamp") < at),
            running=made.covered.running,
            leaving={_name(one.target) for one in made.plan.recommendations},
            groups=made.covered.groups,
        ),
        prices=prices,
        settings=settings.commit,
        at=at,
        expires_after_hours=settings.recommend.expires_after_hours,
    )
    advice, gaps = commitment_advice(question, held)
    unknown = (*made.plan.not_enough_data, *gaps)
    return replace(made, plan=made.plan.model_copy(update={"capacity": advice, "not_enough_data": unknown}))


def _name(one: WorkloadName) -> tuple[str, str, str, str]:
    return (one.cluster, one.namespace, one.workload_kind, one.workload)


def policy_of(settings: RecommenderSettings) -> Policy:
    """This will return the policy, read from its file where the settings name one.

    Raises:
        SettingsError: the file cannot be read or is wrong; every mistake with its line.
    """
    if isinstance(settings.policy, Path):
        return validate(read_document(settings.policy), Policy, known=frozenset(Policy.model_fields))
    return settings.policy


def prices_at(settings: RecommenderSettings, *, at: datetime, known_at: datetime | None = None) -> Prices:
    """This will return the prices that counted at a moment, at the basis that the settings name.

    They are those of each source's last snapshot, at one rate per currency, with what bills show was paid up to then.

    Args:
        settings: checked settings.
        at: the moment (UTC).
        known_at: bills written later are not known; None: the moment itself. Who looks back knows what came since.

    Raises:
        PricesUnavailableError: the store holds no offer that may be used then, or no bills that effective prices need.
        StoreError: the store cannot be read.
    """
    found = discounts_at(settings, at=at, known_at=known_at or at)
    return at_basis(list_prices_at(settings, at=at), found, settings.prices.price_basis)


def list_prices_at(settings: RecommenderSettings, *, at: datetime) -> Prices:
    """This will return prices as their sources gave them; see prices_at."""
    prices = combine(last_snapshots(open_readable(settings.prices.url), until=at), now=at)
    if prices.offers.is_empty():
        stale = ", ".join(manifest.id for manifest in prices.stale)
        raise PricesUnavailableError(
            f"every snapshot is older than its source allows ({stale})" if stale else "it holds no prices of that time",
            where=f"{settings.prices.url} at {at:%Y-%m-%d %H:%M} UTC",
            next_step="Run tuppence fetch or tuppence export, and let prices.url name its store.",
        )
    return prices


def commitments_at(settings: RecommenderSettings, prices: Prices, *, at: datetime) -> dy.DataFrame[BoughtAhead] | None:
    """This will return what sources of costs had said by a moment is bought ahead; None: the settings ignore it.

    Raises:
        StoreError: the store cannot be read.
    """
    if settings.prices.commitments == "ignore":
        return None
    return bought_ahead(read_standing(open_readable(settings.prices.url), until=at).commitments, prices.fx, at=at)


def discounts_at(settings: RecommenderSettings, *, at: datetime, known_at: datetime) -> dy.DataFrame[Discount]:
    """This will return what was really paid below list price up to a moment, by bills that are known at another.

    Raises:
        PricesUnavailableError: effective prices are asked for, and no bill says what a machine cost.
        StoreError: the store cannot be read.
    """
    days = settings.prices.discount_days
    first = at.date() - timedelta(days=days + MOST_DAYS_OLD)
    months = sorted({f"{first + timedelta(days=day):%Y-%m}" for day in range(days + MOST_DAYS_OLD + 1)})
    paid = read_costs(open_readable(settings.prices.url), months=months, until=known_at).days
    found = discounts(paid, until=at.date(), last_days=days)
    if found.is_empty() and settings.prices.price_basis is PriceBasis.EFFECTIVE:
        raise PricesUnavailableError(
            "prices.price_basis is effective, and no bill of that time says what a machine with a list cost was paid",
            where=f"{settings.prices.url} at {at:%Y-%m-%d %H:%M} UTC",
            next_step="Import bills with list costs (tuppence costs import, then tuppence costs discounts), "
            "or set prices.price_basis to list.",
        )
    return that_hold(found)


def usage_at(settings: RecommenderSettings, *, at: datetime, window: Window | None) -> tuple[Usage, Window]:
    """This will return usage and the window that it is read over.

    Raises:
        SettingsError: no source of usage is set, its file is wrong, or the window has not ended.
        SourceError: Prometheus did not answer.
        IntegrityError: its answer is not whole.
    """
    if window is not None and window.end > at:
        raise SettingsError(
            f"the usage asked for ends on {window.end:%Y-%m-%d %H:%M} UTC, after the evaluation",
            where="report --week",
            next_step="Ask for a week that has ended, or run tuppence recommend for the hours up to now.",
        )
    hours = settings.usage.window_hours
    last_hour = at.replace(minute=0, second=0, microsecond=0)
    if settings.usage.prometheus is not None:
        period = window or Window.ending(last_hour, hours=hours)
        return usage_prometheus.read_usage(settings.usage.prometheus, period), period
    if settings.usage.file is None:
        raise SettingsError("no source of usage is set", where="usage", next_step=USAGE_CHOICES)
    usage = usage_file.read_usage(settings.usage.file.path)
    end = min(last_hour, _end_of(usage))
    return usage, window or Window.ending(end, hours=hours)


def _end_of(usage: Usage) -> datetime:
    """The end of the hour in which the last sample of a file began."""
    last = usage.observed["timestamp"].max()
    assert isinstance(last, datetime)
    return last.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
