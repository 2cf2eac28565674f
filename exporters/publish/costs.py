"""From what was paid to series: windows of whole days, and ratios of commitments, owners and vCPU-hours.

Pure. Promises that no window is shown before it is whole (yesterday, last month) or when its export stopped days ago
(month to date), that parts add up to what they were before services and groups beyond the limit became ``other``, and
that a ratio without a denominator is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

import polars as pl

from exporters.core.cost_frames import CommitmentStatus
from exporters.publish.catalogue import COSTS, Frame, Metric
from exporters.publish.series import Series
from exporters.store.costs import Costs

OTHER: Final = "other"
RATIO_DAYS: Final = 30
MOST_DAYS_BEHIND: Final = 3
"""Month to date is absent once the last whole day is older: an export that stopped is not shown as what was spent."""


class Window(StrEnum):
    """Spans of whole days that costs are added up over."""

    YESTERDAY = "yesterday"
    MONTH_TO_DATE = "month_to_date"
    LAST_MONTH = "last_month"


class Basis(StrEnum):
    """What an amount means."""

    BILLED = "billed"
    EFFECTIVE = "effective"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class LastImport:
    """How the last import of a source ended."""

    source: str
    success: bool
    finished_at: datetime


def select_cost_series(
    costs: Costs, *, today: date, top_services: int, max_groups: int, last_import: LastImport | None = None
) -> list[Series]:
    """This will return the series of every cost metric, in the catalogue's order.

    Args:
        costs: what was paid.
        today: the day it is (UTC).
        top_services: services of each provider with series of their own; the rest are ``other``.
        max_groups: groups of account, service and region with series of their own.
        last_import: how the last import of this process ended; None: there was none.
    """
    days = with_reach(costs.days)
    recent = days.filter(
        pl.col("charge_day") <= pl.col("whole_until"),
        pl.col("charge_day") > pl.col("whole_until") - pl.duration(days=RATIO_DAYS),
    )
    windows = in_windows(days, today)
    frames: Mapping[Frame, pl.DataFrame] = {
        Frame.COSTS: _costs(windows, top_services=top_services, max_groups=max_groups),
        Frame.COST_REACH: _reach(days),
        Frame.COST_ALLOCATION: _allocation(windows),
        Frame.UNIT_COSTS: _unit_costs(recent),
        Frame.COVERAGE: _coverage(recent),
        Frame.UTILISATION: _utilisation(recent).head(max_groups),
        Frame.COST_REJECTS: _rejects(costs),
        Frame.COST_IMPORTS: _imports(last_import),
    }
    return [_series(metric, frames[metric.frame]) for metric in COSTS]


def with_reach(days: pl.DataFrame) -> pl.DataFrame:
    """This will add whole_until: the last day that an account's exports state whole, with no open day before it."""
    bill = ["provider", "billing_account"]
    first_open = pl.col("charge_day").filter(~pl.col("is_whole")).min().over(bill)
    reached = pl.col("reached").max().over(bill)
    return days.with_columns(whole_until=pl.min_horizontal(reached, first_open - pl.duration(days=1)))


def in_windows(days: pl.DataFrame, today: date) -> pl.DataFrame:
    """This will return days once for every window that they belong to and that is whole, with a column window.

    Args:
        days: see with_reach.
        today: the day it is (UTC).
    """
    yesterday = today - timedelta(days=1)
    first = today.replace(day=1)
    first_of_last = (first - timedelta(days=1)).replace(day=1)
    day, until = pl.col("charge_day"), pl.col("whole_until")
    chosen = {
        Window.YESTERDAY: days.filter(day == yesterday, until >= yesterday),
        Window.MONTH_TO_DATE: days.filter(
            day >= first, day <= until, until >= today - timedelta(days=1 + MOST_DAYS_BEHIND)
        ),
        Window.LAST_MONTH: days.filter(
            day.is_between(first_of_last, first, closed="left"), until >= first - timedelta(days=1)
        ),
    }
    return pl.concat(rows.with_columns(window=pl.lit(name.value)) for name, rows in chosen.items())


def _costs(windows: pl.DataFrame, *, top_services: int, max_groups: int) -> pl.DataFrame:
    """Rows of provider, account, service, region, window, basis and gbp."""
    key = ["provider", "account", "service", "region"]
    named = windows.with_columns(account=_ACCOUNT)
    rank = named.group_by("provider", "service").agg(_SIZE.alias("size"))
    top = rank.sort(["size", "service"], descending=[True, False]).group_by("provider").head(top_services)
    is_top = pl.struct("provider", "service").is_in(top.select(pl.struct("provider", "service")).to_series().implode())
    folded = named.with_columns(service=pl.when(is_top).then("service").otherwise(pl.lit(OTHER)))
    sizes = folded.group_by(key).agg(_SIZE.alias("size"))
    largest = sizes.sort(["size", *key], descending=[True, *(False for _ in key)]).head(max_groups)
    kept = folded.join(largest.select(key, own=pl.lit(value=True)), on=key, how="left")
    bounded = kept.with_columns(
        pl.when(pl.col("own")).then(pl.col(name)).otherwise(pl.lit(OTHER)).alias(name) for name in key[1:]
    )
    summed = bounded.group_by(*key, "window").agg(
        pl.col("billed_gbp").sum().alias(Basis.BILLED.value), pl.col("effective_gbp").sum().alias(Basis.EFFECTIVE.value)
    )
    return summed.unpivot(
        [Basis.BILLED.value, Basis.EFFECTIVE.value], index=[*key, "window"], variable_name="basis", value_name="gbp"
    )


def _reach(days: pl.DataFrame) -> pl.DataFrame:
    """Rows of provider, account and the end of the last whole day."""
    until = days.group_by("provider", account="billing_account").agg(pl.col("whole_until").max())
    end = pl.col("whole_until").cast(pl.Datetime("ms")).dt.offset_by("1d").dt.timestamp("ms") / 1000
    return until.drop_nulls().with_columns(whole_until_seconds=end)


def _allocation(windows: pl.DataFrame) -> pl.DataFrame:
    usage = windows.filter(pl.col("charge_category") == "Usage")
    return _ratio(usage, ["provider", "window"], pl.col("effective_gbp"), part=pl.col("owner") != "")


def _unit_costs(recent: pl.DataFrame) -> pl.DataFrame:
    """Rows of provider, region, basis and pounds per vCPU-hour; at list price only where every charge has one."""
    counted = recent.filter(pl.col("has_vcpu_hours"))
    hours = pl.col("vcpu_hours").sum()
    listed = pl.when(pl.col("rows_without_list_cost").sum() == 0).then(pl.col("list_gbp").sum())
    rows = counted.group_by("provider", "region").agg(
        hours,
        (pl.col("effective_gbp").sum().cast(pl.Float64) / hours).alias(Basis.EFFECTIVE.value),
        (listed.cast(pl.Float64) / hours).alias(Basis.LIST.value),
    )
    return (
        rows.filter(pl.col("vcpu_hours") > 0)
        .unpivot(
            [Basis.EFFECTIVE.value, Basis.LIST.value],
            index=["provider", "region"],
            variable_name="basis",
            value_name="gbp_per_vcpu_hour",
        )
        .drop_nulls()
    )


def _coverage(recent: pl.DataFrame) -> pl.DataFrame:
    """By service, of those that a commitment covers at all: list cost covered of what is covered or on demand."""
    covered = pl.col("commitment_status") == CommitmentStatus.USED.value
    usage = recent.filter(
        pl.col("charge_category") == "Usage", covered | (pl.col("pricing_category") == "Standard")
    ).with_columns(account="billing_account", scope="service")
    key = ["provider", "account", "scope"]
    of_interest = usage.filter(covered.any().over(key))
    return _ratio(of_interest, key, pl.col("list_gbp"), part=covered)


def _utilisation(recent: pl.DataFrame) -> pl.DataFrame:
    """By commitment: effective cost used of used and unused."""
    statuses = [CommitmentStatus.USED.value, CommitmentStatus.UNUSED.value]
    committed = recent.filter(
        pl.col("commitment_status").is_in(statuses), pl.col("commitment_discount_id") != ""
    ).with_columns(account="billing_account", scope="commitment_discount_id")
    used = pl.col("commitment_status") == CommitmentStatus.USED.value
    return _ratio(committed, ["provider", "account", "scope"], pl.col("effective_gbp"), part=used)


def _ratio(rows: pl.DataFrame, key: list[str], amount: pl.Expr, *, part: pl.Expr) -> pl.DataFrame:
    """What a part of the rows has of an amount; absent where the amount is not positive."""
    sums = rows.group_by(key).agg(part=amount.filter(part).sum().cast(pl.Float64), whole=amount.sum().cast(pl.Float64))
    positive = sums.filter(pl.col("whole") > 0)
    return positive.with_columns(ratio=pl.col("part") / pl.col("whole")).sort(key)


def _rejects(costs: Costs) -> pl.DataFrame:
    """Of the import that was written last."""
    last = max(costs.manifests, key=lambda one: one.written_at, default=None)
    rejected = {} if last is None else dict(last.rejected)
    return pl.DataFrame(
        {"reason": list(rejected), "rows": list(rejected.values())}, schema={"reason": pl.String, "rows": pl.UInt32}
    )


def _imports(last: LastImport | None) -> pl.DataFrame:
    schema = {"source": pl.String, "success": pl.Float64, "finished_at_seconds": pl.Float64}
    rows = [] if last is None else [(last.source, float(last.success), last.finished_at.astimezone(UTC).timestamp())]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _series(metric: Metric, frame: pl.DataFrame) -> Series:
    labels = list(metric.labels)
    rows = frame.select(
        *(pl.col(name).cast(pl.String) for name in labels), pl.col(metric.value).cast(pl.Float64).alias("value")
    )
    return Series(metric, rows.filter(pl.col("value").is_finite()).sort(labels))


_ACCOUNT: Final = pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account")
_SIZE: Final = (pl.col("billed_gbp").abs() + pl.col("effective_gbp").abs()).sum()
