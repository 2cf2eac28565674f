"""Rules of the policy that decide nothing: a mistyped namespace must not lose a residency rule in silence. Pure."""

from __future__ import annotations

import polars as pl

from recommender.frames import WORKLOAD_KEY
from recommender.observe.attributes import matches
from recommender.settings import Policy


def idle_rules(policy: Policy, workloads: pl.DataFrame) -> tuple[str, ...]:
    """This will name the rules that no workload is attributed by: they match none, or an earlier one takes all theirs.

    Args:
        policy: its rules, of which the first that matches wins.
        workloads: with WORKLOAD_KEY; without any there is nothing to say.

    Returns:
        One sentence a rule, in their order.
    """
    if workloads.is_empty() or not policy.rules:
        return ()
    hits = workloads.select(WORKLOAD_KEY).select(
        matches(rule.match).alias(str(number)) for number, rule in enumerate(policy.rules)
    )
    first = pl.coalesce(pl.when(pl.col(name)).then(pl.lit(int(name))) for name in hits.columns)
    taken = hits.with_columns(first.alias("taken_by"))
    found = []
    for number in range(len(policy.rules)):
        by = taken.filter(pl.col(str(number)))["taken_by"].unique().sort().to_list()
        if not by:
            found.append(f"rules[{number}] matches no workload")
        elif number not in by:
            earlier = ", ".join(f"rules[{one}]" for one in by)
            found.append(f"rules[{number}] decides nothing: {earlier} stands before it for every workload it matches")
    return tuple(found)
