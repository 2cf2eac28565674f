"""The writing side of the store: a snapshot put on the shelf with its manifest last, and old ones cleared away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO

import polars as pl

from exporters.core.words import Origin
from exporters.store.fx_history import HISTORY
from exporters.store.read import manifests
from exporters.store.shelf import Shelf
from exporters.store.snapshot import FRAMES, MANIFEST, Manifest, Snapshot

KEEP_ALL_FOR = timedelta(hours=48)


def write_snapshot(shelf: Shelf, snapshot: Snapshot) -> Manifest:
    """This will put a snapshot on the shelf; it exists from the moment its manifest does.

    Raises:
        StoreError: a file could not be written; the snapshots before it are untouched.
    """
    manifest = replace(snapshot.manifest, rows={name: snapshot.frame(name).height for name in FRAMES})
    for name in FRAMES:
        shelf.put(f"{manifest.id}/{name}.parquet", _parquet(snapshot.frame(name)))
    shelf.put(f"{manifest.id}/{MANIFEST}", manifest.to_json())
    return manifest


def write_rates(shelf: Shelf, history: pl.DataFrame) -> None:
    """This will put a history of exchange rates in the place of the one before, whole or not at all.

    Raises:
        StoreError: it could not be written.
    """
    shelf.put(HISTORY, _parquet(history))


def clear_history(shelf: Shelf, source: str, *, now: datetime, retention_days: int) -> int:
    """This will remove snapshots past the retention, and all but the last of each day once they are two days old.

    The newest snapshot always stays, whatever its age. Folders without a manifest that are older than an hour,
    left by a process that was killed, go too.

    Returns:
        How many snapshots were removed.
    """
    known = manifests(shelf, source)
    doomed = _doomed([manifest for manifest in known if manifest is not known[-1]], now, retention_days)
    for manifest in doomed:
        remove_snapshot(shelf, manifest)
    _remove_orphans(shelf, source, now=now)
    return len(doomed)


def _doomed(older: Sequence[Manifest], now: datetime, retention_days: int) -> list[Manifest]:
    last_of_day = {manifest.taken_at.date(): manifest for manifest in older}
    return [
        manifest
        for manifest in older
        if now - manifest.taken_at > timedelta(days=retention_days)
        or (now - manifest.taken_at > KEEP_ALL_FOR and last_of_day[manifest.taken_at.date()] is not manifest)
    ]


def remove_snapshot(shelf: Shelf, manifest: Manifest) -> None:
    """This will remove a snapshot, its manifest first: from then on it does not exist.

    Raises:
        StoreError: a file could not be removed.
    """
    shelf.delete(f"{manifest.id}/{MANIFEST}")
    for name in FRAMES:
        shelf.delete(f"{manifest.id}/{name}.parquet")


def _remove_orphans(shelf: Shelf, source: str, *, now: datetime) -> None:
    keys = shelf.keys(source)
    whole = {key.rsplit("/", 1)[0] for key in keys if key.endswith(MANIFEST)}
    hour_ago = Manifest(source=source, taken_at=now - timedelta(hours=1), origin=Origin.LIVE, max_age_hours=None).id
    for key in keys:
        folder = key.rsplit("/", 1)[0]
        if folder not in whole and folder < hour_ago:
            shelf.delete(key)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
