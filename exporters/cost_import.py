"""One import's way through the stages, from billing exports to what was paid on each day. jobs.py only says when.

An import ends in new months or changes nothing: whatever is wrong with a file, what was imported before stays. The same
export imported twice is imported once, under whatever name; a later one replaces the days that it states anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.clock import Clock
from exporters.core.cost_frames import COST, DAY_KEY, CostRejects, DailyCost, PoundCost, RestatedDay
from exporters.core.errors import IntegrityError
from exporters.core.scratch import scratch_folder
from exporters.fetch.cost_files import DataFile, Export, find_exports
from exporters.fetch.focus_file import Charges, open_charges, unreadable
from exporters.fetch.fx_packaged import packaged_history
from exporters.normalise.cost_days import Reduced, add_days, mark_whole, reduce_charges, replace_days, restated
from exporters.normalise.cost_fx import RATE_COLUMNS, RATE_SCHEMA, in_pounds, native
from exporters.settings import ExporterSettings
from exporters.store.cost_write import clear_months, write_month
from exporters.store.costs import CostManifest, Costs, read_costs
from exporters.store.fx_history import stored_rates
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

    kept: dy.DataFrame[PoundCost]
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
        before = read_costs(self.shelf)
        progress = _Progress(kept=before.days, imported=before.imported)
        with scratch_folder(self.scratch) as scratch:
            for export in find_exports(paths, scratch=scratch):
                self._take(export, progress)
        rejects = _rejects(progress.rejects)
        oldest = self._oldest_month()
        too_old = {month for months in progress.digests.values() for month in months if month < f"{oldest:%Y-%m}"}
        months = self._write(before, progress, rejects, oldest)
        return CostImport(
            files=tuple(progress.files),
            days=PoundCost.cast(pl.concat([PoundCost.create_empty(), *progress.days])),
            rejects=rejects,
            restated=restated(before.days, progress.kept),
            months=months,
            too_old=tuple(sorted(too_old)),
        )

    def _take(self, export: Export, progress: _Progress) -> None:
        """Read an export and put its days in the place of those before."""
        fresh = [file for file in export.files if _is_new(export, file, progress)]
        if not fresh or all(file.sha256 in progress.imported for file in export.files):
            progress.files += [
                FileRead(export.name, file.name, "", 0, 0, note="already imported, nothing to do") for file in fresh
            ]
            return
        read = [(charges, self._reduced(charges)) for charges in self._opened(fresh)]
        distinct = _without_copies(export, read, progress)
        days = add_days(*(reduced for _, reduced in distinct))
        _check_rejects(export, [reduced for _, reduced in distinct], self.settings.costs.max_rejected_ratio)
        _check_overlap(export, days, progress)
        whole = mark_whole(days, made_at=export.made_at, settle_hours=self.settings.costs.settle_hours)
        converted = in_pounds(whole, self._rates(days, progress.kept), file=export.name)
        progress.kept = replace_days(progress.kept, converted.days, whole_span=export.has_manifest)
        progress.days.append(converted.days)
        progress.rejects += [*(reduced.rejects for _, reduced in distinct), converted.rejects]
        months = sorted({f"{day:%Y-%m}" for day in days["charge_day"]})
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

    def _rates(self, days: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
        """A history of rates for these days; of several of one day the later row wins: see RATE_SCHEMA."""
        every = pl.concat([days.select("currency", "charge_day"), kept.select("currency", "charge_day")])
        contract = self.settings.sources.fx.contract_rates
        agreed = pl.DataFrame(
            [(currency, date.min, rate, "contract") for currency, rate in contract.items()],
            schema=RATE_SCHEMA,
            orient="row",
        )
        if every.is_empty():
            return agreed
        first, last = every["charge_day"].min(), every["charge_day"].max()
        assert isinstance(first, date)
        assert isinstance(last, date)
        quotes = packaged_history(every["currency"].unique().to_list(), first, last)
        packaged = pl.DataFrame(
            [(one.currency, one.rate_date, one.gbp_per_unit, one.fx_source) for one in quotes],
            schema=RATE_SCHEMA,
            orient="row",
        )
        used = kept.filter(pl.col("fx_source") != "contract").select(
            "currency", "gbp_per_unit", "fx_source", rate_date="fx_date"
        )
        fetched = stored_rates(self.shelf, first, last).with_columns(pl.col("gbp_per_unit").cast(COST))
        history = pl.concat([one.select(RATE_COLUMNS) for one in (packaged, used, fetched)])
        return pl.concat([history.filter(~pl.col("currency").is_in(list(contract))), agreed])

    def _oldest_month(self) -> date:
        """The first day of the oldest month that is kept."""
        now = self.clock.now()
        months = now.year * 12 + now.month - self.settings.costs.retention_months
        return date(months // 12, months % 12 + 1, 1)

    def _write(
        self, before: Costs, progress: _Progress, rejects: dy.DataFrame[CostRejects], oldest: date
    ) -> tuple[str, ...]:
        """The months that are no longer what they were; rates that came since are used for every day."""
        if not progress.digests:
            return ()
        kept = native(progress.kept).filter(pl.col("charge_day") >= oldest)
        digests = {
            digest: [month for month in months if month >= f"{oldest:%Y-%m}"]
            for digest, months in progress.digests.items()
        }
        after = in_pounds(kept, self._rates(kept, progress.kept), file="").days
        now = self.clock.now()
        manifests = {f"{one.month:%Y-%m}": one for one in before.manifests}
        counts = {str(reason): int(rows) for reason, rows in rejects.group_by("reason").agg(_ROWS).iter_rows()}
        written = []
        touched = {month for months in digests.values() for month in months}
        for name in sorted(set(after.select(_MONTH).to_series())):
            days = _month_of(after, name)
            new = {digest: months for digest, months in digests.items() if name in months}
            old = manifests.get(name)
            if not new and days.equals(_month_of(before.days, name)):
                continue
            manifest = CostManifest(
                month=date.fromisoformat(f"{name}-01"),
                written_at=now,
                files={**(old.files if old else {}), **new},
                rejected=counts if name in touched else (old.rejected if old else {}),
            )
            write_month(self.shelf, manifest, PoundCost.cast(days))
            written.append(name)
        clear_months(self.shelf, oldest=oldest)
        _log.info("costs_imported", months=sorted(written), rows=after.height)
        return tuple(sorted(written))


_ROWS = pl.col("rows").sum()
_MONTH = pl.col("charge_day").dt.strftime("%Y-%m")


def _month_of(days: pl.DataFrame, month: str) -> pl.DataFrame:
    return days.filter(month == _MONTH)


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


def _rejects(found: Sequence[dy.DataFrame[CostRejects]]) -> dy.DataFrame[CostRejects]:
    every = pl.concat([CostRejects.create_empty(), *found])
    return CostRejects.validate(
        every.group_by("file", "reason").agg(pl.col("rows").sum(), pl.col("example").min()).sort("file", "reason"),
        cast=True,
    )
