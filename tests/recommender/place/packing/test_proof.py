"""The bound and the plan against the true optimum of tiny questions, found by trying everything."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.place.packing.problem import Effort, Limit, NodeOffer, Packing, Pod
from recommender.place.packing.solve import pack

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1))
PRICES = st.integers(5, 60)


@st.composite
def questions(draw: st.DrawFn) -> tuple[tuple[Pod, ...], tuple[NodeOffer, ...]]:
    offers = [NodeOffer("huge", "c0", "od", vcpus=6, memory_gib=6, gpus=1, gbp_per_hour=draw(PRICES) / 10)]
    for number in range(draw(st.integers(0, 3))):
        vcpus, memory, gpus = draw(SHAPES)
        kind = draw(st.sampled_from(["od", "spot"]))
        offers.append(NodeOffer(f"o{number}", "c0", kind, vcpus, memory, draw(PRICES) / 10, gpus))
    pods = []
    for number in range(draw(st.integers(1, 6))):
        vcpus, memory, gpus = draw(SHAPES)
        allowed = None if draw(st.booleans()) else frozenset({"od"})
        pods.append(Pod(f"p{number}", vcpus, memory, gpus, allowed=allowed))
    return tuple(pods), tuple(offers)


def optimum(pods: tuple[Pod, ...], offers: tuple[NodeOffer, ...]) -> float:
    """The cheapest partition of the pods into nodes, by trying every subset for the first pod left."""
    size = len(pods)

    @cache
    def node(mask: int) -> float:
        held = [pods[n] for n in range(size) if mask >> n & 1]
        prices = [
            offer.gbp_per_hour
            for offer in offers
            if sum(p.vcpus for p in held) <= offer.vcpus
            and sum(p.memory_gib for p in held) <= offer.memory_gib
            and sum(p.gpus for p in held) <= offer.gpus
            and all(p.allowed is None or offer.offer_class in p.allowed for p in held)
        ]
        return min(prices, default=float("inf"))

    @cache
    def best(mask: int) -> float:
        if not mask:
            return 0.0
        first = mask & -mask
        rest = mask ^ first
        found, part = node(first) + best(rest), rest
        while part:
            found = min(found, node(first | part) + best(rest ^ part))
            part = (part - 1) & rest
        return found

    return best((1 << size) - 1)


def assert_whole(plan: Packing, pods: tuple[Pod, ...], offers: tuple[NodeOffer, ...]) -> None:
    by_pod, by_offer = {pod.id: pod for pod in pods}, {offer.id: offer for offer in offers}
    placed = [pod for group in plan.nodes for node in group.packing for pod in node]
    assert sorted([*placed, *(pod for pod, _ in plan.unplaced)]) == sorted(by_pod)
    for group in plan.nodes:
        offer = by_offer[group.offer]
        for node in group.packing:
            held = [by_pod[name] for name in node]
            assert sum(pod.vcpus for pod in held) <= offer.vcpus
            assert sum(pod.memory_gib for pod in held) <= offer.memory_gib
            assert sum(pod.gpus for pod in held) <= offer.gpus
            assert all(pod.allowed is None or offer.offer_class in pod.allowed for pod in held)


@settings(max_examples=60, deadline=None)
@given(questions())
def test_bound_below_optimum_below_plan(question: tuple[tuple[Pod, ...], tuple[NodeOffer, ...]]) -> None:
    pods, offers = question
    plan = pack(pods, offers)
    best = optimum(pods, offers)
    assert plan.unplaced == ()
    assert_whole(plan, pods, offers)
    assert plan.lower_bound_gbp_per_hour <= best + 1e-6
    assert plan.cost_gbp_per_hour >= best - 1e-9
    assert plan.cost_gbp_per_hour <= best * 1.1 + 1e-9


@settings(max_examples=30, deadline=None)
@given(questions(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_order_of_inputs_and_a_repeat_change_nothing(
    question: tuple[tuple[Pod, ...], tuple[NodeOffer, ...]], nodes: int, chance: object
) -> None:
    pods, offers = question
    limits = (Limit("a", (("huge", 1),), nodes), Limit("b", tuple((offer.id, 1.0) for offer in offers), 4))
    mixed = [list(pods), list(offers), list(limits)]
    for one in mixed:
        chance.shuffle(one)  # type: ignore[attr-defined]
    plan = pack(pods, offers, limits)
    assert repr(pack(tuple(mixed[0]), tuple(mixed[1]), tuple(mixed[2]))) == repr(plan)  # type: ignore[arg-type]
    assert repr(pack(pods, offers, limits)) == repr(plan)
    assert_whole(plan, pods, offers)
    counts = {group.offer: 0 for group in plan.nodes}
    for group in plan.nodes:
        counts[group.offer] += group.count
    assert counts.get("huge", 0) <= nodes
    assert sum(counts.values()) <= 4


@settings(max_examples=30, deadline=None)
@given(questions())
def test_a_bound_from_little_effort_holds_too(question: tuple[tuple[Pod, ...], tuple[NodeOffer, ...]]) -> None:
    pods, offers = question
    plan = pack(pods, offers, effort=Effort(rounds=1, labels=1, node_nodes=1, branches=1, integer_nodes=1))
    assert plan.lower_bound_gbp_per_hour <= optimum(pods, offers) + 1e-6
    assert_whole(plan, pods, offers)


@st.composite
def gangs(draw: st.DrawFn) -> tuple[tuple[Pod, ...], tuple[NodeOffer, ...]]:
    offers = [
        NodeOffer(f"{home}-huge", home, home, vcpus=6, memory_gib=6, gpus=1, gbp_per_hour=draw(PRICES) / 10)
        for home in ("east", "west")
    ]
    for number in range(draw(st.integers(0, 2))):
        home, (vcpus, memory, gpus) = draw(st.sampled_from(["east", "west"])), draw(SHAPES)
        offers.append(NodeOffer(f"o{number}", home, home, vcpus, memory, draw(PRICES) / 10, gpus))
    pods = []
    for number in range(draw(st.integers(2, 5))):
        vcpus, memory, gpus = draw(SHAPES)
        pods.append(Pod(f"p{number}", vcpus, memory, gpus, gang=draw(st.sampled_from(["", "a", "b"]))))
    return tuple(pods), tuple(offers)


@settings(max_examples=40, deadline=None)
@given(gangs())
def test_gangs_stay_together_and_the_bound_holds(question: tuple[tuple[Pod, ...], tuple[NodeOffer, ...]]) -> None:
    pods, offers = question
    plan = pack(pods, offers)
    homes = [("east", "west")] * 2
    best = min(
        optimum(tuple(replace(pod, allowed=at.get(pod.gang)) for pod in pods), offers)
        for at in ({"a": frozenset({a}), "b": frozenset({b})} for a, b in product(*homes))
    )
    assert plan.unplaced == ()
    assert plan.lower_bound_gbp_per_hour <= best + 1e-6
    assert best - 1e-9 <= plan.cost_gbp_per_hour <= best * 1.1 + 1e-9
    cluster_of = {offer.id: offer.cluster for offer in offers}
    gang_of = {pod.id: pod.gang for pod in pods}
    for gang in ("a", "b"):
        assert len({cluster_of[offer] for pod, offer, _ in plan.assignment if gang_of[pod] == gang}) <= 1
