"""What is bought ahead as a section of the report: what an hour of it costs, how much of it is used, when it ends."""

from __future__ import annotations

from exporters.core.money import rate
from recommender.advise.commitment_record import CommitmentPlanned
from recommender.advise.plan import Plan
from recommender.report import words
from recommender.report.view import CommitmentRow


def commitment_section(plan: Plan) -> tuple[CommitmentRow, ...]:
    """This will put commitments into words, those that end first before the others."""
    ordered = sorted(plan.commitments, key=lambda one: (one.ends_at, one.provider, one.account, one.commitment_id))
    return tuple(_row(one) for one in ordered)


def _row(one: CommitmentPlanned) -> CommitmentRow:
    return CommitmentRow(
        id=words.shown(one.commitment_id),
        scope=words.shown(_scope(one)),
        cost="not known" if one.gbp_per_hour is None else rate(one.gbp_per_hour),
        used=words.percent(one.used_ratio),
        used_ratio=one.used_ratio,
        planned=words.percent(one.planned_used_ratio),
        planned_ratio=one.planned_used_ratio,
        unused="not known" if one.unused_gbp_per_hour is None else rate(one.unused_gbp_per_hour),
        ends=f"{words.day(one.ends_at)}{', renews' if one.renews else ''}",
        note=words.shown(one.note) if one.note else "",
    )


def _scope(one: CommitmentPlanned) -> str:
    machine = one.instance_type or one.instance_family or "any machine"
    return f"{one.kind}: {one.bought} of {machine}, {one.provider} {one.region or 'everywhere'}"
