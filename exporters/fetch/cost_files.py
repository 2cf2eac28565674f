"""The files of an export, before a row is read: found, checked against their manifest, fetched, told apart by hash.

Promises that an export is whole or refused: a manifest that names a file that is not there is an error. Files come from
a folder, a glob, or an object store (S3, Google Cloud Storage, Azure Blob, by obstore), from where they are copied
piece by piece to a scratch folder, so that a large export needs disk and not memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final, Protocol
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError

DATA: Final = (".csv", ".csv.gz", ".csv.zst", ".parquet")
_WILD: Final = "*?["
_NEXT: Final = "Check the path, permissions and credentials; nothing of this import was taken."


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that is there: its name below its place, and when it was last written."""

    name: str
    modified: datetime


class Place(Protocol):
    """Somewhere exports lie."""

    where: str

    def entries(self) -> list[Entry]:
        """This will return every file, sorted by name."""
        ...

    def read(self, name: str) -> bytes:
        """This will return a small file."""
        ...

    def local(self, name: str, scratch: Path) -> Path:
        """This will return the path of a file on this machine, copied there if need be."""
        ...


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


class Folder:
    """A file, a folder, or a glob on this machine."""

    def __init__(self, path: str) -> None:
        self.where = path
        wild = next((index for index, part in enumerate(Path(path).parts) if set(part) & set(_WILD)), None)
        whole = Path(path)
        if wild is not None:
            self._root = Path(*whole.parts[:wild])
            self._found = sorted(self._root.glob(str(Path(*whole.parts[wild:]))))
        else:
            self._root = whole if whole.is_dir() else whole.parent
            self._found = sorted(whole.rglob("*")) if whole.is_dir() else [whole] if whole.is_file() else []

    def entries(self) -> list[Entry]:
        """This will return every file, sorted by name."""
        return [
            Entry(path.relative_to(self._root).as_posix(), datetime.fromtimestamp(path.stat().st_mtime, UTC))
            for path in self._found
            if path.is_file()
        ]

    def read(self, name: str) -> bytes:
        """This will return a small file."""
        return self.local(name, self._root).read_bytes()

    def local(self, name: str, scratch: Path) -> Path:
        """This will return the path of a file."""
        del scratch
        return self._root / name


class Bucket:
    """An object, a prefix, or a glob of an s3://, gs:// or az:// URL."""

    def __init__(self, url: str) -> None:
        self.where = url
        parts = urlsplit(url)
        self._pattern = parts.path.lstrip("/")
        self._prefix = str(PurePosixPath(*_fixed(self._pattern)))
        try:
            self._store: ObjectStore = from_url(f"{parts.scheme}://{parts.netloc}")
        except (BaseError, ValueError) as error:
            raise SettingsError(f"the address is not understood ({error})", where=url, next_step=_NEXT) from error

    def entries(self) -> list[Entry]:
        """This will return every object, sorted by name."""
        try:
            prefix = self._prefix if self._prefix != "." else ""
            found = [item for batch in obstore.list(self._store, prefix=prefix) for item in batch]
            if not found and prefix == self._pattern:
                found = [obstore.head(self._store, prefix)]
        except FileNotFoundError:
            return []
        except (BaseError, OSError) as error:
            raise self._failure(f"it cannot be listed ({error})") from error
        every = [Entry(str(item["path"]), item["last_modified"]) for item in found]
        wild = set(self._pattern) & set(_WILD)
        return sorted(
            (one for one in every if not wild or fnmatchcase(one.name, self._pattern)), key=lambda one: one.name
        )

    def read(self, name: str) -> bytes:
        """This will return a small object."""
        try:
            return bytes(obstore.get(self._store, name).bytes())
        except (BaseError, OSError) as error:
            raise self._failure(f"{name} cannot be read ({error})") from error

    def local(self, name: str, scratch: Path) -> Path:
        """This will copy an object to the scratch folder, piece by piece, and return its path."""
        target = scratch / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{PurePosixPath(name).name}"
        try:
            with target.open("wb") as file:
                for piece in obstore.get(self._store, name).stream():
                    file.write(piece)
        except (BaseError, OSError) as error:
            raise self._failure(f"{name} cannot be read ({error})") from error
        return target

    def _failure(self, what: str) -> TerminalSourceError:
        return TerminalSourceError(what, where=self.where, next_step=_NEXT)


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
    found = [export for path in paths for export in _exports_of(_place(path), scratch)]
    return sorted(found, key=lambda export: export.made_at)


def _place(path: str) -> Place:
    return Bucket(path) if urlsplit(path).scheme in {"s3", "gs", "az"} else Folder(path.removeprefix("file://"))


def _exports_of(place: Place, scratch: Path) -> list[Export]:
    entries = place.entries()
    data = {entry.name: entry for entry in entries if entry.name.lower().endswith(DATA)}
    claimed: set[str] = set()
    exports: list[Export] = []
    for entry in entries:
        if entry.name.lower().endswith("manifest.json"):
            named = _named_files(place, entry, list(data))
            claimed |= set(named)
            made_at = max([entry.modified, *(data[name].modified for name in named)])
            exports += _export(place, entry.name, named, made_at, scratch, has_manifest=True)
    folders: dict[str, dict[str, int | None]] = {}
    for name in data:
        if name not in claimed:
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
    files = []
    for file, rows in sorted(named.items()):
        path = place.local(file, scratch)
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        files.append(DataFile(name=file, path=path, sha256=digest, rows=rows))
    title = place.where if name == "." else f"{place.where} ({name})"
    return [Export(name=title, made_at=made_at, files=tuple(files), has_manifest=has_manifest)] if files else []


def _named_files(place: Place, manifest: Entry, present: Sequence[str]) -> dict[str, int | None]:
    """The files that a manifest names, by their names here, with the rows that it says they have."""
    where = f"{place.where} ({manifest.name})"
    try:
        document = json.loads(place.read(manifest.name))
        listed = _listed(document)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IntegrityError(f"the manifest cannot be read ({error})", where=where, next_step=_NEXT) from error
    found: dict[str, int | None] = {}
    missing = []
    for name, rows in listed.items():
        match = _closest(name, present, beside=manifest.name)
        if match is None:
            missing.append(name)
        else:
            found[match] = rows
    if missing:
        shown = ", ".join(PurePosixPath(name).name for name in missing[:3])
        raise IntegrityError(
            f"{len(missing)} of {len(listed)} files that the manifest names are not there ({shown})",
            where=where,
            next_step="Copy the whole export and import it again; what was imported before stays.",
        )
    return found


def _listed(document: Mapping[str, object]) -> dict[str, int | None]:
    """Azure Cost Management lists blobs with their rows, AWS Data Exports dataFiles, AWS CUR reportKeys."""
    blobs = document.get("blobs")
    if isinstance(blobs, list):
        return {str(blob["blobName"]): _whole(blob.get("dataRowCount")) for blob in blobs}
    files = document.get("dataFiles", document.get("reportKeys"))
    if not isinstance(files, list) or not files:
        raise ValueError("it has neither blobs, dataFiles nor reportKeys")
    return {str(name): None for name in files}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _closest(name: str, present: Sequence[str], *, beside: str) -> str | None:
    """The file here that shares the longest end of its path with a name from elsewhere; None: not one, or two do."""
    wanted = PurePosixPath(urlsplit(name).path).parts
    alike = {one: _shared_end(PurePosixPath(one).parts, wanted) for one in present}
    most = max(alike.values(), default=0)
    best = [one for one, shared in alike.items() if shared == most > 0]
    if len(best) > 1:
        best = [one for one in best if PurePosixPath(one).parent == PurePosixPath(beside).parent]
    return best[0] if len(best) == 1 else None


def _shared_end(one: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared


def _fixed(pattern: str) -> list[str]:
    """The parts of a path before the first that is a pattern."""
    parts = PurePosixPath(pattern).parts
    wild = next((index for index, part in enumerate(parts) if set(part) & set(_WILD)), len(parts))
    return list(parts[:wild])
