"""What owned nodes admit: gangs on real nodes, never the sum of what is free."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.burst.admissible import admit, nominal
from tests.recommender.burst.units_of import GPU_NODE, unit

GPUS = ("gpu", "H100")


def test_three_nodes_of_eight_admit_three_pods_of_five_and_not_four() -> None:
    found = admit([unit(f"five-{number}", gpus=5) for number in range(4)], [GPU_NODE])
    assert len(found.left) == 1
    assert found.amounts[GPUS] == 15
    assert nominal([GPU_NODE])[GPUS] == 24


def test_a_gang_is_placed_whole_or_not_at_all() -> None:
    gang = unit("gang", gpus=5, replicas=4)
    beside = unit("one", gpus=4, is_critical=True)
    assert admit([replace(gang, replicas=3), beside], [GPU_NODE]).left == (replace(gang, replicas=3),)
    assert admit([replace(gang, replicas=3)], [GPU_NODE]).amounts[GPUS] == 15


def test_what_small_pods_could_still_use_does_not_hide_that_a_large_one_waits() -> None:
    # Two GPUs in each node are free, and a pod of four finds no room: six free GPUs admit nothing more.
    mix = [*(unit(f"six-{n}", gpus=6) for n in range(3)), unit("four", gpus=4), unit("one", gpus=1)]
    found = admit(mix, [GPU_NODE])
    assert [one.workload[3] for one in found.left] == ["four"]
    assert found.amounts[GPUS] == 19


def test_the_mix_is_repeated_until_nothing_more_fits() -> None:
    assert admit([unit("two", gpus=2)], [GPU_NODE]).amounts[GPUS] == 24
    assert admit([unit("three", gpus=3)], [GPU_NODE]).amounts[GPUS] == 18


def test_critical_units_are_placed_before_larger_ones() -> None:
    large = unit("large", gpus=8, replicas=3)
    assert admit([large, unit("vital", gpus=1, is_critical=True)], [GPU_NODE]).left == (large,)


def test_a_running_unit_is_placed_before_a_waiting_one() -> None:
    waits = unit("waits", gpus=8, replicas=3, is_waiting=True)
    assert admit([waits, unit("runs", gpus=1)], [GPU_NODE]).left == (waits,)


def test_gpus_of_another_model_and_processors_of_another_kind_do_not_serve() -> None:
    other = unit("l4", gpus=1, gpu_class="L4", gpu_models=frozenset({"L4"}))
    arm = unit("arm", architecture="arm64")
    assert admit([other, arm], [GPU_NODE]).never == (arm, other)


def test_what_is_larger_than_the_empty_nodes_is_no_sign_that_they_are_full() -> None:
    huge, gang = unit("huge", vcpus=97), unit("gang", gpus=5, replicas=4)
    found = admit([huge, gang, unit("one", gpus=1)], [GPU_NODE])
    assert found.never == (gang, huge)
    assert found.left == ()
    assert found.amounts[GPUS] == 24


def test_no_nodes_admit_nothing() -> None:
    assert admit([unit("any")], []).amounts == {}


def test_what_nothing_runs_out_of_is_admitted_to_the_last() -> None:
    # Eight GPUs a node are used up long before 96 vCPUs and 512 GiB are.
    found = admit([unit(f"eight-{n}", gpus=8, vcpus=8) for n in range(4)], [GPU_NODE])
    assert found.amounts[GPUS] == 24
    assert found.amounts["vcpu", "amd64"] == 3 * 96


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_what_is_admitted_never_exceeds_the_nodes_and_does_not_depend_on_order(
    sizes: list[tuple[int, int]], order: object
) -> None:
    mix = [unit(f"u{n:02d}", gpus=gpus, replicas=replicas) for n, (gpus, replicas) in enumerate(sizes)]
    found = admit(mix, [GPU_NODE])
    assert found.amounts.get(GPUS, 0.0) <= 24
    shuffled = list(mix)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    again = admit(shuffled, [GPU_NODE])
    assert again.left == found.left
    assert again.amounts == pytest.approx(found.amounts)
