"""What a round writes: all of a name or none, only what changed, and never past the life of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.emit.live.publisher import Found, Round, Wanted, next_round
from tests.builders import NOON

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def wanted(life_hours: float = 4, *, stale: str = "", order: frozenset[str] = frozenset(), **values: int) -> Wanted:
    """The score cost-uk-any by cluster, that stands for some hours from noon."""
    scores = {name: {"cost-uk-any": value} for name, value in (values or {"a": 60, "b": 40}).items()}
    return Wanted(scores, NOON + life_hours * HOUR, stale=stale, order=order)


def found(life_hours: float | None = 4, **values: int) -> list[Found]:
    until = None if life_hours is None else NOON + life_hours * HOUR
    return [
        Found(name, "finops", {"cost-uk-any": value}, until) for name, value in (values or {"a": 60, "b": 40}).items()
    ]


def planned(wants: Wanted, there: list[Found], *, hours: float = 0, most: timedelta = DAY) -> Round:
    return next_round(wants, there, now=NOON + hours * HOUR, most=most)


def written(made: Round) -> dict[str, tuple[Mapping[str, int], float]]:
    """By namespace: the scores, and the hours after noon until which they stand."""
    return {one.namespace: (one.scores, (one.valid_until - NOON) / HOUR) for one in made.writes}


def test_the_first_round_writes_every_cluster_with_one_end() -> None:
    made = planned(wanted(), [])
    assert written(made) == {"a": ({"cost-uk-any": 60}, 4), "b": ({"cost-uk-any": 40}, 4)}


def test_a_second_round_with_nothing_new_writes_nothing() -> None:
    assert planned(wanted(), found()) == Round(unchanged=2)


@pytest.mark.parametrize(("value", "writes"), [(61, 0), (59, 0), (62, 1), (58, 1)])
def test_a_change_of_less_than_two_points_is_not_written(value: int, writes: int) -> None:
    assert len(planned(wanted(a=value, b=40), found()).writes) == writes


def test_a_cluster_that_changed_is_written_with_the_end_that_the_others_have() -> None:
    """The new inputs stand until 17:00, but the other cluster's score ends at 16:00: they must end together."""
    made = planned(wanted(5, a=70, b=40), found(4))
    assert written(made) == {"a": ({"cost-uk-any": 70}, 4)}


def test_all_are_renewed_when_half_of_their_life_is_over() -> None:
    """At noon a new score would stand 4 hours; 1 h 59 min are less than half of them, 2 hours are not."""
    assert len(planned(wanted(4), found(2)).writes) == 0
    assert written(planned(wanted(4), found(2 - 1 / 60))) == {
        "a": ({"cost-uk-any": 60}, 4),
        "b": ({"cost-uk-any": 40}, 4),
    }


def test_clusters_that_end_at_different_times_are_brought_together() -> None:
    """A round that was cut off left one of them behind."""
    torn = [*found(4, a=60), *found(2, b=40)]
    assert written(planned(wanted(4), torn)).keys() == {"a", "b"}


def test_scores_that_would_outlive_new_inputs_are_shortened_everywhere() -> None:
    assert {life for _, life in written(planned(wanted(1), found(4))).values()} == {1}


def test_an_object_without_an_end_gets_one() -> None:
    assert len(planned(wanted(), found(None)).writes) == 2


@pytest.mark.parametrize(
    ("wants", "why"),
    [
        (wanted(stale="class uk: aws/1 is too old"), "class uk: aws/1 is too old"),
        (wanted(-0.5), "the inputs are stale since 2026-11-30 11:30 UTC"),
        (Wanted({}, NOON + HOUR), "there are no scores"),
        (wanted(a=60, b=101), "cost-uk-any of b is 101, not in -100..100"),
        (Wanted({"a": {"x": 1, "y": 2}, "b": {"x": 1}}, NOON + HOUR), "b has no y, which other clusters have"),
    ],
)
def test_what_is_not_whole_is_held(wants: Wanted, why: str) -> None:
    made = planned(wants, found())
    assert (made.writes, made.held) == ((), why)


def test_a_score_that_is_gone_is_held_until_it_lapsed_everywhere() -> None:
    """Taken out cluster by cluster it would be 0 in some and stand in others."""
    two = [Found(name, "finops", {"cost-uk-any": 60, "cost-eu-any": 50}, NOON + HOUR) for name in ("a", "b")]
    assert "cost-eu-any is no longer scored" in planned(wanted(), two).held
    assert written(planned(wanted(), two, hours=1)).keys() == {"a", "b"}


def test_the_scores_of_a_cluster_that_left_the_fleet_are_taken_back() -> None:
    made = planned(wanted(), found(a=60, b=40, c=90))
    assert [one.namespace for one in made.withdraw] == ["c"]
    assert made.writes == ()


def test_clusters_in_which_workloads_run_are_written_first() -> None:
    """Cut off after them, what runs has a score and nothing else has: it stays."""
    made = planned(wanted(a=60, b=40, c=50, order=frozenset({"c"})), [])
    assert [one.namespace for one in made.writes] == ["c", "a", "b"]


def test_no_score_stands_longer_than_the_settings_allow() -> None:
    assert {life for _, life in written(planned(wanted(500), [], most=6 * HOUR)).values()} == {6}


def test_a_score_from_a_clock_that_was_ahead_is_shortened() -> None:
    """Written by a machine whose clock was two days ahead, it would stand for two days."""
    assert {life for _, life in written(planned(wanted(4), found(48))).values()} == {4}


VALUES = st.dictionaries(st.sampled_from("abcdef"), st.integers(-100, 100), min_size=1)
LIVES = st.floats(0.1, 40)


@given(wants=VALUES, has=VALUES, life=LIVES, left=LIVES, most=LIVES)
def test_after_any_round_all_clusters_end_together_and_none_outlives_its_inputs(
    wants: dict[str, int], has: dict[str, int], life: float, left: float, most: float
) -> None:
    there = {one.namespace: one for one in found(left, **has)}
    made = planned(wanted(life, **wants), list(there.values()), most=most * HOUR)
    assert not made.held
    after = {name: one for name, one in there.items() if one not in made.withdraw}
    after |= {one.namespace: Found(one.namespace, "finops", one.scores, one.valid_until) for one in made.writes}
    assert after.keys() == wants.keys()
    ends = {one.valid_until for one in after.values()}
    assert len(ends) == 1
    (end,) = ends
    assert end is not None
    assert end <= NOON + min(life, most) * HOUR
    assert all(abs(after[name].scores["cost-uk-any"] - value) < 2 for name, value in wants.items())
    again = planned(wanted(life, **wants), list(after.values()), most=most * HOUR)
    assert again == Round(unchanged=len(wants))
