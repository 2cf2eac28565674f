"""The exporter's own health, as a scrape shows it."""

from __future__ import annotations

import platform
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import polars as pl
import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from exporters.core.clock import FixedClock
from exporters.core.errors import TransientSourceError
from exporters.core.frames import Reject
from exporters.core.metrics import Kind
from exporters.core.words import Origin
from exporters.publish.catalogue import HEALTH
from exporters.publish.health import Health
from exporters.publish.published import PublishedPrices
from exporters.store.snapshot import FX_SOURCE, Manifest
from tests.builders import NOON, offer, offers
from tests.exporters.publish.sample import manifest, no_prices, prices
from tests.servers.prometheus import promtool

PREFIX = "tuppence_exporter_"
THROTTLED = TransientSourceError("the server is throttling", where="sources.aws", next_step="Wait.")


@pytest.fixture
def health() -> Health:
    """Health of an exporter that has just started at noon."""
    return Health(FixedClock(NOON))


def value(health: Health, name: str, **labels: str) -> float | None:
    """One sample as a scrape shows it; None: there is none."""
    return health.registry.get_sample_value(name, labels)


def refreshed(health: Health, snapshot: Manifest, *rejects: dict[str, Any]) -> None:
    """A refresh of four seconds that left rows out."""
    frame = Reject.validate(pl.DataFrame(rejects), cast=True) if rejects else Reject.create_empty()
    health.refresh_succeeded(snapshot.source, manifest=snapshot, rejects=frame, duration_seconds=4.0)


def test_a_good_refresh_shows_its_success_and_its_duration(health: Health) -> None:
    refreshed(health, manifest("aws"))
    assert value(health, f"{PREFIX}refresh_success", source="aws") == 1
    assert value(health, f"{PREFIX}refresh_duration_seconds", source="aws") == 4
    assert value(health, f"{PREFIX}refreshes_total", source="aws") == 1
    assert value(health, f"{PREFIX}refresh_failures_total", source="aws") == 0


def test_a_failed_refresh_counts_twice_and_leaves_other_sources_alone(health: Health) -> None:
    refreshed(health, manifest("gcp"))
    refreshed(health, manifest("aws"))
    health.refresh_failed("aws", error=THROTTLED, duration_seconds=9.0)
    assert value(health, f"{PREFIX}refresh_success", source="aws") == 0
    assert value(health, f"{PREFIX}refresh_duration_seconds", source="aws") == 9
    assert value(health, f"{PREFIX}refreshes_total", source="aws") == 2
    assert value(health, f"{PREFIX}refresh_failures_total", source="aws") == 1
    assert value(health, f"{PREFIX}refresh_success", source="gcp") == 1


def test_a_source_that_was_never_refreshed_claims_neither_success_nor_failure(health: Health) -> None:
    PublishedPrices(health).publish(prices())
    assert value(health, f"{PREFIX}refresh_success", source="aws") is None


def test_rejected_rows_are_added_up_over_regions_by_reason(health: Health) -> None:
    refreshed(
        health,
        manifest("aws"),
        {"reason": "ambiguous", "region": "eu-west-1", "rows": 3, "example": "a"},
        {"reason": "ambiguous", "region": "eu-west-2", "rows": 4, "example": "b"},
        {"reason": "zero", "region": "", "rows": 1, "example": "c"},
    )
    assert value(health, f"{PREFIX}rows_rejected", source="aws", reason="ambiguous") == 7
    assert value(health, f"{PREFIX}rows_rejected", source="aws", reason="zero") == 1


def test_a_reason_that_no_longer_occurs_leaves_no_series(health: Health) -> None:
    refreshed(health, manifest("aws"), {"reason": "zero", "region": "", "rows": 1, "example": "c"})
    refreshed(health, manifest("aws"))
    assert value(health, f"{PREFIX}rows_rejected", source="aws", reason="zero") is None


def test_the_age_of_what_is_served_can_be_alerted_on(health: Health) -> None:
    PublishedPrices(health).publish(prices())
    assert value(health, f"{PREFIX}snapshot_timestamp_seconds", source="aws") == NOON.timestamp()
    assert value(health, f"{PREFIX}snapshot_max_age_seconds", source="aws") == 48 * 3600


def test_a_source_whose_prices_grew_too_old_keeps_its_timestamp_and_has_no_offers(health: Health) -> None:
    published = PublishedPrices(health)
    published.publish(prices(used=(manifest("aws", max_age_hours=1.0),)))
    published.expire(NOON + timedelta(hours=2))
    assert value(health, f"{PREFIX}snapshot_timestamp_seconds", source="aws") == NOON.timestamp()
    assert value(health, f"{PREFIX}offers", source="aws") == 0


def test_prices_that_this_process_fetched_are_live(health: Health) -> None:
    refreshed(health, manifest("aws"))
    PublishedPrices(health).publish(prices())
    assert value(health, f"{PREFIX}price_origin_info", source="aws", origin="live") == 1


def test_prices_found_on_the_shelf_are_cached(health: Health) -> None:
    PublishedPrices(health).publish(prices())
    assert value(health, f"{PREFIX}price_origin_info", source="aws", origin="cached") == 1


def test_prices_become_cached_when_the_next_refresh_fails(health: Health) -> None:
    refreshed(health, manifest("aws"))
    PublishedPrices(health).publish(prices())
    health.refresh_failed("aws", error=THROTTLED, duration_seconds=1.0)
    assert value(health, f"{PREFIX}price_origin_info", source="aws", origin="cached") == 1
    assert value(health, f"{PREFIX}price_origin_info", source="aws", origin="live") is None


def test_packaged_prices_say_so_and_have_no_greatest_age(health: Health) -> None:
    PublishedPrices(health).publish(prices(used=(manifest("aws", origin=Origin.PACKAGED, max_age_hours=None),)))
    assert value(health, f"{PREFIX}price_origin_info", source="aws", origin="packaged") == 1
    assert value(health, f"{PREFIX}snapshot_max_age_seconds", source="aws") is None


def test_illustrative_offers_are_counted_apart(health: Health) -> None:
    spot = offer(capacity_type="spot", note="illustrative")
    PublishedPrices(health).publish(prices(offers=offers(offer(), spot)))
    assert value(health, f"{PREFIX}offers", source="aws") == 1
    assert value(health, f"{PREFIX}illustrative_offers", source="aws") == 1


def test_rates_of_exchange_have_an_age_but_no_offers(health: Health) -> None:
    PublishedPrices(health).publish(prices())
    assert value(health, f"{PREFIX}snapshot_timestamp_seconds", source=FX_SOURCE) == NOON.timestamp()
    assert value(health, f"{PREFIX}offers", source=FX_SOURCE) is None


def test_a_source_that_is_no_longer_on_the_shelf_is_no_longer_served(health: Health) -> None:
    published = PublishedPrices(health)
    published.publish(prices())
    published.publish(no_prices())
    assert value(health, f"{PREFIX}snapshot_timestamp_seconds", source="aws") is None
    assert value(health, f"{PREFIX}offers", source="aws") == 0


def test_waiting_prices_raise_the_capped_flag(health: Health) -> None:
    published = PublishedPrices(health, max_series=42)
    published.publish(prices())
    assert value(health, f"{PREFIX}series") == value(health, f"{PREFIX}series_limit") == 42
    assert value(health, f"{PREFIX}series_capped") == 0
    published.publish(prices(offers=offers(prices().offers, offer(instance_type="c5.large"))))
    assert value(health, f"{PREFIX}series_capped") == 1


def test_a_failed_reload_keeps_the_time_of_the_last_good_one(health: Health) -> None:
    health.reload_failed()
    assert value(health, f"{PREFIX}config_last_reload_successful") == 0
    assert value(health, f"{PREFIX}config_last_reload_success_timestamp_seconds") == NOON.timestamp()
    health.reload_succeeded()
    assert value(health, f"{PREFIX}config_last_reload_successful") == 1


def test_the_program_names_its_version(health: Health) -> None:
    found = value(health, "tuppence_build_info", version=version("tuppence"), python_version=platform.python_version())
    assert found == 1


def test_every_row_of_the_catalogue_is_collected_under_its_name_and_type(health: Health) -> None:
    families = {family.name: family for family in health.collect()}
    for metric in HEALTH:
        family = families[metric.name.removesuffix("_info").removesuffix("_total")]
        assert (family.type, family.documentation, family.unit) == (metric.kind.value, metric.help, metric.unit)
    assert len(families) == len(HEALTH)


def test_promtool_finds_nothing_to_say_about_the_health_metrics(health: Health) -> None:
    refreshed(health, manifest("aws"), {"reason": "zero", "region": "", "rows": 1, "example": "c"})
    PublishedPrices(health).publish(prices())
    verdict = promtool("check", "metrics", stdin=generate_latest(health.registry))
    assert (verdict.returncode, verdict.stderr) == (0, b"")


def test_openmetrics_ends_once_and_types_counters_as_counters(health: Health) -> None:
    refreshed(health, manifest("aws"))
    text = generate_openmetrics(health.registry).decode()
    assert text.count("# EOF") == 1
    types = {family.name: family.type for family in parse_openmetrics(text)}
    assert types[f"{PREFIX}refreshes"] == Kind.COUNTER
    assert types["tuppence_build"] == Kind.INFO


def test_the_process_reports_its_own_memory(health: Health) -> None:
    resident = value(health, "process_resident_memory_bytes")
    assert resident is not None
    assert resident > 1_000_000
