"""`tuppence burst`: which owned pools are short, what should leave for where and at what price, and what comes home."""

from __future__ import annotations

import json
import sys
from datetime import datetime

import polars as pl

from exporters.core.output import ListFormat, print_table
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.burst.burst import BurstPlan
from recommender.commands.forecast import frames_as_json, rounded
from recommender.outlook import Ahead

_TITLES = {
    "triggers": "Owned capacity",
    "overflow": "What should leave, and for where",
    "nodes": "Nodes for it",
    "waiting": "Has no place",
    "returns": "Bursts that run",
    "extensions": "Extend or commit",
    "unknown": "Not enough data",
}


def write_bursts(ahead: Ahead, form: ListFormat) -> None:
    """This will write bursts to stdout: tables for people, all of it and the advice as JSON, the overflow as CSV."""
    plan = ahead.bursts
    parts = frames_of(plan)
    if form is ListFormat.JSON:
        advice = [one.model_dump(mode="json", exclude_none=True) for one in ahead.capacity]
        document = json.loads(frames_as_json(parts)) | {"recommendations": advice}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    elif form is ListFormat.CSV:
        sys.stdout.write(plan.overflow.write_csv())
    else:
        for name, title in _TITLES.items():
            if parts[name].height:
                print_table(rounded(parts[name]), title=title)
                sys.stdout.write("\n")
        if ahead.capacity:
            print_table(_advice(ahead.capacity), title="Recommendations")
            sys.stdout.write("\n")
        sys.stdout.write(summary(plan) + "\n")


def _advice(capacity: tuple[CapacityRecommendation, ...]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"id": one.id, "kind": one.kind.value, "state": one.state.value, "advice": one.title} for one in capacity]
    )


def frames_of(plan: BurstPlan) -> dict[str, pl.DataFrame]:
    """This will return the frames of a plan by their names."""
    return {"capacity": plan.capacity, **{name: getattr(plan, name) for name in _TITLES}}


def summary(plan: BurstPlan) -> str:
    """This will return the plan in one sentence."""
    if plan.overflow.is_empty():
        needed = plan.triggers.filter("is_needed")["cluster"].unique().sort().to_list()
        if needed:
            return f"Short: {', '.join(needed)}; nothing may or need leave."
        return "No owned pool is short."
    nodes, other = (float(plan.overflow[name].sum()) for name in ("nodes_gbp_per_hour", "other_gbp_per_hour"))
    start = plan.triggers.filter("is_needed")["latest_start"].min()
    assert isinstance(start, datetime)
    when = f"; nodes asked for after {start:%Y-%m-%d %H:%M} UTC are ready too late"
    return f"The burst costs £{nodes + other:,.2f} an hour, £{nodes:,.2f} of it nodes{when}."
