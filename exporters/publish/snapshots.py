"""Which files of the shelf a reader elsewhere may see: those of whole prices, costs and statements, no others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from exporters.store.costs import COST_FILE, COST_MANIFEST, COSTS
from exporters.store.shelf import ReadableShelf
from exporters.store.snapshot import FRAMES, MANIFEST
from exporters.store.standing import STANDING, STANDING_FRAMES, STANDING_MANIFEST

_NAME: Final = re.compile(r"[a-z0-9_-]*")
_MOMENT: Final = r"\d{8}T\d{6}\.\d{6}Z"


def _files(folder: str, manifest: str, frames: list[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in (manifest, *frames))
    return re.compile(rf"{folder}/{_MOMENT}/(?:{names})")


_KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    COST_MANIFEST: _files(rf"{COSTS}/\d{{4}}-\d{{2}}", COST_MANIFEST, [COST_FILE]),
    STANDING_MANIFEST: _files(
        rf"{STANDING}/[a-z0-9_-]+", STANDING_MANIFEST, [f"{name}.parquet" for name in STANDING_FRAMES]
    ),
    MANIFEST: _files("[a-z0-9_-]+", MANIFEST, [f"{name}.parquet" for name in FRAMES]),
}
"""Each kind of snapshot by the name of the manifest that makes it whole: what the keys of its files look like."""


def whole_snapshot_keys(shelf: ReadableShelf, prefix: str) -> list[str]:
    """This will return the files of snapshots that have their manifest, under a prefix, sorted.

    Raises:
        StoreError: the shelf cannot be listed.
    """
    source = prefix.split("/", 1)[0]
    if _NAME.fullmatch(source) is None:
        return []
    keys = shelf.keys(source)
    found = []
    for manifest, form in _KINDS.items():
        files = [key for key in keys if form.fullmatch(key) is not None]
        whole = {key.rsplit("/", 1)[0] for key in files if key.endswith(f"/{manifest}")}
        found += [key for key in files if key.rsplit("/", 1)[0] in whole and key.startswith(prefix)]
    return sorted(found)
