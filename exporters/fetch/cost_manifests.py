"""What the manifests of billing exports say: which files belong together, and which are of a delivery that is over.

Promises that a file is never taken for one of another month or delivery because it has the same name. AWS writes the
manifest of a billing period anew with each delivery, after all of its files (AWS, Data Exports: Understanding export
delivery); deliveries that are kept beside each other lie in folders of their own, and only the last one counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from exporters.core.errors import IntegrityError
from exporters.fetch.cost_places import Entry, Place

_AWS: Final = "-Manifest.json"
_PERIOD: Final = re.compile(r"\d{8}-\d{8}")
_NEXT: Final = "Check the path, permissions and credentials; nothing of this import was taken."


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest and what it names.

    Args:
        entry: its file.
        named: the files that it names, by their names here, with the rows that it says they have.
    """

    entry: Entry
    named: Mapping[str, int | None]


def read_manifests(
    place: Place, entries: Sequence[Entry], data: Mapping[str, Entry]
) -> tuple[list[Manifest], tuple[str, ...]]:
    """This will return the manifests of a place that are in force, and the files of deliveries that are not.

    Args:
        place: where they lie.
        entries: every file there.
        data: those that can hold charges, by name.

    Raises:
        IntegrityError: a manifest cannot be read, or names a file that is not there or is newer than itself.
    """
    last: dict[tuple[object, str], Entry] = {}
    for entry in entries:
        if entry.name.lower().endswith("manifest.json"):
            key = (_place_of_period(entry.name) or entry.name, PurePosixPath(entry.name).name)
            before = last.get(key)
            if before is None or (entry.modified, -len(entry.name)) > (before.modified, -len(before.name)):
                last[key] = entry
    found = [Manifest(entry, _named_files(place, entry, data)) for entry in last.values()]
    claimed = {name for one in found for name in one.named}
    return found, _left_out([one.entry.name for one in found], data, claimed)


def _place_of_period(manifest: str) -> tuple[PurePosixPath, str] | None:
    """The folder that holds the periods of an export of AWS, and the period; None: another export, or lying elsewhere.

    Data Exports: <export>/metadata/<period>/… beside <export>/data/<period>/…; the older report: <report>/<period>/…
    """
    path = PurePosixPath(manifest)
    folders = path.parent.parts
    if not path.name.endswith(_AWS):
        return None
    if "metadata" in folders[:-1]:
        at = len(folders) - 1 - folders[::-1].index("metadata")
        return PurePosixPath(*folders[:at], "data"), folders[at + 1]
    at = next((at for at, folder in enumerate(folders) if _PERIOD.fullmatch(folder)), -1)
    return None if at < 0 else (PurePosixPath(*folders[:at]), folders[at])


def _left_out(manifests: Sequence[str], data: Mapping[str, Entry], claimed: Collection[str]) -> tuple[str, ...]:
    """Files that lie where AWS delivers and that no manifest names: of a delivery that is over, or has not ended."""
    delivered = {
        (place[0], PurePosixPath(name).name.removesuffix(_AWS) + "-")
        for name in manifests
        if (place := _place_of_period(name)) is not None
    }
    unnamed = (PurePosixPath(name) for name in data if name not in claimed)
    return tuple(
        str(one)
        for one in unnamed
        if any(one.is_relative_to(folder) and one.name.startswith(stem) for folder, stem in delivered)
    )


def _named_files(place: Place, manifest: Entry, data: Mapping[str, Entry]) -> dict[str, int | None]:
    where = f"{place.where} ({manifest.name})"
    try:
        listed = _listed(json.loads(place.read(manifest.name)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IntegrityError(f"the manifest cannot be read ({error})", where=where, next_step=_NEXT) from error
    matches = {name: _found(name, data, place=place, beside=manifest.name) for name in listed}
    if missing := [name for name, match in matches.items() if match is None]:
        shown = ", ".join(PurePosixPath(name).name for name in missing[:3])
        raise IntegrityError(
            f"{len(missing)} of {len(listed)} files that the manifest names are not there ({shown})",
            where=where,
            next_step="Copy the whole export and import it again; what was imported before stays.",
        )
    named = {match: listed[name] for name, match in matches.items() if match is not None}
    newer = [name for name in named if data[name].modified > manifest.modified]
    if place.bucket and newer and PurePosixPath(manifest.name).name.endswith(_AWS):
        raise IntegrityError(
            f"{len(newer)} files are newer than the manifest that names them ({PurePosixPath(newer[0]).name}): AWS is "
            "delivering, and writes the manifest last",
            where=where,
            next_step="Import again when it has delivered; in a bucket that you copy to, copy the manifest last.",
        )
    return named


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


def _found(name: str, data: Mapping[str, Entry], *, place: Place, beside: str) -> str | None:
    """The file here that a manifest means; None: there is none, or two could be it.

    In the bucket that the manifest names it is that key and no other. Elsewhere it is the one that shares the longest
    end of its path, its folder's name among it, or the one of that name in the manifest's own folder.
    """
    parts = urlsplit(name)
    if parts.scheme and parts.netloc == place.bucket:
        key = parts.path.lstrip("/")
        return key if key in data else None
    wanted = PurePosixPath(parts.path).parts
    alike = {one: _shared_end(PurePosixPath(one).parts, wanted) for one in data}
    enough = {one: shared for one, shared in alike.items() if shared >= min(2, len(wanted))}
    best = [one for one, shared in enough.items() if shared == max(enough.values())]
    if len(best) != 1:
        folder = PurePosixPath(beside).parent
        best = [one for one in best or alike if PurePosixPath(one).parent == folder and alike[one]]
    return best[0] if len(best) == 1 else None


def _shared_end(one: Sequence[str], other: Sequence[str]) -> int:
    shared = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine != theirs:
            break
        shared += 1
    return shared
