"""From charges to days: an export's rows reduced, in one streaming pass, to what each account paid by day.

Pure. Promises that parts add up (every charge is in exactly one row, or counted as a reject with its reason), that the
order of rows and files does not matter, and that a day that may still grow is never marked whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import (
    COST,
    COST_KEY,
    DAY_KEY,
    FILES,
    MEASURES,
    NATIVE_SUMS,
    CostReject,
    CostRejects,
    DailyCost,
    PoundCost,
    RestatedDay,
)
from exporters.fetch.machine_details import machine_in, vcpus_in
from exporters.normalise.cost_families import family_of

PROVIDERS: Final = {
    "amazon web services": "aws",
    "amazon": "aws",
    "aws": "aws",
    "microsoft": "azure",
    "microsoft azure": "azure",
    "azure": "azure",
    "google": "gcp",
    "google cloud": "gcp",
    "google cloud platform": "gcp",
    "gcp": "gcp",
}
"""ProviderName as clouds write it, by the words that prices have; another's name stands in lower case."""

PRICING_CATEGORIES: Final = {"On-Demand": "Standard", "Commitment-Based": "Committed"}
"""Words of FOCUS 1.0-preview that 1.0 renamed."""

_AZURE_PATH: Final = r"(?i)^/(?:subscriptions|providers/microsoft\.billing/billingaccounts)/"
"""Azure's FOCUS exports name accounts by their path; its cost details and its API by the id alone."""

_TEXTS: Final = (
    "provider",
    "billing_account",
    "sub_account",
    "service",
    "region",
    "machine",
    "charge_category",
    "pricing_category",
    "commitment_discount_id",
    "commitment_status",
    "owner",
    "consumed_unit",
    "currency",
)
_OTHER_KEYS: Final = ("source", "billing_period", "charge_day", "has_vcpu_hours")
_NULL_WORDS: Final = ("null", "\\n")
_REJECT: Final = "reject"
_DETAILS: Final = "details"
_COUNTS: Final = "counts"


@dataclass(frozen=True, slots=True)
class Reduced:
    """What the charges of one file came to.

    Args:
        groups: what can be counted, in the words of the export; add_days puts it in ours.
        rejects: charges left out, by reason.
        rows: charges read, left out or not.
    """

    groups: pl.DataFrame
    rejects: dy.DataFrame[CostRejects]
    rows: int

    @property
    def sums(self) -> tuple[object, ...]:
        """What everything comes to: files for which it differs do not hold the same charges."""
        return (self.rows, *self.groups.select(pl.col(*MEASURES).sum()).row(0))


def reduce_charges(charges: pl.LazyFrame, *, file: str, source: str = FILES) -> Reduced:
    """This will read charges (rows of Charge) once, in streaming, and add them up by day.

    Args:
        charges: not yet read.
        file: their file, for the count of rejects.
        source: where they come from: files, or the source that was asked.
    """
    keys = {
        **{name: pl.col(name) for name in _TEXTS},
        "billing_period": pl.col("billing_period"),
        "charge_day": pl.col("charge_start").dt.date(),
        "has_vcpu_hours": pl.col("vcpu_hours").is_not_null(),
        _DETAILS: pl.col(_DETAILS),
        _COUNTS: (pl.col("consumed_quantity") >= 0) & (pl.col("charge_category") == "Usage"),
        _REJECT: pl.col(_REJECT),
    }
    grouped = (
        charges.group_by([key.alias(name) for name, key in keys.items()])
        .agg(
            *(pl.col(name).sum() for name in NATIVE_SUMS),
            pl.col("consumed_quantity", "vcpu_hours").sum(),
            pl.len().cast(pl.UInt32).alias("rows"),
            pl.col("list_cost").is_null().sum().cast(pl.UInt32).alias("rows_without_list_cost"),
        )
        .collect(engine="streaming")
    )
    known = _with_machines(grouped)
    judged = known.with_columns(_reason(known).alias(_REJECT), source=pl.lit(source))
    return Reduced(
        groups=judged.filter(pl.col(_REJECT).is_null()).drop(_REJECT),
        rejects=_counted(judged.filter(pl.col(_REJECT).is_not_null()), charges, file=file),
        rows=int(grouped["rows"].sum()),
    )


def add_days(*files: Reduced) -> dy.DataFrame[DailyCost]:
    """This will add up what the files of one export came to."""
    groups = [one.groups for one in files if one.groups.height]
    if not groups:
        return DailyCost.create_empty()
    # Files of one export share most of their groups: added up first, there are fewer words to put in ours.
    every = groups[0] if len(groups) == 1 else _added_up(pl.concat(groups), [*_TEXTS, *_OTHER_KEYS])
    return DailyCost.validate(
        _added_up(_in_our_words(every), COST_KEY).select(DailyCost.column_names()).sort(COST_KEY), cast=True
    )


def mark_whole(days: pl.DataFrame, *, made_at: datetime, settle_hours: float) -> pl.DataFrame:
    """This will add reached, the last whole day of each bill, and is_whole, for the days up to it.

    A day is whole when it had ended and settled when the export was made, and is not the last one with a charge: that
    may still grow, until the bill's period is over. Providers add to a day for a day or two.

    Args:
        days: rows of DailyCost of one export.
        made_at: when it was written.
        settle_hours: how long after its end a day may still grow.
    """
    settled = made_at - timedelta(hours=settle_hours)
    last_settled = settled.date() - timedelta(days=1)
    bill_end = pl.col("billing_period").dt.offset_by("1mo").dt.offset_by("-1d")
    before_last = pl.col("charge_day").max().over("provider", "billing_account") - pl.duration(days=1)
    has_ended = bill_end <= last_settled
    reached = pl.when(has_ended).then(pl.max_horizontal(bill_end, before_last)).otherwise(before_last)
    return days.with_columns(reached=pl.min_horizontal(reached, pl.lit(last_settled))).with_columns(
        is_whole=pl.col("charge_day") <= pl.col("reached")
    )


def mark_settled(days: pl.DataFrame, *, asked_at: datetime, until: date, settle_hours: float) -> pl.DataFrame:
    """This will add reached and is_whole to days that a source was asked for: it states all of them, charged or not.

    Args:
        days: rows of DailyCost.
        asked_at: when it was asked.
        until: the last day that it was asked for.
        settle_hours: how long after its end a day may still grow.
    """
    reached = min((asked_at - timedelta(hours=settle_hours)).date() - timedelta(days=1), until)
    return days.with_columns(reached=pl.lit(reached), is_whole=pl.col("charge_day") <= reached)


def replace_span(
    before: dy.DataFrame[PoundCost], new: dy.DataFrame[PoundCost], *, source: str, first: date, last: date
) -> dy.DataFrame[PoundCost]:
    """This will put what a source states of a span of days in the place of all that it stated of them before.

    Args:
        before: the days that are kept.
        new: its days.
        source: its name.
        first: the first day of the span.
        last: the last day.
    """
    asked = (pl.col("source") == source) & pl.col("charge_day").is_between(first, last)
    return PoundCost.validate(pl.concat([before.filter(~asked), new]).sort(COST_KEY), cast=True)


def replace_days(
    before: dy.DataFrame[PoundCost], new: dy.DataFrame[PoundCost], *, whole_span: bool
) -> dy.DataFrame[PoundCost]:
    """This will put the days of an export in the place of those that are kept.

    Args:
        before: the days that are kept.
        new: the days of the export.
        whole_span: whether the export holds everything between the first and last day of each of its bills, so that
            a day that it no longer has is gone; else only the days that it has are replaced.
    """
    if whole_span:
        bill = ["source", "provider", "billing_account", "billing_period"]
        span = new.group_by(bill).agg(first=pl.col("charge_day").min(), last=pl.col("charge_day").max())
        within = pl.col("charge_day").is_between(pl.col("first"), pl.col("last")).fill_null(value=False)
        kept = before.join(span, on=bill, how="left").filter(~within).select(before.columns)
    else:
        kept = before.join(new.select(DAY_KEY).unique(), on=list(DAY_KEY), how="anti")
    return PoundCost.validate(pl.concat([kept, new]).sort(COST_KEY), cast=True)


def restated(before: dy.DataFrame[PoundCost], after: dy.DataFrame[PoundCost]) -> dy.DataFrame[RestatedDay]:
    """This will return the days that were known whole and now come to something else; open ones are meant to grow."""
    key = [*DAY_KEY, "currency"]
    old = (
        before.filter("is_whole")
        .group_by(key)
        .agg(billed_before=pl.col("billed_cost").sum(), effective_before=_SUM_EFFECTIVE)
    )
    new = after.group_by(key).agg(billed_now=pl.col("billed_cost").sum(), effective_now=_SUM_EFFECTIVE)
    both = old.join(new, on=key, how="left").with_columns(
        pl.col("billed_now", "effective_now").fill_null(pl.lit(0).cast(COST))
    )
    changed = (pl.col("billed_before") != pl.col("billed_now")) | (
        pl.col("effective_before") != pl.col("effective_now")
    )
    return RestatedDay.validate(both.filter(changed).select(RestatedDay.column_names()).sort(key), cast=True)


_SUM_EFFECTIVE: Final = pl.col("effective_cost").sum()


def _in_our_words(grouped: pl.DataFrame) -> pl.DataFrame:
    """Texts without nulls, in our words."""
    plain = grouped.with_columns(_plain(name) for name in _TEXTS)
    provider = pl.col("provider").str.to_lowercase().str.replace(r"[,.]? inc\.?$", "")
    worded = plain.with_columns(provider=provider.replace(PROVIDERS)).with_columns(
        pl.when(pl.col("provider") == "azure")
        .then(pl.col(name).str.replace(_AZURE_PATH, ""))
        .otherwise(pl.col(name))
        .alias(name)
        for name in ("billing_account", "sub_account")
    )
    return worded.with_columns(
        instance_family=family_of(worded),
        region=pl.col("region").str.to_lowercase(),
        pricing_category=pl.col("pricing_category").replace(PRICING_CATEGORIES),
    )


def _with_machines(grouped: pl.DataFrame) -> pl.DataFrame:
    """Groups with the machine and the vCPU-hours that their details tell, in the place of those."""
    distinct = grouped.select(_DETAILS).unique().drop_nulls()
    facts = distinct.with_columns(name=machine_in(pl.col(_DETAILS)), vcpus=vcpus_in(pl.col(_DETAILS)))
    hours = pl.when(pl.col(_COUNTS)).then(pl.col("consumed_quantity") * pl.col("vcpus"))
    return (
        grouped.join(facts, on=_DETAILS, how="left")
        .with_columns(
            machine=pl.coalesce("name", "machine"),
            vcpu_hours=pl.col("vcpu_hours") + hours.fill_null(0),
            has_vcpu_hours=pl.col("has_vcpu_hours") | hours.is_not_null(),
        )
        .drop(_DETAILS, _COUNTS, "name", "vcpus")
    )


def _reason(grouped: pl.DataFrame) -> pl.Series:
    """Why groups cannot be counted, for what their charges or the key itself lacks; null where they can."""
    asked = ("provider", "billing_account", "currency")
    plain = grouped.select(_REJECT, *(_plain(name) for name in asked))
    return plain.select(
        pl.when(pl.col(_REJECT).is_not_null())
        .then(pl.col(_REJECT))
        .when(pl.any_horizontal(pl.col(name) == "" for name in asked))
        .then(pl.lit(CostReject.ABSENT.value))
        .when(~pl.col("currency").str.contains(r"^[A-Z]{3}$"))
        .then(pl.lit(CostReject.CURRENCY.value))
    ).to_series()


def _plain(name: str) -> pl.Expr:
    words = pl.col(name).fill_null("").str.strip_chars()
    return pl.when(words.str.to_lowercase().is_in(_NULL_WORDS)).then(pl.lit("")).otherwise(words).alias(name)


def _added_up(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    return rows.group_by(key).agg(pl.col(name).sum() for name in MEASURES)


def _counted(rejected: pl.DataFrame, charges: pl.LazyFrame, *, file: str) -> dy.DataFrame[CostRejects]:
    """Only when there are rejects are they looked up for an example: the smallest, so that order does not matter."""
    if rejected.is_empty():
        return CostRejects.create_empty()
    named = _in_our_words(rejected)
    of_keys = named.select(
        _REJECT,
        example=pl.format("{} {} {} ({})", "provider", "billing_account", "service", "currency"),
    )
    described = pl.format(
        "{} {} {} {}",
        pl.col("provider").fill_null("-"),
        pl.col("service").fill_null("-"),
        pl.coalesce("resource_id", "sku_id", pl.lit("-")),
        pl.col("charge_start").cast(pl.String).fill_null("-"),
    )
    of_rows = (
        charges.filter(pl.col(_REJECT).is_not_null())
        .group_by(_REJECT)
        .agg(example=described.min())
        .collect(engine="streaming")
    )
    counts = rejected.group_by(_REJECT).agg(pl.col("rows").sum())
    smallest = of_keys.group_by(_REJECT).agg(pl.col("example").min())
    examples = pl.concat([of_rows, smallest.join(of_rows, on=_REJECT, how="anti")])
    table = counts.join(examples, on=_REJECT, how="left").rename({_REJECT: "reason"}).with_columns(file=pl.lit(file))
    return CostRejects.validate(table.select(CostRejects.column_names()).sort("reason"), cast=True)
