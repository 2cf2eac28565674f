"""Places with a limit go where they are worth most, and never beyond the limit."""

from __future__ import annotations

import dataframely as dy
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from recommender.frames import Gain, Use
from recommender.place.choose import choose

ROOMY, METAL = 0, 1


def gains(*rows: tuple[int, int, float, bool]) -> dy.DataFrame[Gain]:
    return Gain.validate(pl.DataFrame(list(rows), schema=Gain.create_empty().schema, orient="row"))


def uses(*rows: tuple[int, int, str, float, float]) -> dy.DataFrame[Use]:
    return Use.validate(pl.DataFrame(list(rows), schema=Use.create_empty().schema, orient="row"))


def test_without_limits_everybody_takes_the_best_place() -> None:
    assert choose(gains((0, 0, 1.0, False), (0, 1, 2.0, False)), uses()).rows() == [(0, 1)]


def test_a_scarce_place_goes_to_the_greater_gain_per_share_and_the_other_takes_its_second_best() -> None:
    wanted = gains((0, METAL, 4.0, False), (0, ROOMY, 1.0, False), (1, METAL, 3.0, False))
    # Workload 0 gains 3 more than elsewhere for 8 of 10; workload 1 gains 3 for 4 of 10.
    taken = uses((0, METAL, "metal vcpus", 8.0, 10.0), (1, METAL, "metal vcpus", 4.0, 10.0))
    assert choose(wanted, taken).rows() == [(0, ROOMY), (1, METAL)]


def test_a_place_without_a_limit_that_is_better_leaves_the_scarce_one_to_others() -> None:
    wanted = gains((0, METAL, 1.0, False), (0, ROOMY, 2.0, False), (1, METAL, 0.5, False))
    taken = uses((0, METAL, "metal vcpus", 6.0, 6.0), (1, METAL, "metal vcpus", 6.0, 6.0))
    assert choose(wanted, taken).rows() == [(0, ROOMY), (1, METAL)]


def test_who_must_move_comes_first_even_at_a_loss() -> None:
    wanted = gains((0, METAL, 9.0, False), (1, METAL, -1.0, True))
    taken = uses((0, METAL, "metal gpus", 4.0, 4.0), (1, METAL, "metal gpus", 4.0, 4.0))
    assert choose(wanted, taken).rows() == [(1, METAL)]


def test_who_must_move_and_has_nowhere_else_comes_before_who_has() -> None:
    wanted = gains((0, METAL, 9.0, True), (0, ROOMY, 1.0, True), (1, METAL, -1.0, True))
    taken = uses((0, METAL, "metal gpus", 4.0, 4.0), (1, METAL, "metal gpus", 4.0, 4.0))
    assert choose(wanted, taken).rows() == [(0, ROOMY), (1, METAL)]


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
    given_ = choose(gains(*wanted), uses(*taken))
    assert given_.equals(choose(gains(*reversed(wanted)), uses(*reversed(taken))))
    amounts = {(w, p): amount for w, p, _, amount, _ in taken}
    for p, limit in free.items():
        assert sum(amounts[w, q] for w, q in given_.rows() if q == p) <= limit + 1e-6
