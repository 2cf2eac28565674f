"""The reading side of the store: the last good snapshot of each source, all at one exchange rate.

Every reader, the exporter's own metrics and the recommender alike, gets its prices here, so that prices of sources that
were refreshed at different times are still compared at one rate per currency: the newest rate table on the shelf.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.cost_frames import Discount
from exporters.core.errors import StoreError
from exporters.core.frames import EGRESS_KEY, OFFER_KEY, EgressRate, FxRate, Offer
from exporters.core.words import PriceBasis
from exporters.store.shelf import ReadableShelf
from exporters.store.snapshot import FRAMES, FX_SOURCE, MANIFEST, Manifest, Snapshot

_log = structlog.get_logger(__name__)

CLOCK_SKEW = timedelta(hours=1)
"""How far the clocks of two exporters on one store may differ. A snapshot dated later was taken while a clock was
wrong: it would stand before every later one, and never grow old."""

BOOK_SOURCE = "book"
"""The source of price books, whose prices go before those of any other."""

_GBP_COLUMNS = (
    "gbp_per_hour",
    "gbp_per_vcpu_hour",
    "gbp_per_gib_hour",
    "gbp_per_gpu_hour",
    "gbp_per_accelerator_hour",
    "marginal_gbp_per_hour",
    "gbp_per_gib",
)

AT_A_RATE = (*_GBP_COLUMNS, "gbp_per_unit", "fx_date", "fx_source")
"""The columns of offers and egress rates that follow the rate of exchange."""


@dataclass(frozen=True, slots=True)
class Prices:
    """All usable prices at one moment, at one rate per currency.

    Args:
        offers: offers of every source that is fresh enough.
        egress: egress rates of the same sources.
        fx: the rate table they were expressed with.
        used: the snapshots that stand behind them.
        stale: snapshots left out because they are older than their source allows.
        basis: which prices the offers have: those of their sources, or what was really paid where that is known.
        discounts: what was really paid below list price, of those that hold, whatever the basis.
    """

    offers: dy.DataFrame[Offer]
    egress: dy.DataFrame[EgressRate]
    fx: dy.DataFrame[FxRate]
    used: tuple[Manifest, ...]
    stale: tuple[Manifest, ...]
    basis: PriceBasis = PriceBasis.LIST
    discounts: dy.DataFrame[Discount] = field(default_factory=Discount.create_empty)


def manifests(shelf: ReadableShelf, source: str) -> list[Manifest]:
    """This will return a source's manifests, oldest first; damaged ones are logged and left out."""
    found = []
    for key in shelf.keys(source):
        if key.endswith(f"/{MANIFEST}"):
            try:
                found.append(Manifest.from_json(shelf.get(key), where=key))
            except StoreError as error:
                _log.warning("snapshot_skipped", key=key, error=str(error))
    return sorted(found, key=lambda manifest: manifest.taken_at)


def sources(shelf: ReadableShelf) -> list[str]:
    """This will return the names of the sources that have a snapshot."""
    return sorted({key.split("/", 1)[0] for key in shelf.keys("") if key.endswith(f"/{MANIFEST}")})


def newest_ids(shelf: ReadableShelf) -> frozenset[str]:
    """This will return the id of every source's newest snapshot, without opening any."""
    whole = (key.removesuffix(f"/{MANIFEST}") for key in shelf.keys("") if key.endswith(f"/{MANIFEST}"))
    return frozenset({name.split("/", 1)[0]: name for name in sorted(whole)}.values())


def last_snapshot(shelf: ReadableShelf, source: str, *, until: datetime | None = None) -> Snapshot | None:
    """This will return a source's newest readable snapshot; a damaged one is logged and the one before it is taken.

    Args:
        shelf: where snapshots lie.
        source: the source's name.
        until: snapshots taken later are passed over, so that a replay sees what was there then; None: none is.
    """
    for key in reversed([key for key in shelf.keys(source) if key.endswith(f"/{MANIFEST}")]):
        try:
            manifest = Manifest.from_json(shelf.get(key), where=key)
            if until is None or manifest.taken_at <= until:
                return _load(shelf, manifest)
        except StoreError as error:
            _log.warning("snapshot_skipped", key=key, error=str(error))
    return None


def last_snapshots(shelf: ReadableShelf, *, until: datetime | None = None) -> list[Snapshot]:
    """This will return the last readable snapshot of every source; see last_snapshot."""
    found = (last_snapshot(shelf, source, until=until) for source in sources(shelf))
    return [snapshot for snapshot in found if snapshot is not None]


def current_prices(shelf: ReadableShelf, *, now: datetime) -> Prices:
    """This will return the prices of every source's last snapshot that is not stale, at the newest exchange rates.

    Snapshots from the future are passed over (CLOCK_SKEW).
    """
    return combine(last_snapshots(shelf, until=now + CLOCK_SKEW), now=now)


def current_rates(shelf: ReadableShelf, *, until: datetime | None = None) -> dy.DataFrame[FxRate]:
    """This will return the newest table of exchange rates; empty where there is none."""
    snapshot = last_snapshot(shelf, FX_SOURCE, until=until)
    return FxRate.create_empty() if snapshot is None else snapshot.fx


def combine(snapshots: Iterable[Snapshot], *, now: datetime) -> Prices:
    """This will express the snapshots of several sources at one rate per currency, leaving out stale ones.

    Where two sources price the same offer, the book's price stands, else the newest: see one_per_key.
    """
    every = list(snapshots)
    fx_snapshot = next((snapshot for snapshot in every if snapshot.manifest.source == FX_SOURCE), None)
    priced = [snapshot for snapshot in every if snapshot.manifest.source != FX_SOURCE]
    fresh = [snapshot for snapshot in priced if not snapshot.manifest.is_stale(now)]
    fx = fx_snapshot.fx if fx_snapshot is not None else FxRate.create_empty()
    offers = pl.concat([Offer.create_empty(), *(snapshot.offers for snapshot in fresh)])
    egress = pl.concat([EgressRate.create_empty(), *(snapshot.egress for snapshot in fresh)])
    return Prices(
        offers=Offer.cast(at_one_rate(one_per_key(offers, OFFER_KEY), fx)),
        egress=EgressRate.cast(at_one_rate(one_per_key(egress, EGRESS_KEY), fx)),
        fx=fx,
        used=tuple(snapshot.manifest for snapshot in ([fx_snapshot] if fx_snapshot else []) + fresh),
        stale=tuple(snapshot.manifest for snapshot in priced if snapshot.manifest.is_stale(now)),
    )


def one_per_key(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """This will keep one row a key, sorted by key: the book's, for what a user wrote down replaces a list price."""
    return rows.sort([*key, pl.col("source") == BOOK_SOURCE, "observed_at", "source"]).unique(
        subset=list(key), keep="last", maintain_order=True
    )


def at_one_rate(rows: pl.DataFrame, fx: pl.DataFrame) -> pl.DataFrame:
    """This will scale every pound column of offers or egress rates from the rate they were stored with to the table's.

    A currency that the table lacks keeps the rate of its refresh; date and source of the rate travel with each row.
    """
    table = fx.select("currency", new_rate="gbp_per_unit", new_date="rate_date", new_source="fx_source")
    factor = pl.col("new_rate") / pl.col("gbp_per_unit")
    known = pl.col("new_rate").is_not_null()
    columns = [name for name in _GBP_COLUMNS if name in rows.columns]
    return (
        rows.join(table, on="currency", how="left", maintain_order="left")
        .with_columns(
            *(pl.when(known).then(pl.col(name) * factor).otherwise(pl.col(name)).alias(name) for name in columns),
            fx_date=pl.coalesce("new_date", "fx_date"),
            fx_source=pl.coalesce("new_source", "fx_source"),
        )
        .with_columns(gbp_per_unit=pl.coalesce("new_rate", "gbp_per_unit"))
        .select(rows.columns)
    )


def _load(shelf: ReadableShelf, manifest: Manifest) -> Snapshot:
    frames: dict[str, Any] = {name: _frame(shelf, manifest, name) for name in FRAMES}
    return Snapshot(manifest=manifest, **frames)


def _frame(shelf: ReadableShelf, manifest: Manifest, name: str) -> dy.DataFrame[dy.Schema]:
    key = f"{manifest.id}/{name}.parquet"
    try:
        frame = FRAMES[name].cast(pl.read_parquet(io.BytesIO(shelf.get(key))))
    except (PolarsError, OSError) as error:
        raise _damaged(key, f"it cannot be read ({error})") from error
    if frame.height != manifest.rows.get(name):
        raise _damaged(key, f"it has {frame.height} rows, its manifest says {manifest.rows.get(name)}")
    return frame


def _damaged(key: str, what: str) -> StoreError:
    return StoreError(what, where=key, next_step="Remove this snapshot; the one before it is used.")
