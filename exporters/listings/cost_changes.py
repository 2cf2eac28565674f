"""Changes and anomalies as lists: in pounds to the penny, dearest first, a sentence a row. Frames in, frames out."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import polars as pl

from exporters.core.cost_change_frames import SERIES_KEY, Cause
from exporters.core.money import PENNY, pence, pounds

WORDS: Final[Mapping[Cause, str]] = {
    Cause.USAGE: "usage",
    Cause.PRICE: "price",
    Cause.MIX: "mix",
    Cause.COMMITMENTS: "commitments",
    Cause.FX: "FX",
    Cause.NEW: "new service",
    Cause.GONE: "gone service",
    Cause.ONE_OFF: "one-off charges",
    Cause.UNMEASURED: "not measured",
}
_CENTS: Final = pl.Decimal(38, 2)
_SUMS: Final = ("before_gbp", "after_gbp", "change_gbp", *(cause.column for cause in Cause))


def changes_in_pence(changes: pl.DataFrame) -> pl.DataFrame:
    """This will return changes in pennies that add up, largest first, with a sentence each; none of nought.

    The change is the difference of both amounts as printed. What rounding leaves over goes to the largest part.

    Args:
        changes: rows of CostChange.
    """
    rows = [_in_pence(row) for row in changes.to_dicts()]
    kept = [row for row in rows if any(row[cause.column] for cause in Cause)]
    kept.sort(key=lambda row: (-abs(row["change_gbp"]), *(row[name] for name in SERIES_KEY)))
    told = [row | {"sentence": sentence(row)} for row in kept]
    schema = {name: _CENTS if name.endswith("_gbp") else kind for name, kind in changes.schema.items()} | {
        "sentence": pl.String()
    }
    return pl.DataFrame(told, schema=schema)


def total_in_pence(changes: pl.DataFrame) -> dict[str, Decimal]:
    """This will return what all changes come to, in pennies that add up."""
    return _in_pence(changes.select(pl.col(_SUMS).sum()).row(0, named=True))


def sentence(row: Mapping[str, Any], *, of: str | None = None) -> str:
    """This will say a change and its parts, the largest first: "EC2 in eu-west-2: +£412.10, of which usage +£380.00 …".

    Args:
        row: a change in pennies.
        of: what it is of; None: the row's service.
    """
    parts = {cause: row[cause.column] for cause in Cause if row[cause.column]}
    in_order = sorted(parts, key=lambda cause: -abs(parts[cause]))
    if len(in_order) == 1:
        told = f", all of it {WORDS[in_order[0]]}"
    else:
        told = ", of which " + ", ".join(f"{WORDS[cause]} {signed(parts[cause])}" for cause in in_order)
    return f"{of or _named(row)}: {signed(row['change_gbp'])}{told if parts else ''}"


def signed(amount: Decimal) -> str:
    """This will print an amount of pounds with its sign: +£412.10, −£7.90."""
    return f"{'−' if amount < 0 else '+'}{pounds(abs(amount))}"


def changes_for_reading(rows: pl.DataFrame) -> pl.DataFrame:
    """This will return what a person reads of changes in pence."""
    return rows.select(
        "last_day", "provider", "account", _printed("before_gbp", "before"), _printed("after_gbp", "after"), "sentence"
    )


def anomalies_in_pence(judged: pl.DataFrame) -> pl.DataFrame:
    """This will return judged days in pennies, the newest first and of a day the largest excess first.

    Args:
        judged: rows of CostAnomaly.
    """
    in_order = judged.sort("day", "excess_gbp", *SERIES_KEY, descending=[True, True, False, False, False])
    return in_order.with_columns(
        *(pl.col(name).map_elements(pence, return_dtype=_CENTS) for name in judged.columns if name.endswith("_gbp")),
        pl.col("score").round(1),
    )


def anomalies_for_reading(rows: pl.DataFrame) -> pl.DataFrame:
    """This will return what a person reads of judged days in pence."""
    bounds = pl.format("{} to {}", *(_printed(name, name) for name in ("lower_gbp", "upper_gbp")))
    return rows.select(
        "day",
        *SERIES_KEY,
        _printed("cost_gbp", "cost"),
        bounds.alias("expected"),
        _printed("excess_gbp", "excess"),
        "score",
    )


def _printed(name: str, head: str) -> pl.Expr:
    return pl.col(name).map_elements(pounds, return_dtype=pl.String).alias(head)


def _in_pence(row: Mapping[str, Any]) -> dict[str, Any]:
    rounded = {name: pence(row[name]) if name.endswith("_gbp") else row[name] for name in row}
    rounded["change_gbp"] = rounded["after_gbp"] - rounded["before_gbp"]
    parts = {cause.column: rounded[cause.column] for cause in Cause}
    largest = max(parts, key=lambda name: abs(parts[name]))
    rounded[largest] += rounded["change_gbp"] - sum(parts.values(), Decimal(0))
    return rounded


def _named(row: Mapping[str, Any]) -> str:
    """The service, and the region where it changed: alone, or most."""
    service = row["service"] or "no service"
    if not row["region"]:
        return str(service)
    alone = abs(row["region_change_gbp"] - row["change_gbp"]) <= PENNY
    return f"{service} {'' if alone else 'mostly '}in {row['region']}"
