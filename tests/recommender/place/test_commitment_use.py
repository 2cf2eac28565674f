"""Which nodes a commitment pays for, worked out by hand, and what must hold for any of them."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.place.commitment_use import Allotment, Bought, NodeGroup, allot, gbp_per_node, share_per_node
from tests.builders import NOON


def group(cluster: str = "eks-lon", **changes: Any) -> NodeGroup:
    """Three m5.xlarge in London at 0.20 an hour on demand."""
    row: dict[str, Any] = {
        "cluster": cluster,
        "pool": "general",
        "instance_type": "m5.xlarge",
        "provider": "aws",
        "region": "eu-west-2",
        "zone": "",
        "family": "m5",
        "vcpus": 4.0,
        "memory_gib": 16.0,
        "gpus": 0.0,
        "gpu_model": "",
        "prices": {"on-demand": 0.20},
        "nodes": 3,
    } | changes
    return NodeGroup(**row)


def machines(number: float = 5.0, name: str = "ri-1", **changes: Any) -> Bought:
    """Reserved machines of m5.xlarge in London."""
    row: dict[str, Any] = {
        "key": ("aws", "111122223333", name),
        "provider": "aws",
        "where": "eu-west-2",
        "family": "m5",
        "instance_type": "m5.xlarge",
        "gpu_model": "",
        "amounts": {"instances": number},
        "capacity_type": "committed-1y",
        "gbp_per_hour": 0.6,
        "ends_at": NOON + timedelta(days=200),
        "vcpus_of_type": 4.0,
    } | changes
    return Bought(**row)


def money(amount: float, name: str = "sp-1", **changes: Any) -> Bought:
    """A Savings Plan of some pounds an hour."""
    wide: dict[str, Any] = {
        "amounts": {"money_gbp": amount},
        "where": "",
        "family": "",
        "instance_type": "",
        "gbp_per_hour": amount,
    }
    return machines(name=name, **wide | changes)


def covered(found: tuple[Allotment, ...]) -> dict[tuple[str, str], tuple[float, int]]:
    """Nodes that are paid for and more that would be, by commitment and cluster."""
    return {(one.commitment[2], one.group[0]): (round(one.covered, 9), one.free) for one in found}


def test_reserved_machines_pay_for_those_that_run_and_the_rest_is_offered() -> None:
    assert covered(allot([machines(5)], [group()])) == {("ri-1", "eks-lon"): (3.0, 2)}


def test_more_nodes_than_are_reserved_leave_some_to_pay_and_none_to_offer() -> None:
    assert covered(allot([machines(2)], [group()])) == {("ri-1", "eks-lon"): (2.0, 0)}


def test_two_clusters_share_one_reservation_by_name_and_nothing_is_counted_twice() -> None:
    found = covered(allot([machines(5)], [group("eks-b"), group("eks-a")]))
    assert found == {("ri-1", "eks-a"): (3.0, 0), ("ri-1", "eks-b"): (2.0, 0)}


def test_what_runs_is_paid_for_everywhere_before_room_is_offered() -> None:
    found = covered(allot([machines(7)], [group("eks-a"), group("eks-b"), group("eks-c", nodes=0)]))
    assert found == {("ri-1", "eks-a"): (3.0, 1), ("ri-1", "eks-b"): (3.0, 0)}


def test_a_size_twice_as_large_takes_two_reserved_machines_of_its_family() -> None:
    large = group(instance_type="m5.2xlarge", vcpus=8.0, memory_gib=32.0, nodes=1)
    assert share_per_node(machines(4), large) == pytest.approx(0.5)
    assert covered(allot([machines(4)], [large])) == {("ri-1", "eks-lon"): (1.0, 1)}


def test_a_reservation_in_a_zone_pays_for_its_own_size_in_that_zone_only() -> None:
    zonal = machines(4, where="eu-west-2a")
    here = group(zone="eu-west-2a")
    assert share_per_node(zonal, here) == pytest.approx(0.25)
    assert share_per_node(zonal, group()) is None
    assert share_per_node(zonal, replace(here, instance_type="m5.2xlarge", vcpus=8.0)) is None


def test_machines_with_gpus_are_not_flexible_in_size() -> None:
    small = machines(4, family="g6", instance_type="g6.xlarge")
    large = group(instance_type="g6.2xlarge", family="g6", vcpus=8.0, gpus=1.0, gpu_model="L4")
    assert share_per_node(small, large) is None


def test_vcpus_and_gib_both_have_to_last() -> None:
    # 16 vCPU are four machines, 32 GiB are two: the GiB run out first.
    cud = machines(provider="gcp", instance_type="", amounts={"vcpus": 16.0, "memory_gib": 32.0})
    there = group(provider="gcp", nodes=1)
    assert share_per_node(cud, there) == pytest.approx(0.5)
    assert covered(allot([cud], [there])) == {("ri-1", "eks-lon"): (1.0, 1)}


def test_vcpus_without_gib_pay_for_no_whole_node() -> None:
    cud = machines(provider="gcp", instance_type="", amounts={"vcpus": 16.0})
    assert allot([cud], [group(provider="gcp")]) == ()


def test_money_pays_at_the_plan_s_own_rate_where_it_is_known() -> None:
    # £0.30 an hour: at 0.20 on demand one node and a half, at its own 0.15 two.
    assert covered(allot([money(0.30)], [group()])) == {("sp-1", "eks-lon"): (1.5, 0)}
    known = group(prices={"on-demand": 0.20, "committed-1y": 0.15})
    assert covered(allot([money(0.30)], [known])) == {("sp-1", "eks-lon"): (2.0, 0)}


def test_reservations_are_used_before_a_savings_plan_and_a_family_s_before_any() -> None:
    found = covered(allot([money(0.20, "sp-any"), money(0.20, "sp-m5", family="m5"), machines(1)], [group()]))
    assert {name: nodes for (name, _), (nodes, _) in found.items()} == {"ri-1": 1.0, "sp-m5": 1.0, "sp-any": 1.0}
    short = covered(allot([money(0.20, "sp-any"), money(0.20, "sp-m5", family="m5"), machines(1)], [group(nodes=2)]))
    assert short[("sp-m5", "eks-lon")] == (1.0, 0)
    assert short[("sp-any", "eks-lon")] == (0.0, 1)


@pytest.mark.parametrize(
    "other", [{"provider": "azure"}, {"region": "eu-west-1"}, {"family": "c5", "instance_type": "c5"}]
)
def test_other_providers_regions_and_families_take_nothing(other: dict[str, str]) -> None:
    assert allot([machines(5)], [group(**other)]) == ()


def test_what_ends_too_soon_pays_for_what_runs_and_is_offered_to_nothing() -> None:
    assert covered(allot([machines(5, offers_more=False)], [group()])) == {("ri-1", "eks-lon"): (3.0, 0)}


def test_no_more_nodes_are_offered_than_the_pool_may_have() -> None:
    assert covered(allot([machines(9)], [group(nodes_max=4)])) == {("ri-1", "eks-lon"): (3.0, 1)}


def test_nothing_bought_pays_for_nothing() -> None:
    assert allot([machines(0.0)], [group()]) == ()


def test_a_node_costs_its_share_of_the_commitment() -> None:
    assert gbp_per_node(machines(4), group()) == pytest.approx(0.15)
    assert gbp_per_node(machines(4, gbp_per_hour=None), group()) is None


_GROUPS = st.lists(
    st.builds(
        group,
        cluster=st.sampled_from(["a", "b", "c"]),
        pool=st.sampled_from(["x", "y"]),
        nodes=st.integers(0, 9),
        nodes_max=st.one_of(st.none(), st.integers(9, 30)),
    ),
    max_size=5,
    unique_by=lambda one: one.key,
)
_BOUGHT = st.lists(
    st.one_of(
        st.builds(machines, st.floats(0, 20), st.sampled_from(["r1", "r2"])),
        st.builds(money, st.floats(0, 3), st.sampled_from(["s1", "s2"])),
    ),
    max_size=4,
    unique_by=lambda one: one.key,
)


@settings(max_examples=150, deadline=None)
@given(_BOUGHT, _GROUPS, st.randoms(use_true_random=False))
def test_nothing_is_given_twice_and_the_order_of_rows_does_not_matter(
    bought: list[Bought], groups: list[NodeGroup], chance: random.Random
) -> None:
    found = allot(bought, groups)
    for one in bought:
        taken = sum((each.covered + each.free) * each.share_per_node for each in found if each.commitment == one.key)
        assert taken <= 1.0 + 1e-6
    for there in groups:
        own = [each for each in found if each.group == there.key]
        assert sum(each.covered for each in own) <= there.nodes + 1e-6
        if any(each.free for each in own):
            assert sum(each.covered for each in own) >= there.nodes - 1e-6
    shuffled, mixed = list(bought), list(groups)
    chance.shuffle(shuffled)
    chance.shuffle(mixed)
    assert allot(shuffled, mixed) == found
