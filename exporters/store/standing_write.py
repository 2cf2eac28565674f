"""The writing side of what holds now: a source's statement on the shelf, its manifest last, and old ones cleared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Final

import polars as pl

from exporters.store.shelf import Shelf
from exporters.store.standing import (
    ASKED,
    STANDING_FRAMES,
    STANDING_MANIFEST,
    StandingManifest,
    last_statement,
    standing_folders,
)

KEPT_STATEMENTS: Final = 3
"""Statements of a source that stay, so that a reader in the middle of one is not left without its files."""


def write_statement(
    shelf: Shelf, source: str, frames: Mapping[str, pl.DataFrame | None], *, now: datetime
) -> StandingManifest | None:
    """This will put a statement on the shelf; it stands from the moment its manifest does.

    Args:
        shelf: where snapshots lie.
        source: who states it.
        frames: by the names of STANDING_FRAMES; None or absent: it was not asked for, so what was known stays.
        now: the time (UTC).

    Returns:
        The manifest; None: it says nothing new, and nothing was written.

    Raises:
        StoreError: a file could not be written; the statement before it is untouched.
    """
    before = last_statement(shelf, source)
    known = before[1] if before else {}
    stated = {name: frame for name in STANDING_FRAMES if (frame := frames.get(name)) is not None}
    whole = {name: stated.get(name, known.get(name, schema.create_empty())) for name, schema in STANDING_FRAMES.items()}
    asked_at = (dict(before[0].asked_at) if before else {}) | dict.fromkeys(stated, now)
    if not stated or (before is None and all(frame.is_empty() for frame in whole.values())):
        return None
    manifest = StandingManifest(
        source=source, written_at=now, asked_at=asked_at, rows={name: frame.height for name, frame in whole.items()}
    )
    for name, frame in whole.items():
        buffer = BytesIO()
        STANDING_FRAMES[name].validate(frame, cast=True).write_parquet(buffer, compression="zstd")
        shelf.put(f"{manifest.id}/{name}.parquet", buffer.getvalue())
    shelf.put(f"{manifest.id}/{STANDING_MANIFEST}", manifest.to_json())
    _clear(shelf, source)
    return manifest


def note_asked(shelf: Shelf, source: str, *, at: datetime, success: bool | None) -> None:
    """This will note when a source was asked last, so that a service that starts again does not ask, and pay, anew.

    Args:
        shelf: where snapshots lie.
        source: who was asked.
        at: when (UTC).
        success: how it ended; None: it has not.

    Raises:
        StoreError: it could not be written.
    """
    document = {"at": at.astimezone(UTC).isoformat(), "success": success}
    shelf.put(f"{ASKED}/{source}.json", json.dumps(document).encode())


def remove_statements(shelf: Shelf, source: str) -> None:
    """This will remove every statement of a source, such as one that the settings no longer name."""
    for folder in standing_folders(shelf).get(source, []):
        _remove(shelf, folder)


def _clear(shelf: Shelf, source: str) -> None:
    for folder in standing_folders(shelf).get(source, [])[:-KEPT_STATEMENTS]:
        _remove(shelf, folder)


def _remove(shelf: Shelf, folder: str) -> None:
    """The manifest goes first: from then on the statement does not exist."""
    rest = [key for key in shelf.keys(folder) if not key.endswith(f"/{STANDING_MANIFEST}")]
    for key in (f"{folder}/{STANDING_MANIFEST}", *rest):
        shelf.delete(key)
