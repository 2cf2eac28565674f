"""The writing side of what was paid: a month put on the shelf with its manifest last, and old ones cleared away."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from io import BytesIO

import dataframely as dy

from exporters.core.cost_frames import PoundCost
from exporters.store.costs import COST_FILE, COST_MANIFEST, CostManifest, cost_folders
from exporters.store.shelf import Shelf

KEPT_VERSIONS = 3
"""Snapshots of a month that stay, so that a restatement can be looked at and undone."""


def write_month(shelf: Shelf, manifest: CostManifest, days: dy.DataFrame[PoundCost]) -> CostManifest:
    """This will put a month on the shelf; it stands from the moment its manifest does.

    Raises:
        StoreError: a file could not be written; the snapshot before it is untouched.
    """
    counted = replace(manifest, rows=days.height)
    buffer = BytesIO()
    days.write_parquet(buffer, compression="zstd")
    shelf.put(f"{counted.id}/{COST_FILE}", buffer.getvalue())
    shelf.put(f"{counted.id}/{COST_MANIFEST}", counted.to_json())
    return counted


def clear_months(shelf: Shelf, *, oldest: date) -> int:
    """This will remove months before the oldest one (its first day), and all but the last few snapshots of each.

    Returns:
        How many snapshots were removed.
    """
    doomed: list[str] = []
    for month, folders in cost_folders(shelf).items():
        too_old = date.fromisoformat(f"{month}-01") < oldest
        doomed += folders if too_old else folders[:-KEPT_VERSIONS]
    for folder in doomed:
        shelf.delete(f"{folder}/{COST_MANIFEST}")
        shelf.delete(f"{folder}/{COST_FILE}")
    return len(doomed)
