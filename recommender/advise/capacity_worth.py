"""An owned pool that is short for much of the time becomes advice to make it larger, or to commit to cloud nodes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from exporters.core.money import rate
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.capacity_burst import burst_id
from recommender.advise.capacity_question import DIGITS, CapacityQuestion, Row, group_of, place_of
from recommender.advise.capacity_record import BreakEven, CapacityNodes, CapacityRecommendation
from recommender.advise.capacity_trust import month_doubts, risk, shortage
from recommender.advise.identity import etag
from recommender.advise.record import Kind


def worth_advice(question: CapacityQuestion) -> Iterator[CapacityRecommendation]:
    """This will yield a record for each way to have more nodes that each pay for themselves."""
    for row in question.bursts.extensions.sort("cluster", "resource", "resource_class", "kind").iter_rows(named=True):
        if row["nodes"] > 0:
            yield _record(question, row)


def _record(question: CapacityQuestion, row: Row) -> CapacityRecommendation:
    kind = Kind(row["kind"])
    target = question.target(row["cluster"], row["resource"], row["resource_class"])
    machine = question.machine(row["to_cluster"], row["pool"], row["instance_type"])
    compared = question.machine(row["burst_cluster"], row["burst_pool"], row["burst_instance_type"])
    place = place_of(machine)
    finder = question.finder()
    prices = (finder.as_offered("recommended", machine), finder.as_offered("current", compared))
    worth = _break_even(row)
    nodes = CapacityNodes(
        instance_type=place.instance_type,
        capacity_type=place.capacity_type,
        nodes=worth.nodes,
        gbp_per_hour=round(worth.nodes * row["node_gbp_per_hour"], DIGITS),
    )
    many = f"{worth.nodes} node{'' if worth.nodes == 1 else 's'} of {place.instance_type}"
    title = (
        f"Extend pool {place.pool} of {place.cluster} by {many}"
        if kind is Kind.EXTEND
        else f"Commit to {many} in {place.cluster}, pool {place.pool}, instead of bursting from {target.cluster}"
    )
    return CapacityRecommendation(
        id=burst_id(kind, target, place),
        etag=etag(worth, prices),
        kind=kind,
        title=title,
        target=target,
        recommended=None if kind is Kind.EXTEND else place,
        nodes=(nodes,),
        cost_delta_gbp_per_hour=-round(row["saving_gbp_per_month"] / float(HOURS_PER_MONTH), DIGITS),
        shortage=shortage(question, target),
        break_even=worth,
        prices=prices,
        risk=risk(question, target, prices, month_doubts(question, target)),
        explanation=_explanation(row, worth),
        group=group_of(target, kind),
        proposed_at=question.at,
        expires_at=question.at + timedelta(hours=question.expires_after_hours),
    )


def _break_even(row: Row) -> BreakEven:
    rounded = ("node_gbp_per_hour", "burst_gbp_per_hour", "break_even_ratio", "short_ratio", "observed_hours")
    return BreakEven(nodes=row["nodes"], **{name: round(row[name], DIGITS) for name in rounded})


def _explanation(row: Row, worth: BreakEven) -> tuple[str, ...]:
    short = (
        f"{row['resource']} {row['resource_class']} of {row['cluster']} was beyond what its nodes admit in "
        f"{worth.short_ratio:.1%} of {worth.observed_hours:g} observed hours."
    )
    price = (
        f"A node costs {rate(worth.node_gbp_per_hour)} an hour, used or not; the same amount costs "
        f"{rate(worth.burst_gbp_per_hour)} on demand in {row['burst_cluster']} / {row['burst_pool']}."
    )
    pays = f"It pays if it is used for more than {worth.break_even_ratio:.1%} of the time, as each node would be."
    return (short, price, pays)
