"""Last check before a price is believed: does it fit what the source said last time?

An offer that fell by more than 90 %, rose more than tenfold or changed its currency is set aside until three equal
refreshes in a row have said the same, or another source says so too; its old price is not shown in its place. Promises
to stop the refresh, so that the last good snapshot stays, when too many prices moved at once or half of the offers
vanished.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import OFFER_KEY, Offer, Reject, SetAside
from exporters.core.words import RejectReason
from exporters.normalise.chosen import count_rejects

MOST_SET_ASIDE = 0.02
"""Above this share of a refresh, and more than one offer, it is the refresh that is not believed, not the offers: in a
price book of ten rows one corrected price is a correction."""

LEAST_KEPT = 0.5
"""A refresh of the same regions with fewer than this share of the last one's offers has lost pages."""

REFRESHES_TO_CONFIRM = 3
MOST_TIMES = 10
"""More than tenfold up, or to less than a tenth, is implausible for one offer."""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Rows whose price is believed; those that wait, with their count of equal refreshes; the reject counts."""

    good: pl.DataFrame
    set_aside: dy.DataFrame[SetAside]
    rejects: dy.DataFrame[Reject]


def part_implausible(
    rows: pl.DataFrame,
    *,
    previous: dy.DataFrame[Offer],
    set_aside: dy.DataFrame[SetAside],
    confirming: dy.DataFrame[Offer],
    source: str,
) -> Plausible:
    """This will compare native prices with the last ones published and set implausible moves aside.

    Args:
        rows: rows with the offer key, currency and price_per_hour.
        previous: the offers of the source's last snapshot; empty for the first refresh.
        set_aside: what that snapshot had set aside.
        confirming: what other sources say: one with the same key, native price and currency confirms a price.
        source: the source's name, for messages.

    Raises:
        IntegrityError: more than 2 % of the offers (but at least two) would be set aside, or all of them.
    """
    compared = _compared(rows, previous, set_aside, confirming)
    waits = pl.col("moved") & ~pl.col("confirmed") & (pl.col("times_seen") < REFRESHES_TO_CONFIRM)
    waiting = compared.filter(waits)
    most = min(max(1, MOST_SET_ASIDE * rows.height), rows.height - 1)
    if not waiting.is_empty() and waiting.height > most:
        raise _too_many(waiting, of=rows.height, source=source)
    return Plausible(
        good=compared.filter(~waits).select(rows.columns),
        set_aside=_still_waiting(waiting, rows, set_aside),
        rejects=count_rejects(
            waiting,
            reason=pl.lit(RejectReason.IMPLAUSIBLE.value),
            example=_move(),
            region=pl.col("region"),
        ),
    )


def check_count(rows: pl.DataFrame, *, previous: dy.DataFrame[Offer], source: str) -> None:
    """This will compare the number of offers with the last snapshot's, if both cover the same regions.

    Raises:
        IntegrityError: fewer than half are left.
    """
    same_regions = set(rows["region"].unique()) == set(previous["region"].unique())
    if same_regions and rows.height < LEAST_KEPT * previous.height:
        raise IntegrityError(
            f"only {rows.height} offers arrived for the same regions that had {previous.height} last time",
            where=f"sources.{source}",
            next_step=f"The last good prices stay. {_how_to_accept(source, 'you narrowed the filters')}",
        )


def _compared(
    rows: pl.DataFrame, previous: pl.DataFrame, set_aside: pl.DataFrame, confirming: pl.DataFrame
) -> pl.DataFrame:
    """Beside each row: what was last believed of it, whether it moved too far from that, how often and who says so."""
    key = list(OFFER_KEY)
    before = previous.select(*key, last_price="price_per_hour", last_currency="currency")
    waited = set_aside.select(
        *key,
        "believed_price_per_hour",
        "believed_currency",
        seen_price="price_per_hour",
        seen_currency="currency",
        seen_times="times_seen",
    )
    equal = [*key, "currency", "price_per_hour"]
    said_elsewhere = confirming.select(equal).unique().with_columns(confirmed=True)
    believed_price = pl.coalesce("last_price", "believed_price_per_hour")
    believed_currency = pl.coalesce("last_currency", "believed_currency")
    repeated = (pl.col("price_per_hour") == pl.col("seen_price")) & (pl.col("currency") == pl.col("seen_currency"))
    moved = (
        (pl.col("currency") != pl.col("believed_currency"))
        | (pl.col("price_per_hour") * MOST_TIMES < pl.col("believed_price_per_hour"))
        | (pl.col("price_per_hour") > pl.col("believed_price_per_hour") * MOST_TIMES)
    )
    return (
        rows.join(before, on=key, how="left", maintain_order="left")
        .join(waited, on=key, how="left", maintain_order="left")
        .join(said_elsewhere, on=equal, how="left", maintain_order="left")
        .with_columns(believed_price_per_hour=believed_price, believed_currency=believed_currency)
        .with_columns(
            moved=moved.fill_null(value=False),
            confirmed=pl.col("confirmed").fill_null(value=False),
            times_seen=pl.when(repeated.fill_null(value=False)).then(pl.col("seen_times") + 1).otherwise(1),
        )
    )


def _still_waiting(waiting: pl.DataFrame, rows: pl.DataFrame, set_aside: pl.DataFrame) -> dy.DataFrame[SetAside]:
    """An offer that did not come this time waits on, its count begun anew, so that it cannot come back as a new one."""
    absent = set_aside.join(rows, on=list(OFFER_KEY), how="anti").with_columns(times_seen=pl.lit(1, pl.UInt32))
    columns = SetAside.column_names()
    every = pl.concat([waiting.select(columns), absent.select(columns)], how="vertical_relaxed")
    return SetAside.validate(every.sort(OFFER_KEY), cast=True)


def _move() -> pl.Expr:
    return pl.format(
        "{} {} from {} {} to {} {}",
        "instance_type",
        "capacity_type",
        pl.col("believed_price_per_hour").cast(pl.Float64),
        "believed_currency",
        pl.col("price_per_hour").cast(pl.Float64),
        "currency",
    )


def _too_many(waiting: pl.DataFrame, *, of: int, source: str) -> IntegrityError:
    example = waiting.select(pl.format("{} {}", "region", _move()).min()).item()
    return IntegrityError(
        f"{waiting.height} of {of} offers moved more than tenfold or changed currency, more than "
        f"{MOST_SET_ASIDE:.0%} (for example {example})",
        where=f"sources.{source}",
        next_step=f"The last good prices stay. {_how_to_accept(source, 'the new prices are right')}",
    )


def _how_to_accept(source: str, condition: str) -> str:
    return f"If {condition}, accept the change with: tuppence fetch {source} --accept"
