"""A refresh ends in a new snapshot or changes nothing, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import LocalStore
from polars.exceptions import PanicException

from exporters import refresh
from exporters.core.clock import FixedClock
from exporters.core.errors import IntegrityError, SettingsError, StoreError, TransientSourceError
from exporters.core.words import Origin
from exporters.fetch.book import fetch_packaged
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest, Source
from exporters.fetch.registry import SOURCES
from exporters.normalise.row_rules.registry import RULES
from exporters.permissions import WITHOUT_RIGHTS
from exporters.publish.health import Health
from exporters.refresh import Refresher
from exporters.settings import ExporterSettings, PackagedSettings
from exporters.store.fx_history import read_history, stored_rates
from exporters.store.read import current_prices, last_snapshot, manifests, sources
from exporters.store.shelf import ObjectShelf, open_shelf
from exporters.store.write import write_snapshot
from tests.builders import NOON, fx_table, offer, offers, snapshot
from tests.exporters.conftest import book_row
from tests.fakes.fx import Answer, RateServer

BOOK = next(source for source in SOURCES if source.name == "book")
WriteBook = Callable[..., Path]


def refresher(settings: ExporterSettings, *, now: datetime = NOON, accept: bool = False) -> Refresher:
    clock = FixedClock(now)
    return Refresher(
        settings=settings, shelf=open_shelf(settings.store.url), clock=clock, log=Health(clock), accept_changes=accept
    )


def test_a_refresh_puts_a_snapshot_on_the_shelf(book_settings: ExporterSettings, write_book: WriteBook) -> None:
    write_book(book_row(price="1.20"))
    run = refresher(book_settings)

    outcome = run.refresh(BOOK)

    assert outcome.error is None
    offers = current_prices(run.shelf, now=NOON).offers
    assert offers["gbp_per_hour"].to_list() == [1.20]
    assert outcome.snapshot is not None
    assert outcome.snapshot.manifest.origin is Origin.LIVE


def test_a_source_that_fails_leaves_the_last_good_snapshot(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    good = refresher(book_settings)
    write_book(book_row())
    good.refresh(BOOK)
    failing = replace(BOOK, fetch=_throttled)

    later = refresher(book_settings, now=NOON + timedelta(hours=6))
    outcome = later.refresh(failing)

    assert isinstance(outcome.error, TransientSourceError)
    last = last_snapshot(later.shelf, "book")
    assert last is not None
    assert last.manifest.taken_at == NOON


def _throttled(settings: object, request: FetchRequest) -> Fetched:
    raise TransientSourceError("throttled", where="sources.book", next_step="Wait.")


def test_a_fault_in_our_own_code_is_an_outcome_not_a_crash(book_settings: ExporterSettings) -> None:
    def broken(settings: object, request: FetchRequest) -> Fetched:
        raise ZeroDivisionError

    outcome = refresher(book_settings).refresh(replace(BOOK, fetch=broken))

    assert "ZeroDivisionError" in str(outcome.error)


def test_a_panic_inside_polars_is_an_outcome_not_a_crash(book_settings: ExporterSettings) -> None:
    """Its class is no Exception, so that an ordinary handler lets it through to the other sources."""

    def panics(settings: object, request: FetchRequest) -> Fetched:
        raise PanicException("index out of bounds")

    outcome = refresher(book_settings).refresh(replace(BOOK, fetch=panics))

    assert not issubclass(PanicException, Exception)
    assert "PanicException" in str(outcome.error)


def test_a_store_that_forbids_to_delete_does_not_fail_the_refresh(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    """As a bucket with a retention lock does; the snapshot before it is old enough to be cleared away."""

    class Locked(ObjectShelf):
        def delete(self, key: str) -> None:
            raise StoreError(f"{key} cannot be removed", where="s3://prices", next_step="Ask for the right to delete.")

    write_book(book_row())
    refresher(book_settings, now=NOON - timedelta(days=900)).refresh(BOOK)
    refresher(book_settings, now=NOON - timedelta(days=800)).refresh(BOOK)
    run = replace(
        refresher(book_settings), shelf=Locked(LocalStore(Path(book_settings.store.url)), where="s3://prices")
    )

    outcome = run.refresh(BOOK)

    assert outcome.error is None
    assert run.log.sources["book"].succeeded  # type: ignore[attr-defined]
    assert current_prices(run.shelf, now=NOON).offers.height == 1


def test_a_book_that_shrinks_to_nothing_keeps_the_last_good_one(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row())
    refresher(book_settings).refresh(BOOK)
    write_book(book_row(price="0"))

    later = refresher(book_settings, now=NOON + timedelta(hours=6))
    outcome = later.refresh(BOOK)

    assert isinstance(outcome.error, IntegrityError)
    assert len(manifests(later.shelf, "book")) == 1


def test_a_price_that_jumps_waits_for_confirmation(book_settings: ExporterSettings, write_book: WriteBook) -> None:
    """Up from £1.20 to £20: set aside twice, believed at the third equal refresh."""
    names = [f"gpu-{number}" for number in range(60)]
    write_book(*(book_row(name=name) for name in names))
    refresher(book_settings).refresh(BOOK)
    write_book(*(book_row(name=name, price="20" if name == "gpu-0" else "1.20") for name in names))

    seen = []
    for hours in (6, 12, 18):
        run = refresher(book_settings, now=NOON + timedelta(hours=hours))
        assert run.refresh(BOOK).error is None
        offers = current_prices(run.shelf, now=run.clock.now()).offers
        seen.append(offers.filter(instance_type="gpu-0")["gbp_per_hour"].to_list())

    assert seen == [[], [], [20.0]]


def test_a_jump_is_taken_at_once_when_another_source_has_the_same_price(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row(), book_row(name="other"))
    refresher(book_settings).refresh(BOOK)
    later = refresher(book_settings, now=NOON + timedelta(hours=6))
    elsewhere = {"provider": "hyperion", "region": "london", "instance_type": "gpu-a100", "currency": "GBP"}
    write_snapshot(later.shelf, snapshot("aws", offers=offer(**elsewhere, price_per_hour="20", gbp_per_unit=1.0)))
    write_book(book_row(price="20"), book_row(name="other"))

    outcome = later.refresh(BOOK)

    assert outcome.snapshot is not None
    assert outcome.snapshot.offers.filter(instance_type="gpu-a100")["gbp_per_hour"].to_list() == [20.0]


@pytest.mark.parametrize(
    ("more", "max_age_hours"),
    [({"note": "illustrative: mean of July"}, None), ({}, 5.0)],
    ids=["illustrative", "too old"],
)
def test_an_illustrative_price_or_one_that_is_too_old_confirms_nothing(
    book_settings: ExporterSettings, write_book: WriteBook, more: dict[str, str], max_age_hours: float | None
) -> None:
    write_book(book_row(), book_row(name="other"))
    refresher(book_settings).refresh(BOOK)
    later = refresher(book_settings, now=NOON + timedelta(hours=6))
    same = offer(
        provider="hyperion", region="london", instance_type="gpu-a100", currency="GBP", price_per_hour="20",
        gbp_per_unit=1.0, **more,
    )  # fmt: skip
    write_snapshot(later.shelf, snapshot("aws", offers=same, max_age_hours=max_age_hours))
    write_book(book_row(price="20"), book_row(name="other"))

    outcome = later.refresh(BOOK)

    assert outcome.snapshot is not None
    assert outcome.snapshot.offers["instance_type"].to_list() == ["other"]


def test_the_packaged_book_confirms_a_clouds_price(
    book_settings: ExporterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last snapshot has m5.large in London at 2 USD, a glitch; the cloud says 0.111 again, as the book does.

    The cloud's answer is given in the form of a book.
    """
    monkeypatch.setattr(refresh, "RULES", {**RULES, "aws": RULES["book"]})
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(regions=("eu-west-2",))}))
    rates = fx_table(USD=0.5)
    write_snapshot(run.shelf, snapshot("fx", fx=rates))
    glitch = offers(offer(price_per_hour="2"), offer(instance_type="c5.large"))
    write_snapshot(run.shelf, snapshot("aws", offers=glitch, taken_at=NOON - timedelta(hours=6)))
    packaged = replace(BOOK, name="aws", fetch=lambda _, request: fetch_packaged("aws", CloudSettings(), request))

    outcome = run.refresh(packaged)

    assert outcome.error is None
    assert outcome.snapshot is not None
    assert outcome.snapshot.set_aside.is_empty()
    assert outcome.snapshot.offers.filter(instance_type="m5.large", region="eu-west-2", capacity_type="on-demand")[
        "price_per_hour"
    ].cast(float).to_list() == [0.111]


def test_a_jump_is_taken_at_once_when_the_user_accepts_it(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row())
    refresher(book_settings).refresh(BOOK)
    write_book(book_row(price="20"))

    accepting = refresher(book_settings, now=NOON + timedelta(hours=6), accept=True)

    assert accepting.refresh(BOOK).error is None
    assert current_prices(accepting.shelf, now=accepting.clock.now()).offers["gbp_per_hour"].to_list() == [20.0]


def test_foreign_prices_convert_at_the_rates_on_the_shelf(
    book_settings: ExporterSettings, write_book: WriteBook
) -> None:
    write_book(book_row(price="2", currency="USD"))
    run = refresher(book_settings)
    write_snapshot(run.shelf, snapshot("fx", fx=fx_table(USD=0.5)))

    run.refresh(BOOK)

    assert current_prices(run.shelf, now=NOON).offers["gbp_per_hour"].to_list() == [1.0]


def test_packaged_prices_stand_in_where_there_is_no_snapshot(book_settings: ExporterSettings) -> None:
    settings = book_settings.model_copy(update={"packaged": PackagedSettings(providers=("aws",))})
    run = refresher(settings)
    run.seed()

    packaged = last_snapshot(run.shelf, "aws")

    assert packaged is not None
    assert packaged.manifest.origin is Origin.PACKAGED
    assert packaged.offers.filter(instance_type="m5.large", region="eu-west-2", capacity_type="on-demand")[
        "price_per_hour"
    ].cast(float).to_list() == [0.111]


def test_packaged_prices_follow_the_settings(book_settings: ExporterSettings) -> None:
    def regions(packaged: PackagedSettings) -> set[str]:
        run = refresher(book_settings.model_copy(update={"packaged": packaged}))
        run.seed()
        last = last_snapshot(run.shelf, "aws")
        return set() if last is None else set(last.offers["region"])

    assert regions(PackagedSettings(providers=("aws",), regions=("eu-west-2", "eu-west-1"))) == {
        "eu-west-1",
        "eu-west-2",
    }
    assert regions(PackagedSettings(providers=("aws",), regions=("eu-west-2",))) == {"eu-west-2"}
    assert regions(PackagedSettings(enabled=False)) == set()


def test_packaged_regions_of_one_cloud_leave_the_others_out(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(regions=("eu-west-2", "eu-west-1"))}))

    run.seed()

    assert sources(run.shelf) == ["aws", "fx"]


def test_packaged_regions_without_any_packaged_price_are_an_error(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(regions=("us-gov-west-1",))}))

    with pytest.raises(SettingsError, match=r"packaged\.regions: .*no price of aws, gcp, azure"):
        run.seed()


def test_a_misspelt_packaged_region_is_refused_though_others_are_right(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(regions=("uksouth", "eu-west-22"))}))

    with pytest.raises(SettingsError, match=r"'eu-west-22'.*Did you mean 'eu-west-2'"):
        run.seed()


def test_packaged_prices_that_say_the_same_are_not_written_again(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(providers=("aws",))}))
    run.seed()
    before = run.shelf.keys("")
    write_snapshot(run.shelf, snapshot("fx", fx=fx_table(USD=0.5)))
    run.seed()
    assert run.shelf.keys("aws") == [key for key in before if key.startswith("aws/")]


def test_fetched_prices_are_never_replaced_by_packaged_ones(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings.model_copy(update={"packaged": PackagedSettings(providers=("aws",))}))
    fetched = write_snapshot(run.shelf, snapshot("aws", offers=offer()))
    run.seed()
    last = last_snapshot(run.shelf, "aws")
    assert last is not None
    assert last.manifest == fetched


def test_packaged_rates_are_dated_by_their_own_day(book_settings: ExporterSettings) -> None:
    run = refresher(book_settings)
    run.seed()
    rates = last_snapshot(run.shelf, "fx")
    assert rates is not None
    assert rates.manifest.taken_at < datetime(2026, 11, 30, tzinfo=UTC)
    assert set(rates.fx["fx_source"]) == {"packaged", "none"}


def test_rates_that_cannot_be_fetched_leave_those_on_the_shelf(book_settings: ExporterSettings) -> None:
    document = book_settings.model_dump(mode="json")
    document["sources"]["fx"] = {"ecb_endpoint": "http://127.0.0.1:9", "deadline_seconds": 1}
    run = refresher(ExporterSettings.model_validate(document))
    run.seed()

    outcome = run.refresh_fx()

    assert outcome.error is not None
    assert len(manifests(run.shelf, "fx")) == 1


def test_with_the_rates_of_today_comes_a_history_that_is_asked_for_again_before_it_ends(tmp_path: Path) -> None:
    file = (
        "<Envelope><Cube><Cube time='2026-11-30'><Cube currency='USD' rate='1.1'/><Cube currency='GBP' rate='0.825'/>"
        "</Cube><Cube time='2026-11-02'><Cube currency='USD' rate='1.0'/><Cube currency='GBP' rate='0.8'/></Cube>"
        "</Cube></Envelope>"
    )
    with RateServer(file.encode()) as server:
        fx = {"currencies": ["USD"], "ecb_endpoint": f"{server.url}/eurofxref-daily.xml"}
        document = {"store": {"url": str(tmp_path / "store")}, "sources": {"fx": fx}}
        for _ in range(2):
            run = refresher(ExporterSettings.model_validate(document))
            assert run.refresh_fx().error is None
        asked = list(server.requests)
    assert asked == ["/eurofxref-daily.xml", "/eurofxref-hist-90d.xml", "/eurofxref-daily.xml"]
    rates = stored_rates(run.shelf, date(2026, 11, 1), date(2026, 11, 30)).filter(currency="USD")
    assert dict(rates.select("rate_date", "gbp_per_unit").rows()) == {
        date(2026, 11, 2): pytest.approx(0.8),
        date(2026, 11, 30): pytest.approx(0.75),
    }


def test_a_history_that_cannot_be_had_does_not_fail_the_rates_of_today(tmp_path: Path) -> None:
    file = b"<E><Cube time='2026-11-30'><Cube currency='USD' rate='1.1'/><Cube currency='GBP' rate='0.825'/></Cube></E>"
    with RateServer(file, Answer(b"gone", status=404)) as server:
        fx = {"currencies": ["USD"], "ecb_endpoint": f"{server.url}/eurofxref-daily.xml"}
        document = {"store": {"url": str(tmp_path / "store")}, "sources": {"fx": fx}}
        run = refresher(ExporterSettings.model_validate(document))
        assert run.refresh_fx().error is None
    assert read_history(run.shelf).is_empty()


def test_only_enabled_sources_are_refreshed(book_settings: ExporterSettings) -> None:
    assert [source.name for source in refresher(book_settings).enabled()] == ["book"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_source_has_settings_a_row_rule_and_a_word_on_rights(source: Source) -> None:
    assert isinstance(ExporterSettings().sources.of(source.name), source.settings_model)
    assert source.name in RULES
    assert source.name in WITHOUT_RIGHTS
