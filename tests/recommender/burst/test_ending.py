"""When a burst goes home: on room that was seen, after its minimum runtime, never on a forecast."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl

from recommender.burst.admissible import admit
from recommender.burst.ending import AtHome, returns
from recommender.burst.frames import ActiveBurst
from recommender.burst.units import Unit
from recommender.forecast.frames import Demand
from recommender.settings import BurstSettings
from tests.builders import NOON
from tests.recommender.burst.units_of import GPU_NODE, unit

SETTINGS = BurstSettings(min_runtime_minutes=60, idle_evaluations=3)


def burst(name: str = "job", *, started_at: datetime = NOON - timedelta(hours=2), **changes: Any) -> dict[str, Any]:
    return {
        "cluster": "onprem-lon",
        "namespace": "ml",
        "workload_kind": "Job",
        "workload": name,
        "at_cluster": "eks-lon",
        "started_at": started_at,
        "replicas": 1,
        "gang_size": 1,
        "replica_vcpus": 1.0,
        "replica_memory_gib": 1.0,
        "replica_gpus": 4.0,
        "gpu_model": "H100",
        "minimum_runtime_minutes": 0.0,
        "gbp_per_hour": 3.0,
    } | changes


def judged(*bursts: dict[str, Any], mix: list[Unit], seen: list[float]) -> list[dict[str, Any]]:
    rows = [
        {
            "cluster": "onprem-lon",
            "resource": "gpu",
            "resource_class": "H100",
            "timestamp": NOON - timedelta(hours=back + 1),
            "demand": value,
        }
        for back, value in enumerate(reversed(seen))
    ]
    active = ActiveBurst.validate(pl.DataFrame(list(bursts), schema=ActiveBurst.create_empty().schema))
    demand = Demand.validate(pl.DataFrame(rows, schema=Demand.create_empty().schema))
    return returns(active, AtHome(mix, [GPU_NODE], admit(mix, [GPU_NODE]), demand), SETTINGS, at=NOON)


IDLE = [unit(f"w{n}", gpus=4) for n in range(3)]


def test_a_burst_goes_home_when_room_for_it_was_seen_three_times() -> None:
    (row,) = judged(burst(), mix=IDLE, seen=[12, 12, 12])
    assert row["is_due"]
    assert row["saves_gbp_per_hour"] == 3


def test_it_stays_while_one_of_the_last_evaluations_was_full() -> None:
    (row,) = judged(burst(), mix=IDLE, seen=[12, 22, 12])
    assert not row["is_due"]
    assert "gpu H100 had no room" in row["why"]


def test_it_stays_until_its_minimum_runtime_is_over() -> None:
    (row,) = judged(burst(started_at=NOON - timedelta(minutes=59)), mix=IDLE, seen=[12] * 3)
    assert not row["is_due"]
    assert "2026-11-30 12:01 UTC" in row["why"]


def test_a_workloads_own_minimum_runtime_counts_where_it_is_longer() -> None:
    (row,) = judged(burst(minimum_runtime_minutes=180), mix=IDLE, seen=[12] * 3)
    assert not row["is_due"]


def test_it_stays_where_the_sum_would_do_but_no_node_has_the_room() -> None:
    # Three nodes with 5 of 8 GPUs in use have 9 free, but nowhere 4 together.
    (row,) = judged(burst(), mix=[unit(f"w{n}", gpus=5) for n in range(3)], seen=[1, 1, 1])
    assert not row["is_due"]
    assert "gang by gang" in row["why"] or "no room" in row["why"]


def test_it_stays_while_anything_waits_at_home() -> None:
    (row,) = judged(burst(), mix=[*IDLE, unit("huge", gpus=8, replicas=3)], seen=[12] * 3)
    assert "3 replicas still find no room" in row["why"]


def test_what_could_never_run_at_home_does_not_keep_it_away() -> None:
    (row,) = judged(burst(), mix=[*IDLE, unit("never", gpus=9)], seen=[12] * 3)
    assert row["is_due"]


def test_two_bursts_do_not_go_home_into_the_same_room_and_the_dearer_goes_first() -> None:
    mix = [unit(f"w{n}", gpus=4) for n in range(5)]
    rows = judged(burst("cheap", gbp_per_hour=1.0), burst("dear", gbp_per_hour=9.0), mix=mix, seen=[20] * 3)
    assert [(row["workload"], row["is_due"]) for row in rows] == [("dear", True), ("cheap", False)]


def test_a_gang_goes_home_whole() -> None:
    rows = judged(burst(replicas=4, gang_size=4), mix=IDLE, seen=[0] * 3)
    assert not rows[0]["is_due"]


def test_too_few_evaluations_are_not_enough() -> None:
    (row,) = judged(burst(), mix=IDLE, seen=[12])
    assert row["why"] == "only 1 evaluations were seen"
