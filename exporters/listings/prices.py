"""What the listing commands show: offers cheapest first by any unit, and the findings of `check`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import polars as pl

from exporters.core.focus import offers_as_focus
from exporters.core.frames import OFFER_KEY
from exporters.fetch.contract import Finding, Source
from exporters.fetch.ecb import check_rates
from exporters.refresh import Refresher


class Unit(StrEnum):
    """What `prices` ranks by."""

    INSTANCE = "instance"
    VCPU = "vcpu"
    GIB = "gib"
    GPU = "gpu"
    ACCELERATOR = "accelerator"

    @property
    def column(self) -> str:
        """The price column of the unit."""
        return "gbp_per_hour" if self is Unit.INSTANCE else f"gbp_per_{self.value}_hour"


def list_prices(offers: pl.DataFrame, *, by: Unit, **wanted: Sequence[str] | None) -> pl.DataFrame:
    """This will return the offers whose columns hold one of the wanted values, cheapest first by a unit.

    Offers without that unit are left out, and so are GPU and accelerator machines where vCPUs or GiB are compared:
    nobody can buy those parts alone. Equal prices stand in the order of their keys.
    """
    conditions = [pl.col(column).is_in(list(values)) for column, values in wanted.items() if values]
    if by in {Unit.VCPU, Unit.GIB}:
        conditions.append((pl.col("gpus") == 0) & (pl.col("accelerators") == 0))
    kept = offers.filter(*conditions, pl.col(by.column).is_not_null())
    return kept.sort(by.column, *OFFER_KEY)


def prices_table(offers: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """This will return the offers under FOCUS names for machines, and the columns that a person reads first."""
    person = offers.select(
        "provider",
        "region",
        "zone",
        "instance_type",
        "capacity_type",
        "vcpus",
        "memory_gib",
        gpu=pl.when(pl.col("gpus") > 0).then(pl.format("{} × {}", "gpus", "gpu_model")).otherwise(pl.lit("")),
        native=pl.format("{} {}", pl.col("price_per_hour").cast(pl.Float64), "currency"),
        gbp_per_hour=pl.col("gbp_per_hour").round(5),
        gbp_per_vcpu_hour=pl.col("gbp_per_vcpu_hour").round(5),
        gbp_per_gpu_hour=pl.col("gbp_per_gpu_hour").round(4),
        source=pl.col("source"),
        dated=pl.col("observed_at").dt.date(),
        note=pl.col("note").fill_null(""),
    )
    return offers_as_focus(offers), person


def checks_table(chosen: Sequence[Source], refresher: Refresher, *, rates: bool, scratch: Path) -> pl.DataFrame:
    """This will ask each source to look at its credentials, permissions and reach; the rates if wanted."""
    section = refresher.settings.sources.fx
    found = [("fx", finding) for finding in (check_rates(section, refresher.clock.now()) if rates else ())]
    found += [(source.name, finding) for source in chosen for finding in _findings(source, refresher, scratch)]
    return findings_table(found)


def findings_table(found: Sequence[tuple[str, Finding]]) -> pl.DataFrame:
    """This will return findings as rows, each with the source whose check made it."""
    columns = ("source", "subject", "state", "detail", "next_step")
    rows = [(name, item.subject, item.state, item.detail, item.next_step) for name, item in found]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _findings(source: Source, refresher: Refresher, scratch: Path) -> tuple[Finding, ...]:
    section = refresher.settings.sources.of(source.name)
    request = refresher.request(section, now=refresher.clock.now(), scratch=scratch)
    return source.check(section, request)
