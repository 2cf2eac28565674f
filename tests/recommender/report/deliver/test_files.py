"""Files as channels: a folder and an object store get the same files under the report's key, again and again."""

from __future__ import annotations

from pathlib import Path

import pytest

from recommender.deliver_settings import FileChannel, ObjectStoreChannel
from recommender.report.deliver.contract import DeliveryError, Parcel
from recommender.report.deliver.registry import send
from tests.recommender.report.example import example

NAMES = {f"tuppence-2026-W48-all.{form}" for form in ("html", "md", "json", "csv")}


def test_a_folder_has_every_format_once_however_often_it_is_delivered(tmp_path: Path) -> None:
    channel = FileChannel.model_validate({"type": "file", "name": "disk", "folder": tmp_path / "reports"})
    for _ in range(2):
        assert send(Parcel(example(), ""), channel) == f"4 files in {tmp_path / 'reports'}"
    assert {one.name for one in (tmp_path / "reports").iterdir()} == NAMES


def test_a_folder_that_is_a_file_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("")
    channel = FileChannel.model_validate({"type": "file", "name": "disk", "folder": tmp_path / "reports"})
    with pytest.raises(DeliveryError, match="cannot be written"):
        send(Parcel(example(), ""), channel)


def test_an_object_store_has_the_formats_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    url = f"file://{tmp_path / 'bucket'}"
    channel = ObjectStoreChannel.model_validate({"type": "object-store", "name": "s3", "url": url, "formats": ["md"]})
    send(Parcel(example(), ""), channel)
    assert {one.name for one in (tmp_path / "bucket").iterdir()} == {"tuppence-2026-W48-all.md"}


def test_an_object_store_that_is_not_there_is_a_failure() -> None:
    channel = ObjectStoreChannel.model_validate({"type": "object-store", "name": "s3", "url": "nonsense://x"})
    with pytest.raises(DeliveryError, match="cannot be opened"):
        send(Parcel(example(), ""), channel)


@pytest.mark.parametrize("owner", ["../../etc/passwd", "a/b", "a\nb", "x" * 300, "é"])
def test_an_owner_with_a_hostile_name_gets_files_in_the_folder_and_nowhere_else(tmp_path: Path, owner: str) -> None:
    channel = FileChannel.model_validate({"type": "file", "name": "disk", "folder": tmp_path / "in", "formats": ["md"]})
    send(Parcel(example(), owner), channel)
    assert [one.parent for one in tmp_path.rglob("*.md")] == [tmp_path / "in"]


def test_owners_whose_names_look_alike_in_a_path_have_files_of_their_own() -> None:
    assert Parcel(example(), "a/b").key != Parcel(example(), "a-b").key
