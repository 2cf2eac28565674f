"""From what holds now to series: budgets, forecasts of the month, commitments and their end, costs inside clusters.

Pure. Promises that an amount without a rate of exchange is absent, that a forecast is absent where any account behind
it is not whole up to the last few days, and that a budget is only set against costs of just what it is limited to.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.frames import FxRate
from exporters.publish.cost_days import ACCOUNT, ALL, MOST_DAYS_BEHIND
from exporters.publish.month_forecast import MonthForecast, month_forecast
from exporters.store.standing import Standing, in_pounds_now

MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
MOST_ACCOUNTS: Final = 100
"""Accounts with a forecast of their own, the dearest first."""

_SCOPE: Final = ("provider", "account", "scope")


def budgets(standing: Standing, fx: dy.DataFrame[FxRate]) -> pl.DataFrame:
    """This will return rows of provider, account, scope and gbp, each budget's share of one month."""
    rows = in_pounds_now(standing.budgets, fx, "amount")
    months = pl.col("period").replace_strict(MONTHS, return_dtype=pl.Int64)
    return _first(rows.with_columns(_named("provider"), _named("account"), gbp=pl.col("amount_gbp") / months))


def forecasts(days: pl.DataFrame, standing: Standing, fx: dy.DataFrame[FxRate], *, today: date) -> pl.DataFrame:
    """This will return rows of provider, account, scope, bound and gbp: what this month will have been billed.

    Scope ``all`` of each account, each provider and all together; and of each budget under its name: of one that is
    limited to some costs, what its provider expects.

    Args:
        days: rows of PoundCost with whole_until.
        standing: what holds now.
        fx: the rate table.
        today: the day it is (UTC).
    """
    rows: list[tuple[str, str, str, str, float]] = []
    for provider, account, scope, chosen in _scopes(days, standing):
        found = _forecast(chosen, today)
        if found is not None:
            rows += [(provider, account, scope, bound, getattr(found, bound)) for bound in ("lower", "mid", "upper")]
    expected = in_pounds_now(standing.budgets.filter(pl.col("filters").is_not_null()), fx, "expected")
    months = pl.col("period").replace_strict(MONTHS, return_dtype=pl.Int64)
    of_providers = expected.drop_nulls("expected_gbp").select(
        _named("provider"), _named("account"), "scope", bound=pl.lit("mid"), gbp=pl.col("expected_gbp") / months
    )
    schema = {"provider": pl.String, "account": pl.String, "scope": pl.String, "bound": pl.String, "gbp": pl.Float64}
    own = pl.DataFrame(rows, schema=schema, orient="row")
    return pl.concat([own, of_providers]).unique([*_SCOPE, "bound"], keep="first", maintain_order=True)


def provider_forecasts(standing: Standing, fx: dy.DataFrame[FxRate], *, today: date) -> pl.DataFrame:
    """This will return rows of provider, account, bound and gbp: what providers expect of this month."""
    now = standing.forecasts.filter(pl.col("month") == today.replace(day=1))
    bounds = {"lower": "lower_gbp", "mid": "mid_gbp", "upper": "upper_gbp"}
    rows = in_pounds_now(now, fx, *bounds).select("provider", "account", **bounds)
    long = rows.unpivot(list(bounds), index=["provider", "account"], variable_name="bound", value_name="gbp")
    # An account that is billed in several currencies has a forecast only if each of them has a rate.
    return (
        long.group_by("provider", "account", "bound")
        .agg(pl.when(pl.col("gbp").is_not_null().all()).then(pl.col("gbp").sum()))
        .drop_nulls()
    )


def commitments(standing: Standing, fx: dy.DataFrame[FxRate], *, now: datetime) -> pl.DataFrame:
    """This will return commitments in force: provider, account, scope (its id), ends_at_seconds and gbp_per_hour."""
    in_force = standing.commitments.filter(pl.col("starts_at") <= now, pl.col("ends_at") > now)
    rows = in_pounds_now(in_force, fx, "cost_per_hour")
    whole = pl.col("cost_per_hour_gbp").is_not_null().all()
    return (
        rows.group_by("provider", _named("account"), scope="commitment_id")
        .agg(
            pl.col("ends_at").min().dt.epoch("s").cast(pl.Float64).alias("ends_at_seconds"),
            pl.when(whole).then(pl.col("cost_per_hour_gbp").sum()).alias("gbp_per_hour"),
        )
        .sort(_SCOPE)
    )


def commitment_ratios(standing: Standing, known: pl.DataFrame, column: str) -> pl.DataFrame:
    """This will return rows of provider, account, scope and ratio that a source states, where charges do not tell.

    Args:
        standing: what holds now.
        known: what charges tell, of the same columns.
        column: used_ratio or coverage_ratio.
    """
    stated = standing.commitment_use.drop_nulls(column).select(*_SCOPE, ratio=column)
    # Charges of a provider that tell of its commitments tell of all of them.
    return pl.concat([known.select(*_SCOPE, "ratio"), stated.join(known, on="provider", how="anti")])


def workload_costs(standing: Standing, fx: dy.DataFrame[FxRate], *, today: date, most: int) -> pl.DataFrame:
    """This will return rows of cluster, namespace and gbp: of the last whole day of each cluster, dearest first."""
    rows = in_pounds_now(standing.workloads.filter(pl.col("day") < today), fx, "total_cost")
    last = rows.filter(pl.col("day") == pl.col("day").max().over("cluster"))
    recent = last.filter(pl.col("day") >= today - timedelta(days=MOST_DAYS_BEHIND))
    summed = (
        recent.drop_nulls("total_cost_gbp").group_by("cluster", "namespace").agg(gbp=pl.col("total_cost_gbp").sum())
    )
    return summed.sort(["gbp", "cluster", "namespace"], descending=[True, False, False]).head(most)


def _scopes(days: pl.DataFrame, standing: Standing) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    named = days.with_columns(account=ACCOUNT)
    yield ALL, ALL, ALL, named
    for (provider,), rows in named.group_by("provider", maintain_order=True):
        yield str(provider), ALL, ALL, rows
    dearest = (
        named.group_by("provider", "account")
        .agg(pl.col("billed_gbp").sum())
        .sort(["billed_gbp", "provider", "account"], descending=[True, False, False])
    )
    for provider, account in dearest.head(MOST_ACCOUNTS).select("provider", "account").iter_rows():
        yield provider, account, ALL, named.filter(provider=provider, account=account)
    for budget in standing.budgets.filter(pl.col("filters").is_null()).iter_rows(named=True):
        yield budget["provider"] or ALL, budget["account"] or ALL, budget["scope"], _of(named, budget)


def _of(days: pl.DataFrame, budget: dict[str, Any]) -> pl.DataFrame:
    """The days that a budget is about; its account pays for others, or is paid for."""
    chosen = days.filter(provider=budget["provider"]) if budget["provider"] else days
    account = budget["account"]
    if not account:
        return chosen
    return chosen.filter((pl.col("sub_account") == account) | (pl.col("billing_account") == account))


def _forecast(days: pl.DataFrame, today: date) -> MonthForecast | None:
    """Of days whose accounts are all whole up to the last few days; None: one is not, or there are too few days."""
    live = days.filter(pl.col("charge_day").max().over("source", "billing_account") >= today - timedelta(days=62))
    until = live["whole_until"].min()
    if not isinstance(until, date) or live["whole_until"].null_count():
        return None
    if until < today - timedelta(days=1 + MOST_DAYS_BEHIND):
        return None
    return month_forecast(live, whole_until=until, month=today.replace(day=1))


def _named(column: str) -> pl.Expr:
    return pl.when(pl.col(column) == "").then(pl.lit(ALL)).otherwise(column).alias(column)


def _first(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a name; of two sources that state a budget of one name, the settings' stands."""
    return (
        rows.drop_nulls("gbp")
        .sort(pl.col("source") == "settings", "source", descending=[True, False])
        .unique(_SCOPE, keep="first", maintain_order=True)
        .select(*_SCOPE, "gbp")
        .sort(_SCOPE)
    )
