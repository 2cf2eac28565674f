"""Snapshots are whole or absent, the last good one stays, and all readers see one exchange rate."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from exporters.core.errors import StoreError
from exporters.store.read import current_prices, last_snapshot, manifests, newest_ids, sources
from exporters.store.shelf import open_shelf
from exporters.store.snapshot import FX_SOURCE, Manifest
from exporters.store.write import clear_history, write_snapshot
from tests.builders import NOON, USD_RATE, egress_rate, fx_table, offer, offers, snapshot


def test_a_snapshot_comes_back_as_it_was_written(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    written = snapshot(offers=offer(), egress=egress_rate())

    write_snapshot(shelf, written)

    read = last_snapshot(shelf, "aws")
    assert read is not None
    assert_frame_equal(read.offers, written.offers)
    assert_frame_equal(read.egress, written.egress)
    assert read.manifest.rows["offers"] == 1


def test_a_snapshot_without_its_manifest_does_not_exist(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    good = write_snapshot(shelf, snapshot(offers=offer()))
    later = write_snapshot(shelf, snapshot(offers=offer(price_per_hour="9"), taken_at=NOON + timedelta(hours=1)))

    shelf.delete(f"{later.id}/manifest.json")

    read = last_snapshot(shelf, "aws")
    assert read is not None
    assert read.manifest == good


def test_a_damaged_frame_falls_back_to_the_snapshot_before(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    good = write_snapshot(shelf, snapshot(offers=offer()))
    later = write_snapshot(shelf, snapshot(offers=offer(price_per_hour="9"), taken_at=NOON + timedelta(hours=1)))

    whole = shelf.get(f"{later.id}/offers.parquet")
    shelf.put(f"{later.id}/offers.parquet", whole[: len(whole) // 2])

    read = last_snapshot(shelf, "aws")
    assert read is not None
    assert read.manifest.id == good.id


def test_a_frame_with_fewer_rows_than_its_manifest_says_is_damaged(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    manifest = write_snapshot(shelf, snapshot(offers=offers(offer(), offer(region="eu-west-1"))))
    (tmp_path / manifest.id / "offers.parquet").unlink()
    offer().write_parquet(tmp_path / manifest.id / "offers.parquet")

    assert last_snapshot(shelf, "aws") is None


def test_a_damaged_manifest_is_left_out(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    manifest = write_snapshot(shelf, snapshot(offers=offer()))
    shelf.put(f"{manifest.id}/manifest.json", b"{")
    assert manifests(shelf, "aws") == []


def test_a_manifest_of_a_newer_schema_is_not_guessed_at() -> None:
    content = snapshot().manifest.to_json().replace(b'"schema_version": 1', b'"schema_version": 2')
    with pytest.raises(StoreError, match="schema version 2"):
        Manifest.from_json(content, where="x")


def test_prices_of_all_sources_are_expressed_at_the_newest_rate(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot("aws", offers=offer(gbp_per_unit=0.70), egress=egress_rate(gbp_per_unit=0.70)))
    write_snapshot(shelf, snapshot("azure", offers=offer(provider="azure", gbp_per_unit=0.80)))
    write_snapshot(shelf, snapshot(FX_SOURCE, fx=fx_table()))

    prices = current_prices(shelf, now=NOON)

    assert prices.offers["gbp_per_hour"].to_list() == pytest.approx([0.111 * USD_RATE] * 2)
    assert prices.egress["gbp_per_gib"].to_list() == pytest.approx([0.09 * USD_RATE])
    assert prices.offers["fx_date"].unique().to_list() == [date(2026, 10, 30)]
    parts = prices.offers.select(pl.col("vcpus") * pl.col("gbp_per_vcpu_hour") + 8 * pl.col("gbp_per_gib_hour"))
    assert parts.to_series().to_list() == pytest.approx([0.111 * USD_RATE] * 2)


def test_a_currency_without_a_newer_rate_keeps_its_own(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot("book", offers=offer(currency="CHF", gbp_per_unit=0.9, fx_date=date(2026, 1, 2))))
    write_snapshot(shelf, snapshot(FX_SOURCE, fx=fx_table()))

    row = current_prices(shelf, now=NOON).offers.row(0, named=True)

    assert (row["gbp_per_unit"], row["fx_date"]) == (0.9, date(2026, 1, 2))


def test_a_stale_source_is_left_out_and_named(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot("aws", offers=offer(), max_age_hours=24))
    write_snapshot(shelf, snapshot("azure", offers=offer(provider="azure"), max_age_hours=None))

    prices = current_prices(shelf, now=NOON + timedelta(hours=25))

    assert prices.offers["provider"].to_list() == ["azure"]
    assert [manifest.source for manifest in prices.stale] == ["aws"]


def test_a_snapshot_from_the_future_does_not_stand_before_those_taken_since(tmp_path: Path) -> None:
    """The machine's clock was once a year ahead; what it wrote then would otherwise be the last word for a year."""
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot(offers=offer(price_per_hour="0.222"), taken_at=NOON + timedelta(days=365)))
    write_snapshot(shelf, snapshot(offers=offer(price_per_hour="0.111"), taken_at=NOON - timedelta(hours=1)))

    prices = current_prices(shelf, now=NOON)

    assert prices.offers["price_per_hour"].cast(float).to_list() == [0.111]


def test_a_snapshot_of_a_clock_that_is_minutes_ahead_is_used(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot(offers=offer(), taken_at=NOON + timedelta(minutes=5)))
    assert current_prices(shelf, now=NOON).offers.height == 1


def test_the_newest_ids_are_those_of_whole_snapshots(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    for hours in (0, 6):
        written = write_snapshot(shelf, snapshot("aws", taken_at=NOON + timedelta(hours=hours)))
    shelf.put("aws/20990101T000000.000000Z/offers.parquet", b"half")
    rates = write_snapshot(shelf, snapshot("fx"))
    assert newest_ids(shelf) == {written.id, rates.id}


def test_a_users_book_replaces_a_list_price_for_the_same_offer(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot("aws", offers=offer(observed_at=NOON + timedelta(hours=1))))
    write_snapshot(shelf, snapshot("book", offers=offer(price_per_hour="0.08", source="book")))

    offers = current_prices(shelf, now=NOON).offers

    assert offers["source"].to_list() == ["book"]


def test_between_two_other_sources_the_newer_price_stands(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot("one", offers=offer(source="one", observed_at=NOON + timedelta(hours=1))))
    write_snapshot(shelf, snapshot("two", offers=offer(source="two")))

    assert current_prices(shelf, now=NOON).offers["source"].to_list() == ["one"]


def test_an_empty_shelf_has_no_sources_and_no_prices(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    assert sources(shelf) == []
    assert current_prices(shelf, now=NOON).offers.is_empty()


def test_history_keeps_one_snapshot_a_day_and_ends_with_the_retention(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    for hours_ago in (0, 6, 12, 80, 82, 24 * 40):
        write_snapshot(shelf, snapshot(taken_at=NOON - timedelta(hours=hours_ago)))

    removed = clear_history(shelf, "aws", now=NOON, retention_days=30)

    assert removed == 2
    assert len(list((tmp_path / "aws").iterdir())) == 4
    assert [(NOON - manifest.taken_at).total_seconds() / 3600 for manifest in manifests(shelf, "aws")] == [80, 12, 6, 0]


def test_the_newest_snapshot_outlives_its_retention(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    write_snapshot(shelf, snapshot(taken_at=NOON - timedelta(days=90)))
    assert clear_history(shelf, "aws", now=NOON, retention_days=30) == 0
    assert len(manifests(shelf, "aws")) == 1


def test_what_a_killed_process_left_behind_is_cleared_after_an_hour(tmp_path: Path) -> None:
    shelf = open_shelf(str(tmp_path))
    old = snapshot(taken_at=NOON - timedelta(hours=2)).manifest.id
    fresh = snapshot(taken_at=NOON - timedelta(minutes=2)).manifest.id
    write_snapshot(shelf, snapshot(taken_at=NOON))
    for folder in (old, fresh):
        shelf.put(f"{folder}/offers.parquet", b"half")

    clear_history(shelf, "aws", now=NOON, retention_days=30)

    assert {key.rsplit("/", 1)[0] for key in shelf.keys("aws")} == {fresh, snapshot(taken_at=NOON).manifest.id}


WRITER = """
import sys
from datetime import timedelta
from exporters.store.shelf import open_shelf
from exporters.store.write import write_snapshot
from tests.builders import NOON, offer, offers, snapshot
shelf = open_shelf(sys.argv[1])
many = offers(*(offer(instance_type=f"m5.{n}") for n in range(20)))
for n in range(100_000):
    write_snapshot(shelf, snapshot(offers=many, taken_at=NOON + timedelta(seconds=n)))
    print(n, flush=True)
"""


def test_a_kill_in_the_middle_of_writing_loses_nothing(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert writer.stdout is not None
    for _ in range(3):
        last_written = int(writer.stdout.readline())
    time.sleep(0.003)
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()

    read = last_snapshot(open_shelf(str(tmp_path)), "aws")

    assert read is not None
    assert read.offers.height == 20
    assert read.manifest.taken_at >= NOON + timedelta(seconds=last_written)


def test_a_folder_that_may_not_be_written_says_so() -> None:
    with pytest.raises(StoreError, match=r"store\.url"):
        open_shelf("/proc/tuppence")


def test_a_path_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"store\.url"):
        open_shelf(str(tmp_path / "file"))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Python ignores the signal that comes with the limit, so that the write itself fails."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def test_a_full_disk_keeps_the_last_good_snapshot(tmp_path: Path) -> None:
    """A limit on the size of files fails a write as a full disk does: half-way."""
    shelf = open_shelf(str(tmp_path))
    good = write_snapshot(shelf, snapshot(offers=offer()))
    later = snapshot(offers=offers(*(offer(instance_type=f"m5.{n}") for n in range(20))), taken_at=NOON + timedelta(1))

    with files_of_at_most(2_000), pytest.raises(StoreError, match="free space"):
        write_snapshot(shelf, later)

    read = last_snapshot(shelf, "aws")
    assert read is not None
    assert read.manifest == good


def test_a_url_of_an_unknown_kind_says_so() -> None:
    with pytest.raises(StoreError, match="s3://"):
        open_shelf("ftp://somewhere/prices")
