"""A move is advised only if it is worth it, and not again so soon."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recommender.advise.plan import Plan
from tests.builders import NOON
from tests.properties import examples
from tests.recommender.world import GENERAL, METAL, SPOT, move, moves, plan, policy, pools, workload

# The default workload saves (0.184 − 0.04) × 730 = £105.12 a month, 78 %, by moving onto owned machines.


def held_by(made: Plan) -> str:
    """The guard that kept the only workload where it is; empty when it moves."""
    if made.recommendations:
        return ""
    [rule] = [one.rule for one in made.refused if one.stage == "guard"]
    return rule


@pytest.mark.parametrize(
    ("steady", "rule"),
    [
        ({"min_saving_gbp_per_month": 105.11}, ""),
        ({"min_saving_gbp_per_month": 105.13}, "min_saving"),
        ({"min_saving_ratio": 0.78}, ""),
        ({"min_saving_ratio": 0.79}, "min_saving_ratio"),
        ({"max_moves_per_week": 0}, "max_moves_per_week"),
    ],
)
def test_a_threshold_in_pounds_and_one_in_percent_hold_small_moves_back(steady: dict[str, float], rule: str) -> None:
    assert held_by(plan(workload(), pools=pools(GENERAL, METAL), policy=policy(steady=steady))) == rule


@pytest.mark.parametrize(("hours", "rule"), [(71, "cool_down"), (73, "")])
def test_a_workload_that_moved_stays_for_the_cool_down(hours: int, rule: str) -> None:
    history = moves(move(moved_at=NOON - timedelta(hours=hours), from_cluster="elsewhere", from_pool="x"))
    assert held_by(plan(workload(), pools=pools(GENERAL, METAL), moves=history)) == rule


@pytest.mark.parametrize(("hours", "rule"), [(100, "undo"), (169, "")])
def test_a_move_is_not_undone_within_the_payback_horizon(hours: int, rule: str) -> None:
    history = moves(move(moved_at=NOON - timedelta(hours=hours), from_cluster="onprem-lon", from_pool="metal"))
    assert held_by(plan(workload(), pools=pools(GENERAL, METAL), moves=history)) == rule


@pytest.mark.parametrize(("minutes", "rule"), [(59, ""), (61, "minimum_runtime")])
def test_a_workload_runs_its_minimum_time_first(minutes: int, rule: str) -> None:
    young = workload(first_seen=NOON - timedelta(hours=1), minimum_runtime_minutes=float(minutes))
    assert held_by(plan(young, pools=pools(GENERAL, METAL))) == rule


def test_moves_of_the_last_seven_days_count_against_the_weeks_most() -> None:
    recent = [move(f"other-{n}", moved_at=NOON - timedelta(days=n)) for n in (1, 6, 8)]
    for most, advised in ((2, 0), (3, 1)):
        made = plan(
            workload(),
            pools=pools(GENERAL, METAL),
            moves=moves(*recent),
            policy=policy(steady={"max_moves_per_week": most}),
        )
        assert len(made.recommendations) == advised


def test_a_move_that_disturbs_much_for_little_is_left_out() -> None:
    # All three save £105.12; 'many' has 40 of 44 replicas: (1/3) ÷ (40/44) = 0.37 of what its disruption calls for.
    rows = [workload("a"), workload("b"), workload("many", replicas_mean=40.0)]
    made = plan(*rows, pools=pools(GENERAL, METAL))
    assert [one.target.workload for one in made.recommendations] == ["a", "b"]
    [held] = [one for one in made.refused if one.stage == "guard"]
    assert (held.workload.workload, held.rule) == ("many", "balance")
    assert held.why.startswith("it brings 0.37 of the saving")


def test_critical_replicas_weigh_four_times_those_of_low_criticality() -> None:
    rows = [workload(name, criticality=name) for name in ("low", "high")]
    made = plan(*rows, pools=pools(GENERAL, METAL))
    ratios = {one.target.workload: one.guards.balance_ratio for one in made.recommendations}
    # Half of the saving each; 1 of 5 and 4 of 5 parts of the disruption.
    assert ratios == {"low": pytest.approx(2.5), "high": pytest.approx(0.625)}


def test_a_breach_is_not_held_back_by_any_guard() -> None:
    on_spot = workload(pool="spot", capacity_type="spot")
    history = moves(move(moved_at=NOON - timedelta(hours=1)))
    made = plan(on_spot, pools=pools(GENERAL, SPOT), moves=history, policy=policy(steady={"max_moves_per_week": 0}))
    [one] = made.recommendations
    assert (one.kind.value, one.recommended.capacity_type) == ("compliance", "on-demand")


def test_of_two_moves_that_save_the_same_the_one_that_disturbs_more_is_dropped_first_under_the_cap() -> None:
    calm, loud = workload("calm", replicas_mean=2.0), workload("loud", replicas_mean=3.0)
    made = plan(calm, loud, pools=pools(GENERAL, METAL), policy=policy(steady={"max_moves_per_week": 1}))
    assert [one.target.workload for one in made.recommendations] == ["calm"]
    [held] = [one for one in made.refused if one.stage == "guard"]
    assert (held.workload.workload, held.rule) == ("loud", "max_moves_per_week")


def test_a_way_round_through_a_third_place_does_not_lead_back_either() -> None:
    history = moves(
        move(moved_at=NOON - timedelta(hours=160), from_cluster="onprem-lon", from_pool="metal"),
        move(moved_at=NOON - timedelta(hours=80), from_cluster="gke-bel", from_pool="general"),
    )
    assert held_by(plan(workload(), pools=pools(GENERAL, METAL), moves=history)) == "undo"


PAST = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 300),
        st.sampled_from([("onprem-lon", "metal"), ("gke-bel", "general"), ("elsewhere", "x")]),
    ),
    unique_by=lambda one: one[:2],
    max_size=8,
)
FLEET_ROWS = st.lists(
    st.tuples(st.floats(0.5, 20), st.integers(1, 20), st.floats(0, 300), st.sampled_from(["low", "medium", "high"])),
    min_size=3,
    max_size=3,
)


@settings(max_examples=examples(8, 50), suppress_health_check=[HealthCheck.too_slow])
@given(past=PAST, rows=FLEET_ROWS, most=st.integers(0, 4))
def test_whatever_happened_before_no_advice_breaks_a_guard(
    past: list[tuple[str, int, tuple[str, str]]], rows: list[tuple[float, int, float, str]], most: int
) -> None:
    usage = [
        workload(
            name, vcpu_request_mean=vcpus, replicas_mean=float(count), minimum_runtime_minutes=minutes, criticality=one
        )
        for name, (vcpus, count, minutes, one) in zip("abc", rows, strict=True)
    ]
    history = [
        move(name, moved_at=NOON - timedelta(hours=hours), from_cluster=place[0], from_pool=place[1])
        for name, hours, place in past
    ]
    limits = {"max_moves_per_week": most, "min_saving_gbp_per_month": 5.0}
    made = plan(*usage, pools=pools(GENERAL, METAL), moves=moves(*history), policy=policy(steady=limits))
    within_a_week = sum(1 for _, hours, _ in past if hours < 168)
    assert len(made.recommendations) <= max(0, most - within_a_week)
    for advice in made.recommendations:
        own = [(hours, place) for name, hours, place in past if name == advice.target.workload]
        assert all(hours >= 72 for hours, _ in own)
        assert all(hours >= 168 for hours, place in own if place == ("onprem-lon", "metal"))
        minutes = next(row["minimum_runtime_minutes"] for row in usage if row["workload"] == advice.target.workload)
        assert all(hours * 60 >= minutes for hours, _ in own)
        guards = advice.guards
        assert guards.saving_gbp_per_month >= 5.0
        assert guards.saving_ratio >= 0.15
        assert guards.payback_hours <= 168
        assert guards.balance_ratio >= 0.5
