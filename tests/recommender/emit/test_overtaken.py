"""Advice that stands in the ledger and must not be applied any more, and which precondition went."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.advise.record import Recommendation, State
from recommender.emit.contract import Subject
from recommender.emit.overtaken import overtaken
from tests.recommender.emit.subjects import subject
from tests.recommender.world import machine, prices, standard_offers, standard_rates, workload


def advised() -> Recommendation:
    """web, moved from eks-lon on demand (£0.184 an hour) to the own racks (£0.04): £105.12 a month."""
    (one,) = subject(workload("web")).plan.recommendations
    return one


def why(today: Subject, one: Recommendation | None = None) -> str:
    (gone,) = overtaken([(one or advised(), State.ACCEPTED)], today)
    assert gone.state is State.ACCEPTED
    return gone.why


def today(**changes: Any) -> Subject:
    return subject(workload("web", **changes))


def test_advice_that_is_still_given_is_not_overtaken() -> None:
    assert overtaken([(advised(), State.OPEN)], today()) == ()


def test_a_workload_that_is_gone_is_said() -> None:
    assert why(subject(workload("other", local_volume=True))) == "shop/web was not seen in eks-lon"


def test_a_workload_of_which_nothing_is_known_is_said() -> None:
    assert "nothing can be said of it at this time" in why(today(coverage_ratio=0.1))


def test_a_workload_in_another_pool_is_said() -> None:
    told = why(today(pool="spot", capacity_type="spot", local_volume=True))
    assert "it runs in spot, spot" in told


def test_requests_that_changed_are_said_with_both_figures() -> None:
    told = why(today(vcpu_request_mean=8.0, local_volume=True))
    assert "it requests 8.00 vCPU on average; the advice rests on 4.00" in told
    assert "GiB" not in told


def test_a_rule_that_forbids_the_place_is_said() -> None:
    assert "the rules do not allow it in onprem-lon (local_volume)" in why(today(local_volume=True))


def test_a_place_that_is_full_is_said() -> None:
    big = workload(
        "big",
        cluster="onprem-lon",
        pool="metal",
        instance_type="r760",
        capacity_type="owned",
        replicas_mean=31.0,
        vcpu_request_mean=62.0,
        memory_gib_request_mean=124.0,
    )
    assert "onprem-lon has no room for it (capacity)" in why(subject(workload("web"), big))


def test_a_saving_that_prices_took_is_said_with_both_figures() -> None:
    dear = machine(
        "onprem",
        "london",
        "r760",
        "owned",
        vcpus=32.0,
        memory_gib=128.0,
        gbp_per_vcpu_hour=0.01,
        gbp_per_gib_hour=0.002,
        marginal_gbp_per_hour=1.44,
        split_method="rate-card",
    )
    given = subject(workload("web"), prices=prices([*standard_offers()[:3], dear], standard_rates()))
    # 1.44 a node of 32 vCPU: 0.18 an hour for an eighth of it, so 0.004 × 730 is saved.
    assert "at today's prices it would save £2.92 a month; £105.12 were advised" in why(given)


def test_what_is_advised_instead_is_named() -> None:
    given = today(interruption_tolerance="spot")
    other = advised().model_copy(update={"id": "0" * 16})
    assert f"advised instead: {given.plan.recommendations[0].title}" in why(given, other)


@pytest.mark.parametrize("count", [2])
def test_the_order_in_which_advice_stands_changes_nothing(count: int) -> None:
    standing = [(advised().model_copy(update={"id": f"{number:016x}"}), State.OPEN) for number in range(count)]
    given = today()
    assert overtaken(standing, given) == overtaken(standing[::-1], given)
    assert len(overtaken(standing, given)) == count
