"""How far a proposal may go: a tenth a week, counted from what is in force and from what was a week ago. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log1p

LEAST_ITEMS = 5
"""Matured items that a proposal needs."""
MOST_CHANGE_A_WEEK = 0.10


@dataclass(frozen=True, slots=True)
class Change:
    """A proposed change of one setting.

    Args:
        setting: its keys below `policy`, joined by dots.
        now: in force.
        proposed: at most a tenth away.
        why: one sentence.
    """

    setting: str
    now: float
    proposed: float
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What the ledger says of one subject, also where that is too little for a proposal.

    Args:
        subject: what it is about, in words.
        items: matured items that speak of it.
        needed: how many a proposal needs.
        says: one sentence.
    """

    subject: str
    items: int
    needed: int
    says: str


def bounded(wanted: float, *, now: float, week_ago: float) -> float:
    """This will return the value nearest to the wanted one that a week allows; `now` where the week is used up."""
    low = max(now, week_ago) * (1.0 - MOST_CHANGE_A_WEEK)
    high = min(now, week_ago) * (1.0 + MOST_CHANGE_A_WEEK)
    if low > high:
        return now
    # Six digits, as a person would write them into a file.
    return float(f"{min(max(wanted, low), high):.6g}")


def bounded_ratio(wanted: float, *, now: float, week_ago: float) -> float:
    """This will bound a saving ratio, and with it the scale of scores that follows from it; see `scale_of`.

    K is inverse to −ln(1 − θ), so that a tenth of K is another step of θ than a tenth of θ; the shorter counts.
    """
    if not (0.0 < now < 1.0 and 0.0 < week_ago < 1.0):
        return min(bounded(wanted, now=now, week_ago=week_ago), 1.0)
    low = max(1.0 - (1.0 - one) ** (1.0 / (1.0 + MOST_CHANGE_A_WEEK)) for one in (now, week_ago))
    high = min(1.0 - (1.0 - one) ** (1.0 / (1.0 - MOST_CHANGE_A_WEEK)) for one in (now, week_ago))
    return now if low > high else bounded(min(max(wanted, low), high), now=now, week_ago=week_ago)


def scale_of(*, steady_weight: float, cost_weight: float, min_saving_ratio: float) -> float | None:
    """This will return K of the score `50 + K·ln(E_ref ÷ E)`, at which Steady's margin means the least saving.

    A challenger displaces the incumbent when cost_weight × K × ln(E_i ÷ E_c) exceeds 100 × steady_weight (Open Cluster
    Management, `Steady` prioritizer: incumbent +100, others 0).

    Returns:
        None: no scale does that, because any saving, or none, is enough.
    """
    if cost_weight <= 0 or steady_weight <= 0 or not 0.0 < min_saving_ratio < 1.0:
        return None
    scale = 100.0 * steady_weight / cost_weight / -log1p(-min_saving_ratio)
    return scale if isfinite(scale) else None
