"""Packing pods on nodes: cases worked out by hand."""

from __future__ import annotations

import pytest

from exporters.core.errors import SettingsError
from recommender.place.packing.problem import Effort, Limit, NodeOffer, Packing, Pod, Unplaced
from recommender.place.packing.solve import pack

SMALL = NodeOffer("small", "london", "cloud", vcpus=4, memory_gib=16, gbp_per_hour=0.20)
LARGE = NodeOffer("large", "london", "cloud", vcpus=16, memory_gib=64, gbp_per_hour=0.60)
GPU = NodeOffer("gpu", "london", "cloud", vcpus=8, memory_gib=32, gbp_per_hour=1.00, gpus=1, gpu_model="T4")
OWNED = NodeOffer("owned", "rack", "owned", vcpus=32, memory_gib=128, gbp_per_hour=0.10, gpus=4, gpu_model="T4")


def pods(count: int, vcpus: float = 2, memory_gib: float = 4, **more: object) -> tuple[Pod, ...]:
    prefix = str(more.pop("prefix", "p"))
    return tuple(Pod(f"{prefix}{number:03d}", vcpus, memory_gib, **more) for number in range(count))  # type: ignore[arg-type]


def mix(plan: Packing) -> dict[str, int]:
    nodes: dict[str, int] = {}
    for group in plan.nodes:
        nodes[group.offer] = nodes.get(group.offer, 0) + group.count
    return nodes


def test_a_large_node_stands_where_three_small_ones_would_cost_the_same_or_more() -> None:
    # 16 vCPU fill one large node: £0.60, against £0.80 for four small ones.
    plan = pack(pods(8), (SMALL, LARGE))
    assert mix(plan) == {"large": 1}
    assert plan.cost_gbp_per_hour == pytest.approx(0.60)


def test_the_rest_goes_on_a_small_node() -> None:
    # 20 vCPU: large + small £0.80; two large £1.20, five small £1.00. The linear programme says £0.75 (20 × 0.60/16).
    plan = pack(pods(10), (SMALL, LARGE))
    assert mix(plan) == {"large": 1, "small": 1}
    assert plan.cost_gbp_per_hour == pytest.approx(0.80)
    assert plan.lower_bound_gbp_per_hour == pytest.approx(0.80)
    assert plan.gap_ratio == pytest.approx(0.0, abs=1e-6)


def test_memory_binds_where_it_is_short() -> None:
    # 16 GiB a pod: one on a small node, four on a large one; five pods: £0.60 + £0.20.
    assert mix(pack(pods(5, vcpus=1, memory_gib=16), (SMALL, LARGE))) == {"large": 1, "small": 1}


def test_a_pod_that_fills_a_node_exactly_fits() -> None:
    third = NodeOffer("third", "london", "cloud", vcpus=0.3, memory_gib=0.3, gbp_per_hour=0.1)
    plan = pack(pods(3, vcpus=0.1, memory_gib=0.1), (third,))
    assert mix(plan) == {"third": 1}


def test_every_pod_stands_on_exactly_one_node_and_nodes_are_numbered() -> None:
    plan = pack(pods(10), (SMALL, LARGE))
    assert [pod for pod, _, _ in plan.assignment] == [pod.id for pod in pods(10)]
    assert sorted(pod for group in plan.nodes for node in group.packing for pod in node) == [p.id for p in pods(10)]
    two_small = pack(pods(2, vcpus=4), (SMALL,))
    assert sorted(node for _, _, node in two_small.assignment) == [0, 1]


def test_a_limited_pool_is_used_first_and_its_shadow_price_is_what_one_more_node_saves() -> None:
    # A rack node takes 4 GPU pods for £0.10; in the cloud they cost £4.00: one more is worth £3.90, a GPU £0.975.
    asked = pods(12, vcpus=4, memory_gib=16, gpus=1)
    plan = pack(asked, (GPU, OWNED), (Limit("rack", (("owned", 1),), 2),))
    assert mix(plan) == {"owned": 2, "gpu": 4}
    assert plan.cost_gbp_per_hour == pytest.approx(4.20)
    (shadow,) = plan.shadow_prices
    assert shadow.gbp_per_hour == pytest.approx(3.90)
    assert shadow.gbp_per_gpu_hour == pytest.approx(0.975)


def test_free_nodes_of_an_owned_pool_do_not_spoil_the_bound() -> None:
    """Two of four pods fit the free node; the others need one node at £1. Every pod alone on a node would be £1 too."""
    owned = NodeOffer("owned", "home", "owned", 4, 8, 0.0)
    cloud = NodeOffer("cloud", "away", "on-demand", 4, 8, 1.0)

    plan = pack(pods(4), (owned, cloud), (Limit("pool", (("owned", 1),), 1),))

    assert plan.cost_gbp_per_hour == pytest.approx(1.0)
    assert plan.lower_bound_gbp_per_hour == pytest.approx(1.0)


def test_a_pool_with_room_to_spare_has_no_shadow_price() -> None:
    plan = pack(pods(2, vcpus=4, gpus=1), (GPU, OWNED), (Limit("rack", (("owned", 1),), 9),))
    assert plan.shadow_prices[0].gbp_per_hour == 0.0


def test_a_quota_in_vcpus_holds_over_several_offers() -> None:
    quota = Limit("quota", (("small", 4), ("large", 16)), 20)
    plan = pack(pods(12), (SMALL, LARGE), (quota,))
    assert mix(plan) == {"large": 1, "small": 1}
    assert [reason for _, reason in plan.unplaced] == [Unplaced.LIMITS_USED_UP] * 2
    assert len(plan.assignment) == 10


def test_what_a_free_pool_cannot_hold_is_left_out_and_the_bound_is_that_of_the_rest() -> None:
    free = NodeOffer("free", "rack", "owned", vcpus=4, memory_gib=16, gbp_per_hour=0.0)
    plan = pack(pods(3), (free,), (Limit("rack", (("free", 1),), 1),))
    assert mix(plan) == {"free": 1}
    assert plan.unplaced == (("p002", Unplaced.LIMITS_USED_UP),)
    assert plan.cost_gbp_per_hour == plan.lower_bound_gbp_per_hour == 0.0
    assert plan.gap_ratio == 0.0


def test_rules_come_before_prices() -> None:
    spot = NodeOffer("spot", "london", "spot", vcpus=16, memory_gib=64, gbp_per_hour=0.06)
    strict = pods(8, allowed=frozenset({"cloud"}))
    easy = pods(8, prefix="e", allowed=frozenset({"cloud", "spot"}))
    plan = pack(strict + easy, (LARGE, spot))
    offer_of = {pod: offer for pod, offer, _ in plan.assignment}
    assert {offer_of[pod.id] for pod in strict} == {"large"}
    assert {offer_of[pod.id] for pod in easy} == {"spot"}


def test_a_gpu_model_is_kept_to() -> None:
    a100 = NodeOffer("a100", "london", "cloud", vcpus=8, memory_gib=32, gbp_per_hour=3.0, gpus=1, gpu_model="A100")
    plan = pack(pods(1, gpus=1, gpu_models=frozenset({"A100"})), (GPU, a100))
    assert mix(plan) == {"a100": 1}


def test_a_surcharge_moves_a_pod_to_the_dearer_node_when_it_outweighs_the_difference() -> None:
    abroad = NodeOffer("abroad", "dublin", "eu", vcpus=4, memory_gib=16, gbp_per_hour=0.10)
    stays = pack(pods(1, surcharges=(("eu", 0.11),)), (SMALL, abroad))
    leaves = pack(pods(1, surcharges=(("eu", 0.09),)), (SMALL, abroad))
    assert (mix(stays), mix(leaves)) == ({"small": 1}, {"abroad": 1})
    assert leaves.cost_gbp_per_hour == pytest.approx(0.19)
    assert leaves.nodes[0].gbp_per_hour == pytest.approx(0.10)


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (Pod("x", vcpus=64, memory_gib=1), Unplaced.LARGER_THAN_ANY_NODE),
        (Pod("x", vcpus=1, memory_gib=1, gpus=1, gpu_models=frozenset({"H100"})), Unplaced.GPU_MODEL_NOWHERE),
        (Pod("x", vcpus=1, memory_gib=1, allowed=frozenset({"nhs"})), Unplaced.NO_ALLOWED_OFFER),
        (Pod("x", vcpus=1, memory_gib=1, allowed=frozenset()), Unplaced.NO_ALLOWED_OFFER),
    ],
)
def test_a_pod_without_a_node_says_why_and_the_others_are_placed(pod: Pod, reason: Unplaced) -> None:
    plan = pack((pod, *pods(1)), (SMALL, GPU))
    assert plan.unplaced == (("x", reason),)
    assert mix(plan) == {"small": 1}


def test_without_offers_nothing_is_placed_and_nothing_costs() -> None:
    plan = pack(pods(1), (), ())
    assert plan.unplaced == (("p000", Unplaced.NO_ALLOWED_OFFER),)
    assert (plan.cost_gbp_per_hour, plan.gap_ratio) == (0.0, 0.0)


def test_without_pods_there_is_an_empty_plan() -> None:
    plan = pack((), (SMALL,), (Limit("pool", (("small", 1),), 3),))
    assert (plan.nodes, plan.cost_gbp_per_hour) == ((), 0.0)
    assert [shadow.limit for shadow in plan.shadow_prices] == ["pool"]


class TestGang:
    """All members run in one cluster, or none does."""

    EAST = NodeOffer("east", "east", "cloud", vcpus=4, memory_gib=16, gbp_per_hour=0.10)
    WEST = NodeOffer("west", "west", "cloud", vcpus=4, memory_gib=16, gbp_per_hour=0.20)
    TWO_IN_THE_EAST = (Limit("east", (("east", 1),), 2),)

    def test_pods_that_are_no_gang_use_both_clusters(self) -> None:
        plan = pack(pods(4, vcpus=4), (self.EAST, self.WEST), self.TWO_IN_THE_EAST)
        assert mix(plan) == {"east": 2, "west": 2}

    def test_a_gang_that_does_not_fit_the_cheap_cluster_goes_to_the_other_as_a_whole(self) -> None:
        plan = pack(pods(4, vcpus=4, gang="g"), (self.EAST, self.WEST), self.TWO_IN_THE_EAST)
        assert mix(plan) == {"west": 4}
        assert plan.lower_bound_gbp_per_hour <= 0.80 + 1e-9

    def test_two_gangs_take_a_cluster_each(self) -> None:
        both = pods(2, vcpus=4, gang="a", prefix="a") + pods(2, vcpus=4, gang="b", prefix="b")
        plan = pack(both, (self.EAST, self.WEST), self.TWO_IN_THE_EAST)
        offer_of = {pod: offer for pod, offer, _ in plan.assignment}
        assert len({offer_of["a000"], offer_of["a001"]}) == len({offer_of["b000"], offer_of["b001"]}) == 1
        assert plan.cost_gbp_per_hour == pytest.approx(0.60)

    def test_members_of_two_sizes_stay_together(self) -> None:
        gang = (Pod("big", 4, 4, gang="g"), Pod("little", 1, 1, gang="g"))
        only_west_holds_big = NodeOffer("wide", "west", "cloud", vcpus=8, memory_gib=16, gbp_per_hour=1.0)
        tight = NodeOffer("tight", "east", "cloud", vcpus=2, memory_gib=16, gbp_per_hour=0.01)
        plan = pack(gang, (only_west_holds_big, tight))
        assert mix(plan) == {"wide": 1}

    def test_a_gang_larger_than_any_cluster_is_left_out_as_a_whole(self) -> None:
        limits = (Limit("east", (("east", 1),), 2), Limit("west", (("west", 1),), 3))
        plan = pack(pods(4, vcpus=4, gang="g"), (self.EAST, self.WEST), limits)
        assert {reason for _, reason in plan.unplaced} == {Unplaced.GANG_LARGER_THAN_ANY_CLUSTER}
        assert plan.nodes == ()

    def test_a_gang_whose_member_fits_nowhere_is_left_out_as_a_whole(self) -> None:
        gang = (Pod("giant", 99, 4, gang="g"), Pod("little", 1, 1, gang="g"))
        plan = pack(gang, (self.EAST,))
        assert plan.unplaced == (
            ("giant", Unplaced.LARGER_THAN_ANY_NODE),
            ("little", Unplaced.GANG_MEMBER_UNPLACED),
        )

    def test_a_gang_that_fits_in_sum_but_not_on_nodes_is_left_out_as_a_whole(self) -> None:
        # 3 × 3 vCPU = 9 of 12 vCPU in sum, and one pod a node: three nodes; with two nodes of 5 vCPU (10) it cannot.
        wide = NodeOffer("wide", "east", "cloud", vcpus=5, memory_gib=16, gbp_per_hour=0.1)
        plan = pack(pods(3, vcpus=3, gang="g"), (wide,), (Limit("east", (("wide", 1),), 2),))
        assert [reason for _, reason in plan.unplaced] == [Unplaced.LIMITS_USED_UP] * 3


@pytest.mark.parametrize(
    ("asked", "offers", "limits", "says"),
    [
        (pods(1) + pods(1), (SMALL,), (), "pod id 'p000' stands twice"),
        (pods(1), (SMALL, SMALL), (), "offer id 'small' stands twice"),
        (pods(1, vcpus=-1), (SMALL,), (), "pod p000 has a negative number"),
        (pods(1, vcpus=float("nan")), (SMALL,), (), "not finite"),
        (pods(1), (NodeOffer("free", "c", "k", 4, 16, 0.0),), (), "costs nothing and has no limit"),
        (pods(1), (NodeOffer("odd", "c", "k", 4, 16, -0.1),), (), "offer odd has a negative number"),
        (pods(1), (SMALL,), (Limit("pool", (("gone", 1),), 1),), "'gone', which is not there"),
    ],
)
def test_a_question_without_an_honest_answer_is_refused(
    asked: tuple[Pod, ...], offers: tuple[NodeOffer, ...], limits: tuple[Limit, ...], says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        pack(asked, offers, limits)


def test_less_effort_gives_a_bound_that_is_lower_and_still_holds() -> None:
    asked = tuple(Pod(f"p{n}", vcpus=1 + n % 5, memory_gib=2 + (7 * n) % 11) for n in range(25))
    little = pack(asked, (SMALL, LARGE, GPU), effort=Effort(rounds=2, labels=1, node_nodes=1, branches=1))
    much = pack(asked, (SMALL, LARGE, GPU))
    assert little.lower_bound_gbp_per_hour <= much.lower_bound_gbp_per_hour <= much.cost_gbp_per_hour + 1e-9
    assert much.lower_bound_gbp_per_hour <= little.cost_gbp_per_hour
