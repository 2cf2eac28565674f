"""Why a week cost more or less than the week before: usage, prices and exchange rates, each with its pounds.

    two weeks of usage, two sets of prices → the cost of each combination → what each change alone accounts for

Usage changes first, at the old prices; then prices, at the old exchange rates; then the rates. So the parts add up from
one week to the other exactly (the sequential form of a price-volume-mix analysis). A pure function of frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

import dataframely as dy
import polars as pl

from exporters.core.frames import EgressRate, Offer
from exporters.core.money import pence
from exporters.store.read import Prices, at_one_rate
from recommender.advise.decision import Question
from recommender.cycle import costs_here
from recommender.frames import WORKLOAD_KEY, Flow, Pool

TOP = 5


@dataclass(frozen=True, slots=True)
class WeekAsked:
    """One week: what ran, what it exchanged, and the question that prices it."""

    question: Question
    flows: dy.DataFrame[Flow]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one workload adds to the change.

    Args:
        key: cluster, namespace, kind, name.
        owner: empty: nobody said.
        change_gbp: of the week.
        because: new, gone, usage, price or exchange rate: whichever part is greatest.
    """

    key: tuple[str, ...]
    owner: str
    change_gbp: Decimal
    because: str


@dataclass(frozen=True, slots=True)
class SpendChange:
    """Two weeks' cost and what lies between. before + usage + price + exchange_rate = after, to the penny.

    Args:
        before_start: of the week before (UTC).
        after_start: of the week (UTC).
        compared: workloads in the sums.
        not_compared: workloads that ran in a week in which what they cost is not known; in neither sum.
        without_old_price: workloads whose price of the week before is not kept: this week's prices stand in for it in
            both weeks, so that no change of theirs is a price's.
        contributions: the greatest, of either sign.
    """

    before_start: datetime
    after_start: datetime
    before_gbp: Decimal
    usage_gbp: Decimal
    price_gbp: Decimal
    exchange_rate_gbp: Decimal
    after_gbp: Decimal
    compared: int
    not_compared: int
    without_old_price: int
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True, slots=True)
class Spend:
    """The change of all workloads, and of each owner's; an owner without a name is empty."""

    whole: SpendChange
    by_owner: Mapping[str, SpendChange]


def spend_changes(before: WeekAsked, after: WeekAsked, fleet: dy.DataFrame[Pool]) -> Spend:
    """This will say what each of usage, prices and exchange rates changed, for all and for each owner.

    Args:
        before: the week before, at its prices.
        after: the week, at its prices.
        fleet: the pools of both.
    """
    rows = _steps(before, after, fleet)
    owners = {str(key[0]): own for key, own in rows.group_by("owner", maintain_order=True)}
    return Spend(
        whole=_change(rows, before.question, after.question),
        by_owner={name: _change(owners[name], before.question, after.question) for name in sorted(owners)},
    )


def _steps(before: WeekAsked, after: WeekAsked, fleet: dy.DataFrame[Pool]) -> pl.DataFrame:
    """One row a workload of either week: what it cost at each step from the one to the other, null where not known."""
    old_prices, new_prices = before.question.prices, after.question.prices
    at_old_rates = replace(
        new_prices,
        offers=Offer.cast(at_one_rate(new_prices.offers, old_prices.fx)),
        egress=EgressRate.cast(at_one_rate(new_prices.egress, old_prices.fx)),
    )
    costs = [
        _week_cost(before, old_prices, fleet, "before"),
        _week_cost(after, old_prices, fleet, "new_usage"),
        _week_cost(after, at_old_rates, fleet, "new_prices"),
        _week_cost(after, new_prices, fleet, "after"),
        _week_cost(before, new_prices, fleet, "before_at_new").drop("owner_before_at_new"),
    ]
    rows = costs[0].join(costs[1], on=WORKLOAD_KEY, how="full", coalesce=True)
    for one in costs[2:]:
        rows = rows.join(one, on=WORKLOAD_KEY, how="left")
    owner = pl.coalesce("owner_after", "owner_before").fill_null("")
    return rows.with_columns(owner=owner).sort(WORKLOAD_KEY)


def _week_cost(week: WeekAsked, prices: Prices, fleet: dy.DataFrame[Pool], name: str) -> pl.DataFrame:
    """Pounds a workload of the week, null where not known; with `in_<name>`, that it ran, and its owner."""
    question = replace(week.question, prices=prices)
    found = costs_here(question, week.flows, fleet).filter(~pl.col("is_system"))
    cost = pl.when(pl.col("reason").is_null()).then(pl.col("gbp_per_hour") * question.window_hours)
    return found.select(
        pl.col("from_cluster").alias("cluster"),
        *WORKLOAD_KEY[1:],
        cost.alias(name),
        pl.lit(value=True).alias(f"in_{name}"),
        pl.col("owner").alias(f"owner_{name}"),
    )


def _change(rows: pl.DataFrame, before: Question, after: Question) -> SpendChange:
    ran_before, runs_now = pl.col("in_before").fill_null(value=False), pl.col("in_after").fill_null(value=False)
    at_old = (~ran_before | pl.col("before").is_not_null()) & (~runs_now | pl.col("new_usage").is_not_null())
    at_new = (~ran_before | pl.col("before_at_new").is_not_null()) & (~runs_now | pl.col("after").is_not_null())
    known = (~runs_now | pl.col("after").is_not_null()) & (at_new | (~ran_before | pl.col("before").is_not_null()))
    compared = rows.filter(known).with_columns(no_old_price=~at_old)
    # Without an old price the new one stands in for it at all steps: then no change is a price's or a rate's.
    stood_in = compared.with_columns(
        before=pl.when("no_old_price").then(pl.coalesce("before_at_new", "before")).otherwise("before").fill_null(0.0),
        new_usage=pl.when("no_old_price").then("after").otherwise("new_usage").fill_null(0.0),
        new_prices=pl.when("no_old_price").then("after").otherwise("new_prices").fill_null(0.0),
        after=pl.col("after").fill_null(0.0),
    ).with_columns(
        usage=pl.col("new_usage") - pl.col("before"),
        price=pl.col("new_prices") - pl.col("new_usage"),
        rate=pl.col("after") - pl.col("new_prices"),
        change=pl.col("after") - pl.col("before"),
    )
    sums = {name: pence(float(stood_in[name].sum())) for name in ("before", "price", "rate", "after")}
    return SpendChange(
        before_start=before.usage_window[0],
        after_start=after.usage_window[0],
        before_gbp=sums["before"],
        # The rest, so that the parts add up to the penny whatever each was rounded by.
        usage_gbp=sums["after"] - sums["before"] - sums["price"] - sums["rate"],
        price_gbp=sums["price"],
        exchange_rate_gbp=sums["rate"],
        after_gbp=sums["after"],
        compared=stood_in.height,
        not_compared=rows.height - stood_in.height,
        without_old_price=int(stood_in["no_old_price"].sum()),
        contributions=_contributions(stood_in.to_dicts()),
    )


def _contributions(rows: Sequence[dict[str, object]]) -> tuple[Contribution, ...]:
    made = [
        Contribution(
            key=tuple(str(one[name]) for name in WORKLOAD_KEY),
            owner=str(one["owner"]),
            change_gbp=pence(_number(one["change"])),
            because=_because(one),
        )
        for one in rows
    ]
    moved = [one for one in made if one.change_gbp != 0]
    return tuple(sorted(moved, key=lambda one: (-abs(one.change_gbp), one.key))[:TOP])


def _because(one: dict[str, object]) -> str:
    if not one["in_before"]:
        return "new"
    if not one["in_after"]:
        return "gone"
    parts = {"usage": _number(one["usage"]), "price": _number(one["price"]), "exchange rate": _number(one["rate"])}
    return max(parts, key=lambda name: abs(parts[name]))


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value
