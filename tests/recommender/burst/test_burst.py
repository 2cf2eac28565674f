"""The burst stage as a whole: from usage of a full cluster to what leaves, with nothing made of nothing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.burst.burst import BurstPlan, burst, growth
from recommender.burst.frames import Trigger
from recommender.settings import BurstSettings
from tests.builders import NOON
from tests.recommender.burst.history import HOURS, full_usage, observation, samples
from tests.recommender.burst.home import FITS, LONDON, leaving, left, places, pod, pods
from tests.recommender.burst.units_of import unit
from tests.recommender.world import GENERAL, METAL, policy, pools, prices, standard_offers


def planned(rows: list[dict[str, Any]], used: list[dict[str, Any]], **changes: Any) -> BurstPlan:
    seen = observation(rows, used)
    return burst(seen, places(rows, **changes), policy=policy(), settings=BurstSettings(), at=NOON)


def full(extra: int, *, for_hours: int) -> BurstPlan:
    return planned(*full_usage(extra, for_hours=for_hours))


def test_a_full_cluster_with_two_pods_waiting_for_hours_sends_two_away() -> None:
    plan = full(2, for_hours=5)
    assert plan.triggers.filter("is_needed")["resource"].to_list() == ["vcpu"]
    assert plan.overflow["replicas"].sum() == 2
    assert plan.overflow["waiting_replicas"].sum() == 2
    assert plan.overflow["to_cluster"].unique().to_list() == ["eks-lon"]
    assert plan.overflow["minimum_runtime_minutes"].to_list() == [60, 60]


def test_shares_of_the_overflow_add_up_to_the_nodes() -> None:
    plan = full(2, for_hours=5)
    assert plan.nodes["nodes"].sum() == 2
    assert plan.nodes["gbp_per_hour"].sum() == pytest.approx(2 * LONDON)
    assert plan.overflow["nodes_gbp_per_hour"].sum() == pytest.approx(2 * LONDON)


def test_the_plan_states_what_no_choice_can_beat() -> None:
    plan = full(2, for_hours=5)
    cost = plan.overflow.select(pl.sum_horizontal("nodes_gbp_per_hour", "other_gbp_per_hour").sum()).item()
    assert 0 <= plan.lower_bound_gbp_per_hour["onprem-lon"] <= cost + 1e-9


def test_capacity_is_what_the_nodes_admit_and_not_their_sum() -> None:
    row = full(2, for_hours=5).capacity.filter(resource="vcpu").row(0, named=True)
    assert row["admissible"] == 60
    assert row["nominal"] == pytest.approx(2 * 31.85)


def test_a_cluster_with_room_has_no_burst() -> None:
    rows = pods(5)
    plan = planned(rows, [one for row in rows for one in samples(row, list(range(1, HOURS)))])
    assert plan.overflow.is_empty()
    assert not plan.triggers["is_needed"].any()
    assert plan.capacity.filter(resource="vcpu")["admissible"].item() == 60


def test_a_pod_larger_than_any_owned_node_is_named_and_makes_no_burst() -> None:
    rows = [*pods(2), pod("huge", vcpu_request_mean=40.0)]
    used = [one for row in rows[:2] for one in samples(row, list(range(1, HOURS)))]
    plan = planned(rows, [*used, *samples(rows[2], list(range(1, HOURS)), pool="")])
    assert plan.waiting.select("workload", "reason").rows() == [("huge", "too-large-for-home")]
    assert not plan.triggers["is_needed"].any()


def test_an_owned_cluster_that_was_not_observed_is_not_taken_for_idle() -> None:
    rows = pods(1)
    plan = planned(rows, samples(rows[0] | {"cluster": "eks-lon"}, [1]))
    assert plan.unknown["reason"].to_list() == ["not-observed"]
    assert plan.capacity.is_empty()


def test_an_owned_cluster_whose_machine_is_not_known_is_said_to_be_unknown() -> None:
    rows = pods(1)
    offers = [offer for offer in standard_offers() if offer["provider"].item() != "onprem"]
    plan = planned(rows, samples(rows[0], list(range(1, HOURS))), prices=prices(offers))
    assert plan.unknown["reason"].to_list() == ["no-shape"]


def test_growth_is_copies_of_the_commonest_unit_and_nothing_is_asked_for_twice() -> None:
    def short(resource: str, name: str, demand: float, p90: float) -> dict[str, Any]:
        return {
            "cluster": "onprem-lon",
            "resource": resource,
            "resource_class": name,
            "demand": demand,
            "p90": p90,
            "admissible": demand,
            "short": p90 - demand,
            "exceeded": 3,
            "evaluations": 5,
            "is_needed": True,
            "short_at": NOON,
            "latest_start": NOON,
            "why": "",
        }

    rows = [short("gpu", "H100", 4.0, 7.0), short("vcpu", "amd64", 10.0, 28.0)]
    found = growth(
        Trigger.validate(pl.DataFrame(rows, schema=Trigger.create_empty().schema)),
        [unit("a", gpus=1, vcpus=5), unit("b", gpus=1, vcpus=5), unit("c", gpus=8, vcpus=40), unit("web", vcpus=2)],
    )
    # Three GPUs more are three copies of a, which bring 15 of the 18 vCPUs; a fourth brings the rest.
    assert [one.vcpus for one in found] == [5, 5, 5, 5]
    assert sum(one.gpus for one in found) == 4


def test_a_fleet_of_one_full_cluster_has_nowhere_to_send_anything_and_says_what_waits() -> None:
    found = leaving(pods(FITS + 1), pools=pools(METAL), waiting=("w03",))
    assert left(found) == {}
    assert list(found.waiting().values()) == ["limits-used-up"]


def test_nothing_observed_at_all_is_nothing_advised() -> None:
    plan = planned([], [])
    assert plan.unknown["cluster"].to_list() == ["onprem-lon"]
    assert plan.triggers.is_empty()
    assert plan.overflow.is_empty()


def test_a_fleet_without_owned_nodes_has_nothing_to_burst_from() -> None:
    plan = planned([], [], pools=pools(GENERAL))
    assert plan.unknown.is_empty()
    assert plan.capacity.is_empty()
