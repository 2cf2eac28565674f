"""From what was paid to series: windows of whole days, and ratios of commitments, owners and vCPU-hours.

Pure. Promises that parts add up to what they were before services and groups beyond the limit became ``other``, and
that a ratio without a denominator is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import CommitmentStatus
from exporters.core.frames import FxRate
from exporters.publish import standing
from exporters.publish.cost_catalogue import COSTS
from exporters.publish.cost_changes import Compared, anomaly_rows, change_rows, expected_rows
from exporters.publish.cost_days import ACCOUNT, in_windows, last_whole_day, recent_days, with_reach
from exporters.publish.metric import Frame, Metric
from exporters.publish.series import Series
from exporters.store.costs import Costs
from exporters.store.discounts import DISCOUNT_DAYS, discounts, that_hold
from exporters.store.standing import Standing

OTHER: Final = "other"
NOBODY: Final = "nobody"


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
    costs: Costs,
    held: Standing,
    rates: dy.DataFrame[FxRate],
    *,
    now: datetime,
    top_services: int,
    max_groups: int,
    last_imports: Sequence[LastImport] = (),
    compared: Compared | None = None,
    discount_days: int = DISCOUNT_DAYS,
) -> list[Series]:
    """This will return the series of every cost metric, in the catalogue's order.

    Args:
        costs: what was paid.
        held: what holds now.
        rates: the table of exchange rates that hold now.
        now: the time (UTC).
        top_services: services of each provider with series of their own; the rest are ``other``.
        max_groups: groups of account, service and region with series of their own.
        last_imports: how the last import of each source ended in this process.
        compared: what changed and what is unusual; None: nothing was compared.
        discount_days: whole days that tell how far below list price was paid.
    """
    days = with_reach(costs.days)
    recent = recent_days(days)
    covered, used = _coverage(recent), utilisation(recent)
    windows = in_windows(days, now.date())
    frames: Mapping[Frame, pl.DataFrame] = {
        Frame.COSTS: _costs(
            pl.concat([windows, last_whole_day(days, now.date())]), top_services=top_services, max_groups=max_groups
        ),
        Frame.COST_REACH: _reach(days),
        Frame.COST_ALLOCATION: _allocation(windows),
        Frame.OWNER_COSTS: _owner_costs(windows, most=max_groups),
        Frame.UNIT_COSTS: _unit_costs(recent),
        Frame.DISCOUNTS: _discounts(costs, until=now.date(), days=discount_days).head(max_groups),
        Frame.COVERAGE: standing.commitment_ratios(held, covered, "coverage_ratio"),
        Frame.UTILISATION: standing.commitment_ratios(held, used, "used_ratio").head(max_groups),
        Frame.BUDGETS: standing.budgets(held, rates),
        Frame.COST_FORECASTS: standing.forecasts(days, held, rates, today=now.date()),
        Frame.PROVIDER_FORECASTS: standing.provider_forecasts(held, rates, today=now.date()),
        Frame.COMMITMENTS: standing.commitments(held, rates, now=now),
        Frame.WORKLOAD_COSTS: standing.workload_costs(held, rates, today=now.date(), most=max_groups),
        Frame.COST_CHANGES: change_rows(compared or Compared(), top_services=top_services),
        Frame.COST_ANOMALIES: anomaly_rows(compared or Compared()),
        Frame.EXPECTED_COSTS: expected_rows(compared or Compared(), top_services=top_services),
        Frame.COST_REJECTS: _rejects(costs),
        Frame.COST_IMPORTS: _imports(last_imports),
    }
    return [_series(metric, frames[metric.frame]) for metric in COSTS]


def _costs(windows: pl.DataFrame, *, top_services: int, max_groups: int) -> pl.DataFrame:
    """Rows of provider, account, service, region, window, basis and gbp."""
    key = ["provider", "account", "service", "region"]
    named = windows.with_columns(account=ACCOUNT)
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


def _owner_costs(windows: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """Rows of owner, window and gbp: effective, of all charges; the dearest owners, the rest are ``other``."""
    sums = windows.group_by("owner", "window").agg(pl.col("effective_gbp").sum())
    sizes = sums.filter(pl.col("owner") != "").group_by("owner").agg(pl.col("effective_gbp").abs().sum())
    top = sizes.sort("effective_gbp", "owner", descending=[True, False])["owner"].head(most).implode()
    named = pl.when(pl.col("owner") == "").then(pl.lit(NOBODY)).when(pl.col("owner").is_in(top)).then("owner")
    return sums.group_by(named.otherwise(pl.lit(OTHER)).alias("owner"), "window").agg(gbp=pl.col("effective_gbp").sum())


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


def _discounts(costs: Costs, *, until: date, days: int) -> pl.DataFrame:
    """Those that hold, the greatest list cost first; what is not of one region or family is of all."""
    found: pl.DataFrame = that_hold(discounts(costs.days, until=until, last_days=days))
    found = found.sort("list_gbp", descending=True, maintain_order=True)
    return found.with_columns(pl.col("region", "instance_family").replace("", "all"))


def _coverage(recent: pl.DataFrame) -> pl.DataFrame:
    """By service, of those that a commitment covers at all: list cost covered of what is covered or on demand."""
    covered = pl.col("commitment_status") == CommitmentStatus.USED.value
    usage = recent.filter(
        pl.col("charge_category") == "Usage", covered | (pl.col("pricing_category") == "Standard")
    ).with_columns(account="billing_account", scope="service")
    key = ["provider", "account", "scope"]
    of_interest = usage.filter(covered.any().over(key))
    return _ratio(of_interest, key, pl.col("list_gbp"), part=covered)


def utilisation(recent: pl.DataFrame) -> pl.DataFrame:
    """This will return rows of provider, account, scope and ratio: of each commitment, what was used of its cost.

    Args:
        recent: see recent_days.
    """
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


def _imports(imports: Sequence[LastImport]) -> pl.DataFrame:
    schema = {"source": pl.String, "success": pl.Float64, "finished_at_seconds": pl.Float64}
    rows = [(one.source, float(one.success), one.finished_at.astimezone(UTC).timestamp()) for one in imports]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _series(metric: Metric, frame: pl.DataFrame) -> Series:
    labels = list(metric.labels)
    rows = frame.select(
        *(pl.col(name).cast(pl.String) for name in labels), pl.col(metric.value).cast(pl.Float64).alias("value")
    )
    return Series(metric, rows.filter(pl.col("value").is_finite()).sort(labels))


_SIZE: Final = (pl.col("billed_gbp").abs() + pl.col("effective_gbp").abs()).sum()
