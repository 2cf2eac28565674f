"""The report's section on what was learnt: every format shows it, and nothing of it is done by itself."""

from __future__ import annotations

import json
from decimal import Decimal

from recommender.advise.record import Guards
from recommender.calibrating import Learnt
from recommender.ledger.calibrate import Evidence, Verified, calibration
from recommender.ledger.measurement import Savings
from recommender.report.calibration import HOW, expected_savings, with_calibration
from recommender.report.registry import FORMATS
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.settings import Policy
from tests.recommender.world import plan, workload

GUARDS = Guards(
    saving_gbp_per_month=100.0,
    min_saving_gbp_per_month=20.0,
    saving_ratio=0.5,
    min_saving_ratio=0.15,
    payback_hours=1.0,
    max_payback_hours=168.0,
    balance_ratio=1.0,
    min_balance_ratio=0.5,
)
PLAN = plan(workload("web"))
SAVINGS = Savings(realised_gbp=Decimal("450.00"), predicted_gbp=Decimal("500.00"))


def told(moves: int, factor: float = 1.0) -> Report:
    policy = Policy.model_validate({"predictions": {"placement": factor}})
    made = calibration(Evidence(verified=[Verified("placement", 100.0, 90.0, GUARDS)] * moves), policy)
    nothing = Savings(realised_gbp=Decimal(0), predicted_gbp=Decimal(0))
    return with_calibration(report_of(PLAN), PLAN, Learnt(made, SAVINGS if moves else nothing))


def rendered(report: Report) -> dict[str, str]:
    return {one.name: one.render(report) for one in FORMATS}


def test_a_proposal_stands_in_every_format_that_people_read_and_in_the_document() -> None:
    texts = rendered(told(5))
    for name in ("html", "md"):
        for part in ("£450.00", "£500.00", "22", "calibrate --apply", "moves save 90% of what was predicted"):
            assert part in texts[name], (name, part)
    changes = json.loads(texts["json"])["calibration"]["changes"]
    assert {one["setting"] for one in changes} == {
        "predictions.placement",
        "steady.min_saving_gbp_per_month",
        "steady.min_saving_ratio",
    }


def test_where_there_is_not_enough_it_is_said_and_nothing_is_proposed() -> None:
    for moves, text in ((0, "0 of 5"), (3, "3 of 5")):
        texts = rendered(told(moves))
        for name in ("html", "md"):
            assert f"not enough matured items: {text}" in texts[name]
            assert HOW not in texts[name]
    assert "No move has been measured yet." in rendered(told(0))["md"]


def test_an_approved_factor_turns_what_is_predicted_into_what_is_expected() -> None:
    # (0.184 − 0.04) × 730 = 105.12 is predicted; × 0.9 is 94.608.
    section = told(0, factor=0.9).calibration
    assert section is not None
    [line] = section.expected
    assert (line.predicted, line.factor, line.expected) == ("£105.12", "0.9", "£94.61")
    made = calibration(Evidence(), Policy.model_validate({"predictions": {"placement": 0.9}}))
    assert expected_savings(PLAN, made) == {"placement": 105.12 * 0.9}


def test_without_a_ledger_there_is_no_section() -> None:
    texts = rendered(report_of(PLAN))
    assert "Realised against predicted" not in texts["html"] + texts["md"]
    assert "calibration" not in json.loads(texts["json"])
