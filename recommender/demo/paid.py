"""What the demonstration shows of costs: what each cloud billed last month, and how far below list price that is."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from exporters.core.money import pounds
from exporters.store.costs import Costs


def last_month(costs: Costs, *, today: date) -> pl.DataFrame:
    """This will return last month's machines and everything else by cloud, billed and at list price.

    Args:
        costs: what was paid.
        today: the day.
    """
    first = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    month = costs.days.filter(pl.col("charge_day").is_between(first, today.replace(day=1), closed="left"))
    still_open = month.filter(~pl.col("is_whole"))["charge_day"].n_unique()
    name = f"{first:%B %Y}" + (f", {still_open} of its days not whole yet" if still_open else "")
    by_machine = pl.when(pl.col("instance_family") == "").then(pl.lit("other")).otherwise(pl.lit("machines"))
    rows = (
        month.group_by("provider", what=by_machine)
        .agg(pl.col("effective_gbp", "list_gbp").sum())
        .sort("provider", "what")
    )
    return pl.DataFrame(
        [
            {
                "provider": row["provider"],
                "month": name,
                "what": row["what"],
                "paid": pounds(row["effective_gbp"]),
                "at list": pounds(row["list_gbp"]) if row["what"] == "machines" else "",
                "less": _less(float(row["effective_gbp"]), float(row["list_gbp"])) if row["what"] == "machines" else "",
            }
            for row in rows.iter_rows(named=True)
        ]
    )


def _less(paid: float, listed: float) -> str:
    return f"{1 - paid / listed:.1%}" if listed else ""
