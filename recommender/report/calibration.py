"""What was learnt, as a section of the report: realised against predicted, and figures of the policy to approve."""

from __future__ import annotations

from dataclasses import asdict, replace
from decimal import Decimal

from exporters.core.money import pounds
from recommender.advise.plan import Plan
from recommender.advise.record import SAVING_KINDS
from recommender.calibrating import Learnt
from recommender.ledger.bounds import Change
from recommender.ledger.calibrate import Calibration
from recommender.ledger.measurement import Savings
from recommender.report import words
from recommender.report.view import (
    CalibrationFinding,
    CalibrationSection,
    ExpectedSaving,
    ProposedFigure,
    Report,
)

HOW = (
    "Nothing was changed. To take them: tuppence calibrate --apply --reason …, which writes an approval into the "
    "ledger and then the policy's file."
)


def with_calibration(report: Report, plan: Plan, learnt: Learnt) -> Report:
    """This will add the section to a report, and the proposal to its document.

    Args:
        report: of the plan.
        plan: whose open savings are shown as expected.
        learnt: from the ledger.
    """
    predicted, made = _predicted(plan), learnt.calibration
    section = CalibrationSection(
        realised=_realised(learnt.savings),
        expected=tuple(_expected(kind, saving, made.factors[kind]) for kind, saving in predicted.items()),
        proposed=tuple(_proposed(one) for one in made.changes),
        findings=tuple(CalibrationFinding(words.shown(one.subject), words.shown(one.says)) for one in made.findings),
        how=HOW if made.changes else "",
    )
    return replace(report, calibration=section, more={**report.more, "calibration": asdict(made)})


def expected_savings(plan: Plan, made: Calibration) -> dict[str, float]:
    """This will return the open saving a month of each kind that has any, times what such moves really save."""
    return {kind: float(saving) * made.factors[kind] for kind, saving in _predicted(plan).items()}


def _predicted(plan: Plan) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for one in plan.recommendations:
        if one.monthly is not None and one.kind in SAVING_KINDS:
            found[one.kind.value] = found.get(one.kind.value, Decimal(0)) + one.monthly.saving.p50
    return dict(sorted(found.items()))


def _realised(savings: Savings) -> str:
    if savings.predicted_gbp == 0 and savings.realised_gbp == 0:
        return "No move has been measured yet."
    return (
        f"Moves measured so far saved {pounds(savings.realised_gbp)} in their measured days; "
        f"{pounds(savings.predicted_gbp)} was predicted for the same hours."
    )


def _expected(kind: str, saving: Decimal, factor: float) -> ExpectedSaving:
    named = next(words.KINDS[one] for one in SAVING_KINDS if one.value == kind)
    return ExpectedSaving(named, pounds(saving), f"{factor:.3g}", pounds(float(saving) * factor))


def _proposed(one: Change) -> ProposedFigure:
    return ProposedFigure(one.setting, f"{one.now:g}", f"{one.proposed:g}", words.shown(words.sentence(one.why)))
