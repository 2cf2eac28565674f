"""What a week's report rests on, read from a company's files: real figures, or the reason why there are none."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from exporters.core.clock import FixedClock
from exporters.core.config_file import read_document, validate
from exporters.core.errors import StoreError
from exporters.core.sections import ALL_SECTIONS
from exporters.fetch.registry import SOURCES
from exporters.publish.health import Health
from exporters.refresh import Refresher
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf
from recommender.advise.plan import Plan
from recommender.demo.write import write_demo
from recommender.outlook import Ahead, ahead_at
from recommender.recorded import recorded
from recommender.report.of_owner import reports_by_scope
from recommender.report.view_model import report_of
from recommender.report.week_demand import burst_days
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from recommender.week.events import Happened
from recommender.week.facts import WeekFacts, week_facts
from tests.builders import NOON

MONDAY = datetime(2026, 11, 30, tzinfo=UTC)
WEEK = Week.parse("2026-W48")


def settings_of(path: Path) -> RecommenderSettings:
    return validate(read_document(path, {}), RecommenderSettings, known=ALL_SECTIONS)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> RecommenderSettings:
    """A company with two weeks of usage, and snapshots of two days."""
    path = write_demo(tmp_path_factory.mktemp("two-weeks"), until=MONDAY, seed=1, weeks=2)
    exporter = validate(read_document(path, {}), ExporterSettings, known=ALL_SECTIONS)
    for moment in (NOON - timedelta(days=10), NOON):
        clock = FixedClock(moment)
        refresher = Refresher(settings=exporter, shelf=open_shelf(exporter.store.url), clock=clock, log=Health(clock))
        refresher.seed()
        refresher.refresh(next(source for source in SOURCES if source.name == "onprem"))
    return settings_of(path)


@pytest.fixture(scope="module")
def ahead(settings: RecommenderSettings) -> Ahead:
    return ahead_at(settings, at=NOON)


@pytest.fixture(scope="module")
def plan(settings: RecommenderSettings) -> Plan:
    """An evaluation of the week that is written down."""
    return recorded(settings, at=NOON, now=NOON, window=WEEK.window).plan


@pytest.fixture(scope="module")
def known(settings: RecommenderSettings, ahead: Ahead) -> WeekFacts:
    return week_facts(settings, WEEK, at=NOON, ahead=ahead)


def test_the_week_is_compared_with_the_one_before_to_the_penny(known: WeekFacts) -> None:
    assert known.spend is not None
    whole = known.spend.whole
    assert whole.before_start == datetime(2026, 11, 16, tzinfo=UTC)
    assert whole.before_gbp + whole.usage_gbp + whole.price_gbp + whole.exchange_rate_gbp == whole.after_gbp
    # The shop and the training grew, one workload went; the same price lists held in both weeks.
    assert whole.usage_gbp > 0
    assert (whole.price_gbp, whole.exchange_rate_gbp) == (Decimal(0), Decimal(0))
    owners = known.spend.by_owner.values()
    assert float(sum(one.after_gbp for one in owners)) == pytest.approx(float(whole.after_gbp), abs=0.2)


def test_prices_have_one_point_a_region_and_day_with_its_own_rate(known: WeekFacts) -> None:
    keys = known.prices.select("day", "provider", "region", "unit")
    assert keys.is_duplicated().sum() == 0
    assert {"vCPU", "L4"} <= set(known.prices["unit"])
    assert set(known.prices["region"]) <= {"eu-west-1", "eu-west-2", "europe-west2", "uksouth", "london-1"}


def test_every_step_of_the_week_stands_beside_what_was_foretold_for_it(known: WeekFacts) -> None:
    assert known.demanded is not None
    gpus = known.demanded.steps.filter(cluster="onprem-lon-1", resource="gpu", resource_class="A100-80GB")
    assert gpus["at"].min() == WEEK.window.start
    assert gpus.height >= 160
    foretold = gpus.drop_nulls(["p50", "p90"])
    assert foretold.height >= 150
    assert (foretold["p90"] >= foretold["p50"]).all()


def test_gpus_are_short_on_each_working_day_of_the_demonstration(known: WeekFacts) -> None:
    assert known.demanded is not None
    days = burst_days(known.demanded).filter(resource="gpu", resource_class="A100-80GB")
    assert [day.isoweekday() for day in days["day"]] == [1, 2, 3, 4, 5]
    assert (days["peak"] > days["admissible"]).all()


def test_without_a_week_before_the_reason_stands_instead_of_a_figure(
    settings: RecommenderSettings, ahead: Ahead, tmp_path: Path
) -> None:
    assert settings.usage.file is not None
    usage = pl.read_parquet(settings.usage.file.path).filter(pl.col("timestamp") >= WEEK.window.start)
    usage.write_parquet(tmp_path / "usage.parquet")
    shorter = settings.usage.model_copy(
        update={"file": settings.usage.file.model_copy(update={"path": tmp_path / "usage.parquet"})}
    )
    found = week_facts(settings.model_copy(update={"usage": shorter}), WEEK, at=NOON, ahead=ahead)
    assert found.spend is None
    assert found.no_spend.startswith("no usage is known of the week from 16 November 2026")


def test_without_prices_of_the_week_before_the_reason_stands_instead_of_a_figure(
    settings: RecommenderSettings, ahead: Ahead, tmp_path: Path
) -> None:
    empty = settings.model_copy(update={"prices": settings.prices.model_copy(update={"url": str(tmp_path)})})
    found = week_facts(empty, WEEK, at=NOON, ahead=ahead)
    assert (found.spend, found.prices.height) == (None, 0)
    assert found.no_spend.startswith("no prices of 23 November 2026 are kept")


def test_a_week_in_which_the_clocks_change_is_an_hour_longer(settings: RecommenderSettings) -> None:
    sunday = Week.parse("2026-10-25")
    found = week_facts(settings, sunday, at=sunday.window.end + timedelta(days=36), with_ledger=False)
    assert found.spend is None
    assert sunday.window.seconds == 169 * 3600


def test_what_an_evaluation_proposes_is_new_in_its_week_and_every_owner_gets_a_report(
    settings: RecommenderSettings, ahead: Ahead, plan: Plan
) -> None:
    found = week_facts(settings, WEEK, at=NOON, ahead=ahead)
    assert found.past is not None
    assert {one.what for one in found.past.events} == {Happened.NEW}
    assert {one.id for one in plan.recommendations} <= found.past.advice.keys()
    scopes = reports_by_scope(plan, WEEK, found)
    assert {"", "ml-platform", "radiology"} <= scopes.keys()
    counts = report_of(plan, WEEK, found).events
    assert counts is not None
    assert counts.counts[0].what == "new"


def test_a_ledger_that_somebody_writes_to_is_read_as_it_was(
    settings: RecommenderSettings, ahead: Ahead, plan: Plan
) -> None:
    with sqlite3.connect(settings.ledger.url.removeprefix("sqlite:///"), isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        found = week_facts(settings, WEEK, at=NOON, ahead=ahead)
        writer.execute("ROLLBACK")
    assert found.past is not None
    assert {one.id for one in plan.recommendations} <= {one.recommendation_id for one in found.past.events}


def test_a_ledger_that_cannot_be_read_is_an_error_and_no_empty_week(
    settings: RecommenderSettings, ahead: Ahead, tmp_path: Path
) -> None:
    broken = tmp_path / "ledger.sqlite"
    broken.write_bytes(b"this is no database, " * 100)
    ledger = settings.ledger.model_copy(update={"url": str(broken)})
    wrong = settings.model_copy(update={"ledger": ledger})
    with pytest.raises(StoreError, match="ledger"):
        week_facts(wrong, WEEK, at=NOON, ahead=ahead)
    assert week_facts(wrong, WEEK, at=NOON, ahead=ahead, with_ledger=False).past is None
