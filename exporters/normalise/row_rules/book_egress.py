"""The row rule of egress books: of each list of tiers the newest whole one.

A list is what one provider charges from one region to one destination: its tiers belong together, so one bad tier, one
tier with two prices, or none that starts at 0 takes the whole list out.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.frames import EGRESS_KEY, EgressListPrice, Reject
from exporters.core.money import NATIVE
from exporters.core.words import EgressDestination, RejectReason
from exporters.normalise.chosen import count_rejects, merge_rejects, one_per_key
from exporters.normalise.row_rules.book_rows import (
    Mistake,
    effective_from,
    empty,
    money,
    newest,
    no_price,
    not_a_currency,
    not_a_day,
    not_one_of,
    not_zero_or_more,
    note,
    number,
    part_rows,
    unknown_region,
)

LIST_KEY = ("provider", "from_region", "destination", "to_region")


@dataclass(frozen=True, slots=True)
class ChosenEgress:
    """The egress prices of a book, and what was left out."""

    prices: dy.DataFrame[EgressListPrice]
    rejects: dy.DataFrame[Reject]


def choose_egress(rows: pl.DataFrame) -> ChosenEgress:
    """This will choose the egress prices of an egress book (columns of fetch/book_files.py, with `as_of`)."""
    current = newest(part_rows(rows, _mistakes(), region="from_region"), key=LIST_KEY, region="from_region")
    typed = current.good.with_columns(
        number("tier_start_gib"), pl.col("price_per_gib").cast(NATIVE), effective_from(), note(), money("price_per_gib")
    )
    single = one_per_key(typed, key=EGRESS_KEY, price="money", example="line")
    broken = typed.join(single.good, on=EGRESS_KEY, how="anti").select(LIST_KEY).unique()
    kept = single.good.join(broken, on=LIST_KEY, how="anti", maintain_order="left")
    headless = pl.col("tier_start_gib").min().over(LIST_KEY) > 0
    mixed = pl.col("currency").n_unique().over(LIST_KEY) > 1
    return ChosenEgress(
        prices=EgressListPrice.validate(
            kept.filter(~headless & ~mixed).select(EgressListPrice.column_names()).sort(EGRESS_KEY), cast=True
        ),
        rejects=merge_rejects(
            current.rejects,
            single.rejects,
            _list_rejects(kept.filter(headless), RejectReason.MISSING_COMPONENT, "the list has no tier from 0 GiB"),
            _list_rejects(kept.filter(mixed & ~headless), RejectReason.CURRENCY, "the list mixes currencies"),
        ),
    )


def _mistakes() -> tuple[Mistake, ...]:
    internet_with_region = (pl.col("destination") == EgressDestination.INTERNET.value) & (pl.col("to_region") != "")
    return (
        empty("provider"),
        empty("from_region"),
        not_one_of("destination", tuple(word.value for word in EgressDestination)),
        Mistake(internet_with_region, RejectReason.MALFORMED, pl.lit("to_region must be empty for the internet")),
        unknown_region("from_region"),
        unknown_region("to_region"),
        empty("tier_start_gib"),
        not_zero_or_more("tier_start_gib", RejectReason.NOT_A_NUMBER),
        not_a_currency(),
        not_a_day(),
        *no_price("price_per_gib", zero_is_a_price=True),
    )


def _list_rejects(rows: pl.DataFrame, reason: RejectReason, says: str) -> dy.DataFrame[Reject]:
    return count_rejects(
        rows,
        reason=pl.lit(reason.value),
        example=pl.concat_str("line", pl.lit(f": {says}; mend all its tiers together")),
        region=pl.col("from_region"),
    )
