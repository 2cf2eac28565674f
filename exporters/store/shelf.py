"""Where snapshots lie: a folder, an object store, or another exporter's ``/snapshots/``. Bytes by key, nothing more.

Folders and object stores (S3, Google Cloud Storage, Azure Blob) are reached through obstore; each put appears whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from exporters.core import http
from exporters.core.errors import StoreError, TerminalSourceError


class ReadableShelf(Protocol):
    """A shelf to read from."""

    def keys(self, prefix: str) -> list[str]:
        """This will return all keys under a prefix, sorted."""
        ...

    def get(self, key: str) -> bytes:
        """This will return the content of a key.

        Raises:
            StoreError: it is not there, or cannot be read.
        """
        ...


class Shelf(ReadableShelf, Protocol):
    """A shelf to read from and write to."""

    def put(self, key: str, content: bytes) -> None:
        """This will write a key, whole or not at all."""
        ...

    def delete(self, key: str) -> None:
        """This will remove a key."""
        ...


class ObjectShelf:
    """A folder or an object store."""

    def __init__(self, store: ObjectStore, *, where: str) -> None:
        self._store = store
        self._where = where

    def keys(self, prefix: str) -> list[str]:
        """This will return all keys under a prefix, sorted."""
        try:
            return sorted(str(item["path"]) for batch in obstore.list(self._store, prefix=prefix) for item in batch)
        except (BaseError, OSError) as error:
            raise self._failure(f"it cannot be listed ({error})") from error

    def get(self, key: str) -> bytes:
        """This will return the content of a key."""
        try:
            return bytes(obstore.get(self._store, key).bytes())
        except (BaseError, OSError) as error:
            raise self._failure(f"{key} cannot be read ({error})") from error

    def put(self, key: str, content: bytes) -> None:
        """This will write a key, whole or not at all."""
        try:
            obstore.put(self._store, key, content)
        except (BaseError, OSError) as error:
            raise self._failure(f"{key} cannot be written ({error})") from error

    def delete(self, key: str) -> None:
        """This will remove a key."""
        try:
            obstore.delete(self._store, key)
        except (BaseError, OSError) as error:
            raise self._failure(f"{key} cannot be removed ({error})") from error

    def _failure(self, what: str) -> StoreError:
        return StoreError(
            what, where=self._where, next_step="Check the path, free space, permissions and credentials of store.url."
        )


class HttpShelf:
    """Another exporter's ``/snapshots/``; read only."""

    def __init__(self, url: str) -> None:
        self._url = http.checked_endpoint(url, setting="prices.url")

    def keys(self, prefix: str) -> list[str]:
        """This will return all keys under a prefix, sorted."""
        with http.client() as session:
            answer = http.get(session, f"{self._url}/", params={"prefix": prefix})
        try:
            return sorted(str(key) for key in answer.json()["keys"])
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"the answer is not an exporter's list of snapshots ({answer.text[:80]!r})",
                where=f"{self._url}/",
                next_step="Set prices.url to the exporter's address followed by /snapshots.",
            ) from error

    def get(self, key: str) -> bytes:
        """This will return the content of a key."""
        try:
            with http.client() as session:
                return http.get(session, f"{self._url}/{quote(key)}").content
        except TerminalSourceError as error:
            raise StoreError(
                f"{key} cannot be read ({error.what})", where=self._url, next_step=error.next_step
            ) from error


def open_shelf(url: str) -> Shelf:
    """This will open a folder path, ``file://``, ``s3://``, ``gs://`` or ``az://`` URL for reading and writing.

    Raises:
        StoreError: the URL is not understood, or the folder cannot be made.
    """
    try:
        if "://" not in url:
            return ObjectShelf(LocalStore(Path(url).absolute(), mkdir=True, automatic_cleanup=True), where=url)
        return ObjectShelf(from_url(url), where=url)
    except (BaseError, OSError, ValueError) as error:
        raise StoreError(
            f"the snapshot store cannot be opened ({error})",
            where=url,
            next_step="Set store.url to a folder you may write to, or an s3://, gs:// or az:// URL.",
        ) from error


def open_readable(url: str) -> ReadableShelf:
    """This will open any URL that open_shelf knows, or an exporter's ``http(s)://…/snapshots``, for reading."""
    return HttpShelf(url) if urlsplit(url).scheme in {"http", "https"} else open_shelf(url)
