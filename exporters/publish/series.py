"""From prices to series: the frames that the catalogue's rows read, each column that is a label written as text.

Promises: no frame has two rows with the same labels, no illustrative price is among them, and nothing is computed
that is not in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from exporters.core.frames import OFFER_KEY, is_illustrative
from exporters.core.geography import regions as known_regions
from exporters.core.implied_rate import implied_rates
from exporters.core.metrics import Kind
from exporters.core.words import CapacityType
from exporters.publish.catalogue import PRICES
from exporters.publish.metric import Fold, Frame, Metric
from exporters.store.read import Prices

_VALUE = "value"


@dataclass(frozen=True, slots=True)
class Series:
    """All series of one metric: the label columns (String) and ``value`` (Float64), sorted by labels."""

    metric: Metric
    rows: pl.DataFrame


def select_series(prices: Prices, *, regions: pl.DataFrame | None = None) -> list[Series]:
    """This will return the series of every price metric, in the catalogue's order.

    Args:
        prices: what is to be published.
        regions: provider, region, country, jurisdiction of every known region, by default those of the clouds;
            regions of a rate card are added by the caller.
    """
    frames = _frames(prices, known_regions() if regions is None else regions)
    return [Series(metric, _rows(metric, frames[metric.frame])) for metric in PRICES]


def largest_groups(
    prices: Prices, columns: Sequence[str], *, top: int = 3
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """This will yield each column of the offers with its most frequent values and their counts."""
    for column in columns:
        counts = prices.offers.group_by(column).len().sort(["len", column], descending=[True, False]).head(top)
        yield column, [(str(value), int(count)) for value, count in counts.iter_rows()]


def _frames(prices: Prices, regions: pl.DataFrame) -> Mapping[Frame, pl.DataFrame]:
    offers = prices.offers.filter(~is_illustrative())
    present = offers.select("provider", "region").unique()
    return {
        Frame.OFFERS: offers,
        Frame.MACHINES: _machines(offers),
        Frame.EGRESS: prices.egress.filter(~is_illustrative()),
        Frame.REGIONS: regions.join(present, on=["provider", "region"], how="semi"),
        Frame.FX: prices.fx.select(
            "currency",
            "gbp_per_unit",
            source="fx_source",
            rate_date_seconds=pl.col("rate_date").cast(pl.Datetime("ms")).dt.timestamp("ms") / 1000,
        ),
        Frame.IMPLIED_FX: implied_rates(prices.offers),
    }


def _machines(offers: pl.DataFrame) -> pl.DataFrame:
    """One row a machine type and region, so that joins with it are many-to-one."""
    by_preference = offers.sort(
        "provider", "region", "instance_type", pl.col("capacity_type") != CapacityType.ON_DEMAND.value, *OFFER_KEY
    )
    return by_preference.unique(subset=["provider", "region", "instance_type"], keep="first", maintain_order=True)


def _rows(metric: Metric, frame: pl.DataFrame) -> pl.DataFrame:
    chosen = frame if metric.where is None else frame.filter(metric.where)
    value = pl.lit(1.0) if metric.kind is Kind.INFO else pl.col(metric.value).cast(pl.Float64)
    labels = list(metric.labels)
    rows = chosen.select(*(_text(name, chosen.schema[name]) for name in labels), value.alias(_VALUE))
    rows = rows.filter(pl.col(_VALUE).is_finite())
    if metric.fold is Fold.MINIMUM:
        rows = rows.group_by(labels).agg(pl.col(_VALUE).min())
    return rows.sort(labels)


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    """A column as label text; whole numbers without a fraction: 4 vCPUs, not 4.0."""
    column = pl.col(name)
    if not kind.is_float():
        return column.cast(pl.String)
    whole = column == column.floor()
    return pl.when(whole).then(column.cast(pl.Int64).cast(pl.String)).otherwise(column.cast(pl.String)).alias(name)
