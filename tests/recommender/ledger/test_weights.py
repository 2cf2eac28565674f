"""Weights follow decisions: who accepts holds the weight below what the advice is worth, who dismisses for it above.

The advice is that of world.py: web from on demand to spot in London. An interruption is expected 0.15 times a month and
node, of one replica 0.15 ÷ 730 an hour.
"""

from __future__ import annotations

import pytest

from recommender.advise.record import Recommendation
from recommender.ledger.bounds import Change, Finding
from recommender.ledger.weights import Decided, Judgement, judgements, weighed
from recommender.settings import Policy, Weights
from tests.recommender.ledger.remembering import only
from tests.recommender.world import GENERAL, METAL, SPOT, plan, pools, workload

TO_SPOT = only(plan(workload(interruption_tolerance="spot", checkpoint_minutes=30.0), pools=pools(GENERAL, SPOT)))
TO_METAL = only(plan(workload(), pools=pools(GENERAL, METAL)))
COST = Policy()


def worth_of(advice: Recommendation) -> float:
    """Pounds an hour that it would save were interruptions free, an expected interruption."""
    saves = advice.current.gbp_per_hour - advice.recommended.gbp_per_hour
    return (saves + advice.recommended.interruption_gbp_per_hour) / (advice.risk.interruptions_per_month / 730)


def heard(accepted: list[float], dismissed: list[float], weight: str = "interruption_gbp") -> list[Judgement]:
    return [
        *(Judgement(weight, worth, accepted=True) for worth in accepted),
        *(Judgement(weight, worth, accepted=False) for worth in dismissed),
    ]


def proposed(told: list[Judgement], weights: Weights | None = None, **week_ago: float) -> tuple[list[Change], Finding]:
    before = {f"weights.{name}": value for name, value in week_ago.items()}
    changes, findings = weighed(told, weights or Weights(), week_ago=before)
    return changes, next(one for one in findings if one.subject == "weight of an interruption")


def test_accepting_spot_says_that_an_interruption_is_worth_no_more_than_what_it_saves() -> None:
    [one] = judgements([Decided(TO_SPOT, accepted=True, reason="")], COST)
    assert (one.weight, one.accepted) == ("interruption_gbp", True)
    assert one.worth == pytest.approx(worth_of(TO_SPOT))
    assert one.worth > Weights().interruption_gbp


@pytest.mark.parametrize(
    "reason", ["too many spot interruptions", "Evicted twice", "pre-empted at night", "unreliable"]
)
def test_a_dismissal_for_interruptions_says_that_they_are_worth_more(reason: str) -> None:
    [one] = judgements([Decided(TO_SPOT, accepted=False, reason=reason)], COST)
    assert not one.accepted


@pytest.mark.parametrize("reason", ["change freeze", "the owner left", "despotic"])
def test_a_dismissal_for_another_reason_says_nothing(reason: str) -> None:
    assert judgements([Decided(TO_SPOT, accepted=False, reason=reason)], COST) == []


def test_advice_that_brings_no_interruption_says_nothing_of_them() -> None:
    assert judgements([Decided(TO_METAL, accepted=True, reason="")], COST) == []


def test_where_the_goal_is_reliability_the_other_weight_is_meant() -> None:
    target = TO_SPOT.target.model_copy(update={"residency_class": "bank"})
    advice = TO_SPOT.model_copy(update={"target": target})
    policy = Policy.model_validate({"classes": {"bank": {"goal": "reliability"}}})
    [one] = judgements([Decided(advice, accepted=True, reason="")], policy)
    assert one.weight == "reliability_interruption_gbp"


def test_distance_is_worth_what_it_saves_a_millisecond() -> None:
    """It saves £0.144 an hour beside a penalty of £0.001 more, and is 5 ms farther: (0.144 + 0.001) ÷ 5."""
    near = TO_METAL.current.model_copy(update={"latency_ms": 5.0, "latency_gbp_per_hour": 0.001})
    there = TO_METAL.recommended
    far = there.model_copy(
        update={"latency_ms": 10.0, "latency_gbp_per_hour": 0.002, "gbp_per_hour": near.gbp_per_hour - 0.144}
    )
    target = TO_METAL.target.model_copy(update={"residency_class": "game"})
    advice = TO_METAL.model_copy(update={"current": near, "recommended": far, "target": target})
    policy = Policy.model_validate({"classes": {"game": {"goal": "latency"}}})
    [one] = judgements([Decided(advice, accepted=False, reason="players say it is slow")], policy)
    assert (one.weight, one.worth) == ("latency_gbp_per_ms_hour", pytest.approx(0.029))
    assert judgements([Decided(advice, accepted=False, reason="players say it is slow")], COST) == []
    nearer = advice.model_copy(update={"current": far, "recommended": near})
    assert judgements([Decided(nearer, accepted=True, reason="")], policy) == []


def test_four_decisions_are_too_few() -> None:
    changes, found = proposed(heard([], [2, 3, 4, 5]))
    assert changes == []
    assert (found.items, found.says) == (4, "not enough decisions that bear on it: 4 of 5")


def test_five_dismissals_raise_the_weight_by_a_tenth_at_most() -> None:
    changes, found = proposed(heard([], [2, 3, 4, 5, 6]))
    # The weight that contradicts none of them is £6, the week allows 1.5 × 1.1.
    assert [(one.setting, one.now, one.proposed) for one in changes] == [("weights.interruption_gbp", 1.5, 1.65)]
    assert found.says == "0 accepted, 5 dismissed for it: they fit a weight of £6 best"
    assert proposed(heard([], [2, 3, 4, 5, 6]), Weights(interruption_gbp=1.65), interruption_gbp=1.5)[0] == []


def test_acceptances_hold_the_weight_below_what_was_accepted() -> None:
    """Three dismissed up to £1.60, three accepted from £1.62 on: £1.60 contradicts nobody."""
    changes, _ = proposed(heard([1.62, 2.0, 9.0], [1.52, 1.55, 1.60]))
    assert [one.proposed for one in changes] == [1.6]


def test_decisions_that_the_weight_fits_already_change_nothing() -> None:
    changes, found = proposed(heard([2, 3, 4, 5, 6], []))
    assert changes == []
    assert "no weight fits these decisions better" in found.says


def test_a_weight_of_nothing_stays_nothing() -> None:
    """A tenth of zero is zero: whoever left a goal without a price gives it one by hand."""
    assert proposed(heard([], [2, 3, 4, 5, 6]), Weights(interruption_gbp=0.0))[0] == []
