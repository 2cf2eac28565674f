"""From the days in the store to what changed and what is unusual: the accounts to compare, and at which day.

Promises that each account is looked at as of its own last whole day, or the day that was asked for, and that accounts
which cannot be are named, never taken for accounts that spent nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import dataframely as dy
import polars as pl

from exporters.core.cost_change_frames import CostAnomaly, CostChange, Span
from exporters.normalise.cost_anomalies import AnomalyRules, judge_days
from exporters.normalise.cost_changes import ChangeBasis, cost_changes
from exporters.normalise.cost_spans import BILL, comparable, last_days
from exporters.publish.cost_changes import Compared
from exporters.publish.cost_days import MOST_DAYS_BEHIND, with_reach


@dataclass(frozen=True, slots=True)
class Explanation:
    """What changed.

    Args:
        changes: by provider, account and service, those of nought among them.
        left_out: provider, billing_account and whole_until of accounts that cannot be compared.
    """

    changes: dy.DataFrame[CostChange]
    left_out: pl.DataFrame


def explain(
    days: pl.DataFrame, *, span: Span, day: date | None = None, basis: ChangeBasis = "effective"
) -> Explanation:
    """This will compare a span of whole days with the one a week before.

    Args:
        days: rows of PoundCost.
        span: how many days.
        day: the last one; None: the last whole day of each account, if it is not far behind the others.
        basis: which cost.
    """
    reached = with_reach(days)
    every = last_days(reached)
    chosen = _recent(reached) if day is None else every.with_columns(last_day=pl.lit(day))
    compared = comparable(reached, chosen, span)
    return Explanation(
        changes=cost_changes(reached, compared, span=span, basis=basis),
        left_out=every.join(compared, on=BILL, how="anti").rename({"last_day": "whole_until"}).sort(BILL),
    )


def anomalies(days: pl.DataFrame, rules: AnomalyRules, *, judged_days: int) -> dy.DataFrame[CostAnomaly]:
    """This will judge the last whole days of every series, whether or not they are unusual.

    Args:
        days: rows of PoundCost.
        rules: when a day is an anomaly.
        judged_days: how many days of each.
    """
    reached = with_reach(days)
    return judge_days(reached, _recent(reached), rules, judged_days=judged_days)


def compare(days: pl.DataFrame, rules: AnomalyRules, *, today: date) -> Compared:
    """This will compare and judge the last whole day of each account that is not far behind today.

    Args:
        days: rows of PoundCost.
        rules: when a day is an anomaly.
        today: the day it is (UTC).
    """
    reached = with_reach(days)
    fresh = last_days(reached).filter(pl.col("last_day") >= today - timedelta(days=1 + MOST_DAYS_BEHIND))
    changes = pl.concat([cost_changes(reached, comparable(reached, fresh, span), span=span) for span in Span])
    return Compared(changes=CostChange.cast(changes), judged=judge_days(reached, fresh, rules))


def _recent(reached: pl.DataFrame) -> pl.DataFrame:
    return last_days(reached, not_before_days=MOST_DAYS_BEHIND)
