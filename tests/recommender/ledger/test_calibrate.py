"""Calibration: thresholds follow what was really saved, slowly, from enough of it, and only as a proposal."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from recommender.advise.record import Guards
from recommender.ledger.calibrate import Calibration, Verified, as_diff, calibration
from recommender.settings import Steady

STEADY = Steady()
"""£20 a month and 15 %."""


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


def moves(*realised: float, judged_by: Guards | None = None) -> list[Verified]:
    """Moves of which £100 was predicted."""
    return [Verified(predicted_gbp=100.0, realised_gbp=one, guards=judged_by or guards()) for one in realised]


def proposed(made: Calibration) -> dict[str, float]:
    return {one.setting: one.proposed for one in made.changes}


def test_four_moves_are_too_few_and_five_are_enough() -> None:
    few = calibration(moves(95, 95, 95, 95), STEADY, week_ago=None)
    assert (few.ratio, few.changes, few.why) == (None, (), "4 verified moves, and 5 are needed")
    # 20 ÷ 0.95 = 21.052632; 0.15 ÷ 0.95 = 0.157895.
    enough = calibration(moves(95, 95, 95, 95, 95), STEADY, week_ago=None)
    assert proposed(enough) == {"min_saving_gbp_per_month": 21.052632, "min_saving_ratio": 0.157895}


def test_the_median_move_counts_not_the_one_that_went_wrong() -> None:
    made = calibration(moves(96, 96, 96, 96, -900), STEADY, week_ago=None)
    assert made.ratio == 0.96


def test_predictions_of_nothing_do_not_count() -> None:
    nothing = [Verified(predicted_gbp=0.0, realised_gbp=5.0, guards=guards())] * 5
    assert calibration(nothing, STEADY, week_ago=None).items == 0


@pytest.mark.parametrize(("realised", "pounds"), [(50, 22.0), (200, 18.0), (0, 22.0), (-40, 22.0)])
def test_a_threshold_changes_by_a_tenth_a_week_at_most(realised: float, pounds: float) -> None:
    made = calibration(moves(*[realised] * 5), STEADY, week_ago=guards())
    assert proposed(made)["min_saving_gbp_per_month"] == pytest.approx(pounds)


def test_a_proposal_that_was_taken_this_week_is_not_followed_by_another() -> None:
    taken = Steady(min_saving_gbp_per_month=22.0, min_saving_ratio=0.165)
    assert calibration(moves(*[50] * 5), taken, week_ago=guards()).changes == ()
    week_later = calibration(moves(*[50] * 5), taken, week_ago=guards(22.0, 0.165))
    assert proposed(week_later)["min_saving_gbp_per_month"] == pytest.approx(24.2)


def test_a_proposal_that_was_reached_is_not_taken_twice() -> None:
    """Moves judged by £20 that save 95 % ask for £21.05, also when £21.05 is in force already."""
    reached = Steady(min_saving_gbp_per_month=21.052632, min_saving_ratio=0.157895)
    made = calibration(moves(*[95] * 5), reached, week_ago=guards(21.052632, 0.157895))
    assert made.changes == ()
    assert "the thresholds stand" in made.why


def test_a_person_who_changed_a_threshold_by_more_is_not_contradicted_in_the_same_week() -> None:
    bold = Steady(min_saving_gbp_per_month=40.0)
    assert "min_saving_gbp_per_month" not in proposed(calibration(moves(*[95] * 5), bold, week_ago=guards()))


def test_the_diff_is_the_yaml_of_the_settings_and_says_that_nothing_was_changed() -> None:
    made = calibration(moves(*[95] * 5), STEADY, week_ago=None)
    text = as_diff(made, file="tuppence.yaml", section=("policy",))
    assert text.splitlines()[:2] == [
        "# moves save 95% of what was predicted (median of 5)",
        "# Nothing was changed. To take it, edit tuppence.yaml:",
    ]
    for sign, pounds, ratio in (("-", 20, 0.15), ("+", 21.0526, 0.157895)):
        kept = "\n".join(line[1:] for line in text.splitlines() if line[0] in {" ", sign})
        assert yaml.safe_load(kept) == {
            "policy": {"steady": {"min_saving_gbp_per_month": pounds, "min_saving_ratio": ratio}}
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
    verified = [Verified(predicted, realised, guards()) for predicted, realised in money]
    steady = Steady(min_saving_gbp_per_month=pounds, min_saving_ratio=ratio)
    for one in calibration(verified, steady, week_ago=guards(before, ratio)).changes:
        base = before if one.setting == "min_saving_gbp_per_month" else ratio
        assert 0.9 * max(one.now, base) - 1e-6 <= one.proposed <= 1.1 * min(one.now, base) + 1e-6
        Steady.model_validate({one.setting: one.proposed})
