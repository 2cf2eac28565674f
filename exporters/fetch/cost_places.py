"""Where billing exports lie: a folder, a file or a glob of this machine, or of an object store.

Promises that what is read is what was listed: an object that changes in between is an error, never half of each.
Objects (S3, Google Cloud Storage, Azure Blob, by obstore) are copied piece by piece to a scratch folder, so that a
large export needs disk and not memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final, Protocol
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import ObjectStore, from_url

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError

STORES: Final = ("s3", "gs", "az")
_WILD: Final = "*?["
_NEXT: Final = "Check the path, permissions and credentials; nothing of this import was taken."


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that is there.

    Args:
        name: below its place.
        modified: when it was last written.
        size: in bytes.
        e_tag: what an object store calls this version of it; None: it does not say.
    """

    name: str
    modified: datetime
    size: int
    e_tag: str | None = None


class Place(Protocol):
    """Somewhere exports lie.

    `where` is as the user knows it; `bucket` is the bucket of an object store, empty on this machine.
    """

    where: str
    bucket: str

    def entries(self) -> list[Entry]:
        """This will return every file, sorted by name."""
        ...

    def read(self, name: str) -> bytes:
        """This will return a small file."""
        ...

    def local(self, name: str, scratch: Path) -> Path:
        """This will return the path of a file on this machine, copied there if need be."""
        ...


class Folder:
    """A file, a folder, or a glob on this machine."""

    def __init__(self, path: str) -> None:
        self.where = path
        self.bucket = ""
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
            Entry(
                path.relative_to(self._root).as_posix(),
                datetime.fromtimestamp(path.stat().st_mtime, UTC),
                path.stat().st_size,
            )
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
        self.bucket = parts.netloc
        self._listed: dict[str, Entry] = {}
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
        every = [Entry(str(item["path"]), item["last_modified"], item["size"], item["e_tag"]) for item in found]
        wild = set(self._pattern) & set(_WILD)
        self._listed = {one.name: one for one in every if not wild or fnmatchcase(one.name, self._pattern)}
        return [self._listed[name] for name in sorted(self._listed)]

    def read(self, name: str) -> bytes:
        """This will return a small object, as it was listed."""
        with self._as_listed(name):
            return b"".join(bytes(piece) for piece in self._pieces(name))

    def local(self, name: str, scratch: Path) -> Path:
        """This will copy an object, as it was listed, to the scratch folder, piece by piece, and return its path."""
        target = scratch / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{PurePosixPath(name).name}"
        with self._as_listed(name), target.open("wb") as file:
            written = sum(file.write(piece) for piece in self._pieces(name))
        if written != self._listed[name].size:
            raise self._changed(name)
        return target

    def _pieces(self, name: str) -> Iterator[bytes]:
        e_tag = self._listed[name].e_tag
        yield from obstore.get(self._store, name, options={"if_match": e_tag} if e_tag else {}).stream()

    @contextmanager
    def _as_listed(self, name: str) -> Iterator[None]:
        try:
            yield
        except (PreconditionError, FileNotFoundError) as error:
            raise self._changed(name) from error
        except (BaseError, OSError) as error:
            raise self._failure(f"{name} cannot be read ({error})") from error

    def _changed(self, name: str) -> IntegrityError:
        return IntegrityError(
            f"{name} was written anew, or taken away, while the export was read",
            where=self.where,
            next_step="Import again when the provider has delivered; what was imported before stays.",
        )

    def _failure(self, what: str) -> TerminalSourceError:
        return TerminalSourceError(what, where=self.where, next_step=_NEXT)


def place_of(path: str) -> Place:
    """This will return the place behind a path or URL.

    Raises:
        SettingsError: the address is not understood.
    """
    return Bucket(path) if urlsplit(path).scheme in STORES else Folder(path.removeprefix("file://"))


def _fixed(pattern: str) -> list[str]:
    """The parts of a path before the first that is a pattern."""
    parts = PurePosixPath(pattern).parts
    wild = next((index for index, part in enumerate(parts) if set(part) & set(_WILD)), len(parts))
    return list(parts[:wild])
