"""What a row rule gives, and the parts all row rules share: sorting out bad prices, and counting what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, EgressListPrice, ListPrice, Reject, Shape
from exporters.core.money import NATIVE
from exporters.core.words import RejectReason


@dataclass(frozen=True, slots=True)
class Filters:
    """What the settings let through; an empty tuple lets everything through.

    Args:
        families: globs over the family column, such as ``m6*`` or ``n2``.
        capacity_types: words of CapacityType.
        operating_systems: words of OperatingSystem.
    """

    families: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] = ()
    operating_systems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The result of a row rule; list prices and shapes are joined by the split."""

    prices: dy.DataFrame[ListPrice]
    shapes: dy.DataFrame[Shape]
    egress: dy.DataFrame[EgressListPrice]
    rejects: dy.DataFrame[Reject]


@dataclass(frozen=True, slots=True)
class Sorted:
    """Candidate rows parted into those with a usable price and the counts of the rest."""

    good: pl.DataFrame
    rejects: dy.DataFrame[Reject]


def sort_out_prices(candidates: pl.DataFrame, *, price: str, example: str, region: str = "region") -> Sorted:
    """This will part rows by their price: absent, not a number, zero and negative are four rejects.

    Args:
        candidates: rows after a rule's filters.
        price: the price column; text is read as exact decimal, and digits past the twelfth place are cut. An amount
            that Decimal(32, 12) cannot hold, or of which nothing would be left, is malformed.
        example: a column to quote in the reject, such as the SKU.
        region: the region column.

    Returns:
        The good rows, `price` as Decimal(32, 12); the rejects with counts.
    """
    text = pl.col(price).cast(pl.String)
    number = text.cast(pl.Float64, strict=False)
    exact = text.cast(NATIVE, strict=False)
    reason = (
        pl.when(text.is_null() | (text.str.strip_chars() == ""))
        .then(pl.lit(RejectReason.ABSENT.value))
        .when(number.is_null() | ~number.is_finite())
        .then(pl.lit(RejectReason.NOT_A_NUMBER.value))
        .when(number == 0)
        .then(pl.lit(RejectReason.ZERO.value))
        .when(number < 0)
        .then(pl.lit(RejectReason.NEGATIVE.value))
        .when((exact > 0).fill_null(value=False).not_())
        .then(pl.lit(RejectReason.MALFORMED.value))
    )
    marked = candidates.with_columns(__reason=reason)
    good = marked.filter(pl.col("__reason").is_null()).drop("__reason").with_columns(exact.alias(price))
    bad = marked.filter(pl.col("__reason").is_not_null())
    return Sorted(
        good=good,
        rejects=count_rejects(bad, reason=pl.col("__reason"), example=pl.col(example), region=pl.col(region)),
    )


def one_per_key(
    candidates: pl.DataFrame, *, key: Sequence[str] = OFFER_KEY, price: str = "price_per_hour", example: str
) -> Sorted:
    """This will keep the rows whose key stands once; equal prices fold, different ones are ambiguous rejects.

    The same number in another currency is another price.
    """
    money = [price, *(name for name in ("currency",) if name in candidates.columns)]
    folded = candidates.unique(subset=[*key, *money], keep="first", maintain_order=True)
    single = pl.len().over(list(key)) == 1
    marked = folded.with_columns(__single=single)
    region = next((name for name in ("region", "from_region") if name in candidates.columns), None)
    return Sorted(
        good=marked.filter("__single").drop("__single"),
        rejects=count_rejects(
            marked.filter(~pl.col("__single")),
            reason=pl.lit(RejectReason.AMBIGUOUS.value),
            example=pl.col(example),
            region=pl.col(region) if region else pl.lit(""),
        ),
    )


def count_rejects(rows: pl.DataFrame, *, reason: pl.Expr, example: pl.Expr, region: pl.Expr) -> dy.DataFrame[Reject]:
    """This will count rows by reason and region, quoting one of each."""
    if rows.is_empty():
        return Reject.create_empty()
    counted = (
        rows.select(
            reason=reason.cast(pl.String),
            region=region.cast(pl.String).fill_null(""),
            example=example.cast(pl.String).fill_null(""),
        )
        .group_by("reason", "region")
        .agg(rows=pl.len().cast(pl.UInt32), example=pl.col("example").min())
        .sort("reason", "region")
    )
    return Reject.validate(counted.select(Reject.column_names()), cast=True)


def merge_rejects(*counts: pl.DataFrame) -> dy.DataFrame[Reject]:
    """This will add up reject counts of several steps."""
    merged = (
        pl.concat([frame.select(Reject.column_names()) for frame in counts])
        .group_by("reason", "region")
        .agg(pl.col("rows").sum().cast(pl.UInt32), pl.col("example").min())
        .sort("reason", "region")
    )
    return Reject.validate(merged.select(Reject.column_names()), cast=True)
