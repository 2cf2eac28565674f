"""What holds beside the charges as lists: budgets, forecasts, commitments, workloads. Frames in, frames out."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import StrEnum

import dataframely as dy
import polars as pl

from exporters.core.frames import FxRate
from exporters.publish import standing as series
from exporters.publish.cost_days import recent_days, with_reach
from exporters.publish.costs import utilisation
from exporters.store.standing import Standing, in_pounds_now

_SCOPE = ["provider", "account", "scope"]
_BOUNDS = ["lower", "mid", "upper"]


class WorkloadsBy(StrEnum):
    """What costs inside clusters may be listed by."""

    CLUSTER = "cluster"
    NAMESPACE = "namespace"
    WORKLOAD = "workload"


_WORKLOAD_KEY = {
    WorkloadsBy.CLUSTER: ["cluster"],
    WorkloadsBy.NAMESPACE: ["cluster", "namespace"],
    WorkloadsBy.WORKLOAD: ["cluster", "namespace", "workload_kind", "workload"],
}


def budgets_table(days: pl.DataFrame, held: Standing, rates: dy.DataFrame[FxRate], *, today: date) -> pl.DataFrame:
    """This will return each budget's share of a month beside the month's forecast; the worst first.

    Args:
        days: rows of PoundCost.
        held: what holds now.
        rates: exchange rates that hold now.
        today: the day it is (UTC).
    """
    expected = _wide(series.forecasts(with_reach(days), held, rates, today=today), _SCOPE)
    both = (
        series.budgets(held, rates)
        .join(expected, on=_SCOPE, how="left")
        .with_columns(used_ratio=(pl.col("mid") / pl.col("gbp")).round(3))
    )
    worst_first = both.sort(["used_ratio", *_SCOPE], descending=[True, False, False, False], nulls_last=True)
    return worst_first.select(
        *_SCOPE, budget_gbp=_pence("gbp"), forecast_gbp=_pence("mid"), lower_gbp=_pence("lower"),
        upper_gbp=_pence("upper"), forecast_to_budget="used_ratio",
    )  # fmt: skip


def forecasts_table(days: pl.DataFrame, held: Standing, rates: dy.DataFrame[FxRate], *, today: date) -> pl.DataFrame:
    """This will return the month's forecasts, dearest first, and the provider's own beside it.

    Args:
        days: rows of PoundCost.
        held: what holds now.
        rates: exchange rates that hold now.
        today: the day it is (UTC).
    """
    own = _wide(series.forecasts(with_reach(days), held, rates, today=today), _SCOPE)
    theirs = series.provider_forecasts(held, rates, today=today).filter(bound="mid")
    named = theirs.select("provider", "account", scope=pl.lit("all"), provider_gbp=_pence("gbp"))
    both = own.join(named, on=_SCOPE, how="full", coalesce=True)
    columns = {"lower_gbp": "lower", "forecast_gbp": "mid", "upper_gbp": "upper"}
    return both.sort(["mid", *_SCOPE], descending=[True, False, False, False], nulls_last=True).select(
        *_SCOPE, *(_pence(name).alias(ours) for ours, name in columns.items()), "provider_gbp"
    )


def commitments_table(
    days: pl.DataFrame, held: Standing, rates: dy.DataFrame[FxRate], *, now: datetime
) -> pl.DataFrame:
    """This will return commitments in force, the next to end first.

    Args:
        days: rows of PoundCost.
        held: what holds now.
        rates: exchange rates that hold now.
        now: the time (UTC).
    """
    used = series.commitment_ratios(held, utilisation(recent_days(with_reach(days))), "used_ratio")
    by_id = used.group_by("provider", "scope").agg(pl.col("ratio").first().round(3))
    what = held.commitments.group_by("provider", "commitment_id").agg(
        pl.col("kind").first(), pl.col("renews").any(), covers=_covers().sort().str.join(", ")
    )
    in_force = series.commitments(held, rates, now=now)
    rows = in_force.join(by_id, on=["provider", "scope"], how="left").join(
        what, left_on=["provider", "scope"], right_on=["provider", "commitment_id"], how="left"
    )
    ends = pl.from_epoch(pl.col("ends_at_seconds").cast(pl.Int64))
    return rows.sort("ends_at_seconds", *_SCOPE).select(
        "provider", "account", "kind", "covers", rate_gbp_per_hour=pl.col("gbp_per_hour").round(4),
        used_ratio="ratio", ends_on=ends.dt.date(), days_left=(ends.dt.date() - now.date()).dt.total_days(),
        renews="renews", commitment="scope",
    )  # fmt: skip


def negotiated_table(held: Standing, rates: dy.DataFrame[FxRate], *, today: date) -> pl.DataFrame:
    """This will return prices of agreements in force that differ from list, the greatest discount first.

    Args:
        held: what holds now.
        rates: exchange rates that hold now.
        today: the day it is (UTC).
    """
    ended = pl.col("effective_to") < today
    in_force = held.negotiated_prices.filter(pl.col("effective_from") <= today, ended.fill_null(value=False).not_())
    priced = in_pounds_now(in_force, rates, "list_price", "negotiated_price")
    less = 1 - pl.col("negotiated_price").cast(pl.Float64) / pl.col("list_price").cast(pl.Float64)
    rows = priced.filter(pl.col("list_price") > 0).with_columns(discount_ratio=less.round(4))
    return rows.filter(pl.col("discount_ratio") != 0).sort(
        "discount_ratio", "provider", "product", "meter", "meter_id", descending=[True, *(False for _ in range(4))]
    ).select(
        "provider", "account", "product", "meter", "region", "unit", "discount_ratio",
        list_price_gbp_per_unit=pl.col("list_price_gbp").round(6),
        negotiated_price_gbp_per_unit=pl.col("negotiated_price_gbp").round(6),
    )  # fmt: skip


def workloads_table(
    held: Standing, rates: dy.DataFrame[FxRate], *, by: WorkloadsBy, today: date, days: int
) -> pl.DataFrame:
    """This will return what workloads cost over some whole days, dearest first.

    Args:
        held: what holds now.
        rates: exchange rates that hold now.
        by: what costs are added up by.
        today: the day it is (UTC).
        days: how many days before it.
    """
    parts = ("vcpu_cost", "memory_cost", "gpu_cost", "network_cost", "other_cost", "total_cost")
    wanted = held.workloads.filter(pl.col("day") >= today - timedelta(days=days), pl.col("day") < today)
    rows = in_pounds_now(wanted, rates, *parts)
    key = _WORKLOAD_KEY[by]
    known = rows.group_by(key).agg(
        pl.col("day").n_unique().alias("days"),
        *(
            pl.when(pl.col(f"{name}_gbp").is_not_null().all())
            .then(pl.col(f"{name}_gbp").sum().round(2))
            .alias(name.replace("cost", "gbp"))
            for name in parts
        ),
    )
    return known.sort(["total_gbp", *key], descending=[True, *(False for _ in key)], nulls_last=True)


def _covers() -> pl.Expr:
    """What a commitment was bought for, in words: 4 × m7i.xlarge in eu-west-2."""
    what = pl.coalesce(*(pl.col(name).replace("", None) for name in ("instance_type", "instance_family", "gpu_model")))
    money = pl.format("{} {} an hour of {}", _number(4), "currency", what.fill_null("any machine"))
    count = pl.format("{} {} of {}", _number(2), "unit", what.fill_null("any machine"))
    where = pl.when(pl.col("region") == "").then(pl.lit("anywhere")).otherwise(pl.format("in {}", "region"))
    return pl.format("{} {}", pl.when(pl.col("unit") == "money").then(money).otherwise(count), where)


def _number(digits: int) -> pl.Expr:
    """A quantity as a person writes it: 10 and 2.5, not 10.0."""
    return pl.col("quantity").round(digits).cast(pl.String).str.replace(r"\.0$", "")


def _wide(bounds: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """One row a scope, with a column a bound, whether or not there is one."""
    found = bounds.pivot("bound", index=key, values="gbp")
    return found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in _BOUNDS if name not in found.columns)


def _pence(name: str) -> pl.Expr:
    return pl.col(name).round(2)
