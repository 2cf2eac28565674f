"""What the ledger says of the policy's numbers: a proposal, never a change. Pure.

Predictions: where measured moves of a kind really saved the share r of what was predicted, later predictions of it are
read times the shrunken mean (Σr + 10) ÷ (n + 10), between a half and one and a half. Thresholds are compared with
predicted savings, but meant for real ones: where moves save the median share r, a threshold T asks for T / r of a
prediction. T is what the verified advice was judged by, so that a proposal that was taken is not taken twice. The scale
of scores follows from the threshold in per cent. Weights follow decisions; see weights.py. Each needs five matured
items, and in a week changes by a tenth at most, counted from what it was a week ago too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from recommender.advise.record import SAVING_KINDS, Guards
from recommender.ledger.bounds import LEAST_ITEMS, Change, Finding, bounded, bounded_ratio, scale_of
from recommender.ledger.weights import Decided, judgements, weighed
from recommender.settings import Policy

THRESHOLDS = ("min_saving_gbp_per_month", "min_saving_ratio")
"""The settings of `policy.steady` that a prediction is held against."""
SHRINKAGE = 10
"""Moves as predicted that stand beside the measured ones, so that a few do not carry the mean away."""
_LEAST_FACTOR, _MOST_FACTOR = 0.5, 1.5


@dataclass(frozen=True, slots=True)
class Verified:
    """A move that was measured.

    Args:
        kind: of the advice.
        predicted_gbp: what the proposal makes of the measured hours.
        realised_gbp: what they saved.
        guards: the thresholds that the proposal passed.
    """

    kind: str
    predicted_gbp: float
    realised_gbp: float
    guards: Guards

    @property
    def ratio(self) -> float:
        """Realised ÷ predicted; the prediction must be above zero."""
        return self.realised_gbp / self.predicted_gbp


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the ledger holds by a moment.

    Args:
        verified: the measured moves.
        decided: the decisions in force.
        guards_week_ago: the thresholds that advice was judged by a week ago; None: the ledger is younger.
        approved: what settings that were approved within the week had been before, by setting below `policy`.
    """

    verified: Sequence[Verified] = ()
    decided: Sequence[Decided] = ()
    guards_week_ago: Guards | None = None
    approved: Mapping[str, float] = field(default_factory=dict)

    def week_ago(self, now: Mapping[str, float]) -> dict[str, float]:
        """This will return values of a week ago; those in force stand for what nobody wrote down."""
        told = {
            f"steady.{name}": float(getattr(self.guards_week_ago, name))
            for name in THRESHOLDS
            if self.guards_week_ago is not None
        }
        return {**now, **self.approved, **told}


@dataclass(frozen=True, slots=True)
class Calibration:
    """What is proposed and why.

    Args:
        changes: proposed; empty: nothing, for the reasons in `findings`.
        findings: one a subject.
        scale_now: K of the scores; None: none fits.
        scale_proposed: K after the changes.
        factors: what predictions are read times now, by kind.
    """

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    scale_now: float | None
    scale_proposed: float | None
    factors: Mapping[str, float]


def calibration(evidence: Evidence, policy: Policy) -> Calibration:
    """This will propose changes of a policy from what the ledger holds."""
    usable = [one for one in evidence.verified if one.predicted_gbp > 0]
    before = evidence.week_ago(_in_force(policy))
    factors, of_factors = _factors(usable, policy, before)
    thresholds, of_thresholds = _thresholds(usable, policy, before)
    weights, of_weights = weighed(judgements(evidence.decided, policy), policy.weights, week_ago=before)
    ratio = next((one.proposed for one in thresholds if one.setting.endswith("min_saving_ratio")), None)
    scales = [_scale(policy, policy.steady.min_saving_ratio if one is None else one) for one in (None, ratio)]
    return Calibration(
        changes=(*factors, *thresholds, *weights),
        findings=(*of_factors, of_thresholds, _of_scale(*scales), *of_weights),
        scale_now=scales[0],
        scale_proposed=scales[1],
        factors={kind.value: _factor(policy, kind.value) for kind in SAVING_KINDS},
    )


def _in_force(policy: Policy) -> dict[str, float]:
    factors = {f"predictions.{kind.value}": _factor(policy, kind.value) for kind in SAVING_KINDS}
    return factors | {f"steady.{name}": float(getattr(policy.steady, name)) for name in THRESHOLDS}


def _factor(policy: Policy, kind: str) -> float:
    return next((float(value) for name, value in policy.predictions.items() if name == kind), 1.0)


def _factors(
    usable: Sequence[Verified], policy: Policy, before: Mapping[str, float]
) -> tuple[list[Change], list[Finding]]:
    changes, findings = [], []
    for kind in (one.value for one in SAVING_KINDS):
        ratios = [one.ratio for one in usable if one.kind == kind]
        subject, setting = f"predictions of kind {kind}", f"predictions.{kind}"
        if len(ratios) < LEAST_ITEMS:
            findings.append(Finding(subject, len(ratios), LEAST_ITEMS, _too_few(len(ratios))))
            continue
        mean = (sum(ratios) + SHRINKAGE) / (len(ratios) + SHRINKAGE)
        now, wanted = _factor(policy, kind), min(max(mean, _LEAST_FACTOR), _MOST_FACTOR)
        says = (
            f"{len(ratios)} measured moves saved {sum(ratios) / len(ratios):.0%} of what was predicted on average, "
            f"{wanted:.0%} with {SHRINKAGE} as predicted beside them"
        )
        findings.append(Finding(subject, len(ratios), LEAST_ITEMS, says))
        changes += _changed(setting, now, bounded(wanted, now=now, week_ago=before[setting]), says)
    return changes, findings


def _thresholds(
    usable: Sequence[Verified], policy: Policy, before: Mapping[str, float]
) -> tuple[list[Change], Finding]:
    subject = "thresholds of a move"
    if len(usable) < LEAST_ITEMS:
        return [], Finding(subject, len(usable), LEAST_ITEMS, _too_few(len(usable)))
    ratio = median(one.ratio for one in usable)
    share = f"moves save {ratio:.0%} of what was predicted (median of {len(usable)})"
    changes = [
        change
        for name in THRESHOLDS
        for change in _changed(f"steady.{name}", *_threshold(name, ratio, usable, policy, before), share)
    ]
    says = share if changes else f"{share}; the thresholds stand, or have changed as far as one week allows"
    return changes, Finding(subject, len(usable), LEAST_ITEMS, says)


def _threshold(
    name: str, ratio: float, usable: Sequence[Verified], policy: Policy, before: Mapping[str, float]
) -> tuple[float, float]:
    now, week_ago = float(getattr(policy.steady, name)), before[f"steady.{name}"]
    meant = median(float(getattr(one.guards, name)) for one in usable)
    # A median that saved nothing asks for as much as a week allows.
    wanted = meant / ratio if ratio > 0 else max(now, week_ago) * 2.0
    bound = bounded_ratio if name == "min_saving_ratio" else bounded
    return now, bound(wanted, now=now, week_ago=week_ago)


def _changed(setting: str, now: float, proposed: float, why: str) -> list[Change]:
    return [Change(setting, now, proposed, why)] if proposed != now else []


def _too_few(items: int) -> str:
    return f"not enough matured items: {items} of {LEAST_ITEMS}"


def _scale(policy: Policy, min_saving_ratio: float) -> float | None:
    return scale_of(
        steady_weight=policy.score.steady_weight,
        cost_weight=policy.score.cost_weight,
        min_saving_ratio=min_saving_ratio,
    )


def _of_scale(now: float | None, proposed: float | None) -> Finding:
    told = "no scale fits a saving ratio of 0 or 1" if now is None or proposed is None else f"K is {now:.1f}"
    if now is not None and proposed is not None and proposed != now:
        told = f"K goes from {now:.1f} to {proposed:.1f} with steady.min_saving_ratio"
    beyond = "it follows from the threshold, because what schedulers make of scores is not measured"
    return Finding("scale of scores", 0, LEAST_ITEMS, f"{told}; {beyond}")
