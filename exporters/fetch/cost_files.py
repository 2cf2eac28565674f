"""The files of an export, before a row is read: found, checked against their manifest, fetched, told apart by hash.

Promises that an export is whole or refused: a manifest that names a file that is not there is an error, and files of a
delivery that a later one replaced are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final

import structlog

from exporters.core.errors import SettingsError, TuppenceError
from exporters.fetch.contract import Finding
from exporters.fetch.cost_manifests import read_manifests
from exporters.fetch.cost_places import Place, place_of

_log = structlog.get_logger(__name__)

HASHING: Final = 2
"""Files whose bytes are read at a time."""
DATA: Final = (".csv", ".csv.gz", ".csv.zst", ".parquet")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of an export, on this machine.

    Args:
        name: as the user knows it.
        path: where it is now.
        sha256: of its bytes.
        rows: how many it must have, where the manifest says so.
    """

    name: str
    path: Path
    sha256: str
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """Files that belong together: those of a manifest, or those of one folder.

    Args:
        name: manifest or folder, as the user knows it.
        made_at: when the provider wrote it, as far as files can tell.
        files: sorted by name.
        has_manifest: whether a manifest says that these are all.
    """

    name: str
    made_at: datetime
    files: tuple[DataFile, ...]
    has_manifest: bool


def find_exports(paths: Sequence[str], *, scratch: Path) -> list[Export]:
    """This will return the exports behind paths and URLs, oldest first; each file once, whatever names it has.

    Args:
        paths: files, folders, globs, or s3://, gs://, az:// URLs of them.
        scratch: where objects are copied to.

    Raises:
        SettingsError: nothing is there.
        IntegrityError: a manifest names a file that is not there, or cannot be read.
        TerminalSourceError: the object store refused.
    """
    found = [export for path in paths for export in _exports_of(place_of(path), scratch)]
    return sorted(found, key=lambda export: export.made_at)


def check_paths(paths: Sequence[str]) -> tuple[Finding, ...]:
    """This will look what lies behind each path, without reading it; it never raises for what a user can mend."""
    return tuple(_check_path(path) for path in paths)


def _check_path(path: str) -> Finding:
    try:
        found = [entry for entry in place_of(path).entries() if entry.name.lower().endswith(DATA)]
    except TuppenceError as error:
        return Finding(path, "failed", error.what, error.next_step)
    if not found:
        return Finding(path, "failed", "no file of an export is there", f"Export into it, as {', '.join(DATA)}.")
    last = max(entry.modified for entry in found)
    size = sum(entry.size for entry in found) / 1e6
    return Finding(path, "ok", f"{len(found):,} files, {size:,.1f} MB, the last written {last:%Y-%m-%d %H:%M} UTC")


def _exports_of(place: Place, scratch: Path) -> list[Export]:
    entries = place.entries()
    data = {entry.name: entry for entry in entries if entry.name.lower().endswith(DATA)}
    manifests, left_out = read_manifests(place, entries, data)
    if left_out:
        _log.warning("export_files_in_no_manifest", where=place.where, files=len(left_out), first=left_out[0])
    taken = {*left_out, *(name for manifest in manifests for name in manifest.named)}
    exports: list[Export] = []
    for manifest in manifests:
        made_at = max([manifest.entry.modified, *(data[name].modified for name in manifest.named)])
        exports += _export(place, manifest.entry.name, manifest.named, made_at, scratch, has_manifest=True)
    folders: dict[str, dict[str, int | None]] = {}
    for name in data:
        if name not in taken:
            folders.setdefault(str(PurePosixPath(name).parent), {})[name] = None
    for folder, named in folders.items():
        made_at = max(data[name].modified for name in named)
        exports += _export(place, folder, named, made_at, scratch, has_manifest=False)
    if not exports:
        raise SettingsError(
            f"there is no export: no file that ends in {', '.join(DATA)}",
            where=place.where,
            next_step="Name a FOCUS or CUR file, a folder of them, a glob, or an s3://, gs:// or az:// URL.",
        )
    return exports


def _export(
    place: Place,
    name: str,
    named: Mapping[str, int | None],
    made_at: datetime,
    scratch: Path,
    *,
    has_manifest: bool,
) -> list[Export]:
    paths = [place.local(file, scratch) for file in sorted(named)]
    with ThreadPoolExecutor(HASHING) as pool:
        digests = list(pool.map(_digest, paths))
    files = [
        DataFile(name=file, path=path, sha256=digest, rows=named[file])
        for file, path, digest in zip(sorted(named), paths, digests, strict=True)
    ]
    title = place.where if name == "." else f"{place.where} ({name})"
    return [Export(name=title, made_at=made_at, files=tuple(files), has_manifest=has_manifest)] if files else []


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
