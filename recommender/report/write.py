"""Reports become files: each format written to the side and renamed, so that nobody reads half of one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from exporters.core.errors import SettingsError, StoreError
from recommender.report.registry import FORMATS
from recommender.report.view import Report


def write_report(report: Report, folder: Path, *, names: Sequence[str], stem: str | None = None) -> list[Path]:
    """This will write a report in the named formats and return the paths.

    Args:
        report: the view model.
        folder: made if it is not there.
        names: of formats.
        stem: of the files; default: report- and the week.

    Raises:
        SettingsError: there is no such format.
        StoreError: the folder cannot be written.
    """
    known = {one.name: one for one in FORMATS}
    if wrong := [name for name in names if name not in known]:
        raise SettingsError(
            f"there is no format {wrong[0]!r}", where="--format", next_step=f"Name some of: {', '.join(known)}."
        )
    first = stem or "-".join(filter(None, ("report", report.week, as_file_name(report.owner))))
    return [write_file(folder / f"{first}.{name}", known[name].pieces(report)) for name in dict.fromkeys(names)]


def as_file_name(text: str) -> str:
    """This will return a name without what a path would obey; a hash keeps those apart that become alike."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[:40]
    return text if plain == text else f"{plain.strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_file(path: Path, text: str | Iterable[str]) -> Path:
    """This will write a file whole, with its folder, and return its path.

    Args:
        path: of the file.
        text: its content, or the content piece by piece.

    Raises:
        StoreError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.writelines((text,) if isinstance(text, str) else text)
        beside.replace(path)
    except OSError as error:
        raise StoreError(
            f"the report cannot be written ({error})",
            where=str(path),
            next_step="Check that the folder can be written and the disk has room.",
        ) from error
    return path
