"""The machines of a plan, and moves that find none."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.report.view_model import report_of
from tests.recommender.world import (
    GENERAL,
    METAL,
    machine,
    plan,
    policy,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
)

TWO_NODES = pools(GENERAL, METAL)
EAGER = policy(steady={"max_moves_per_week": 100})
WITH_BIG = pools(GENERAL, pool("eks-lon", "big", "m5.8xlarge"), METAL)
BIG = machine(
    "aws",
    "eu-west-2",
    "m5.8xlarge",
    "on-demand",
    vcpus=32.0,
    memory_gib=128.0,
    gbp_per_vcpu_hour=0.03,
    gbp_per_gib_hour=0.004,
)
BIG_PRICES = prices([*standard_offers(), BIG])


def mover(vcpus: float, name: str = "web") -> dict[str, Any]:
    """One replica on a machine of 32 vCPU in the cloud."""
    return workload(
        name,
        pool="big",
        instance_type="m5.8xlarge",
        replicas_mean=1.0,
        vcpu_request_mean=vcpus,
        memory_gib_request_mean=8.0,
    )


def on_metal(name: str, **changes: Any) -> dict[str, Any]:
    """One replica of 16 vCPU and 16 GiB on the owned nodes: one such pod leaves a node of 32 less than 16."""
    place = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}
    size = {"replicas_mean": 1.0, "vcpu_request_mean": 16.0, "memory_gib_request_mean": 16.0}
    return workload(name, **(place | size | changes))


def test_machines_are_whole_nodes_now_and_as_planned() -> None:
    # 2 pods of 2 vCPU and 8 GiB: a node of 16 GiB leaves 13.3, so two nodes of 4 × 0.03 + 16 × 0.004 = £0.184 now. As
    # planned they stand on the owned node (£0.32 marginal) that the node agent, a system pod, keeps up already. The
    # other node agent runs in a cluster outside this fleet and is on no node.
    made = plan(workload(), pools=TWO_NODES, policy=EAGER)
    found = made.machines
    assert found is not None
    assert (found.now_nodes, found.planned_nodes) == (3, 1)
    assert found.now_gbp_per_hour == pytest.approx(2 * 0.184 + 0.32)
    assert found.planned_gbp_per_hour == found.lower_bound_gbp_per_hour == pytest.approx(0.32)
    general, metal = made.node_mix
    assert (general.pool, general.now_nodes, general.nodes) == ("general", 2, 0)
    assert (metal.pool, metal.now_nodes, metal.nodes) == ("metal", 1, 1)
    assert metal.nodes_gbp_per_hour == pytest.approx(0.32)
    # The saving is of the two nodes that fall away; by shares it is less, as requests do not fill them.
    assert (found.nodes_removed, found.nodes_added) == (2, 0)
    assert found.saving_gbp_per_hour == pytest.approx(2 * 0.184)


def test_a_move_that_fits_in_sum_but_on_no_node_is_not_advised() -> None:
    # Two nodes leave 31.85 vCPU each and run 16 each: 31.7 are free in sum, 15.85 on each; the mover needs 15.9.
    made = plan(mover(15.9), on_metal("a"), on_metal("b"), pools=WITH_BIG, prices=BIG_PRICES, policy=EAGER)
    assert made.recommendations == ()
    [refusal] = [one for one in made.refused if one.rule == "simulation"]
    assert (refusal.stage, refusal.pool) == ("guard", "metal")
    assert "not every replica finds a node" in refusal.why
    assert [(one.rule, one.offers) for one in made.summary.refused_offers if one.rule == "simulation"] == [
        ("simulation", 1)
    ]
    assert made.summary.saving_gbp_per_hour == 0


def test_the_same_move_a_little_smaller_is_advised() -> None:
    made = plan(mover(15.8), on_metal("a"), on_metal("b"), pools=WITH_BIG, prices=BIG_PRICES, policy=EAGER)
    assert [one.recommended.pool for one in made.recommendations] == ["metal"]
    assert all(one.nodes <= 2 for one in made.node_mix if one.pool == "metal")


def test_of_two_moves_that_want_the_same_node_the_one_that_saves_more_is_advised() -> None:
    both = [mover(13.0, "lesser"), mover(15.0, "greater")]
    made = plan(
        *both, on_metal("a"), on_metal("b", vcpu_request_mean=20.0), pools=WITH_BIG, prices=BIG_PRICES, policy=EAGER
    )
    # One node has 15.85 left, the other 11.85.
    assert [one.target.workload for one in made.recommendations] == ["greater"]


def test_what_peaks_leave_without_a_node_is_counted_not_priced() -> None:
    # Three pods of 20 vCPU on two nodes of 31.85: peaks that may not come at once.
    made = plan(*(on_metal(name, vcpu_request_mean=20.0) for name in "abc"), pools=TWO_NODES)
    found = made.machines
    assert found is not None
    assert report_of(made).machines.endswith("find no node at everyone's peak: 1 now, 1 planned")
    assert (found.now_nodes, found.now_without_node, found.planned_without_node) == (2, 1, 1)


def test_the_order_of_workloads_changes_no_byte() -> None:
    rows = [mover(15.9, "x"), mover(5.0, "y"), on_metal("a"), on_metal("b"), workload("web")]
    plans = [
        plan(*order, pools=WITH_BIG, prices=BIG_PRICES, policy=EAGER).to_json()
        for order in (rows, list(reversed(rows)))
    ]
    assert plans[0] == plans[1]


def test_the_report_says_what_machines_cost() -> None:
    report = report_of(plan(workload(), pools=TWO_NODES, policy=EAGER))
    assert report.machines.startswith("Machines now £")
    assert any(line.startswith(report.machines) for line in report.counting)
