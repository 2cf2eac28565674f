"""Advice on owned capacity: one record a pool to burst to, with its money by hand, and what cannot be judged."""

from __future__ import annotations

import itertools
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.advise.capacity import Held, capacity_advice, capacity_gaps, not_judged
from recommender.advise.capacity_question import CapacityQuestion, RunningBurst
from recommender.advise.capacity_record import CapacityRecommendation, advice_of
from recommender.advise.record import Confidence, Kind, Recommendation
from recommender.settings import BurstSettings
from tests.builders import NOON
from tests.recommender.advise.own_racks import asked, hours
from tests.recommender.burst.history import HOURS, full_usage, samples
from tests.recommender.burst.home import FITS, pod, pods
from tests.recommender.world import GENERAL, METAL, machine, plan, policy, pools, prices, standard_offers, workload

LONDON = 4 * 0.03 + 16 * 0.004
RESTART = (3 * 0.03 + 4 * 0.004) * 10 / 60
"""What ten minutes of a pod cost twice, in London."""


@cache
def short() -> CapacityQuestion:
    """Two pods of 3 vCPUs too many, that wait since five hours."""
    return asked(*full_usage(2, for_hours=5))


def only(question: CapacityQuestion, **changes: Any) -> CapacityRecommendation:
    (one,) = capacity_advice(question, **changes)
    return one


def idle(number: int = 5) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """So many pods at home for three days."""
    rows = pods(number)
    return rows, [one for row in rows for one in samples(row, list(range(1, HOURS)))]


def running(question: CapacityQuestion, *, started: float) -> RunningBurst:
    """The burst that was advised, carried out so many hours before noon."""
    one = only(question)
    return RunningBurst(one, NOON - hours(started), one.moves)


def test_a_burst_names_what_leaves_for_where_and_what_an_hour_of_it_costs() -> None:
    one = only(short())
    assert (one.kind, one.target.pool, one.target.resource, one.target.resource_class) == (
        Kind.BURST,
        "metal",
        "vcpu",
        "amd64",
    )
    assert one.recommended is not None
    assert (one.recommended.cluster, one.recommended.pool, one.recommended.jurisdiction) == ("eks-lon", "general", "GB")
    assert [(move.workload, move.replicas, move.waiting_replicas) for move in one.moves] == [
        ("w20", 1, 1),
        ("w21", 1, 1),
    ]
    assert [move.gbp_per_hour for move in one.moves] == pytest.approx([LONDON, LONDON])
    assert one.cost_delta_gbp_per_hour == pytest.approx(2 * LONDON)
    assert one.one_off_gbp == pytest.approx(2 * RESTART)
    assert [(node.instance_type, node.nodes) for node in one.nodes] == [("m5.xlarge", 2)]


def test_a_burst_says_what_triggered_it_when_to_start_and_when_it_may_return() -> None:
    one = only(short())
    assert one.shortage is not None
    assert (one.shortage.demand, one.shortage.capacity, one.shortage.short) == (66, 60, 6)
    assert one.shortage.p90 is not None
    assert one.shortage.p90 >= (one.shortage.p50 or 0) > 0
    # It is short now, and a node takes 180 + 120 seconds.
    assert one.latest_useful_start == NOON - timedelta(minutes=5)
    assert one.earliest_return == NOON + timedelta(minutes=60)


def test_a_burst_rests_on_its_price_and_names_cheaper_places_that_a_rule_refused() -> None:
    one = only(short())
    (price,) = one.prices
    assert (price.gbp_per_hour, price.origin, price.used_for) == (LONDON, "live", "recommended")
    rules = {refusal.rule: refusal for refusal in one.refused}
    assert set(rules) == {"interruption", "residency"}
    assert rules["residency"].legal_basis == "UK GDPR Art. 44"
    assert rules["residency"].gbp_per_hour == pytest.approx(3 * 0.02 + 4 * 0.003)


@settings(max_examples=6, deadline=None)
@given(extra=st.integers(1, 6), state_gib=st.sampled_from([0.0, 7.3]), tolerance=st.sampled_from(["none", "spot"]))
def test_shares_and_nodes_add_up_to_what_a_burst_costs(extra: int, state_gib: float, tolerance: str) -> None:
    rows, used = full_usage(extra, for_hours=5)
    for row in rows[FITS:]:
        row |= {"state_gib": state_gib, "interruption_tolerance": tolerance}
    found = capacity_advice(asked(rows, used))
    assert sum(move.replicas for one in found for move in one.moves) == extra
    for one in found:
        nodes = sum(node.gbp_per_hour for node in one.nodes)
        assert sum(move.nodes_gbp_per_hour for move in one.moves) == pytest.approx(nodes, abs=1e-7)
        assert sum(move.gbp_per_hour for move in one.moves) == pytest.approx(one.cost_delta_gbp_per_hour, abs=1e-7)
        assert sum(move.one_off_gbp for move in one.moves) == pytest.approx(one.one_off_gbp, abs=1e-7)
        assert min(move.other_gbp_per_hour for move in one.moves) >= 0


def test_the_id_survives_a_price_tick_and_the_etag_does_not() -> None:
    dearer = machine("aws", "eu-west-2", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.031, gbp_per_gib_hour=0.004)
    after = asked(*full_usage(2, for_hours=5), prices=prices([dearer, *standard_offers()[1:]]))
    assert only(after).id == only(short()).id
    assert only(after).etag != only(short()).etag


def test_the_order_of_the_inputs_changes_nothing() -> None:
    rows, used = full_usage(2, for_hours=5)
    assert capacity_advice(asked(rows[::-1], used[::-1])) == capacity_advice(short())


def test_one_record_for_each_pool_that_the_overflow_leaves_for() -> None:
    rows, used = full_usage(2, for_hours=5)
    rows[20] |= {"residency_class": "europe"}
    found = capacity_advice(asked(rows, used))
    assert sorted((one.recommended.cluster, one.moves[0].workload) for one in found if one.recommended) == [
        ("eks-lon", "w21"),
        ("gke-bel", "w20"),
    ]
    assert len({one.id for one in found}) == 2
    assert len({one.group for one in found}) == 1


def test_without_a_forecast_demand_alone_decides_and_both_record_and_plan_say_so() -> None:
    question = asked(*full_usage(2, for_hours=5, hours=12))
    one = only(question)
    assert one.risk.confidence is Confidence.LOW
    assert any("there is no forecast" in why for why in one.risk.confidence_why)
    assert one.shortage is not None
    assert one.shortage.p90 is None
    (gap,) = capacity_gaps(question)
    assert (gap.cluster, gap.reason) == ("onprem-lon", "capacity-no-forecast")
    assert "vcpu amd64" in gap.why


def test_a_cluster_that_is_short_and_may_send_nothing_away_is_no_silence() -> None:
    question = asked(*full_usage(2, for_hours=5), pools=pools(METAL))
    assert capacity_advice(question) == ()
    (gap,) = capacity_gaps(question)
    assert gap.reason == "capacity-no-place"
    assert "2 replicas wait" in gap.why


def test_an_owned_cluster_that_was_not_observed_is_not_taken_for_idle() -> None:
    rows = pods(1)
    (gap,) = capacity_gaps(asked(rows, samples(rows[0] | {"cluster": "eks-lon"}, [1])))
    assert gap.reason == "capacity-not-observed"


def test_what_failed_is_said_of_every_owned_cluster() -> None:
    assert [(one.cluster, one.reason) for one in not_judged(["b", "a"], "Prometheus did not answer")] == [
        ("a", "capacity-failed"),
        ("b", "capacity-failed"),
    ]


def test_nothing_is_advised_of_a_fleet_without_owned_nodes() -> None:
    question = asked(*full_usage(2, for_hours=5), pools=pools(GENERAL))
    assert capacity_advice(question) == ()
    assert capacity_gaps(question) == ()


def test_a_dismissed_burst_gives_way_to_the_next_place_and_is_named_with_the_reason() -> None:
    rows, used = full_usage(1, for_hours=5)
    rows[20] |= {"residency_class": "europe"}
    first = only(asked(rows, used))
    assert first.recommended is not None
    where = ("onprem-lon", "gke-bel", "general")
    held = Held({first.id}, (), {where: "ann dismissed it on 30 November 2026: not there"})
    second = only(asked(rows, used, dismissed=[where]), held=held)
    assert second.recommended is not None
    assert second.recommended.cluster == "eks-lon"
    (refusal,) = [one for one in second.refused if one.rule == "dismissed"]
    assert (refusal.cluster, refusal.why) == ("gke-bel", held.destinations[where])


def test_a_snooze_keeps_away_all_bursts_of_the_class() -> None:
    assert capacity_advice(short(), Held((), {only(short()).group}, {})) == ()


def test_a_burst_comes_home_after_its_minimum_runtime_on_room_that_was_seen() -> None:
    burst = running(short(), started=2)
    one = only(asked(*idle(), running=(burst,)))
    assert (one.kind, one.burst_id) == (Kind.BURST_RETURN, burst.advice.id)
    assert one.cost_delta_gbp_per_hour == pytest.approx(-2 * LONDON)
    assert one.current == burst.advice.recommended
    assert one.recommended is not None
    assert (one.recommended.cluster, one.recommended.pool) == ("onprem-lon", "metal")
    assert [move.workload for move in one.moves] == ["w20", "w21"]


def test_a_burst_stays_until_its_minimum_runtime_is_over() -> None:
    assert capacity_advice(asked(*idle(), running=(running(short(), started=0.5),))) == ()


def test_a_forecast_of_room_brings_nothing_home() -> None:
    # Every day the racks are full until noon and empty after it: the next hour is foretold to be empty.
    rows = pods(FITS)
    morning = [hour for hour in range(1, 24 * 5) if (NOON - hours(hour)).hour < NOON.hour]
    used = [one for row in rows for one in samples(row, morning)]
    used += samples(rows[0], [hour for hour in range(1, 24 * 5) if hour not in set(morning)])
    question = asked(rows, used, running=(running(short(), started=4),))
    foretold = question.forecasts.forecasts.filter(resource="vcpu", cluster="onprem-lon").row(0, named=True)
    assert foretold["p50"] < foretold["demand"] == 60
    assert capacity_advice(question) == ()


def test_two_bursts_of_one_workload_to_one_cluster_count_together() -> None:
    burst = running(short(), started=2)
    question = asked(*idle(), running=(burst, burst))
    one = only(question)
    assert [(move.workload, move.replicas) for move in one.moves] == [("w20", 2), ("w21", 2)]
    assert one.cost_delta_gbp_per_hour == pytest.approx(-4 * LONDON)


def test_a_pool_that_is_short_most_of_the_time_is_worth_one_more_node() -> None:
    found = capacity_advice(asked(*full_usage(9, for_hours=60)))
    (one,) = [row for row in found if row.kind is Kind.EXTEND]
    full = 32 * 0.01 + 128 * 0.002
    allocatable = 32 - (0.06 + 0.01 + 2 * 0.005 + 28 * 0.0025)
    cloud = (4 * 0.02 + 16 * 0.003) / (4 - (0.06 + 0.01 + 2 * 0.005)) * allocatable
    used = 60 / 72 * 27 / allocatable
    assert one.recommended is None
    assert one.break_even is not None
    assert one.break_even.break_even_ratio == pytest.approx(full / cloud)
    assert one.break_even.short_ratio == pytest.approx(60 / 72)
    assert one.cost_delta_gbp_per_hour == pytest.approx(full - used * cloud)
    assert [price.used_for for price in one.prices] == ["recommended", "current"]


def test_committed_nodes_are_named_with_their_place() -> None:
    reserved = METAL | {"cluster": "eks-lon", "pool": "reserved", "provider": "aws", "region": "eu-west-2"}
    reserved |= {"instance_type": "m5.xlarge", "capacity_type": "committed-1y", "tier": "cloud", "nodes_max": 1}
    offer = machine("aws", "eu-west-2", "m5.xlarge", "committed-1y", gbp_per_vcpu_hour=0.004, gbp_per_gib_hour=0.001)
    found = capacity_advice(
        asked(
            *full_usage(9, for_hours=60),
            pools=pools(GENERAL, METAL, reserved),
            prices=prices([*standard_offers(), offer]),
        )
    )
    (one,) = [row for row in found if row.kind is Kind.COMMIT]
    assert one.recommended is not None
    assert (one.recommended.cluster, one.recommended.pool) == ("eks-lon", "reserved")
    assert one.cost_delta_gbp_per_hour < 0


def test_gpus_that_are_short_are_what_the_burst_is_about() -> None:
    gpu_offers = [
        machine(provider, region, name, kind, vcpus=32.0, memory_gib=128.0, gpus=4.0, gpu_model="L4", **money)
        for provider, region, name, kind, money in (
            (
                "onprem",
                "london",
                "gpu-node",
                "owned",
                {
                    "gbp_per_vcpu_hour": 0.01,
                    "gbp_per_gib_hour": 0.002,
                    "gbp_per_gpu_hour": 0.1,
                    "marginal_gbp_per_hour": 0.5,
                    "split_method": "rate-card",
                },
            ),
            (
                "aws",
                "eu-west-2",
                "g6.8xlarge",
                "on-demand",
                {"gbp_per_vcpu_hour": 0.03, "gbp_per_gib_hour": 0.004, "gbp_per_gpu_hour": 0.5},
            ),
        )
    ]
    fleet = (METAL | {"instance_type": "gpu-node", "nodes_max": 1}, GENERAL | {"instance_type": "g6.8xlarge"})
    asks = {"gpu_request_mean": 1.0, "gpu_model": "L4", "instance_type": "gpu-node", "vcpu_request_mean": 1.0}
    rows = [pod(f"g{number}", **asks) for number in range(5)]
    has = {"gpu_request": 1.0, "gpu_model": "L4"}
    used = list(itertools.chain(*(samples(row, list(range(1, HOURS)), **has) for row in rows[:4])))
    late = {"pool": "", "instance_type": "", "capacity_type": "", "gpu_model": "L4"}
    used += samples(rows[4], [HOURS], **late | {"gpu_request": 1.0})
    waits = {"replicas": 0.0, "vcpu_request": 0.0, "memory_gib_request": 0.0, "gpu_request": 0.0}
    used += samples(rows[4], list(range(1, 6)), **late | waits | {"pending_replicas": 1.0})
    bursts = capacity_advice(asked(rows, used, pools=pools(*fleet), prices=prices(gpu_offers)))
    (one,) = [row for row in bursts if row.kind is Kind.BURST]
    assert (one.target.resource, one.target.resource_class) == ("gpu", "L4")
    assert [(move.replica_gpus, move.gpu_model) for move in one.moves] == [(1.0, "L4")]
    assert one.cost_delta_gbp_per_hour == pytest.approx(32 * 0.03 + 128 * 0.004 + 4 * 0.5)


def test_a_setting_of_the_expected_hours_spreads_and_adds_nothing() -> None:
    longer = asked(*full_usage(2, for_hours=5), settings=BurstSettings(expected_hours=8))
    assert only(longer).cost_delta_gbp_per_hour == only(short()).cost_delta_gbp_per_hour
    assert only(longer).one_off_gbp == only(short()).one_off_gbp


def test_a_record_that_was_written_down_is_read_as_what_it_is() -> None:
    burst, (move, *_) = only(short()), plan(workload(), pools=pools(GENERAL, METAL)).recommendations
    assert advice_of(burst.model_dump_json(exclude_none=True)) == burst
    read = advice_of(move.model_dump_json(exclude_none=True))
    assert isinstance(read, Recommendation)
    assert read == move


def test_interruptions_of_a_burst_to_spot_are_counted() -> None:
    rows, used = full_usage(1, for_hours=5)
    rows = [row | {"interruption_tolerance": "spot"} for row in rows]
    one = only(asked(rows, used, policy=policy()))
    assert one.recommended is not None
    assert one.recommended.capacity_type == "spot"
    assert one.risk.interruptions_per_month > 0
    assert one.cost_delta_gbp_per_hour > LONDON / 3
