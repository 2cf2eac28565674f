"""What buying nodes ahead is worth, worked out by hand, and what must hold for any usage and prices."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.advise.commit_worth import saving, steady, term_offered, used_share, worthwhile

DAY_AND_NIGHT = [4.0] * 12 + [2.0] * 12
"""Four nodes by day and two by night."""


def test_what_nearly_every_hour_needs_is_steady() -> None:
    assert steady([5.0] * 9 + [1.0], quantile=0.1) == 1.0
    assert steady([5.0] * 19 + [1.0], quantile=0.1) == 5.0
    assert steady(DAY_AND_NIGHT, quantile=0.1) == 2.0
    assert steady([], quantile=0.1) == 0.0


def test_a_node_of_the_day_is_used_half_the_time() -> None:
    assert [used_share(DAY_AND_NIGHT, number) for number in (1, 2, 3, 4, 5)] == [1.0, 1.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize(("committed", "nodes"), [(0.06, 2), (0.05, 2), (0.049, 4), (0.10, 0), (0.12, 0)])
def test_a_node_pays_only_beyond_its_break_even(committed: float, nodes: int) -> None:
    # On demand 0.10: at 0.06 a node has to be used for 60 % of the time, the third is used for half of it.
    assert worthwhile(DAY_AND_NIGHT, most=9, committed=committed, on_demand=0.10) == nodes


def test_a_saving_counts_the_hours_in_which_nodes_stand_idle() -> None:
    # Two nodes always used: 2 × (0.10 − 0.06); the third 0.05 − 0.06.
    prices = {"committed": 0.06, "on_demand": 0.10}
    assert saving(DAY_AND_NIGHT, first=1, last=2, **prices) == pytest.approx(0.08)
    assert saving(DAY_AND_NIGHT, first=3, last=3, **prices) == pytest.approx(-0.01)


def test_the_break_even_in_months_and_what_is_lost_when_usage_ends() -> None:
    # 2 nodes × 0.06 × 730 = 87.60 a month, 1051.20 a year; on demand 146.00 a month.
    one = term_offered("committed-1y", nodes=2, committed=0.06, on_demand=0.10, saving_gbp_per_hour=0.08)
    assert (one.break_even_ratio, one.break_even_months) == (0.6, 7.2)
    assert (one.whole_term_gbp, one.saving_gbp_per_month) == (1051.20, 58.40)
    assert one.losses_gbp == ((1, 905.20), (3, 613.20), (6, 175.20), (12, -700.80))


def test_three_years_are_told_by_their_own_months() -> None:
    one = term_offered("committed-3y", nodes=1, committed=0.04, on_demand=0.10, saving_gbp_per_hour=0.06)
    assert one.break_even_months == 14.4
    assert [month for month, _ in one.losses_gbp] == [1, 9, 18, 36]


_HOURS = st.lists(st.floats(0, 40), min_size=1, max_size=60)


@settings(max_examples=150, deadline=None)
@given(_HOURS, st.floats(0, 0.5), st.floats(0.001, 2), st.floats(0.001, 2), st.randoms(use_true_random=False))
def test_never_more_than_the_steady_base_and_never_a_saving_beyond_the_cost(
    hours: list[float], quantile: float, committed: float, on_demand: float, chance: random.Random
) -> None:
    base = int(steady(hours, quantile=quantile))
    nodes = worthwhile(hours, most=base, committed=committed, on_demand=on_demand)
    assert nodes <= base
    saved = saving(hours, first=1, last=nodes, committed=committed, on_demand=on_demand)
    assert -1e-9 <= saved <= nodes * on_demand
    assert nodes == 0 or committed < on_demand
    mixed = list(hours)
    chance.shuffle(mixed)
    assert steady(mixed, quantile=quantile) == steady(hours, quantile=quantile)
    assert worthwhile(mixed, most=base, committed=committed, on_demand=on_demand) == nodes
