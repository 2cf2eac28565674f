"""The arrow emit → folder: documents become files that can be opened as one pull request, all of them or none.

The folder is written beside its place and renamed. An old one is replaced only where its index says that Tuppence
wrote every file in it. Every file says what it changes, for which advice, at which prices, until when, how it is
applied and how it is undone: YAML in its first lines, a JSON Patch in a page of text beside it (RFC 6902 has no
comments).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from exporters.core.errors import IntegrityError, SettingsError, StoreError
from recommender.emit.contract import Document, Emitted, Manifest, Subject, System
from recommender.emit.index import Index, path_of, rollback_path
from recommender.emit.index_page import page, plain
from recommender.emit.provenance import instant, prices_of, snapshots_of
from recommender.emit.subject import all_advice

INDEX: Final = "index.json"
PAGE: Final = "index.md"
FORMAT: Final = "tuppence-emit"


def files_of(subject: Subject, emitted: Sequence[tuple[System, Emitted]]) -> dict[str, str]:
    """This will return every file but the index: text by path below the folder.

    Raises:
        IntegrityError: two documents have one path, a path leaves its folder, or an object is not of JSON values.
    """
    found: dict[str, str] = {}
    for system, one in emitted:
        for document in one.documents:
            path = path_of(system, document)
            for name, text in _files(subject, path, document):
                if name in found:
                    raise _wrong("two documents have this path", name)
                found[name] = text
    return dict(sorted(found.items()))


def write_folder(folder: Path, index: Index, files: Mapping[str, str]) -> None:
    """This will put a folder in its place, instead of the one that was handed over before.

    Args:
        folder: its parent is made if it is not there.
        index: written as index.json and index.md.
        files: text by path below the folder.

    Raises:
        SettingsError: something else is at that place.
        StoreError: the disk refused; what was there before is there still.
    """
    check_replaceable(folder)
    place = _place(folder)
    document = json.dumps(
        index.model_dump(mode="json", exclude_none=True), indent=2, sort_keys=True, ensure_ascii=False
    )
    everything = {**files, INDEX: document + "\n", PAGE: page(index)}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as beside:
            new, old = Path(beside) / "new", Path(beside) / "old"
            for name, text in everything.items():
                target = new / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="")
            _exchange(place, new, old)
    except OSError as error:
        raise StoreError(
            f"the hand-over cannot be written ({error})",
            where=str(folder),
            next_step="Check that the folder can be written and the disk has room.",
        ) from error


def _exchange(place: Path, new: Path, old: Path) -> None:
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_replaceable(folder: Path) -> None:
    """This will see that nothing would be lost: there is nothing, an empty folder, or what Tuppence wrote.

    Raises:
        SettingsError: something else is at that place.
    """
    place = _place(folder)
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise _taken(place, "it is not a folder")
    if not place.exists() or not any(place.iterdir()):
        return
    ours = _written_before(place)
    if ours is None:
        raise _taken(place, f"it holds files, and no {INDEX} of a hand-over")
    there = {path.relative_to(place).as_posix() for path in place.rglob("*") if not path.is_dir()}
    if foreign := sorted(there - ours):
        raise _taken(place, f"it holds {foreign[0]!r}, which Tuppence did not write")


def _place(folder: Path) -> Path:
    return Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow a link and replace what it points to


def _written_before(place: Path) -> set[str] | None:
    try:
        document = json.loads((place / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    return {INDEX, PAGE, *map(str, document.get("files", []))}


def _taken(place: Path, what: str) -> SettingsError:
    return SettingsError(
        f"{what}; nothing is replaced",
        where=str(place),
        next_step="Name another folder with --out, or move what is there away.",
    )


def _files(subject: Subject, path: str, document: Document) -> Iterator[tuple[str, str]]:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or str(parts) != path or plain(path) != path:
        raise _wrong("the path leaves its folder", path)
    header = [plain(line) for line in _header(subject, path, document)]
    yield path, _text(path, document, document.objects, header)
    if document.rollback_objects:
        undo = rollback_path(path)
        about = [f"Undoes {parts.name}.", *header[1:]]
        yield undo, _text(undo, document, document.rollback_objects, about)
    if document.form == "json-patch":
        yield f"{path.removesuffix('.json')}.md", "\n".join((f"# {parts.name}", "", *_paragraphs(header)))


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}"
    yield ""


def _header(subject: Subject, path: str, document: Document) -> Iterator[str]:
    yield document.says
    wanted = set(document.recommendations)
    advice = sorted((one for one in all_advice(subject.plan) if one.id in wanted), key=lambda one: one.id)
    for one in advice:
        yield f"Advice {one.id}, etag {one.etag}: {one.title}."
    if document.patches:
        target = document.patches
        at = f"{target['namespace']}/{target['name']}" if target.get("namespace") else target["name"]
        yield f"Patches {target['apiVersion']} {target['kind']} {at}."
    yield f"Evaluated {instant(subject.at)}; do not apply from {instant(document.expires_at)}."
    yield f"Apply: {document.apply}"
    yield f"Undo: {document.rollback}"
    if document.rollback_objects:
        yield f"What undoes it: {PurePosixPath(rollback_path(path)).name}"
    prices = prices_of(advice) if advice else snapshots_of(subject.plan.inputs)
    yield from (f"Price: {_price(one)}" for one in prices)


def _price(one: Mapping[str, Any]) -> str:
    if "instance_type" in one:
        where = f"{one['source']} {one['region']} {one['instance_type']} {one['capacity_type']}"
        rate = f"{one['gbp_per_unit']:g} £ a unit of {one['fx_date']} from {one['fx_source']}"
        native = f"{one['price_per_hour']:g} {one['currency']} an hour"
        return f"{where}, {native}, £{one['gbp_per_hour']:.6f}, {rate}; {one['origin']}, {one['observed_at']}"
    if "snapshot_id" in one:
        return f"{one['snapshot_id']}, {one['origin']}, {one['observed_at']}"
    return f"1 {one['currency']} = £{one['gbp_per_unit']:g}, {one['fx_date']} from {one['fx_source']}"


def _text(path: str, document: Document, objects: Sequence[Manifest], header: Sequence[str]) -> str:
    if not objects or (document.form == "merge-patch" and len(objects) != 1):
        raise _wrong(f"a {document.form} of {len(objects)} objects", path)
    try:
        values = json.loads(json.dumps([dict(one) for one in objects], allow_nan=False))
    except (TypeError, ValueError) as error:
        raise _wrong(f"it is not of JSON values ({error})", path) from error
    if document.form == "json-patch":
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    comment = "".join(f"# {line}\n" for line in header)
    body: str = yaml.safe_dump_all(values, sort_keys=False, allow_unicode=True, width=110, explicit_start=True)
    return comment + body


def _wrong(what: str, path: str) -> IntegrityError:
    return IntegrityError(
        what, where=f"hand-over, {path}", next_step="Report it as a bug, with the settings; nothing was written."
    )
