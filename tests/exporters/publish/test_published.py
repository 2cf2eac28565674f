"""What is served: swapped whole, capped, and stopped when it grows too old."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from exporters.core.errors import SettingsError
from exporters.core.words import Origin
from exporters.publish.health import Health
from exporters.publish.published import Publication, PublishedPrices
from exporters.store.read import Prices
from exporters.store.snapshot import FX_SOURCE
from tests.builders import NOON, offer, offers
from tests.exporters.publish.sample import manifest, prices

TWO_DAYS = timedelta(hours=48)
SAMPLE_SERIES = 42


class Heard:
    """A log that keeps what it was told."""

    def __init__(self) -> None:
        self.publications: list[Publication] = []

    def published(self, publication: Publication) -> None:
        self.publications.append(publication)


def served(published: PublishedPrices) -> str:
    """The text body that a scrape would get."""
    assert published.current is not None
    return b"".join(published.current.bodies.text.plain(b"")).decode()


def test_before_the_first_prices_nothing_is_served() -> None:
    assert PublishedPrices(Heard()).current is None


def test_published_prices_are_served_and_the_log_is_told() -> None:
    log = Heard()
    published = PublishedPrices(log)
    assert published.publish(prices())
    assert 'instance_type="m5.large"' in served(published)
    assert log.publications == [published.current]
    assert log.publications[0].bodies.series == SAMPLE_SERIES


def test_an_offer_that_vanished_leaves_no_series() -> None:
    published = PublishedPrices(Heard())
    published.publish(prices())
    published.publish(prices(offers=offers(offer(instance_type="c5.large"))))
    assert 'instance_type="c5.large"' in served(published)
    assert "m5.large" not in served(published)


def test_a_snapshot_stops_one_moment_after_its_greatest_age_and_the_others_stay() -> None:
    published = PublishedPrices(Heard())
    published.publish(prices(used=(manifest("aws", max_age_hours=24.0), manifest("azure"), manifest("onprem"))))
    assert not published.expire(NOON + timedelta(hours=24))
    assert 'provider="aws"' in served(published)
    assert published.expire(NOON + timedelta(hours=24, seconds=1))
    assert 'provider="aws"' not in served(published)
    assert 'provider="azure"' in served(published)
    assert published.current is not None
    assert [one.source for one in published.current.prices.stale] == ["aws"]


def test_a_packaged_snapshot_never_grows_too_old() -> None:
    published = PublishedPrices(Heard())
    published.publish(prices(used=(manifest("aws", origin=Origin.PACKAGED, max_age_hours=None),)))
    assert not published.expire(NOON + timedelta(days=3650))


def test_old_rates_of_exchange_do_not_stop_prices() -> None:
    published = PublishedPrices(Heard())
    published.publish(prices(used=(manifest(FX_SOURCE), manifest("aws", max_age_hours=100.0))))
    assert not published.expire(NOON + TWO_DAYS * 2)


def test_expiry_before_the_first_prices_does_nothing() -> None:
    assert not PublishedPrices(Heard()).expire(NOON)


def test_prices_exactly_at_the_limit_are_served() -> None:
    assert PublishedPrices(Heard(), max_series=SAMPLE_SERIES).publish(prices())


def test_at_the_start_too_many_series_are_refused_and_the_error_says_what_to_tighten() -> None:
    published = PublishedPrices(Heard(), max_series=SAMPLE_SERIES - 1)
    with pytest.raises(SettingsError) as refused:
        published.publish(prices())
    message = str(refused.value)
    assert message.startswith("exporter_web.max_series: 7 offers give 42 series, and the limit is 41")
    assert "provider: aws 5, azure 1, onprem 1" in message
    assert "capacity_type: on-demand 4, spot 2, owned 1" in message
    assert "Tighten regions, families or capacity_types" in message
    assert published.current is None


def _outgrown() -> tuple[PublishedPrices, Prices]:
    published = PublishedPrices(Heard(), max_series=SAMPLE_SERIES)
    published.publish(prices())
    more = prices(offers=offers(prices().offers, offer(instance_type="c5.large")))
    return published, more


def test_at_run_time_the_last_prices_under_the_limit_stay_and_say_that_newer_ones_wait() -> None:
    published, more = _outgrown()
    assert not published.publish(more)
    assert "c5.large" not in served(published)
    assert published.current is not None
    assert published.current.newer_wait


def test_once_prices_are_back_under_the_limit_none_wait() -> None:
    published, more = _outgrown()
    published.publish(more)
    assert published.publish(prices())
    assert published.current is not None
    assert not published.current.newer_wait


def test_prices_kept_because_newer_ones_wait_still_grow_too_old() -> None:
    published, more = _outgrown()
    published.publish(more)
    assert published.expire(NOON + TWO_DAYS + timedelta(seconds=1))
    assert "m5.large" not in served(published)
    assert published.current is not None
    assert published.current.newer_wait


def test_the_health_metrics_follow_a_publication() -> None:
    health = Health()
    published = PublishedPrices(health, max_series=SAMPLE_SERIES)
    published.publish(replace(prices(), stale=(manifest("gcp"),)))
    assert health.exporter.series == SAMPLE_SERIES
    assert health.sources["aws"].offers == 5
    assert health.sources["gcp"].stale
