"""One import's way through the stages, from billing exports to what was paid on each day. jobs.py only says when.

An import ends in new months or changes nothing: whatever is wrong with a file, what was imported before stays. The same
export imported twice is imported once, under whatever name; a later one replaces the days that it states anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.clock import Clock
from exporters.core.cost_frames import DAY_KEY, CostRejects, DailyCost, PoundCost, RestatedDay
from exporters.core.errors import IntegrityError
from exporters.core.scratch import scratch_folder
from exporters.cost_book import WRITING, CostBook, all_rejects
from exporters.fetch.cost_files import DataFile, Export, find_exports
from exporters.fetch.focus_file import Charges, open_charges, require_paired, unreadable
from exporters.normalise.cost_days import Reduced, add_days, mark_whole, reduce_charges, replace_days, restated
from exporters.settings import ExporterSettings
from exporters.store.shelf import Shelf

_log = structlog.get_logger(__name__)

_KEPT = "What was imported before stays."


@dataclass(frozen=True, slots=True)
class FileRead:
    """What became of one file of an export."""

    export: str
    file: str
    version: str
    rows: int
    rejected: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class CostImport:
    """What an import did.

    Args:
        files: every file that was found.
        days: the days that were read from files that were new.
        rejects: charges left out, by file and reason.
        restated: days that were known and came to something else.
        months: the months that were written.
        too_old: months that were left out, because they are older than those that are kept.
    """

    files: tuple[FileRead, ...]
    days: dy.DataFrame[PoundCost]
    rejects: dy.DataFrame[CostRejects]
    restated: dy.DataFrame[RestatedDay]
    months: tuple[str, ...]
    too_old: tuple[str, ...] = ()


@dataclass(slots=True)
class _Progress:
    """What has been read so far; hashes are of this run."""

    book: CostBook
    imported: frozenset[str]
    hashes: set[str] = field(default_factory=set)
    digests: dict[str, list[str]] = field(default_factory=dict)
    files: list[FileRead] = field(default_factory=list)
    days: list[dy.DataFrame[PoundCost]] = field(default_factory=list)
    rejects: list[dy.DataFrame[CostRejects]] = field(default_factory=list)
    loose: dict[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CostImporter:
    """Takes billing exports through the stages.

    Args:
        settings: the exporter's settings.
        shelf: where snapshots lie.
        clock: the time.
        scratch: where objects are copied to; None: the system's folder for temporary files.
    """

    settings: ExporterSettings
    shelf: Shelf
    clock: Clock
    scratch: Path | None = None

    def run(self, paths: Sequence[str]) -> CostImport:
        """This will import every export behind the paths, all or none.

        Raises:
            SettingsError: nothing is there.
            IntegrityError: a file or a manifest is not whole, too much was left out, or two exports contradict.
            SourceError: an object store refused.
            StoreError: the shelf cannot be read or written.
        """
        with WRITING:
            return self._run(paths)

    def _run(self, paths: Sequence[str]) -> CostImport:
        book = CostBook.open(self.settings, self.shelf, self.clock)
        progress = _Progress(book=book, imported=book.before.imported)
        with scratch_folder(self.scratch) as scratch:
            for export in find_exports(paths, scratch=scratch):
                self._take(export, progress)
        rejects = all_rejects(progress.rejects)
        months = book.write(digests=progress.digests, rejects=rejects)
        _log.info("costs_imported", months=months)
        oldest = f"{book.oldest_day:%Y-%m}"
        return CostImport(
            files=tuple(progress.files),
            days=PoundCost.cast(pl.concat([PoundCost.create_empty(), *progress.days])),
            rejects=rejects,
            restated=restated(book.before.days, book.kept),
            months=months,
            too_old=tuple(sorted({one for touched in progress.digests.values() for one in touched if one < oldest})),
        )

    def _take(self, export: Export, progress: _Progress) -> None:
        """Read an export and put its days in the place of those before."""
        fresh = [file for file in export.files if _is_new(export, file, progress)]
        if not fresh or all(file.sha256 in progress.imported for file in export.files):
            progress.files += [
                FileRead(export.name, file.name, "", 0, 0, note="already imported, nothing to do") for file in fresh
            ]
            return
        opened = self._opened(fresh)
        require_paired(opened, where=export.name)
        read = [(charges, self._reduced(charges)) for charges in opened]
        distinct = _without_copies(export, read, progress)
        days = add_days(*(reduced for _, reduced in distinct))
        _check_rejects(export, [reduced for _, reduced in distinct], self.settings.costs.max_rejected_ratio)
        _check_overlap(export, days, progress)
        whole = mark_whole(days, made_at=export.made_at, settle_hours=self.settings.costs.settle_hours)
        book = progress.book
        converted = book.convert(whole, file=export.name)
        book.kept = replace_days(book.kept, converted.days, whole_span=export.has_manifest)
        progress.days.append(converted.days)
        progress.rejects += [*(reduced.rejects for _, reduced in distinct), converted.rejects]
        months = sorted({f"{day:%Y-%m}" for day in days["charge_day"].unique()})
        progress.digests.update({file.sha256: months for file in fresh})

    def _opened(self, files: Sequence[DataFile]) -> list[Charges]:
        return [open_charges(file, owner_tags=self.settings.costs.owner_tags) for file in files]

    def _reduced(self, charges: Charges) -> Reduced:
        try:
            reduced = reduce_charges(charges.rows, file=charges.file.name)
        except PolarsError as error:
            raise unreadable(charges.file, error) from error
        wanted = charges.file.rows
        if wanted is not None and wanted != reduced.rows:
            raise IntegrityError(
                f"the file has {reduced.rows:,} rows, its manifest says {wanted:,}",
                where=charges.file.name,
                next_step=f"Copy the export again. {_KEPT}",
            )
        return reduced


def _is_new(export: Export, file: DataFile, progress: _Progress) -> bool:
    """Whether no file of the same bytes came before in this run; a copy is noted and left out."""
    if file.sha256 not in progress.hashes:
        progress.hashes.add(file.sha256)
        return True
    progress.files.append(FileRead(export.name, file.name, "", 0, 0, note="a copy of another file, left out"))
    return False


def _without_copies(
    export: Export, read: Sequence[tuple[Charges, Reduced]], progress: _Progress
) -> list[tuple[Charges, Reduced]]:
    """Files that come to the same are compared row by row: the same charges in another format are left out."""
    distinct: list[tuple[Charges, Reduced]] = []
    for charges, reduced in read:
        alike = (one for one, other in distinct if other.sums == reduced.sums)
        copied = any(_fingerprint(one) == _fingerprint(charges) for one in alike)
        note = "the same charges as another file, left out" if copied else ""
        rejected = int(reduced.rejects["rows"].sum())
        progress.files.append(
            FileRead(export.name, charges.file.name, charges.version, reduced.rows, rejected, note=note)
        )
        if not copied:
            distinct.append((charges, reduced))
    return distinct


def _fingerprint(charges: Charges) -> tuple[int, int]:
    """A number for all rows that does not depend on their order."""
    row = pl.struct(pl.exclude("tags")).hash(seed=2)
    found = charges.rows.select(row.sum().alias("sum"), row.min().alias("least")).collect(engine="streaming")
    return int(found["sum"][0] or 0), int(found["least"][0] or 0)


def _check_rejects(export: Export, read: Sequence[Reduced], most: float) -> None:
    rows = sum(one.rows for one in read)
    rejects = pl.concat([CostRejects.create_empty(), *(one.rejects for one in read)])
    left_out = int(rejects["rows"].sum())
    if left_out > most * rows:
        counts = rejects.group_by("reason").agg(pl.col("rows").sum(), pl.col("example").min()).sort("reason")
        reasons = "; ".join(f"{count:,} {reason} ({example})" for reason, count, example in counts.iter_rows())
        raise IntegrityError(
            f"{left_out:,} of {rows:,} charges cannot be read: {reasons}",
            where=export.name,
            next_step=f"Export it again, or raise costs.max_rejected_ratio ({most:g}). {_KEPT}",
        )


def _check_overlap(export: Export, days: dy.DataFrame[DailyCost], progress: _Progress) -> None:
    """Two folders without a manifest that state the same day: parts of one export, or two? Not for us to guess."""
    if export.has_manifest:
        return
    mine = days.select(DAY_KEY).unique()
    for name, theirs in progress.loose.items():
        both = mine.join(theirs, on=list(DAY_KEY), how="semi")
        if both.height:
            raise IntegrityError(
                f"it states {both.height} days that {name} states too, and neither has a manifest",
                where=export.name,
                next_step=f"Put the files of one export into one folder, or import the newer alone. {_KEPT}",
            )
    progress.loose[export.name] = mine
