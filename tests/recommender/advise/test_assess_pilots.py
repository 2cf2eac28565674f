"""Which workloads suit a pilot, in which order, and every reason why others do not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from recommender.frames import NotEnoughData
from tests.builders import NOON
from tests.recommender.advise.assessing import assessed, good, ground, hourly
from tests.recommender.world import GENERAL, pools, workload


def obstacles(row: dict[str, Any], **changes: Any) -> dict[str, str]:
    """Reasons by their word of the one workload, which does not suit."""
    [one] = assessed(ground(row, **changes)).not_for_pilot
    return {each.rule: each.why for each in one.obstacles}


def test_a_workload_that_suits_is_named_with_where_it_could_go_and_what_is_advised() -> None:
    made = assessed(ground(good()))
    [one] = made.pilots
    assert made.not_for_pilot == ()
    assert (one.rank, one.workload, one.owner, one.residency_class) == (1, "batch", "shop-team", "europe")
    assert (one.history_days, one.state_gib, one.gbp_per_hour) == (7.0, 0.0, 0.184)
    assert one.other_clusters == ("gke-bel", "onprem-lon")
    assert one.recommendation_id is not None
    assert one.saving_gbp_per_month is not None


@pytest.mark.parametrize(
    ("changes", "rule", "why"),
    [
        ({"criticality": "medium"}, "critical", "its criticality is medium; a pilot takes low only"),
        ({"interruption_tolerance": "none"}, "not-tolerant", "policy does not say that it tolerates interruptions"),
        ({"residency_class": "uk"}, "regulated", "its class uk rests on UK GDPR Art. 44"),
        ({"residency_class": ""}, "unclassified", "no rule says what class it is of, so that it may be regulated"),
        ({"state_gib": 10.5}, "state", "10.5 GiB of state move with it, more than 10"),
    ],
)
def test_one_reason_is_named_alone(changes: dict[str, Any], rule: str, why: str) -> None:
    assert obstacles(good(**changes)) == {rule: why}


def test_state_up_to_the_limit_suits() -> None:
    assert [one.workload for one in assessed(ground(good(state_gib=10.0))).pilots] == ["batch"]


def test_every_reason_is_named() -> None:
    found = obstacles(workload(residency_class="uk", criticality="high", state_gib=500.0, local_volume=True))
    assert set(found) == {"critical", "not-tolerant", "regulated", "local-volume", "state", "nowhere-else"}


def test_a_workload_that_has_nowhere_to_go_teaches_nothing() -> None:
    assert obstacles(good(), pools=pools(GENERAL)) == {
        "nowhere-else": "no other cluster is allowed, priced and has room"
    }


def test_a_young_workload_is_told_with_its_days() -> None:
    row = good()
    young = hourly([row], first_seen={"batch": NOON - timedelta(days=5, hours=12)})
    assert obstacles(row, seen={"samples": young}) == {"history": "it is known for 5.5 days, less than 6"}


def test_what_ran_before_the_window_counts_as_history() -> None:
    row = good()
    early = hourly([row]).with_columns(pl.col("timestamp") - timedelta(days=3))
    [one] = assessed(ground(row, seen={"samples": pl.concat([early, hourly([row])]).unique()})).pilots
    assert one.history_days == 10.0


def test_a_cost_that_is_not_known_and_a_gap_are_reasons() -> None:
    unfit = NotEnoughData.validate(
        pl.DataFrame(
            [
                {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": "batch"}
                | {"reason": "new", "why": "it is new", "next_step": "Wait."}
            ]
        )
    )
    found = obstacles(good(), not_enough_data=unfit)
    assert found["not-enough-data"] == "it is new"


def test_system_pods_are_in_neither_list() -> None:
    made = assessed(ground(good(), good("agent", is_system=True, workload_kind="DaemonSet")))
    assert [one.workload for one in (*made.pilots, *made.not_for_pilot)] == ["batch"]


def test_the_greatest_saving_is_first_then_the_least_state_and_cost() -> None:
    """Big costs twice as much; on the owned pool everything costs a tenth, so that it saves twice as much."""
    big = good("big", vcpu_request_mean=8.0, memory_gib_request_mean=32.0)
    made = assessed(ground(good("small"), big))
    assert [(one.rank, one.workload) for one in made.pilots] == [(1, "big"), (2, "small")]


def test_a_limit_is_a_setting() -> None:
    made = assessed(ground(good(state_gib=50.0)), max_state_gib=50)
    assert [one.workload for one in made.pilots] == ["batch"]
