"""Places with a limit go where they are worth most, and never beyond the limit."""

from __future__ import annotations

import itertools
import random

import dataframely as dy
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.frames import Gain, Use
from recommender.place.choose import Chosen, choose

ROOMY, METAL = 0, 1


def gains(*rows: tuple[int, int, float, bool]) -> dy.DataFrame[Gain]:
    return Gain.validate(pl.DataFrame(list(rows), schema=Gain.create_empty().schema, orient="row"))


def uses(*rows: tuple[int, int, str, float, float]) -> dy.DataFrame[Use]:
    return Use.validate(pl.DataFrame(list(rows), schema=Use.create_empty().schema, orient="row"))


def test_without_limits_everybody_takes_the_best_place() -> None:
    assert choose(gains((0, 0, 1.0, False), (0, 1, 2.0, False)), uses()).assignment.rows() == [(0, 1)]


def test_a_scarce_place_goes_to_the_greater_gain_per_share_and_the_other_takes_its_second_best() -> None:
    wanted = gains((0, METAL, 4.0, False), (0, ROOMY, 1.0, False), (1, METAL, 3.5, False))
    # Workload 0 gains 3 more than elsewhere for 8 of 10; workload 1 gains 3.50 for 4 of 10.
    taken = uses((0, METAL, "metal vcpus", 8.0, 10.0), (1, METAL, "metal vcpus", 4.0, 10.0))
    assert choose(wanted, taken).assignment.rows() == [(0, ROOMY), (1, METAL)]


def test_a_place_without_a_limit_that_is_better_leaves_the_scarce_one_to_others() -> None:
    wanted = gains((0, METAL, 1.0, False), (0, ROOMY, 2.0, False), (1, METAL, 0.5, False))
    taken = uses((0, METAL, "metal vcpus", 6.0, 6.0), (1, METAL, "metal vcpus", 6.0, 6.0))
    assert choose(wanted, taken).assignment.rows() == [(0, ROOMY), (1, METAL)]


def test_who_must_move_comes_first_even_at_a_loss() -> None:
    wanted = gains((0, METAL, 9.0, False), (1, METAL, -1.0, True))
    taken = uses((0, METAL, "metal gpus", 4.0, 4.0), (1, METAL, "metal gpus", 4.0, 4.0))
    assert choose(wanted, taken).assignment.rows() == [(1, METAL)]


def test_who_must_move_and_has_nowhere_else_comes_before_who_has() -> None:
    wanted = gains((0, METAL, 9.0, True), (0, ROOMY, 1.0, True), (1, METAL, -1.0, True))
    taken = uses((0, METAL, "metal gpus", 4.0, 4.0), (1, METAL, "metal gpus", 4.0, 4.0))
    assert choose(wanted, taken).assignment.rows() == [(0, ROOMY), (1, METAL)]


AMOUNTS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 3), st.floats(0.01, 10), st.floats(0.1, 10), st.booleans()),
    unique_by=lambda row: row[:2],
    max_size=24,
)


@given(rows=AMOUNTS)
def test_no_limit_is_ever_exceeded_and_order_does_not_matter(rows: list[tuple[int, int, float, float, bool]]) -> None:
    free = {1: 5.0, 2: 10.0, 3: 1.0}
    wanted = [(w, p, gain, must) for w, p, gain, _, must in rows]
    taken = [(w, p, f"pool {p}", amount, free[p]) for w, p, _, amount, _ in rows if p in free]
    given_ = choose(gains(*wanted), uses(*taken)).assignment
    assert given_.equals(choose(gains(*reversed(wanted)), uses(*reversed(taken))).assignment)
    amounts = {(w, p): amount for w, p, _, amount, _ in taken}
    for p, limit in free.items():
        assert sum(amounts[w, q] for w, q in given_.rows() if q == p) <= limit + 1e-6


def gain_of(chosen: Chosen, wanted: list[tuple[int, int, float, bool]]) -> float:
    gain = {(w, p): value for w, p, value, _ in wanted}
    return sum(gain[pair] for pair in chosen.assignment.rows())


TWO_RESOURCES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 2),
        st.floats(-2, 10),
        st.floats(0.1, 6),
        st.floats(0.1, 6),
    ),
    unique_by=lambda row: row[:2],
    min_size=1,
    max_size=12,
)


@given(rows=TWO_RESOURCES, must=st.sets(st.integers(0, 4), max_size=2))
def test_of_all_assignments_that_keep_the_limits_the_best_is_given_and_its_bound_is_not_below_it(
    rows: list[tuple[int, int, float, float, float]], must: set[int]
) -> None:
    wanted = [(w, p, gain, w in must) for w, p, gain, _, _ in rows]
    taken = [
        (w, p, f"pool {p} {word}", amount, 6.0)
        for w, p, _, vcpus, gib in rows
        if p
        for word, amount in (("vcpus", vcpus), ("memory_gib", gib))
    ]
    chosen = choose(gains(*wanted), uses(*taken))
    homeless, best = best_by_trying_all(rows, must)
    given_ = chosen.assignment.rows()
    moved = {w for w, _ in given_}
    movable = {w for w, *_ in rows}
    assert len((must & movable) - moved) == homeless
    assert gain_of(chosen, wanted) == pytest.approx(best, abs=1e-6)
    assert chosen.gain_bound_gbp_per_hour >= gain_of(chosen, wanted) - 1e-9


def best_by_trying_all(rows: list[tuple[int, int, float, float, float]], must: set[int]) -> tuple[int, float]:
    """Fewest workloads left that must move, then the greatest gain: every combination is tried."""
    by_workload: dict[int, list[tuple[int, float, float, float] | None]] = {}
    for w, p, gain, vcpus, gib in rows:
        by_workload.setdefault(w, [None]).append((p, gain, vcpus, gib))
    results = []
    for combination in itertools.product(*by_workload.values()):
        used = {p: [0.0, 0.0] for p in range(3)}
        for one in combination:
            if one:
                used[one[0]][0] += one[2]
                used[one[0]][1] += one[3]
        if all(max(used[p]) <= 6.0 for p in (1, 2)):
            left = sum(1 for w, one in zip(by_workload, combination, strict=True) if w in must and one is None)
            results.append((left, -sum(one[1] for one in combination if one)))
    left, cost = min(results)
    return left, -cost


def crowd(count: int, seed: int) -> tuple[list[tuple[int, int, float, bool]], list[tuple[int, int, str, float, float]]]:
    """Workloads that want three crowded pools: more than the exact search takes."""
    chance = random.Random(seed)
    wanted, taken = [], []
    for w in range(count):
        vcpus, gib = chance.choice((1.0, 2.0, 4.0, 8.0)), chance.uniform(1, 32)
        for p in range(1, 4):
            wanted.append((w, p, vcpus * chance.uniform(0.01, 0.04) + gib * 0.002, False))
            taken += [(w, p, f"pool {p} vcpus", vcpus, count / 3), (w, p, f"pool {p} memory_gib", gib, count * 1.5)]
        wanted.append((w, 0, chance.uniform(0, 0.02), False))
    return wanted, taken


def test_a_crowd_is_placed_within_a_thousandth_of_the_bound() -> None:
    wanted, taken = crowd(1_500, seed=7)
    chosen = choose(gains(*wanted), uses(*taken))
    assert 0.999 * chosen.gain_bound_gbp_per_hour <= gain_of(chosen, wanted) <= chosen.gain_bound_gbp_per_hour + 1e-9


def test_the_price_of_a_limit_is_what_one_more_unit_of_it_would_gain() -> None:
    # Forty workloads of 1 GPU gain £1 to £40 an hour there; 25 find room, so the 26th GPU is worth £15.
    wanted = [(w, METAL, float(w + 1), False) for w in range(40)]
    taken = [(w, METAL, "metal gpus", 1.0, 25.0) for w in range(40)]
    chosen = choose(gains(*wanted), uses(*taken))
    [(limit, price, free)] = chosen.prices.rows()
    assert (limit, free) == ("metal gpus", 25.0)
    assert 15.0 - 1e-6 <= price <= 16.0 + 1e-6
    assert gain_of(chosen, wanted) == sum(range(16, 41))


def test_room_that_is_not_scarce_has_no_price() -> None:
    wanted = gains((0, METAL, 9.0, False), (1, METAL, 1.0, False))
    assert choose(wanted, uses((0, METAL, "metal", 1.0, 2.0), (1, METAL, "metal", 1.0, 2.0))).prices.is_empty()
