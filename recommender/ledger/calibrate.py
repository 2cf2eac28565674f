"""What verified savings say of the thresholds: a proposal, never a change. Pure.

Thresholds are compared with predicted savings, but meant for real ones. Where moves save the share r of what was
predicted (the median over the verified ones), a threshold T asks for T / r of a prediction. T is what the verified
advice was judged by, so that a proposal that was taken is not taken twice. At least five verified moves are needed;
in a week a threshold changes by a tenth at most, counted from what it was a week ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from recommender.advise.record import Guards
from recommender.settings import Steady

LEAST_ITEMS = 5
MOST_CHANGE_A_WEEK = 0.10

THRESHOLDS = ("min_saving_gbp_per_month", "min_saving_ratio")
"""The settings of `policy.steady` that a prediction is held against."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A move that was measured.

    Args:
        predicted_gbp: what the proposal makes of the measured hours.
        realised_gbp: what they saved.
        guards: the thresholds that the proposal passed.
    """

    predicted_gbp: float
    realised_gbp: float
    guards: Guards


@dataclass(frozen=True, slots=True)
class Change:
    """A proposed change of one setting."""

    setting: str
    now: float
    proposed: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is proposed and why.

    Args:
        items: verified moves with a prediction above zero.
        ratio: the median of realised ÷ predicted; None: there are too few.
        changes: proposed; empty: nothing, for the reason in `why`.
        why: one sentence.
    """

    items: int
    ratio: float | None
    changes: tuple[Change, ...]
    why: str


def calibration(verified: Sequence[Verified], steady: Steady, *, week_ago: Guards | None) -> Calibration:
    """This will propose thresholds.

    Args:
        verified: the measured moves.
        steady: the thresholds in force.
        week_ago: those that advice was judged by a week ago; None: the ledger is younger, and those in force stand
            for them.
    """
    usable = [one for one in verified if one.predicted_gbp > 0]
    if len(usable) < LEAST_ITEMS:
        why = f"{len(usable)} verified moves, and {LEAST_ITEMS} are needed"
        return Calibration(items=len(usable), ratio=None, changes=(), why=why)
    ratio = median(one.realised_gbp / one.predicted_gbp for one in usable)
    proposed = [_change(name, ratio, usable, steady, week_ago) for name in THRESHOLDS]
    changes = tuple(one for one in proposed if one.now != one.proposed)
    share = f"moves save {ratio:.0%} of what was predicted (median of {len(usable)})"
    why = share if changes else f"{share}; the thresholds stand, or have changed as far as one week allows"
    return Calibration(items=len(usable), ratio=ratio, changes=changes, why=why)


def _change(name: str, ratio: float, usable: Sequence[Verified], steady: Steady, week_ago: Guards | None) -> Change:
    now = float(getattr(steady, name))
    before = float(getattr(week_ago or steady, name))
    low = max(now, before) * (1.0 - MOST_CHANGE_A_WEEK)
    high = min(now, before) * (1.0 + MOST_CHANGE_A_WEEK)
    if low > high:
        return Change(setting=name, now=now, proposed=now)
    meant = median(float(getattr(one.guards, name)) for one in usable)
    # A median that saved nothing asks for as much as a week allows.
    wanted = meant / ratio if ratio > 0 else high
    most = min(high, 1.0) if name == "min_saving_ratio" else high
    return Change(setting=name, now=now, proposed=round(min(max(wanted, low), most), 6))


def as_diff(made: Calibration, *, file: str, section: Sequence[str]) -> str:
    """This will write a proposal as a diff of the settings.

    Args:
        made: the proposal.
        file: the settings file, or the policy's own, for the reader.
        section: the keys that lead to `steady` in it.
    """
    lines = [f"# {made.why}"]
    if not made.changes:
        return "\n".join(lines) + "\n"
    lines += [f"# Nothing was changed. To take it, edit {file}:"]
    for depth, key in enumerate((*section, "steady")):
        lines.append(f"  {'  ' * depth}{key}:")
    indent = "  " * (len(section) + 1)
    for one in made.changes:
        lines += [f"- {indent}{one.setting}: {one.now:g}", f"+ {indent}{one.setting}: {one.proposed:g}"]
    return "\n".join(lines) + "\n"
