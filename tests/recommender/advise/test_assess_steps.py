"""The figures by which the next mode is judged: each beside its threshold, and what is not known is not met."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from recommender.advise.assess_gates import Track, steady_ratio
from recommender.advise.assess_record import Assessment, Gate
from recommender.frames import ClusterCost
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from tests.builders import NOON
from tests.recommender.advise.assessing import assessed, good, ground, observed
from tests.recommender.world import workload


def gate(made: Assessment, identifier: str) -> Gate:
    return next(one for step in made.steps for one in step.gates if one.id == identifier)


def test_the_modes_come_in_their_order_and_the_one_now_is_marked() -> None:
    made = assessed(ground(good()))
    assert [(one.mode, one.next_mode, one.is_current) for one in made.steps] == [
        ("recommend", "shadow", True),
        ("shadow", "pilot", False),
        ("pilot", "publish", False),
        ("publish", None, False),
    ]


def test_without_a_history_what_is_not_known_is_absent_and_not_met() -> None:
    made = assessed(ground(good(), costs_before=None))
    unknown = {one.id for step in made.steps for one in step.gates if one.value is None}
    assert unknown == {"recorded-days", "steady-scores", "taken", "realised", "other-scheduler", "forecast"}
    assert not any(one.met for step in made.steps for one in step.gates if one.id in unknown)
    assert gate(made, "recorded-days").basis == "the ledger has no evaluation"
    assert not any(step.met for step in made.steps)


def test_the_ledgers_record_is_put_beside_the_thresholds() -> None:
    track = Track(
        first_evaluated_at=NOON - timedelta(days=14),
        decided=5,
        taken=3,
        verified=5,
        realised_gbp=Decimal("79.99"),
        predicted_gbp=Decimal("100.00"),
        scheduler_moves=3,
    )
    made = assessed(ground(good(), track=track))
    found = {name: gate(made, name) for name in ("recorded-days", "taken", "verified", "realised", "scheduler-moves")}
    assert {name: (one.value, one.met) for name, one in found.items()} == {
        "recorded-days": (14.0, True),
        "taken": (0.6, True),
        "verified": (5.0, True),
        "realised": (0.7999, False),
        "scheduler-moves": (3.0, True),
    }
    assert found["realised"].basis == "£79.99 of £100.00"
    assert found["taken"].basis == "3 accepted or carried out of 5 decided"


def test_a_step_is_met_when_each_of_its_figures_is() -> None:
    track = Track(first_evaluated_at=NOON - timedelta(days=15))
    made = assessed(ground(good(), track=track), min_live_prices_ratio=0)
    assert {one.id: one.met for one in made.steps[0].gates} == dict.fromkeys(
        ("coverage", "priced", "live-prices", "recorded-days"), True
    )
    assert made.steps[0].met


def test_the_least_observed_cluster_decides() -> None:
    times = pl.concat([observed("eks-lon", "onprem-lon"), observed("gke-bel", hours=84)])
    one = gate(assessed(ground(good(), seen={"observed": times})), "coverage")
    assert (one.value, one.met, one.basis) == (0.5, False, "share of the window; the least is gke-bel")


def test_workloads_without_a_known_cost_are_counted() -> None:
    lost = workload("lost", pool="", instance_type="", capacity_type="")
    one = gate(assessed(ground(good(), lost)), "priced")
    assert (one.value, one.basis, one.met) == (0.5, "1 of 2", False)


@pytest.mark.parametrize(("pods", "met"), [([], True), ([2, 1], False)])
def test_pods_that_wait_for_another_scheduler_are_added_up(pods: list[int], *, met: bool) -> None:
    rows = [
        {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": f"web-{number}"}
        | {"scheduler": "kai", "pods": number, "minutes": 10}
        for number in pods
    ]
    schema = PendingOnOtherScheduler.create_empty().schema
    made = assessed(ground(good(), pending=PendingOnOtherScheduler.validate(pl.DataFrame(rows, schema=schema))))
    one = gate(made, "other-scheduler")
    assert (one.value, one.met) == (float(sum(pods)), met)
    assert len(made.pending_on_other_scheduler or ()) == len(pods)


def cost(name: str, cluster: str, gbp: float | None) -> dict[str, Any]:
    return {
        "cluster": "a", "namespace": "n", "workload_kind": "Deployment", "workload": name, "to_cluster": cluster,
        "to_capacity_type": "on-demand", "to_pool": "p", "to_instance_type": "t", "allowed": gbp is not None,
        "has_room": True, "rules": [], "gbp_per_hour": gbp, "is_current": cluster == "a",
    }  # fmt: skip


def costs(*rows: dict[str, Any]) -> Any:
    return ClusterCost.validate(pl.DataFrame(list(rows), schema=ClusterCost.create_empty().schema))


@pytest.mark.parametrize(
    ("a", "b", "steady"),
    [
        (1.0, 2.0, 1.0),
        (1.0, 0.85, 1.0),
        (1.0, 0.84, 0.0),
        (None, 2.0, 0.0),
    ],
    ids=["as before", "cheaper by exactly the threshold", "cheaper by more", "no longer allowed"],
)
def test_yesterdays_cluster_must_still_do(a: float | None, b: float, steady: float) -> None:
    """Yesterday a was the cheapest; today b may be, and 15 % moves something."""
    before = costs(cost("web", "a", 1.0), cost("web", "b", 1.5))
    now = costs(cost("web", "a", a), cost("web", "b", b))
    assert steady_ratio(now, before, min_saving_ratio=0.15) == steady


def test_a_workload_that_is_allowed_nowhere_any_more_or_was_not_there_counts_for_nothing() -> None:
    before = costs(cost("web", "a", 1.0), cost("gone", "a", 1.0))
    now = costs(cost("web", "a", 1.0), cost("new", "a", 1.0), cost("gone", "a", None))
    assert steady_ratio(now, before, min_saving_ratio=0.15) == 1.0
    assert steady_ratio(costs(cost("new", "a", 1.0)), before, min_saving_ratio=0.15) is None


def test_the_same_inputs_give_the_same_bytes() -> None:
    assert assessed(ground(good(), workload())).to_json() == assessed(ground(good(), workload())).to_json()
