"""Pods on the nodes of one pool, by numbers worked out by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.advise.first_fit import packed, without_node
from recommender.advise.node_bound import lower_bound
from recommender.advise.pods import Machine, Replicas

SMALL = Machine("small", "on-demand/amd64", (4.0, 16.0, 0.0), "", 0.20, 0.20, 4.0)
LARGE = Machine("large", "on-demand/amd64", (8.0, 32.0, 0.0), "", 0.36, 0.36, 8.0)
ARM = Machine("arm", "on-demand/arm64", (4.0, 16.0, 0.0), "", 0.10, 0.10, 4.0)
T4 = Machine("t4", "on-demand/amd64", (4.0, 16.0, 1.0), "NVIDIA T4", 0.60, 0.60, 4.0)
PAID = Machine("paid", "committed-1y/amd64", (4.0, 16.0, 0.0), "", 0.0, 0.20, 4.0)


def pods(w: int, count: int, vcpus: float, memory_gib: float = 1.0, **changes: object) -> Replicas:
    fields = {"kind": "on-demand/amd64", "gpu_model": ""} | changes
    gpus = float(str(fields.pop("gpus", 0.0)))
    return Replicas(
        w=w, count=count, need=(vcpus, memory_gib, gpus), kind=str(fields["kind"]), gpu_model=str(fields["gpu_model"])
    )


def test_three_vcpus_and_one_share_a_node_so_that_two_nodes_hold_two_of_each() -> None:
    found = packed([pods(1, 2, 3.0), pods(2, 2, 1.0)], [SMALL], None)
    assert found.nodes == (("small", 2),)
    assert found.gbp_per_hour == pytest.approx(0.40)
    assert found.bound_gbp_per_hour == pytest.approx(0.40)


def test_pods_larger_than_half_a_node_stand_alone_and_the_bound_knows_it() -> None:
    # 3 × 2.5 vCPU are 1.875 nodes by volume, yet no two share one.
    found = packed([pods(1, 3, 2.5)], [SMALL], None)
    assert found.nodes == (("small", 3),)
    assert found.bound_gbp_per_hour == pytest.approx(0.60)


def test_the_larger_machine_is_taken_where_it_is_cheaper_for_what_is_left() -> None:
    # Two pods of 4 vCPU: £0.36 on a large node, £0.40 on two small ones.
    found = packed([pods(1, 2, 4.0)], [SMALL, LARGE], None)
    assert found.nodes == (("large", 1),)
    assert found.gbp_per_hour == pytest.approx(0.36)


def test_the_solver_finds_what_first_fit_misses() -> None:
    # Largest first puts 5 with 4 and 3 with 3 and 3, which leaves the 2; 5 + 3 + 2 and 4 + 3 + 3 fill two nodes of 10.
    ten = Machine("ten", "on-demand/amd64", (10.0, 100.0, 0.0), "", 1.0, 1.0, 10.0)
    found = packed([pods(1, 1, 5.0), pods(2, 1, 4.0), pods(3, 3, 3.0), pods(4, 1, 2.0)], [ten], None)
    assert found.nodes == (("ten", 2),)
    assert found.bound_gbp_per_hour == pytest.approx(2.0)


def test_a_workload_that_the_limit_leaves_no_whole_node_is_named_and_its_parts_are_not_placed() -> None:
    found = packed([pods(1, 2, 3.0), pods(2, 2, 2.5)], [SMALL], 3)
    assert found.unplaced == {2}
    assert found.nodes == (("small", 2),)


def test_where_nodes_are_few_the_larger_machine_is_taken() -> None:
    # One node of 4 vCPU is cheaper for one pod, but only two nodes may be had for four pods.
    assert without_node([pods(w, 1, 4.0) for w in range(4)], [SMALL, LARGE], 2) == frozenset()
    assert len(without_node([pods(w, 1, 4.0) for w in range(5)], [SMALL, LARGE], 2)) == 1


def test_pods_keep_to_machines_of_their_architecture_and_gpu_model() -> None:
    found = packed([pods(1, 1, 1.0), pods(2, 1, 1.0, kind="on-demand/arm64")], [SMALL, ARM], None)
    assert found.nodes == (("arm", 1), ("small", 1))
    gpu = pods(3, 1, 1.0, gpus=1.0, gpu_model="NVIDIA T4")
    assert packed([gpu], [SMALL, T4], None).nodes == (("t4", 1),)
    assert packed([pods(3, 1, 1.0, gpus=1.0, gpu_model="NVIDIA L4")], [SMALL, T4], None).unplaced == {3}


def test_nodes_that_are_paid_for_cost_nothing_more_and_are_still_few() -> None:
    found = packed([pods(1, 4, 1.0, kind=PAID.kind)], [PAID], 10)
    assert (found.nodes, found.gbp_per_hour, found.bound_gbp_per_hour) == ((("paid", 1),), 0.0, 0.0)


def test_a_pool_without_a_priced_machine_holds_nothing() -> None:
    assert packed([pods(1, 1, 1.0)], [], None).unplaced == {1}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0.5, 1.0, 1.5, 2.5, 3.0])), min_size=1, max_size=6))
def test_the_order_changes_nothing_and_the_bound_holds(rows: list[tuple[int, float]]) -> None:
    asked = [pods(w, count, vcpus) for w, (count, vcpus) in enumerate(rows)]
    mixed = random.Random(1).sample(asked, len(asked))
    found = packed(asked, [SMALL, LARGE], None)
    assert found == packed(mixed, [LARGE, SMALL], None)
    assert lower_bound(asked, [SMALL, LARGE]) <= found.gbp_per_hour + 1e-9
    assert lower_bound(asked, [SMALL]) <= packed(asked, [SMALL], None).gbp_per_hour + 1e-9
    held = sum({"small": 4.0, "large": 8.0}[name] * count for name, count in found.nodes)
    assert held >= sum(one.count * one.need[0] for one in asked)
