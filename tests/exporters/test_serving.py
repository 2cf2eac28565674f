"""The exporter as a user runs it: started, scraped, reloaded, read by another process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import exporters.serving as serving_module
from exporters import jobs
from exporters.core.clock import FixedClock, SystemClock
from exporters.core.errors import SettingsError, StoreError
from exporters.core.web.serving import serving
from exporters.fetch.registry import SOURCES
from exporters.publish.health import Health
from exporters.publish.http import create_app
from exporters.refresh import Refresher
from exporters.serving import ExporterService
from exporters.settings import ExporterSettings, PackagedSettings
from exporters.store.read import Prices, current_prices
from exporters.store.shelf import ObjectShelf, ReadableShelf, open_readable, open_shelf
from exporters.store.write import write_snapshot
from tests.builders import offer, snapshot
from tests.exporters.conftest import book_row
from tests.servers.prometheus import wait_until

WriteBook = Callable[..., Path]
GPU_PRICE = 'tuppence_price_gbp_per_gpu_hour{provider="hyperion"'


@contextmanager
def running(settings: ExporterSettings, load: Callable[[], ExporterSettings] | None = None) -> Iterator[httpx2.Client]:
    """The service on a free port; yields a client for it."""
    service = ExporterService(settings, load=load or (lambda: settings))
    service.start()
    try:
        with serving(create_app(service.app())) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
            yield client
    finally:
        service.stop()


def scraped(client: httpx2.Client) -> str:
    return client.get("/metrics").text


def test_a_source_is_fetched_at_the_start_and_served(book_settings: ExporterSettings, write_book: WriteBook) -> None:
    write_book(book_row(price="1.20"))
    with running(book_settings) as client:
        wait_until(lambda: GPU_PRICE in scraped(client), seconds=20, otherwise=lambda: scraped(client))
        assert client.get("/-/ready").status_code == 200
        assert 'tuppence_exporter_refresh_success{source="book"} 1.0' in scraped(client)


def test_with_no_account_the_packaged_book_is_served_and_labelled(book_settings: ExporterSettings) -> None:
    document = book_settings.model_dump(mode="json") | {"packaged": {}, "sources": {"fx": {"source": "packaged"}}}
    with running(ExporterSettings.model_validate(document)) as client:
        families = {family.name: family.samples for family in text_string_to_metric_families(scraped(client))}
    origins = {
        (sample.labels["source"], sample.labels["origin"]): sample.value
        for sample in families["tuppence_exporter_price_origin_info"]
    }
    assert origins[("aws", "packaged")] == 1.0
    assert any(
        sample.labels["instance_type"] == "m5.large" for sample in families["tuppence_price_gbp_per_instance_hour"]
    )


def test_wrong_settings_at_a_reload_change_nothing_and_show(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row())

    def broken() -> ExporterSettings:
        raise SettingsError("line 3: colour: this key is not known", where="tuppence.yaml", next_step="Mend it.")

    with running(book_settings, load=broken) as client:
        wait_until(lambda: GPU_PRICE in scraped(client), seconds=20, otherwise=lambda: scraped(client))
        answer = client.post("/-/reload")
        assert answer.status_code == 500
        assert "line 3" in answer.text
        assert "tuppence_exporter_config_last_reload_successful 0.0" in scraped(client)
        assert GPU_PRICE in scraped(client)


def test_a_reload_takes_new_settings(book_settings: ExporterSettings, write_book: WriteBook, tmp_path: Path) -> None:
    write_book(book_row())
    other = tmp_path / "other.csv"
    other.write_text((tmp_path / "book.csv").read_text().replace("hyperion", "oxbow"))
    document = book_settings.model_dump(mode="json")
    document["sources"]["book"]["files"] = [str(other)]
    with running(book_settings, load=lambda: ExporterSettings.model_validate(document)) as client:
        wait_until(lambda: GPU_PRICE in scraped(client), seconds=20, otherwise=lambda: scraped(client))
        assert client.post("/-/reload").status_code == 200
        wait_until(lambda: 'provider="oxbow"' in scraped(client), seconds=20, otherwise=lambda: scraped(client))
        assert 'provider="hyperion"' not in scraped(client)


def test_packaged_prices_follow_a_reload_and_wrong_regions_change_nothing(book_settings: ExporterSettings) -> None:
    document = book_settings.model_dump(mode="json")

    def packaged(*regions: str) -> ExporterSettings:
        return ExporterSettings.model_validate(
            document
            | {"sources": {"fx": {"source": "packaged"}}, "packaged": {"providers": ["aws"], "regions": regions}}
        )

    answers = [packaged("eu-west-1"), packaged("eu-west-22")]
    with running(packaged("eu-west-2"), load=lambda: answers.pop(0)) as client:
        assert 'provider="aws",region="eu-west-2"' in scraped(client)
        assert client.post("/-/reload").status_code == 200
        assert 'provider="aws",region="eu-west-1"' in scraped(client)
        assert 'provider="aws",region="eu-west-2"' not in scraped(client)
        assert "eu-west-22" in client.post("/-/reload").text
        assert "tuppence_exporter_config_last_reload_successful 0.0" in scraped(client)
        assert 'provider="aws",region="eu-west-1"' in scraped(client)


def test_the_settings_page_shows_no_password(book_settings: ExporterSettings) -> None:
    document = book_settings.model_dump(mode="json")
    document["sources"]["fx"] = {"ecb_endpoint": "https://user:hunter2@rates.example"}
    service = ExporterService(ExporterSettings.model_validate(document), load=ExporterSettings, fetch=False)
    text = service.app().settings_text()
    assert "rates.example" in text
    assert "hunter2" not in text


def test_another_process_reads_the_same_prices_over_http(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row(price="1.20"))
    with running(book_settings) as client:
        wait_until(lambda: GPU_PRICE in scraped(client), seconds=20, otherwise=lambda: scraped(client))
        shelf = open_readable(str(client.base_url.join("/snapshots")))
        offers = current_prices(shelf, now=datetime.now(UTC)).offers
    assert offers["gbp_per_hour"].to_list() == [1.20]


def test_a_start_with_too_many_series_is_refused_and_says_what_to_tighten(book_settings: ExporterSettings) -> None:
    document = book_settings.model_dump(mode="json")
    document |= {"packaged": {}, "exporter_web": {"max_series": 10}}
    service = ExporterService(ExporterSettings.model_validate(document), load=ExporterSettings, fetch=False)
    with pytest.raises(SettingsError, match="limit is 10"):
        service.start()


def test_what_another_process_fetched_is_taken_up(
    book_settings: ExporterSettings, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tuppence export --no-fetch` beside `tuppence fetch` in a CronJob, or a price accepted with --accept."""
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 1)
    service = ExporterService(book_settings, load=ExporterSettings, fetch=False)
    service.start()
    try:
        app = service.app()
        write_book(book_row(price="1.20"))
        other = Refresher(settings=book_settings, shelf=app.shelf, clock=SystemClock(), log=Health())
        assert other.refresh(next(source for source in SOURCES if source.name == "book")).error is None
        wait_until(lambda: app.published.current.prices.offers.height, seconds=20, otherwise=lambda: "no offer")  # type: ignore[union-attr]
    finally:
        service.stop()


def test_a_store_without_room_still_serves_what_it_holds(
    book_settings: ExporterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packaged prices are wanted and cannot be written; those fetched before are served."""
    settings = book_settings.model_copy(update={"packaged": PackagedSettings(providers=("aws",))})
    write_snapshot(open_shelf(settings.store.url), snapshot("book", offers=offer(), taken_at=datetime.now(UTC)))

    def no_room(self: ObjectShelf, key: str, content: bytes) -> None:
        raise StoreError(f"{key} cannot be written (No space left on device)", where="store", next_step="Make room.")

    monkeypatch.setattr(ObjectShelf, "put", no_room)
    service = ExporterService(settings, load=ExporterSettings, fetch=False)
    service.start()
    try:
        current = service.app().published.current
        assert current is not None
        assert current.prices.offers.height == 1
    finally:
        service.stop()


def test_prices_read_earlier_never_replace_those_read_later(
    book_settings: ExporterSettings, write_book: WriteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two refreshes end together: the first to read the store is held up, the second has newer prices."""
    service = ExporterService(book_settings, load=ExporterSettings, fetch=False)
    app = service.app()
    held, release = threading.Event(), threading.Event()

    def slow_first(shelf: ReadableShelf, *, now: datetime) -> Prices:
        prices = current_prices(shelf, now=now)
        if not held.is_set():
            held.set()
            release.wait(10)
        return prices

    monkeypatch.setattr(serving_module, "current_prices", slow_first)
    threads = [threading.Thread(target=service._publish) for _ in range(2)]
    threads[0].start()
    assert held.wait(10)
    write_snapshot(app.shelf, snapshot("book", offers=offer(), taken_at=datetime.now(UTC)))  # type: ignore[arg-type]
    threads[1].start()
    threads[1].join(0.5)
    release.set()
    for thread in threads:
        thread.join()

    assert app.published.current is not None
    assert app.published.current.prices.offers.height == 1


def test_series_stop_when_their_snapshot_grows_too_old(book_settings: ExporterSettings, write_book: WriteBook) -> None:
    write_book(book_row())
    now = datetime.now(UTC)
    service = ExporterService(book_settings, load=ExporterSettings, fetch=False, clock=FixedClock(now))
    book = next(source for source in SOURCES if source.name == "book")
    app = service.app()
    refresher = Refresher(
        settings=book_settings, shelf=app.shelf, clock=FixedClock(now - timedelta(hours=47)), log=app.health
    )  # type: ignore[arg-type]
    refresher.refresh(book)
    service.start()
    served = app.published.current
    assert served is not None
    assert served.prices.offers.height == 1

    assert app.published.expire(now + timedelta(hours=2))

    served = app.published.current
    assert served is not None
    assert served.prices.offers.is_empty()
