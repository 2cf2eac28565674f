"""From samples to workloads: means, peaks, coverage, presence, and what must not be advised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.observe.coverage import Window
from recommender.observe.usage import Usage
from recommender.observe.workloads import Observed, observe
from recommender.settings import Policy
from tests.recommender.observe.usage_rows import MONDAY, WEEK, cluster, samples, usage

ALL = range(168)


def observed(given_usage: Usage, *, window: Window = WEEK, clusters: tuple[Any, ...] = ()) -> Observed:
    return observe(given_usage, Policy(), clusters=clusters or (cluster(),), window=window)


def only(result: Observed) -> dict[str, Any]:
    assert result.workloads.height == 1
    return result.workloads.row(0, named=True)


def reasons(result: Observed) -> dict[str, str]:
    return {row["workload"]: row["reason"] for row in result.not_enough_data.to_dicts()}


def test_a_workload_that_never_changes_has_its_own_requests_as_mean_and_peak():
    row = only(observed(usage(samples(ALL, replicas=3, vcpu_request=6, memory_gib_request=24))))
    assert (row["replicas_mean"], row["vcpu_request_mean"], row["memory_gib_request_peak"]) == (3, 6, 24)
    assert (row["running_ratio"], row["coverage_ratio"], row["samples"]) == (1, 1, 168)
    assert (row["pool"], row["instance_type"], row["capacity_type"]) == ("general", "m6i.large", "on-demand")


def test_hours_in_which_it_did_not_run_count_as_zero_where_its_cluster_was_observed():
    nightly = samples([day * 24 + 2 for day in range(7)], workload_kind="CronJob", vcpu_request=24)
    row = only(observed(usage(nightly, observed={"c1": ALL})))
    assert row["vcpu_request_mean"] == pytest.approx(24 * 7 / 168)
    assert (row["vcpu_request_peak"], row["running_ratio"]) == (24, pytest.approx(7 / 168))


def test_hours_in_which_the_cluster_was_not_observed_do_not_count():
    seen = [hour for hour in ALL if not 70 <= hour < 84]
    row = only(observed(usage(samples(seen, vcpu_request=4))))
    assert (row["vcpu_request_mean"], row["running_ratio"]) == (4, 1)
    assert row["coverage_ratio"] == pytest.approx(154 / 168)


def test_a_thinly_covered_cluster_keeps_its_coverage_for_place_to_judge():
    assert only(observed(usage(samples(range(100, 168)))))["coverage_ratio"] == pytest.approx(68 / 168)


def test_an_hour_half_observed_weighs_half():
    given_usage = usage(samples([0], vcpu_request=8), samples([1], vcpu_request=2))
    halved = given_usage.observed.with_columns(coverage_ratio=given_usage.observed["timestamp"].rank() / 2)
    row = only(
        observed(
            Usage(given_usage.samples, given_usage.stated, halved),
            window=Window.ending(MONDAY + timedelta(hours=2), hours=2),
        )
    )  # type: ignore[arg-type]
    assert row["vcpu_request_mean"] == pytest.approx((8 * 0.5 + 2 * 1) / 1.5)
    assert row["coverage_ratio"] == 0.75


def test_a_workload_in_two_pools_is_one_workload_in_the_pool_of_most_of_its_replica_hours():
    row = only(
        observed(
            usage(
                samples(range(100), pool="a", vcpu_request=4),
                samples(range(100, 168), pool="b", vcpu_request=4),
                samples([99], pool="b", vcpu_request=1),
            )
        )
    )
    assert row["pool"] == "a"
    assert row["vcpu_request_mean"] == pytest.approx((168 * 4 + 1) / 168)
    assert row["vcpu_request_peak"] == 5


@pytest.mark.parametrize(("first", "second"), [("Deployment", "StatefulSet"), ("deployment", "Deployment")])
def test_a_kind_that_changes_in_the_week_does_not_split_the_money(first: str, second: str):
    row = only(observed(usage(samples(range(80), workload_kind=first), samples(range(80, 168), workload_kind=second))))
    assert (row["workload_kind"], row["vcpu_request_mean"], row["samples"]) == (second, 2, 168)


def test_an_hour_shared_by_both_kinds_counts_both_parts_once():
    row = only(
        observed(
            usage(
                samples(range(81), workload_kind="Deployment", vcpu_request=2),
                samples(range(80, 168), workload_kind="StatefulSet", vcpu_request=2),
            )
        )
    )
    assert row["vcpu_request_mean"] == pytest.approx((168 * 2 + 2) / 168)


def test_kinds_that_run_side_by_side_stay_two_workloads():
    result = observed(usage(samples(ALL), samples(range(2, 168, 24), workload_kind="CronJob")))
    assert sorted(result.workloads["workload_kind"]) == ["CronJob", "Deployment"]


def test_the_kind_that_a_workload_has_now_takes_over_what_was_said_of_the_old_one():
    said = [("c1", "shop", "Deployment", "web", "owner", "e-commerce")]
    given_usage = usage(samples(range(80)), samples(range(80, 168), workload_kind="StatefulSet"), stated=said)
    assert only(observed(given_usage))["owner"] == "e-commerce"


def test_usage_is_summed_up_over_pools_and_unknown_where_a_part_is_unknown():
    known = usage(samples(ALL, pool="a", vcpu_usage=0.5), samples(ALL, pool="b", vcpu_usage=1.0))
    assert only(observed(known))["vcpu_usage_p95"] == 1.5
    part = usage(samples(ALL, pool="a", vcpu_usage=0.5), samples(ALL, pool="b"))
    assert only(observed(part))["vcpu_usage_p95"] is None


def test_replicas_that_wait_elsewhere_do_not_make_usage_unknown():
    waiting = samples(ALL, pool="", instance_type="", capacity_type="", replicas=0, vcpu_request=0, pending_replicas=2)
    assert only(observed(usage(samples(ALL, vcpu_usage=0.5), waiting)))["vcpu_usage_p95"] == 0.5


def test_a_peak_within_an_hour_is_the_peak_and_not_the_mean():
    hour = samples([7], vcpu_request=2, vcpu_request_peak=6)
    row = only(observed(usage(samples([*range(7), *range(8, 168)], vcpu_request=2), hour)))
    assert (row["vcpu_request_mean"], row["vcpu_request_peak"], row["replicas_peak"]) == (2, 6, 1)


def test_a_gpu_ratio_is_weighted_by_gpus():
    given_usage = usage(
        samples(ALL, pool="a", gpu_request=3.0, gpu_model="L4", gpu_usage_ratio=0.2),
        samples(ALL, pool="b", gpu_request=1.0, gpu_model="L4", gpu_usage_ratio=1.0),
    )
    row = only(observed(given_usage))
    assert (row["gpu_usage_ratio_mean"], row["gpu_request_mean"], row["gpu_model"]) == (pytest.approx(0.4), 4, "L4")


def test_samples_outside_the_window_are_not_used():
    row = only(observed(usage(samples(range(-5, 200), vcpu_request=2), samples([-1, 168], pool="b", vcpu_request=900))))
    assert (row["vcpu_request_peak"], row["samples"]) == (2, 168)


def test_quarter_hourly_samples_count_quarter_hours():
    quarters = [
        row | {"timestamp": row["timestamp"] + timedelta(minutes=minutes)}
        for minutes in (0, 15, 30, 45)
        for row in samples(ALL, vcpu_request=2)
    ]
    row = only(observed(usage(quarters[:-40])))
    assert row["samples"] == 632
    assert row["coverage_ratio"] == pytest.approx(632 / 672)
    assert row["vcpu_request_mean"] == 2


@pytest.mark.parametrize("start", [datetime(2026, 3, 23, tzinfo=UTC), datetime(2026, 10, 19, tzinfo=UTC)])
def test_a_week_in_which_the_clocks_change_is_a_hundred_and_sixty_eight_hours(start: datetime):
    window = Window.ending(start + timedelta(days=7), hours=168)
    row = only(observed(usage(samples(ALL, start=start)), window=window))
    assert (row["coverage_ratio"], row["samples"], row["vcpu_request_mean"]) == (1, 168, 2)


def test_a_cluster_of_the_fleet_without_samples_is_said_to_be_missing():
    result = observed(usage(samples(range(-30, -20))), clusters=(cluster(), cluster("c2")))
    assert result.workloads.is_empty()
    why = {row["cluster"]: (row["reason"], row["why"]) for row in result.not_enough_data.to_dicts()}
    assert why["c1"] == (
        "cluster-not-seen",
        "no sample from 2026-11-23 00:00 to 2026-11-30 00:00 UTC; the last one is of 2026-11-22 03:00",
    )
    assert why["c2"] == ("cluster-not-seen", "no sample from 2026-11-23 00:00 to 2026-11-30 00:00 UTC")


def test_a_workload_that_went_is_not_advised_and_takes_no_room():
    result = observed(usage(samples(ALL), samples(range(96), workload="old")))
    assert reasons(result) == {"old": "vanished"}
    assert result.workloads["workload"].to_list() == ["web"]
    assert result.not_enough_data["why"].to_list() == ["not seen since 2026-11-26 23:00 UTC"]


def test_a_weekend_at_zero_is_not_vanishing():
    weekdays = samples(range(114), workload="office")
    assert reasons(observed(usage(samples(ALL), weekdays))) == {}


def test_a_job_may_come_and_go():
    assert reasons(observed(usage(samples(ALL), samples(range(12), workload="once", workload_kind="Job")))) == {}


def test_a_workload_known_for_less_than_a_day_is_not_advised_but_takes_room():
    result = observed(usage(samples(ALL), samples(range(145, 168), workload="young")))
    assert reasons(result) == {"young": "new"}
    assert sorted(result.workloads["workload"]) == ["web", "young"]
    assert reasons(observed(usage(samples(ALL), samples(range(144, 168), workload="young")))) == {}


def test_a_workload_that_only_waited_is_said_never_to_have_run():
    waiting = samples(ALL, workload="stuck", replicas=0, vcpu_request=0, memory_gib_request=0, pending_replicas=4)
    result = observed(usage(samples(ALL), waiting))
    assert reasons(result) == {"stuck": "never-ran"}


def test_gpus_of_an_unknown_model_are_not_advised():
    result = observed(
        usage(
            samples(ALL, workload="a", gpu_request=1.0, gpu_model="Voodoo2"),
            samples(ALL, workload="b", gpu_request=1.0),
            samples(ALL, workload="c", gpu_request=1.0, gpu_model="T4"),
        )
    )
    assert reasons(result) == {"a": "gpu-model-unknown", "b": "gpu-model-unknown"}


@pytest.mark.parametrize(
    ("values", "is_system"),
    [
        ({"workload_kind": "DaemonSet"}, True),
        ({"workload_kind": "daemonset"}, True),
        ({"workload_kind": "Node"}, True),
        ({"namespace": "kube-system"}, True),
        ({"namespace": "gke-managed-cim"}, True),
        ({"namespace": "kubernetes-apps"}, False),
        ({}, False),
    ],
)
def test_what_every_node_carries_is_system(values: dict[str, str], is_system: bool):
    assert only(observed(usage(samples(ALL, **values))))["is_system"] is is_system


def test_a_system_critical_priority_makes_a_workload_system():
    said = [("c1", "shop", "Deployment", "web", "priority_class", "system-cluster-critical")]
    assert only(observed(usage(samples(ALL), stated=said)))["is_system"] is True


def test_a_wrong_attribute_keeps_the_workload_from_being_advised():
    said = [("c1", "shop", "Deployment", "web", "criticality", "urgent")]
    result = observed(usage(samples(ALL), stated=said))
    assert reasons(result) == {"web": "attribute-wrong"}
    assert "criticality is 'urgent'" in result.not_enough_data["why"][0]


def test_no_usage_at_all_is_nothing_but_missing_clusters():
    result = observed(usage())
    assert (result.workloads.height, result.flows.height, result.not_enough_data.height) == (0, 0, 1)


@settings(max_examples=20)
@given(
    hours=st.lists(st.sampled_from(range(168)), min_size=1, max_size=40, unique=True),
    amount=st.floats(min_value=0.01, max_value=500),
    missing=st.integers(min_value=0, max_value=100),
)
def test_a_mean_is_never_above_the_peak_and_adds_up_to_what_was_seen(hours: list[int], amount: float, missing: int):
    seen = sorted(set(hours) | set(range(missing, 168)))
    result = observed(usage(samples(hours, workload_kind="Job", vcpu_request=amount), observed={"c1": seen}))
    row = only(result)
    assert row["vcpu_request_mean"] <= row["vcpu_request_peak"] * (1 + 1e-12)
    assert row["vcpu_request_mean"] * len(seen) == pytest.approx(amount * len(hours))
    assert row["coverage_ratio"] == pytest.approx(len(seen) / 168)
