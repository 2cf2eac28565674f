"""What cannot be said is said, with the reason and the next step, and counts nowhere as zero."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl

from exporters.core.words import Origin
from exporters.store.read import combine
from recommender.frames import NotEnoughData
from tests.builders import NOON, snapshot
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    SPOT,
    fx_snapshot,
    machine,
    plan,
    pools,
    prices,
    standard_offers,
    workload,
    workloads,
)


def test_a_cluster_of_the_fleet_without_usage_is_told_and_not_taken_for_idle() -> None:
    made = plan(workloads=workloads(workload()))
    assert {(one.cluster, one.reason) for one in made.not_enough_data} == {
        ("gke-bel", "no-usage"),
        ("onprem-lon", "no-usage"),
    }
    assert made.recommendations == ()
    assert "cluster_observed" in {one.rule for one in made.refused}


def told(**changes: str) -> Any:
    row = {
        "cluster": "gke-bel",
        "namespace": "",
        "workload_kind": "",
        "workload": "",
        "reason": "cluster-not-seen",
        "why": "no sample",
        "next_step": "Check its scrape.",
    } | changes
    return NotEnoughData.validate(pl.DataFrame([row]))


def test_a_cluster_that_observe_saw_empty_is_idle_and_one_it_did_not_see_is_not() -> None:
    made = plan(workloads=workloads(workload()), not_enough_data=told())
    assert [(one.cluster, one.reason) for one in made.not_enough_data] == [("gke-bel", "cluster-not-seen")]
    assert [one.recommended.cluster for one in made.recommendations] == ["onprem-lon"]


def test_a_workload_that_observe_finds_unfit_is_not_advised_and_its_reason_is_passed_on() -> None:
    name = {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": "web"}
    made = plan(workload(), not_enough_data=told(**name, reason="new", why="first seen today"))
    [gap] = made.not_enough_data
    assert (gap.workload, gap.reason, gap.why) == ("web", "new", "first seen today")
    assert made.recommendations == ()
    assert made.placements == ()


def test_thin_coverage_is_not_enough_data_and_in_no_sum() -> None:
    made = plan(workload("seen"), workload("dark", coverage_ratio=0.5), pools=pools(GENERAL))
    [gap] = [one for one in made.not_enough_data if one.workload == "dark"]
    assert (gap.reason, gap.why) == ("coverage", "its cluster was observed in 50% of the window, 80% are needed")
    assert [one.workload for one in made.placements] == ["seen"]
    assert (made.summary.workloads, made.summary.workloads_priced) == (2, 1)


def test_a_machine_without_a_price_is_told_by_name() -> None:
    made = plan(workload(instance_type="x9.metal"), pools=pools(GENERAL))
    [gap] = [one for one in made.not_enough_data if one.workload]
    assert gap.reason == "no-price"
    assert gap.why == "there is no on-demand price for x9.metal in aws/eu-west-2"


def test_a_stale_price_is_told_as_stale_and_not_used() -> None:
    old = snapshot("aws", taken_at=NOON - timedelta(hours=49), offers=standard_offers()[0])
    made = plan(workload(), prices=combine([old, fx_snapshot()], now=NOON), pools=pools(GENERAL))
    [gap] = [one for one in made.not_enough_data if one.workload]
    assert (gap.reason, gap.next_step) == ("stale-price", "Run tuppence fetch aws and read why it failed.")
    assert [one.id for one in made.inputs.stale_snapshots] == ["aws/20261128T110000.000000Z"]
    assert made.placements == ()


def test_a_gpu_that_contradicts_the_machine_is_not_priced() -> None:
    wrong = workload(gpu_request_mean=1.0, gpu_model="L4")
    [gap] = [one for one in plan(wrong, pools=pools(GENERAL)).not_enough_data if one.workload]
    assert gap.reason == "gpu-model-conflict"


def test_system_pods_are_neither_advised_nor_listed() -> None:
    made = plan(workload("kube-proxy", is_system=True, coverage_ratio=0.1), pools=pools(GENERAL))
    assert [one for one in made.not_enough_data if one.workload] == []
    assert made.summary.workloads_system == 3
    assert made.summary.workloads == 0


def test_an_unknown_capacity_type_is_never_taken_for_on_demand() -> None:
    lost = workload(pool="renamed", capacity_type="", instance_type="m5.xlarge")
    made = plan(lost, pools=pools(GENERAL, SPOT, BELGIUM))
    assert [one.reason for one in made.not_enough_data if one.workload] == ["unknown-capacity-type"]


def test_an_illustrative_price_is_advised_with_low_confidence_that_says_so() -> None:
    spot = machine(
        "aws",
        "eu-west-2",
        "m5.xlarge",
        "spot",
        gbp_per_vcpu_hour=0.01,
        gbp_per_gib_hour=0.001,
        note="illustrative: AWS publishes no dated list",
    )
    made = plan(
        workload(interruption_tolerance="spot"),
        prices=prices([standard_offers()[0], spot]),
        pools=pools(GENERAL, SPOT),
    )
    [one] = made.recommendations
    assert one.risk.confidence.value == "low"
    assert one.risk.confidence_why == (
        "the recommended price of m5.xlarge (spot) is illustrative, not a dated quotation",
    )


def test_a_packaged_price_says_its_origin() -> None:
    book = snapshot("aws", max_age_hours=None, offers=standard_offers()[0])
    packaged = replace(book, manifest=replace(book.manifest, origin=Origin.PACKAGED))
    made = plan(workload(), prices=combine([packaged, fx_snapshot()], now=NOON), pools=pools(GENERAL))
    assert [one.origin for one in made.inputs.snapshots if one.source == "aws"] == ["packaged"]
