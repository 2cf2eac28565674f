"""Price books on disk: read whole with the line of each row, or refused with what to mend."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from exporters.core.errors import SettingsError
from exporters.fetch.book import BookSettings, check, fetch, fetch_packaged, packaged_shapes
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEADER = (
    "provider,region,zone,instance_type,operating_system,capacity_type,vcpus,memory_gib,gpu_model,gpus,architecture,"
    "currency,price_per_hour,effective_from"
)
ROW = "acme,london-a,,h100-1,linux,on-demand,24,200,H100,1,amd64,GBP,1.95,2026-10-01"


@pytest.fixture
def request_(tmp_path: Path) -> FetchRequest:
    return FetchRequest(now=NOW, scratch=tmp_path, deadline=NOW)


def book(tmp_path: Path, content: str | bytes, name: str = "contract.csv") -> BookSettings:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return BookSettings(files=(path,))


def prices(fetched: Fetched) -> pl.DataFrame:
    return fetched.frames["prices"].collect()


def test_each_row_carries_its_file_and_line(tmp_path: Path, request_: FetchRequest):
    rows = prices(fetch(book(tmp_path, f"{HEADER}\n{ROW}\n\n{ROW}\n"), request_))
    assert rows["line"].to_list() == ["contract.csv line 2", "contract.csv line 4"]
    assert rows["price_per_hour"].to_list() == ["1.95", "1.95"]
    assert rows["as_of"].unique().to_list() == [NOW.date()]


def test_a_line_break_inside_a_quoted_note_does_not_shift_the_lines(tmp_path: Path, request_: FetchRequest):
    text = f'{HEADER},note\n{ROW},"two\nlines"\n{ROW},\n'
    assert prices(fetch(book(tmp_path, text), request_))["line"].to_list() == [
        "contract.csv line 2",
        "contract.csv line 4",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_byte_order_mark_spaces_and_windows_line_ends_do_not_matter(
    tmp_path: Path, request_: FetchRequest, line_end: str
):
    text = line_end.join(["\ufeff" + HEADER.replace(",", ", "), ROW.replace(",", " , "), ""])
    row = prices(fetch(book(tmp_path, text), request_)).to_dicts()[0]
    assert (row["provider"], row["instance_type"], row["effective_from"]) == ("acme", "h100-1", "2026-10-01")


def test_columns_may_stand_in_any_order_and_optional_ones_may_be_absent(tmp_path: Path, request_: FetchRequest):
    turned = [",".join(reversed(line.split(","))) for line in (HEADER, ROW)]
    row = prices(fetch(book(tmp_path, "\n".join(turned)), request_)).to_dicts()[0]
    assert (row["provider"], row["price_per_hour"], row["accelerators"], row["note"]) == ("acme", "1.95", "", "")


def test_a_row_with_a_cell_too_many_is_marked_and_the_others_are_read(tmp_path: Path, request_: FetchRequest):
    rows = prices(fetch(book(tmp_path, f"{HEADER}\n{ROW},9\n{ROW}\n"), request_))
    assert rows["mistake"].to_list() == ["has 15 cells, but the header has 14", ""]


def test_several_files_come_together(tmp_path: Path, request_: FetchRequest):
    first, second = (book(tmp_path, f"{HEADER}\n{ROW}\n", name) for name in ("a.csv", "b.csv"))
    both = BookSettings(files=(*first.files, *second.files))
    assert prices(fetch(both, request_))["line"].to_list() == ["a.csv line 2", "b.csv line 2"]


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (
            HEADER.replace("price_per_hour", "price_per_huor"),
            r"'price_per_huor' is not a column.*meant: price_per_hour",
        ),
        (HEADER.replace(",currency", ""), "'currency' is missing"),
        (HEADER.replace("zone", "region"), "'region' stands twice"),
        (HEADER.replace(",", ";"), "parted by semicolons"),
        ("<html><body>Not found</body></html>", "'provider' is missing"),
        ("", "'provider' is missing"),
    ],
)
def test_a_wrong_header_refuses_the_file(tmp_path: Path, request_: FetchRequest, header: str, says: str):
    with pytest.raises(SettingsError, match=says) as caught:
        fetch(book(tmp_path, f"{header}\n{ROW}\n"), request_)
    assert "contract.csv, line 1" in caught.value.where


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"{HEADER}\n", "no row"),
        (f"{HEADER}\n\n  \n".replace("  ", ""), "no row"),
        (f'{HEADER}\n{ROW[:-10]}"2026', "not CSV from line 2"),
        ("provider".encode("utf-16"), "not UTF-8"),
    ],
)
def test_an_empty_cut_off_or_foreign_file_is_refused(
    tmp_path: Path, request_: FetchRequest, content: str | bytes, says: str
):
    with pytest.raises(SettingsError, match=says):
        fetch(book(tmp_path, content), request_)


def test_a_file_that_is_not_there_is_named_with_its_setting(tmp_path: Path, request_: FetchRequest):
    with pytest.raises(SettingsError, match=r"sources\.book\.egress_files: .*gone\.csv: .*cannot be read"):
        fetch(BookSettings(egress_files=(tmp_path / "gone.csv",)), request_)


def test_a_source_that_is_on_without_a_file_says_what_to_do(request_: FetchRequest):
    with pytest.raises(SettingsError, match=r"names no file.*docs/sources/book\.md"):
        fetch(BookSettings(enabled=True), request_)


def test_check_counts_rows_and_points_at_bad_ones(tmp_path: Path, request_: FetchRequest):
    (good,) = check(book(tmp_path, f"{HEADER}\n{ROW}\n", "good.csv"), request_)
    (bad,) = check(book(tmp_path, f"{HEADER}\n{ROW},9\n", "bad.csv"), request_)
    (gone,) = check(BookSettings(files=(tmp_path / "gone.csv",)), request_)
    (none,) = check(BookSettings(), request_)
    assert [good.state, bad.state, gone.state, none.state] == ["ok", "warning", "failed", "failed"]
    assert good.detail == "price book, rows: 1"
    assert "bad.csv line 2 has 15 cells" in bad.detail


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure"])
def test_the_packaged_book_is_one_clouds_dated_by_its_oldest_price(provider: str, request_: FetchRequest):
    fetched = fetch_packaged(provider, CloudSettings(), request_)
    rows = prices(fetched)
    assert fetched.source == provider
    assert rows["provider"].unique().to_list() == [provider]
    assert fetched.observed_at.date().isoformat() == rows["effective_from"].min()


def test_the_packaged_book_obeys_the_regions(request_: FetchRequest):
    fetched = fetch_packaged("aws", CloudSettings(regions=("eu-west-2",)), request_)
    assert prices(fetched)["region"].unique().to_list() == ["eu-west-2"]
    assert fetched.frames["egress"].collect()["from_region"].unique().to_list() == ["eu-west-2"]
    assert {item.region for item in fetched.skipped} <= {"eu-west-2"}


def test_what_the_packaged_book_is_known_to_lack_is_said(request_: FetchRequest):
    fetched = fetch_packaged("azure", CloudSettings(), request_)
    assert any(item.region == "ukwest" and item.why.startswith("spot: ") for item in fetched.skipped)


@pytest.mark.parametrize(
    ("provider", "settings"), [("aws", CloudSettings(regions=("us-gov-west-1",))), ("acme", CloudSettings())]
)
def test_a_packaged_book_without_a_price_is_refused(provider: str, settings: CloudSettings, request_: FetchRequest):
    with pytest.raises(SettingsError, match="no prices in effect"):
        fetch_packaged(provider, settings, request_)


def test_before_its_oldest_price_the_packaged_book_has_none(tmp_path: Path):
    early = datetime(2020, 1, 1, tzinfo=UTC)
    with pytest.raises(SettingsError, match="no prices in effect"):
        fetch_packaged("aws", CloudSettings(), FetchRequest(now=early, scratch=tmp_path, deadline=early))


def test_packaged_machine_types_know_a_fraction_of_a_gpu():
    (shape,) = packaged_shapes("aws").filter(instance_type="g6f.large").to_dicts()
    assert (shape["gpu_model"], shape["gpus"], shape["family"]) == ("L4", "0.125", "g6f")


def test_every_source_is_registered_and_none_needs_an_sdk_to_be_imported():
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"boto3", "botocore", "google", "grpc", "azure"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
from exporters.fetch.registry import SOURCES
from exporters.normalise.row_rules.registry import RULES
assert [source.name for source in SOURCES] == ["aws", "gcp", "azure", "onprem", "book"]
assert set(RULES) == {source.name for source in SOURCES}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
