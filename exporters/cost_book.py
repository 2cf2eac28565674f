"""The days that were paid for, while an import or a refresh changes them: converted, kept, and written by month.

Promises that each day converts at its own rate, that a rate that came since is used for every day, and that months are
written whole or not at all. cost_import.py and cost_refresh.py bring the days.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import date
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.clock import Clock
from exporters.core.cost_frames import COST, CostRejects, PoundCost
from exporters.fetch.fx_packaged import packaged_history
from exporters.normalise.cost_fx import RATE_COLUMNS, RATE_SCHEMA, Converted, in_pounds, native
from exporters.settings import ExporterSettings
from exporters.store.cost_write import clear_months, write_month
from exporters.store.costs import CostManifest, Costs, read_costs
from exporters.store.fx_history import stored_rates
from exporters.store.shelf import Shelf

WRITING: Final = threading.Lock()
"""One import or refresh of a process changes the months at a time: each reads all of them and writes what changed."""


@dataclass(slots=True)
class CostBook:
    """The days that are kept.

    Args:
        settings: the exporter's settings.
        shelf: where snapshots lie.
        clock: the time.
        before: what stood there at the start.
        kept: what stands there now; whoever brings days puts them here.
    """

    settings: ExporterSettings
    shelf: Shelf
    clock: Clock
    before: Costs
    kept: dy.DataFrame[PoundCost] = field(init=False)

    def __post_init__(self) -> None:
        self.kept = self.before.days

    @classmethod
    def open(cls, settings: ExporterSettings, shelf: Shelf, clock: Clock) -> CostBook:
        """This will read what is kept.

        Raises:
            StoreError: the shelf cannot be read.
        """
        return cls(settings=settings, shelf=shelf, clock=clock, before=read_costs(shelf, every_source=True))

    def convert(self, days: pl.DataFrame, *, file: str) -> Converted:
        """This will convert days at their own rates.

        Args:
            days: rows of DailyCost with reached and is_whole.
            file: where they come from, for the count of rejects.
        """
        return in_pounds(days, self._rates(days), file=file)

    @property
    def oldest_day(self) -> date:
        """The first day of the oldest month that is kept."""
        return oldest_kept(self.settings, self.clock.now().date())

    def write(self, *, digests: dict[str, list[str]], rejects: pl.DataFrame) -> tuple[str, ...]:
        """This will write the months that are no longer what they were, and return them.

        Args:
            digests: the months that each export file touches, by the hash of its bytes.
            rejects: what was left out.

        Raises:
            StoreError: the shelf cannot be written.
        """
        oldest = self.oldest_day
        kept = native(self.kept).filter(pl.col("charge_day") >= oldest)
        after = in_pounds(kept, self._rates(kept), file="").days
        counts = {str(reason): int(rows) for reason, rows in rejects.group_by("reason").agg(_ROWS).iter_rows()}
        touched = {month for months in digests.values() for month in months if month >= f"{oldest:%Y-%m}"}
        manifests = {f"{one.month:%Y-%m}": one for one in self.before.manifests}
        written = []
        for name in _months_of(after):
            days = _month_of(after, name)
            new = {
                digest: [month for month in months if month >= f"{oldest:%Y-%m}"]
                for digest, months in digests.items()
                if name in months
            }
            old = manifests.get(name)
            if not new and days.equals(_month_of(self.before.days, name)):
                continue
            manifest = CostManifest(
                month=date.fromisoformat(f"{name}-01"),
                written_at=self.clock.now(),
                files={**(old.files if old else {}), **new},
                rejected=counts if name in touched else (old.rejected if old else {}),
            )
            write_month(self.shelf, manifest, PoundCost.cast(days))
            written.append(name)
        clear_months(self.shelf, oldest=oldest)
        return tuple(written)

    def _rates(self, days: pl.DataFrame) -> pl.DataFrame:
        """A history of rates for these days; of several of one day the later row wins: see RATE_SCHEMA."""
        every = pl.concat([days.select("currency", "charge_day"), self.kept.select("currency", "charge_day")])
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
        used = self.kept.filter(pl.col("fx_source") != "contract").select(
            "currency", "gbp_per_unit", "fx_source", rate_date="fx_date"
        )
        fetched = stored_rates(self.shelf, first, last).with_columns(pl.col("gbp_per_unit").cast(COST))
        history = pl.concat([one.select(RATE_COLUMNS) for one in (packaged, used, fetched)])
        return pl.concat([history.filter(~pl.col("currency").is_in(list(contract))), agreed])


_ROWS = pl.col("rows").sum()
_MONTH = pl.col("charge_day").dt.strftime("%Y-%m")


def _months_of(days: pl.DataFrame) -> list[str]:
    return sorted({f"{day:%Y-%m}" for day in days["charge_day"].unique()})


def _month_of(days: pl.DataFrame, month: str) -> pl.DataFrame:
    return days.filter(month == _MONTH)


def oldest_kept(settings: ExporterSettings, today: date) -> date:
    """This will return the first day of the oldest month that is kept."""
    months = today.year * 12 + today.month - settings.costs.retention_months
    return date(months // 12, months % 12 + 1, 1)


def all_rejects(found: list[dy.DataFrame[CostRejects]]) -> dy.DataFrame[CostRejects]:
    """This will add up what was left out, by file and reason."""
    every = pl.concat([CostRejects.create_empty(), *found])
    return CostRejects.validate(
        every.group_by("file", "reason").agg(_ROWS, pl.col("example").min()).sort("file", "reason"), cast=True
    )
