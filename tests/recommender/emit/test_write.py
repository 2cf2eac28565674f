"""The folder that is handed over: whole or not at all, and nothing of anybody else's is replaced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from exporters.core.errors import IntegrityError, SettingsError, StoreError
from recommender.emit.contract import Document, Emitted, System
from recommender.emit.index import Index, index_of
from recommender.emit.provenance import metadata
from recommender.emit.write import files_of, write_folder
from tests.recommender.emit.subjects import example

ADVICE = example().plan.recommendations[0]
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": metadata(example(), "advice", namespace="shop", advice=[ADVICE], expires_at=ADVICE.expires_at),
    "data": {"yes": "no", "time": "2026-11-30"},
}
MANIFEST = Document(
    path="a/advice.yaml",
    form="manifest",
    objects=(OBJECT,),
    says="Keeps advice",
    apply="kubectl apply -f advice.yaml",
    rollback="kubectl delete -f advice.yaml",
    recommendations=(ADVICE.id,),
    expires_at=ADVICE.expires_at,
)
PATCH = replace(
    MANIFEST,
    path="patch.json",
    form="json-patch",
    objects=({"op": "test", "path": "/kind", "value": "Deployment"},),
    rollback_objects=({"op": "remove", "path": "/spec"},),
    patches={"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
)


def emitted(*documents: Document) -> list[tuple[System, Emitted]]:
    given = Emitted(documents)
    return [(System("test", "Test", lambda _: given), given)]


def handed(folder: Path, *documents: Document) -> Index:
    given = emitted(*documents)
    files = files_of(example(), given)
    index = index_of(example(), given, files=sorted(files))
    write_folder(folder, index, files)
    return index


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_system_has_a_folder_and_a_json_patch_a_page_and_its_roll_back(tmp_path: Path) -> None:
    handed(tmp_path / "out", MANIFEST, PATCH)
    assert names(tmp_path / "out") == [
        "index.json",
        "index.md",
        "test/a/advice.yaml",
        "test/patch.json",
        "test/patch.md",
        "test/patch.rollback.json",
    ]
    assert json.loads((tmp_path / "out/test/patch.json").read_text()) == list(PATCH.objects)
    assert json.loads((tmp_path / "out/test/patch.rollback.json").read_text()) == list(PATCH.rollback_objects)
    assert "Patches apps/v1 Deployment shop/web." in (tmp_path / "out/test/patch.md").read_text()


def test_yaml_says_in_its_first_lines_what_it_is_for_and_reads_back_as_it_was(tmp_path: Path) -> None:
    handed(tmp_path / "out", MANIFEST)
    text = (tmp_path / "out/test/a/advice.yaml").read_text(encoding="utf-8")
    header = [line for line in text.splitlines() if line.startswith("#")]
    assert header[0] == "# Keeps advice"
    for said in (ADVICE.id, ADVICE.etag, "do not apply from 2026-12-07T12:00:00Z", "Apply: kubectl", "Undo: kubectl"):
        assert any(said in line for line in header)
    price = ADVICE.prices[0]
    assert any(price.instance_type in line and "2026-11-30T12:00:00Z" in line for line in header)
    assert list(yaml.safe_load_all(text)) == [OBJECT]


def test_what_was_handed_over_before_is_replaced_whole(tmp_path: Path) -> None:
    handed(tmp_path / "out", MANIFEST, PATCH)
    handed(tmp_path / "out", PATCH)
    assert "test/a/advice.yaml" not in names(tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_an_empty_folder_is_taken_and_a_parent_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    handed(tmp_path / "empty", MANIFEST)
    handed(tmp_path / "deep" / "er", MANIFEST)
    assert (tmp_path / "deep/er/index.json").is_file()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(SettingsError, match=r"no index\.json of a hand-over"):
        handed(tmp_path, MANIFEST)
    assert names(tmp_path) == ["index.json"]


def test_a_folder_into_which_somebody_put_a_file_is_left_alone(tmp_path: Path) -> None:
    handed(tmp_path / "out", MANIFEST)
    (tmp_path / "out" / "notes.txt").write_text("keep")
    with pytest.raises(SettingsError, match=r"'notes\.txt', which Tuppence did not write"):
        handed(tmp_path / "out", PATCH)
    assert "test/a/advice.yaml" in names(tmp_path / "out")


def test_a_file_and_a_link_at_that_place_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("keep")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "link"):
        with pytest.raises(SettingsError, match="is not a folder"):
            handed(tmp_path / name, MANIFEST)
    assert (tmp_path / "file").read_text() == "keep"


def test_a_disk_that_refuses_leaves_what_was_there(tmp_path: Path) -> None:
    handed(tmp_path / "out", MANIFEST)
    before = names(tmp_path / "out")
    long = replace(PATCH, path="a" * 300 + ".json")
    with pytest.raises(StoreError, match="cannot be written"):
        handed(tmp_path / "out", long)
    assert names(tmp_path / "out") == before
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (replace(MANIFEST, path="../advice.yaml"), "leaves its folder"),
        (replace(MANIFEST, path="/etc/advice.yaml"), "two|leaves its folder"),
        (replace(MANIFEST, path="a/./b.yaml"), "leaves its folder"),
        (replace(MANIFEST, objects=({**OBJECT, "value": float("nan")},)), "not of JSON values"),
        (replace(MANIFEST, objects=({**OBJECT, "value": ADVICE.expires_at},)), "not of JSON values"),
        (replace(MANIFEST, objects=()), "of 0 objects"),
        (replace(MANIFEST, form="merge-patch", objects=(OBJECT, OBJECT)), "of 2 objects"),
    ],
)
def test_a_document_that_is_not_right_is_refused_before_anything_is_written(
    tmp_path: Path, wrong: Document, match: str
) -> None:
    with pytest.raises(IntegrityError, match=match):
        handed(tmp_path / "out", wrong)
    assert not (tmp_path / "out").exists()


def test_two_documents_of_one_path_are_refused() -> None:
    with pytest.raises(IntegrityError, match="two documents have this path"):
        files_of(example(), emitted(MANIFEST, MANIFEST))


def test_a_hostile_title_stays_in_the_comment() -> None:
    hostile = replace(MANIFEST, says="one\nkind: Secret\u2028x: y")
    text = files_of(example(), emitted(hostile))["test/a/advice.yaml"]
    assert list(yaml.safe_load_all(text)) == [OBJECT]
    assert text.startswith("# one kind: Secret x: y\n")
