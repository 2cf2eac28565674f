"""Calibration: figures follow what was really saved, slowly, from enough of it, and only as a proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recommender.advise.record import Guards
from recommender.ledger.bounds import bounded_ratio, scale_of
from recommender.ledger.calibrate import Calibration, Evidence, Verified
from recommender.ledger.calibrate import calibration as of_policy
from recommender.ledger.proposal import as_diff
from recommender.settings import Policy, Steady

STEADY = Steady()
"""£20 a month and 15 %."""


def calibration(verified: list[Verified], steady: Steady, *, week_ago: Guards | None, **policy: Any) -> Calibration:
    return of_policy(
        Evidence(verified=verified, guards_week_ago=week_ago), Policy.model_validate({"steady": steady, **policy})
    )


def guards(pounds: float = 20.0, ratio: float = 0.15) -> Guards:
    return Guards(
        saving_gbp_per_month=100.0,
        min_saving_gbp_per_month=pounds,
        saving_ratio=0.5,
        min_saving_ratio=ratio,
        payback_hours=1.0,
        max_payback_hours=168.0,
        balance_ratio=1.0,
        min_balance_ratio=0.5,
    )


def moves(*realised: float, kind: str = "placement") -> list[Verified]:
    """Moves of which £100 was predicted."""
    return [Verified(kind, predicted_gbp=100.0, realised_gbp=one, guards=guards()) for one in realised]


def proposed(made: Calibration) -> dict[str, float]:
    return {one.setting.removeprefix("steady."): one.proposed for one in made.changes}


def says(made: Calibration, subject: str) -> str:
    return next(one.says for one in made.findings if one.subject == subject)


def test_four_moves_are_too_few_and_five_are_enough() -> None:
    few = calibration(moves(95, 95, 95, 95), STEADY, week_ago=None)
    assert few.changes == ()
    assert says(few, "thresholds of a move") == "not enough matured items: 4 of 5"
    assert says(few, "predictions of kind placement") == "not enough matured items: 4 of 5"
    # 20 ÷ 0.95 = 21.0526; 0.15 ÷ 0.95 = 0.157895; (5 × 0.95 + 10) ÷ 15 = 0.983333.
    enough = calibration(moves(95, 95, 95, 95, 95), STEADY, week_ago=None)
    assert proposed(enough) == {
        "predictions.placement": 0.983333,
        "min_saving_gbp_per_month": 21.0526,
        "min_saving_ratio": 0.157895,
    }
    assert says(enough, "predictions of kind purchase-option") == "not enough matured items: 0 of 5"


def test_the_median_move_counts_not_the_one_that_went_wrong() -> None:
    made = calibration(moves(96, 96, 96, 96, -900), STEADY, week_ago=None)
    assert "moves save 96% of what was predicted" in says(made, "thresholds of a move")


def test_predictions_of_nothing_do_not_count() -> None:
    nothing = [Verified("placement", predicted_gbp=0.0, realised_gbp=5.0, guards=guards())] * 5
    assert {one.items for one in calibration(nothing, STEADY, week_ago=None).findings} == {0}


def test_each_kind_is_read_by_its_own_moves() -> None:
    made = calibration(moves(*[70] * 5) + moves(*[100] * 9, kind="purchase-option"), STEADY, week_ago=None)
    # (5 × 0.7 + 10) ÷ 15 = 0.9; the other kind saved what was predicted.
    factors = {name: value for name, value in proposed(made).items() if name.startswith("predictions")}
    assert factors == {"predictions.placement": 0.9}


@pytest.mark.parametrize(("now", "realised", "factor"), [(1.0, -500, 0.9), (0.52, -500, 0.5), (1.45, 900, 1.5)])
def test_a_factor_stays_within_a_tenth_and_between_a_half_and_one_and_a_half(
    now: float, realised: float, factor: float
) -> None:
    made = calibration(moves(*[realised] * 20), STEADY, week_ago=None, predictions={"placement": now})
    assert proposed(made)["predictions.placement"] == pytest.approx(factor)


@pytest.mark.parametrize(("realised", "pounds"), [(50, 22.0), (200, 18.0), (0, 22.0), (-40, 22.0)])
def test_a_threshold_changes_by_a_tenth_a_week_at_most(realised: float, pounds: float) -> None:
    made = calibration(moves(*[realised] * 5), STEADY, week_ago=guards())
    assert proposed(made)["min_saving_gbp_per_month"] == pytest.approx(pounds)


def test_a_proposal_that_was_taken_this_week_is_not_followed_by_another() -> None:
    taken = Steady(min_saving_gbp_per_month=22.0, min_saving_ratio=0.165)
    this_week = proposed(calibration(moves(*[50] * 5), taken, week_ago=guards()))
    assert not {"min_saving_gbp_per_month", "min_saving_ratio"} & this_week.keys()
    week_later = calibration(moves(*[50] * 5), taken, week_ago=guards(22.0, 0.165))
    assert proposed(week_later)["min_saving_gbp_per_month"] == pytest.approx(24.2)


def test_a_proposal_that_was_reached_is_not_taken_twice() -> None:
    """Moves judged by £20 that save 95 % ask for £21.05, also when £21.05 is in force already."""
    reached = Steady(min_saving_gbp_per_month=21.0526, min_saving_ratio=0.157895)
    made = calibration(
        moves(*[95] * 5), reached, week_ago=guards(21.0526, 0.157895), predictions={"placement": 0.983333}
    )
    assert made.changes == ()
    assert "the thresholds stand" in says(made, "thresholds of a move")


def test_a_person_who_changed_a_threshold_by_more_is_not_contradicted_in_the_same_week() -> None:
    bold = Steady(min_saving_gbp_per_month=40.0)
    assert "min_saving_gbp_per_month" not in proposed(calibration(moves(*[95] * 5), bold, week_ago=guards()))


def test_a_factor_that_was_approved_this_week_is_not_followed_by_another() -> None:
    policy = Policy.model_validate({"predictions": {"placement": 0.9}})
    evidence = Evidence(verified=moves(*[0] * 10), approved={"predictions.placement": 1.0})
    assert "predictions.placement" not in proposed(of_policy(evidence, policy))
    # A week later: (0 + 10) ÷ 20 = 0.5 is wanted, 0.81 is allowed.
    later = proposed(of_policy(replace(evidence, approved={}), policy))
    assert later["predictions.placement"] == pytest.approx(0.81)


def test_the_scale_of_scores_follows_the_threshold_and_never_by_more_than_a_tenth() -> None:
    # 100 × 3 ÷ 10 ÷ −ln(0.85) = 184.59 and 100 × 1 ÷ 10 ÷ −ln(0.85) = 61.53: the reference's table of K.
    assert scale_of(steady_weight=3, cost_weight=10, min_saving_ratio=0.15) == pytest.approx(184.6, abs=0.05)
    assert scale_of(steady_weight=1, cost_weight=10, min_saving_ratio=0.15) == pytest.approx(61.5, abs=0.05)
    made = calibration(moves(*[200] * 5), STEADY, week_ago=guards())
    # A tenth less of 15 % would make K 12 % greater; 1 − 0.85^(1 ÷ 1.1) = 13.73 % makes it a tenth.
    assert proposed(made)["min_saving_ratio"] == pytest.approx(0.137348, abs=1e-6)
    assert made.scale_now is not None
    assert made.scale_proposed == pytest.approx(1.1 * made.scale_now, rel=1e-4)
    assert "K goes from 184.6 to 203.1" in says(made, "scale of scores")


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_no_scale_fits_a_threshold_of_nothing_or_of_all(ratio: float) -> None:
    made = calibration([], Steady(min_saving_ratio=ratio), week_ago=None)
    assert (made.scale_now, made.scale_proposed) == (None, None)
    assert "no scale fits" in says(made, "scale of scores")


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.0, 3.0))
def test_a_ratio_that_is_bounded_moves_the_scale_by_a_tenth_at_most(now: float, before: float, wanted: float) -> None:
    found = bounded_ratio(wanted, now=now, week_ago=before)
    scales = [scale_of(steady_weight=3, cost_weight=10, min_saving_ratio=one) or 0.0 for one in (now, found)]
    assert 0.9 * scales[0] * (1 - 1e-4) <= scales[1] <= 1.1 * scales[0] * (1 + 1e-4)


def test_the_diff_is_the_yaml_of_the_settings_and_says_that_nothing_was_changed() -> None:
    made = calibration(moves(*[95] * 5), STEADY, week_ago=None)
    text = as_diff(made, file="tuppence.yaml", section=("policy",))
    assert "# thresholds of a move: moves save 95% of what was predicted (median of 5)" in text.splitlines()
    assert "# Nothing was changed. To take it: tuppence calibrate --apply, or edit tuppence.yaml:" in text.splitlines()
    for sign, pounds, ratio, factor in (("-", 20, 0.15, 1), ("+", 21.0526, 0.157895, 0.983333)):
        kept = "\n".join(line[1:] for line in text.splitlines() if line[0] in {" ", sign})
        assert yaml.safe_load(kept) == {
            "policy": {
                "predictions": {"placement": factor},
                "steady": {"min_saving_gbp_per_month": pounds, "min_saving_ratio": ratio},
            }
        }


@given(
    st.lists(st.tuples(st.floats(0.01, 1e5), st.floats(-1e5, 1e5)), min_size=5, max_size=12),
    st.floats(0.0, 1e4),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1e4),
)
def test_no_proposal_ever_leaves_a_tenth_of_today_or_of_a_week_ago(
    money: list[tuple[float, float]], pounds: float, ratio: float, before: float
) -> None:
    verified = [Verified("placement", predicted, realised, guards()) for predicted, realised in money]
    steady = Steady(min_saving_gbp_per_month=pounds, min_saving_ratio=ratio)
    bases = {"min_saving_gbp_per_month": before, "min_saving_ratio": ratio, "predictions.placement": 1.0}
    made = calibration(verified, steady, week_ago=guards(before, ratio))
    for one in made.changes:
        base = bases[one.setting.removeprefix("steady.")]
        assert 0.9 * max(one.now, base) * (1 - 1e-5) <= one.proposed <= 1.1 * min(one.now, base) * (1 + 1e-5)
    Steady.model_validate({name: value for name, value in proposed(made).items() if "." not in name})
