"""Which files of the shelf a reader elsewhere may see: those of whole snapshots, and nothing else."""

from __future__ import annotations

import re

from exporters.store.shelf import ReadableShelf
from exporters.store.snapshot import FRAMES, MANIFEST

_SOURCE = re.compile(r"[a-z0-9_-]*")
_FILE = re.compile(rf"[a-z0-9_-]+/\d{{8}}T\d{{6}}\.\d{{6}}Z/(?:{re.escape(MANIFEST)}|(?:{'|'.join(FRAMES)})\.parquet)")


def is_snapshot_file(key: str) -> bool:
    """This will tell whether a key has the form of a snapshot's file; ``..``, absolute and other paths have not."""
    return _FILE.fullmatch(key) is not None


def whole_snapshot_keys(shelf: ReadableShelf, prefix: str) -> list[str]:
    """This will return the files of snapshots that have their manifest, under a prefix, sorted.

    Raises:
        StoreError: the shelf cannot be listed.
    """
    source = prefix.split("/", 1)[0]
    if _SOURCE.fullmatch(source) is None:
        return []
    keys = [key for key in shelf.keys(source) if is_snapshot_file(key)]
    whole = {key.removesuffix(f"/{MANIFEST}") for key in keys if key.endswith(f"/{MANIFEST}")}
    return [key for key in keys if key.rsplit("/", 1)[0] in whole and key.startswith(prefix)]
