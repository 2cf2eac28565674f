"""Of very many refusals those are told that would save most; how many there are is told whole."""

from __future__ import annotations

import pytest

from recommender.advise import refusals
from recommender.advise.plan import Plan
from tests.recommender.world import BELGIUM, GENERAL, METAL, SPOT, plan, policy, pools, workload


def london(number: int) -> dict[str, object]:
    """The larger the number, the more it would save anywhere else; residency and tolerance keep it where it is."""
    return workload(f"w{number}", vcpu_request_mean=number / 4, memory_gib_request_mean=1.0)


def told(made: Plan, stage: str) -> list[tuple[str, str]]:
    return sorted((one.workload.workload, one.rule) for one in made.refused if one.stage == stage)


def counted(made: Plan) -> dict[str, int]:
    return {one.rule: one.offers for one in made.summary.refused_offers}


def test_beyond_the_cap_of_a_stage_the_refusals_that_would_save_most_are_told_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Spot takes two thirds off n/4 × 0.03 + 0.004, Belgium n/4 × 0.01 + 0.001: the three dearest on spot lead.
    rows = [london(number) for number in range(1, 11)]
    whole = plan(*rows, pools=pools(GENERAL, SPOT, BELGIUM))
    monkeypatch.setattr(refusals, "MOST_TOLD", 3)
    capped = plan(*rows, pools=pools(GENERAL, SPOT, BELGIUM))
    assert len(told(whole, "constraint")) == 20
    assert told(capped, "constraint") == [("w10", "interruption"), ("w8", "interruption"), ("w9", "interruption")]
    assert counted(capped) == counted(whole) == {"interruption": 10, "residency": 10}


def test_each_stage_has_a_cap_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # On the racks all would save, but none as much as the policy asks for.
    monkeypatch.setattr(refusals, "MOST_TOLD", 2)
    strict = policy(steady={"min_saving_gbp_per_month": 10_000})
    made = plan(*(london(number) for number in range(1, 6)), pools=pools(GENERAL, SPOT, METAL), policy=strict)
    assert told(made, "constraint") == [("w4", "interruption"), ("w5", "interruption")]
    assert told(made, "guard") == [("w4", "min_saving"), ("w5", "min_saving")]
    assert counted(made) == {"interruption": 5, "min_saving": 5}


def test_what_is_refused_to_a_workload_that_moves_is_told_over_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    # The mover goes to Belgium and would be cheaper on spot; nothing is told of the other, which stays.
    monkeypatch.setattr(refusals, "MOST_TOLD", 0)
    made = plan(workload("mover", residency_class="europe"), london(8), pools=pools(GENERAL, SPOT, BELGIUM))
    assert [one.target.workload for one in made.recommendations] == ["mover"]
    assert told(made, "constraint") == [("mover", "interruption")]
    assert counted(made) == {"interruption": 2, "residency": 1}
