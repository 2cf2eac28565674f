"""First step of the book's row rule: rows with a mistake are counted with their line; the rest become typed rows.

Also the choice by date: of the rows of one key the newest that is in effect, and none at all if a newer row of that key
is wrong, because then the older price would be a stale one shown as fresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.frames import Reject
from exporters.core.geography import gpu_aliases, regions
from exporters.core.money import NATIVE
from exporters.core.words import RejectReason
from exporters.normalise.chosen import count_rejects, merge_rejects

NUMBER = r"^-?\d{1,18}(\.\d{1,12})?$"
"""Plain decimals with at most 12 places: more would be rounded, an exponent or a thousands comma misread."""

CLOUDS = ("aws", "gcp", "azure")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that can be wrong with a row.

    Args:
        wrong: true for rows that have it.
        reason: under which it is counted.
        says: what is wrong and what to write instead.
    """

    wrong: pl.Expr
    reason: RejectReason
    says: pl.Expr


@dataclass(frozen=True, slots=True)
class Parted:
    """Rows without a mistake, rows with one, and the counts of the latter."""

    good: pl.DataFrame
    bad: pl.DataFrame
    rejects: dy.DataFrame[Reject]


def part_rows(rows: pl.DataFrame, mistakes: Sequence[Mistake], *, region: str = "region") -> Parted:
    """This will part rows by the first mistake that each has."""
    reason, says = pl.lit(None, pl.String), pl.lit(None, pl.String)
    for item in reversed((cells(), misspelt_cloud(), *mistakes)):
        wrong = item.wrong.fill_null(value=True)
        reason = pl.when(wrong).then(pl.lit(item.reason.value)).otherwise(reason)
        says = pl.when(wrong).then(item.says).otherwise(says)
    marked = rows.with_columns(reason=reason, says=pl.concat_str("line", pl.lit(": "), says))
    bad = marked.filter(pl.col("reason").is_not_null())
    return Parted(
        good=marked.filter(pl.col("reason").is_null()).drop("reason", "says"),
        bad=bad,
        rejects=count_rejects(bad, reason=pl.col("reason"), example=pl.col("says"), region=pl.col(region)),
    )


def newest(parted: Parted, *, key: Sequence[str], region: str = "region") -> Parted:
    """This will keep of each key the rows with the newest effective_from that is not after `as_of`.

    A wrong row of the same key and the same or a newer date (or an unreadable one) takes the key out: its good rows are
    counted as ambiguous. Rows that come into effect later are left out without a count.
    """
    keys = list(key)
    day = _day()
    current = parted.good.with_columns(__day=day).filter(pl.col("__day") <= pl.col("as_of"))
    current = current.filter(pl.col("__day") == pl.col("__day").max().over(keys))
    doubts = (
        parted.bad.with_columns(__doubt=day.fill_null(pl.col("as_of")))
        .filter(pl.col("__doubt") <= pl.col("as_of"))
        .group_by(keys)
        .agg(pl.col("__doubt").max(), pl.col("line").first().alias("__line"))
    )
    joined = current.join(doubts, on=keys, how="left", maintain_order="left")
    doubtful = (pl.col("__doubt") >= pl.col("__day")).fill_null(value=False)
    dropped = joined.filter(doubtful)
    return Parted(
        good=joined.filter(~doubtful).drop("__day", "__doubt", "__line"),
        bad=parted.bad,
        rejects=merge_rejects(
            parted.rejects,
            count_rejects(
                dropped,
                reason=pl.lit(RejectReason.AMBIGUOUS.value),
                example=pl.format(
                    "{}: not used, because {} prices the same and is wrong; mend that one", "line", "__line"
                ),
                region=pl.col(region),
            ),
        ),
    )


def cells() -> Mistake:
    """The number of cells differs from the header's."""
    says = pl.format("{}; look for a comma too many or too few", "mistake")
    return Mistake(pl.col("mistake") != "", RejectReason.MALFORMED, says)


def misspelt_cloud() -> Mistake:
    """A cloud's name in other letters, which would stand as a provider of its own beside the cloud."""
    lower = pl.col("provider").str.to_lowercase()
    says = pl.format("provider is '{}'; write {}", "provider", lower)
    return Mistake(lower.is_in(list(CLOUDS)) & (pl.col("provider") != lower), RejectReason.MALFORMED, says)


def empty(column: str) -> Mistake:
    """A cell that must not be empty is."""
    return Mistake(pl.col(column) == "", RejectReason.MALFORMED, pl.lit(f"{column} is empty; fill it in"))


def not_one_of(column: str, words: Sequence[str]) -> Mistake:
    """A cell holds none of the words it may hold."""
    says = pl.format(f"{column} is '{{}}'; write one of {', '.join(words)}", column)
    return Mistake(~pl.col(column).is_in(list(words)), RejectReason.MALFORMED, says)


def not_a_currency(column: str = "currency") -> Mistake:
    """A cell is not an ISO 4217 code."""
    says = pl.format(f"{column} is '{{}}'; write an ISO 4217 code such as GBP or USD", column)
    return Mistake(~pl.col(column).str.contains(r"^[A-Z]{3}$"), RejectReason.CURRENCY, says)


def not_a_day(column: str = "effective_from") -> Mistake:
    """A cell is not a day."""
    says = pl.format(f"{column} is '{{}}'; write a day such as 2026-11-30", column)
    return Mistake(_day(column).is_null(), RejectReason.MALFORMED, says)


def not_above_zero(column: str, reason: RejectReason) -> Mistake:
    """A cell is not a number over 0."""
    says = pl.format(f"{column} is '{{}}'; write a number over 0", column)
    return Mistake(~_is_number(column) | (_float(column) <= 0), reason, says)


def not_zero_or_more(column: str, reason: RejectReason) -> Mistake:
    """A cell that may be empty holds something other than a number of at least 0."""
    says = pl.format(f"{column} is '{{}}'; write a number, or 0", column)
    return Mistake((pl.col(column) != "") & (~_is_number(column) | (_float(column) < 0)), reason, says)


def no_price(column: str, *, zero_is_a_price: bool = False) -> tuple[Mistake, ...]:
    """Absent, not a number, negative and zero are four mistakes; a free tier's zero is none."""
    text = f"{column} is '{{}}'; write a decimal with at most 12 places such as 0.111"
    mistakes = (
        Mistake(pl.col(column) == "", RejectReason.ABSENT, pl.lit(f"{column} is empty; write it, or remove the row")),
        Mistake(~_is_number(column), RejectReason.NOT_A_NUMBER, pl.format(text, column)),
        Mistake(_float(column) < 0, RejectReason.NEGATIVE, pl.format(text, column)),
    )
    zero = Mistake(_float(column) == 0, RejectReason.ZERO, pl.lit(f"{column} is 0; remove the row if it has no price"))
    return mistakes if zero_is_a_price else (*mistakes, zero)


def unknown_region(column: str) -> Mistake:
    """A region of a cloud is not in the table of regions; other providers' regions are the book's own words."""
    known = regions().select(pl.concat_str("provider", pl.lit("/"), "region")).to_series().to_list()
    cloud = pl.col("provider").is_in(list(CLOUDS)) & (pl.col(column) != "")
    wrong = cloud & ~pl.concat_str("provider", pl.lit("/"), column).is_in(known)
    says = pl.format("{} has no region '{}'; write its region code", "provider", column)
    return Mistake(wrong, RejectReason.UNKNOWN_REGION, says)


def unknown_gpu(column: str = "gpu_model") -> Mistake:
    """A GPU model is not in the table of GPUs."""
    wrong = (pl.col(column) != "") & ~pl.col(column).str.to_lowercase().is_in(list(_gpu_words()))
    says = pl.format("{} '{}' is not in core/data/gpu_models.csv; use one of its words", pl.lit(column), column)
    return Mistake(wrong, RejectReason.UNKNOWN_GPU, says)


def canonical_gpu(column: str = "gpu_model") -> pl.Expr:
    """A known spelling of a GPU model as its one word; empty stays empty."""
    return pl.col(column).str.to_lowercase().replace(_gpu_words()).alias(column)


def number(column: str) -> pl.Expr:
    """A checked cell as a float; empty is 0."""
    return _float(column).fill_null(0.0).alias(column)


def money(price: str) -> pl.Expr:
    """Amount and currency of a typed price: what must be equal for two rows of one key to say the same."""
    return pl.concat_str(pl.col(price).cast(NATIVE).cast(pl.String), pl.lit(" "), "currency").alias("money")


def effective_from() -> pl.Expr:
    """The checked day as the midnight (UTC) from which the price holds."""
    return _day().cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("effective_from")


def note() -> pl.Expr:
    """The note, null where there is none."""
    return pl.when(pl.col("note") != "").then("note").alias("note")


def _gpu_words() -> dict[str, str]:
    words = gpu_aliases().select("alias", "gpu_model").iter_rows()
    return {str(alias).lower(): str(model) for alias, model in words}


def _is_number(column: str) -> pl.Expr:
    return pl.col(column).str.contains(NUMBER)


def _float(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Float64, strict=False)


def _day(column: str = "effective_from") -> pl.Expr:
    plain = pl.when(pl.col(column).str.contains(r"^\d{4}-\d{2}-\d{2}$")).then(column)
    return plain.str.to_date("%Y-%m-%d", strict=False)
