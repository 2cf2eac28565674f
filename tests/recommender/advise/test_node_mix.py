"""The node mix: nodes that there are, nodes that are needed, and savings only of nodes that fall away."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl
import pytest

from recommender.advise.plan import NodeMix, Plan
from recommender.frames import ObservedPool
from recommender.report.view_model import report_of
from tests.builders import NOON
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
    workloads,
)

TWO = pools(GENERAL, METAL)
EAGER = policy(steady={"max_moves_per_week": 100})
ON_DEMAND = {"cluster": "eks-lon", "pool": "general", "instance_type": "m5.xlarge", "capacity_type": "on-demand"}
OWNED = {
    "cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned", "provider": "onprem",
    "region": "london",
}  # fmt: skip


def nodes(count: float, **changes: Any) -> dict[str, Any]:
    """Nodes of eks-lon/general, unless changed."""
    return (
        ON_DEMAND
        | {
            "provider": "aws", "region": "eu-west-2", "zone": "", "gpu_model": "", "in_settings": True, "nodes": count,
            "nodes_mean": count, "nodes_peak": count, "vcpus_per_node": None, "memory_gib_per_node": None,
            "gpus_per_node": None, "last_seen": NOON,
        }
        | changes
    )  # fmt: skip


def seen(*rows: dict[str, Any]) -> dy.DataFrame[ObservedPool]:
    return ObservedPool.validate(pl.DataFrame(list(rows), schema=ObservedPool.create_empty().schema))


def one(made: Plan, name: str) -> NodeMix:
    [found] = [row for row in made.node_mix if row.pool == name]
    return found


def money(made: Plan) -> tuple[Any, ...]:
    found = made.machines
    assert found is not None
    return found.nodes_removed, found.nodes_added, found.saving_gbp_per_hour


def test_nodes_that_were_seen_stand_beside_those_that_are_needed() -> None:
    made = plan(workload(), pools=TWO, policy=EAGER, nodes_seen=seen(nodes(5.0), nodes(2.0, **OWNED)))
    general, metal = one(made, "general"), one(made, "metal")
    # £0.184 a node in the cloud, £0.32 of energy a node at home.
    assert (general.current_nodes, general.now_nodes, general.nodes) == (5, 2, 0)
    assert general.current_gbp_per_hour == pytest.approx(0.92)
    assert (metal.current_nodes, metal.now_nodes, metal.nodes) == (2, 1, 1)
    assert metal.current_gbp_per_hour == pytest.approx(0.64)
    # Five nodes are there and two are needed: three fall away without any plan, so two are what the plan removes.
    assert money(made) == (2, 0, pytest.approx(0.368))
    line = report_of(made).machines
    assert "nodes seen: 7, £1.56 an hour" in line
    assert "the plan takes away 2 nodes and adds 0: £0.37 an hour less" in line


def test_no_more_falls_away_than_is_there() -> None:
    # At everyone's peak two nodes would be needed, one was seen.
    made = plan(workload(), pools=TWO, policy=EAGER, nodes_seen=seen(nodes(1.0), nodes(2.0, **OWNED)))
    assert money(made) == (1, 0, pytest.approx(0.184))


def test_a_move_that_empties_no_node_saves_shares_and_no_nodes() -> None:
    # One pod of 1 vCPU beside a pinned one of 2.5 on the same node of 3.92: the node stays when the first one leaves.
    size = {"replicas_mean": 1.0, "memory_gib_request_mean": 1.0}
    made = plan(
        workload("leaves", vcpu_request_mean=1.0, **size),
        workload("stays", vcpu_request_mean=2.5, local_volume=True, **size),
        pools=TWO,
        policy=policy(steady={"min_saving_gbp_per_month": 1}),
        nodes_seen=seen(nodes(1.0), nodes(1.0, **OWNED)),
    )
    assert [row.target.workload for row in made.recommendations] == ["leaves"]
    assert made.summary.saving_gbp_per_hour > 0
    assert money(made) == (0, 0, 0.0)


def test_a_pool_that_the_settings_do_not_know_is_shown_and_priced_where_it_can_be() -> None:
    stray = nodes(3.0, pool="stray", in_settings=False)
    made = plan(workload(), pools=TWO, nodes_seen=seen(nodes(2.0), stray))
    row = one(made, "stray")
    assert (row.current_nodes, row.nodes, row.note) == (3, 0, "the settings do not describe this pool")
    assert row.current_gbp_per_hour == pytest.approx(3 * 0.184)
    assert made.machines is not None
    assert made.machines.current_nodes_not_in_settings == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"instance_type": ""}, "the machine type is not known"),
        ({"capacity_type": ""}, "how m5.xlarge is bought is not known"),
        ({"instance_type": "x9.metal"}, "there is no on-demand price for x9.metal in aws/eu-west-2"),
        ({"provider": "", "region": ""}, "there is no on-demand price for m5.xlarge in unknown/unknown"),
    ],
)
def test_nodes_without_a_price_are_said_and_never_free(changes: dict[str, str], why: str) -> None:
    odd = nodes(2.0, pool="odd", in_settings=False, **changes)
    made = plan(workload(), pools=TWO, nodes_seen=seen(nodes(2.0), odd))
    assert (one(made, "odd").current_gbp_per_hour, one(made, "odd").note) == (None, why)
    [gap] = [row for row in made.not_enough_data if row.reason == "nodes-without-price"]
    assert (gap.cluster, gap.workload, gap.why) == ("eks-lon", "odd", f"2 nodes without a price: {why}")
    assert made.machines is not None
    assert made.machines.current_gbp_per_hour == pytest.approx(2 * 0.184)
    assert made.machines.current_nodes_without_price == 2
    assert "2 of them without a price" in report_of(made).machines


def test_a_pool_and_a_cluster_whose_nodes_nobody_saw_are_said() -> None:
    spot = pool("eks-lon", "spot", "m5.xlarge", capacity_type="spot")
    on_spot = workload("batch", pool="spot", capacity_type="spot", interruption_tolerance="spot")
    made = plan(workload(), on_spot, pools=pools(GENERAL, spot, METAL), nodes_seen=seen(nodes(2.0)))
    assert (one(made, "spot").current_nodes, one(made, "spot").note) == (0, "no node of this pool was seen")
    assert (one(made, "metal").current_nodes, one(made, "metal").note) == (None, "no node of this cluster was seen")


def test_a_file_that_names_machine_types_says_which_nodes_there_are() -> None:
    # Two pods of 2 vCPU: 3.92 hold one, so two nodes of £0.184; one of 8 vCPU at £0.30 would hold both.
    big = machine(
        "aws", "eu-west-2", "m5.2xlarge", "on-demand", vcpus=8.0, memory_gib=32.0, gbp_per_vcpu_hour=0.0215,
        gbp_per_gib_hour=0.004,
    )  # fmt: skip
    two_types = pools(GENERAL, pool("eks-lon", "general", "m5.2xlarge"))
    rows = workload(memory_gib_request_mean=8.0)
    made = plan(rows, pools=two_types, prices=prices([*standard_offers(), big]))
    assert made.machines is not None
    assert made.machines.current_basis == "usage"
    named = {row.instance_type: (row.current_nodes, row.now_nodes) for row in made.node_mix}
    assert named == {"m5.xlarge": (2, 0), "m5.2xlarge": (0, 1)}
    assert made.machines.current_gbp_per_hour == pytest.approx(0.368)
    assert made.machines.now_gbp_per_hour == pytest.approx(0.30)
    # Nothing moves: that other machines would be cheaper is no saving of the plan.
    assert money(made) == (0, 0, 0.0)
    assert "nodes on the machine types that usage names: 2, £0.37 an hour" in report_of(made).machines


def test_usage_that_names_no_machine_type_leaves_what_packing_needs() -> None:
    made = plan(pools=pools(GENERAL), workloads=workloads(workload(instance_type="")))
    assert made.machines is not None
    assert (made.machines.current_basis, made.machines.current_nodes) == ("packed", 2)


def test_a_daemon_set_takes_room_of_every_node_and_keeps_none_up() -> None:
    # A node leaves 13.3 GiB: two pods of 6.5 GiB, or one beside an agent of 1 GiB.
    pods = workload(replicas_mean=2.0, vcpu_request_mean=1.0, memory_gib_request_mean=13.0)
    agent = workload(
        "agent", workload_kind="DaemonSet", is_system=True, replicas_mean=3.0, vcpu_request_mean=0.3,
        memory_gib_request_mean=3.0,
    )  # fmt: skip
    alone, beside = plan(pods, pools=pools(GENERAL)), plan(pods, agent, pools=pools(GENERAL))
    assert [one(made, "general").now_nodes for made in (alone, beside)] == [1, 2]
