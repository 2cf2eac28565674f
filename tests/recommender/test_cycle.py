"""One evaluation from usage to plan: figures worked out by hand, and what must hold for any fleet."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recommender.advise.plan import Plan
from recommender.advise.record import SAVING_KINDS, Kind
from tests.properties import examples
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    flow,
    flows,
    machine,
    node_agents,
    plan,
    policy,
    pool,
    pools,
    prices,
    standard_offers,
    standard_pools,
    standard_rates,
    workload,
    workloads,
)

TERMS = (
    "compute_gbp_per_hour",
    "egress_gbp_per_hour",
    "interruption_gbp_per_hour",
    "lost_work_gbp_per_hour",
    "latency_gbp_per_hour",
)
JURISDICTION = {"eks-lon": "GB", "onprem-lon": "GB", "gke-bel": "EEA"}


def only(plan_: Plan) -> Any:
    assert len(plan_.recommendations) == 1
    return plan_.recommendations[0]


def test_a_workload_is_advised_onto_idle_owned_machines_at_their_marginal_price() -> None:
    one = only(plan(workload()))
    assert one.kind is Kind.PLACEMENT
    assert (one.recommended.cluster, one.recommended.pool) == ("onprem-lon", "metal")
    # On demand: 4 × 0.03 + 16 × 0.004 = 0.184. Owned: an eighth of a node (4 of 32 vCPU, 16 of 128 GiB) × 0.32 = 0.04.
    assert one.current.gbp_per_hour == pytest.approx(0.184)
    assert one.recommended.gbp_per_hour == pytest.approx(0.04)
    assert one.recommended.full_gbp_per_hour == pytest.approx(4 * 0.01 + 16 * 0.002)
    assert float(one.monthly.saving.p50) == round((0.184 - 0.04) * 730, 2)


def test_the_same_cluster_with_another_capacity_type_is_a_purchase_option() -> None:
    tolerant = workload(interruption_tolerance="spot", checkpoint_minutes=30.0)
    one = only(plan(tolerant, pools=pools(GENERAL, SPOT)))
    assert one.kind is Kind.PURCHASE_OPTION
    compute = 4 * 0.01 + 16 * 0.004 / 3
    per_hour = 0.15 / 730
    assert one.recommended.compute_gbp_per_hour == pytest.approx(compute, abs=1e-9)
    assert one.recommended.interruption_gbp_per_hour == pytest.approx(2 * per_hour * 1.50, abs=1e-9)
    assert one.recommended.lost_work_gbp_per_hour == pytest.approx(per_hour * (15 + 10) / 60 * compute, abs=1e-9)
    assert one.risk.interruptions_per_month == pytest.approx(0.30)


def test_data_that_costs_more_to_move_than_the_machine_saves_keeps_the_workload_where_it_is() -> None:
    roomy = {"residency_class": "europe"}
    fleet = pools(GENERAL, BELGIUM)
    assert only(plan(workload(**roomy), pools=fleet)).recommended.cluster == "gke-bel"
    heavy = flows(flow(to="aws/eu-west-2", gib_per_hour=1.0, direction="out"))
    stays = plan(workload(**roomy), pools=fleet, flows=heavy)
    assert stays.recommendations == ()
    assert stays.placements[0].to_cluster == "eks-lon"


def test_a_workload_in_a_forbidden_place_is_advised_out_of_it_even_at_a_loss_and_that_is_no_saving() -> None:
    abroad = workload(cluster="gke-bel", pool="general", instance_type="n2-standard-4")
    made = plan(abroad, pools=pools(GENERAL, BELGIUM))
    one = only(made)
    assert one.kind is Kind.COMPLIANCE
    assert one.monthly is None
    # Belgium costs 4 × 0.02 + 16 × 0.003 = 0.128, London 0.184.
    assert one.cost_delta_gbp_per_hour == pytest.approx(0.056)
    assert one.legal_basis == "UK GDPR Art. 44"
    assert one.explanation[0] == "It may not stay where it is: gke-bel is in EEA, class uk allows GB."
    assert made.summary.saving_gbp_per_hour == 0
    assert made.summary.compliance_delta_gbp_per_hour == pytest.approx(0.056)
    assert [(breach.workload, breach.recommendation_id) for breach in made.breaches] == [("web", one.id)]


def test_a_breach_without_a_legal_place_is_still_told() -> None:
    abroad = workload(cluster="gke-bel", pool="general", instance_type="n2-standard-4")
    made = plan(abroad, pools=pools(BELGIUM))
    assert made.recommendations == ()
    assert [breach.recommendation_id for breach in made.breaches] == [None]
    assert made.breaches[0].why == "gke-bel is in EEA, class uk allows GB"


def test_the_cheapest_refused_offer_stands_with_what_its_rule_costs() -> None:
    made = plan(workload(), pools=pools(GENERAL, BELGIUM))
    [refusal] = made.refused
    assert (refusal.rule, refusal.cluster, refusal.legal_basis) == ("residency", "gke-bel", "UK GDPR Art. 44")
    assert refusal.why == "gke-bel is in EEA, class uk allows GB"
    assert float(refusal.rule_costs_gbp_per_month) == round((0.184 - 0.128) * 730, 2)


def test_owned_machines_are_never_promised_twice() -> None:
    # Two nodes leave 2 × (32 − 0.15) = 63.7 vCPU: room for one workload of 40 vCPU, not for two.
    big = {"vcpu_request_mean": 40.0, "memory_gib_request_mean": 40.0, "replicas_mean": 10.0}
    made = plan(workload("a", **big), workload("b", **big), pools=pools(GENERAL, METAL))
    assert [one.target.workload for one in made.recommendations] == ["a"]
    assert [(one.workload.workload, one.rule, one.stage) for one in made.refused if one.stage == "capacity"] == [
        ("b", "capacity_taken", "capacity")
    ]


def test_no_more_moves_than_the_policy_allows_in_a_week_are_advised_and_the_best_come_first() -> None:
    rows = [workload(name, vcpu_request_mean=size) for name, size in (("small", 2.0), ("large", 8.0), ("middle", 4.0))]
    made = plan(*rows, policy=policy(steady={"max_moves_per_week": 2}))
    assert [one.target.workload for one in made.recommendations] == ["large", "middle"]
    assert [one.rule for one in made.refused if one.workload.workload == "small" and one.stage == "guard"] == [
        "max_moves_per_week"
    ]


def test_a_recommendation_keeps_its_id_when_a_price_moves_and_its_etag_tells_that_it_did() -> None:
    dearer = [
        machine("aws", "eu-west-2", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.031, gbp_per_gib_hour=0.004),
        *standard_offers()[1:],
    ]
    before, after = only(plan(workload())), only(plan(workload(), prices=prices(dearer)))
    assert before.id == after.id
    assert before.etag != after.etag


def test_the_json_has_no_nulls_and_says_what_it_was_made_from() -> None:
    document = json.loads(plan(workload()).to_json())
    assert "null" not in json.dumps(document)
    assert document["schema_version"] == 1
    assert document["generated_at"] == "2026-11-30T12:00:00Z"
    assert {one["source"] for one in document["inputs"]["snapshots"]} == {"aws", "gcp", "onprem", "fx"}
    [price, _] = document["recommendations"][0]["prices"]
    assert price["snapshot_id"] == "aws/20261130T120000.000000Z"


# What must hold for any fleet -------------------------------------------------------------------------------------

SPOT_TYPE = st.sampled_from(["none", "spot"])
PLACES = {
    "eks-lon/general": {},
    "eks-lon/spot": {"pool": "spot", "capacity_type": "spot"},
    "gke-bel/general": {"cluster": "gke-bel", "instance_type": "n2-standard-4"},
    "onprem-lon/metal": {
        "cluster": "onprem-lon",
        "pool": "metal",
        "instance_type": "r760",
        "capacity_type": "owned",
    },
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "place": st.sampled_from(sorted(PLACES)),
            "vcpu_request_mean": st.floats(0.1, 40),
            "memory_gib_request_mean": st.floats(0.1, 160),
            "replicas_mean": st.integers(1, 12).map(float),
            "residency_class": st.sampled_from(["uk", "europe", "anywhere", ""]),
            "criticality": st.sampled_from(["low", "medium", "high"]),
            "interruption_tolerance": SPOT_TYPE,
            "checkpoint_minutes": st.floats(0, 120),
            "gang_size": st.sampled_from([1, 1, 4]),
            "state_gib": st.sampled_from([0.0, 0.0, 50.0]),
            "flow": st.sampled_from([None, ("internet", "out"), ("aws/eu-west-2", "in"), ("gcp/europe-west1", "out")]),
            "gib_per_hour": st.floats(0, 5),
        }
    ),
    min_size=1,
    max_size=16,
)


def world_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    usage, traffic = [], []
    for number, row in enumerate(rows):
        own = {name: value for name, value in row.items() if name not in {"place", "flow", "gib_per_hour"}}
        one = workload(f"w{number}", **PLACES[row["place"]], **own)
        usage.append(one)
        if row["flow"]:
            to, direction = row["flow"]
            line = flow(f"w{number}", to=to, direction=direction, gib_per_hour=row["gib_per_hour"])
            traffic.append(line | {"cluster": one["cluster"]})
    return {"workloads": workloads(*usage, *node_agents()), "flows": flows(*traffic)}


any_fleet = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(6, 25))


@any_fleet
@given(rows=ROWS)
def test_any_plan_is_sound(rows: list[dict[str, Any]]) -> None:
    inputs = world_of(rows)
    made = plan(**inputs)
    savings_stay_within_the_cost(made)
    terms_and_shares_add_up(made)
    no_rule_is_broken(made)
    owned_machines_hold_what_is_sent_there(made, inputs)


def savings_stay_within_the_cost(made: Plan) -> None:
    for one in made.recommendations:
        if one.kind in SAVING_KINDS:
            saving = one.monthly.saving
            assert 0 <= saving.p10 <= saving.p50 <= saving.p90
            assert float(saving.p90) <= one.current.gbp_per_hour * 730 + 0.005
    assert 0 <= made.summary.saving_gbp_per_hour <= made.summary.current_gbp_per_hour + 1e-9
    shown = [one.monthly.saving.p50 for one in made.recommendations if one.monthly is not None]
    assert made.summary.saving_gbp_per_month == sum(shown)  # to the penny: a reader adds up the rows


def terms_and_shares_add_up(made: Plan) -> None:
    for one in made.recommendations:
        for side in (one.current, one.recommended):
            assert sum(getattr(side, term) for term in TERMS) == pytest.approx(side.gbp_per_hour, abs=1e-8)
    total = made.summary
    assert sum(one.gbp_per_hour for one in made.placements) == pytest.approx(total.planned_gbp_per_hour, abs=1e-7)
    assert sum(one.gbp_per_hour for one in made.node_mix) == pytest.approx(total.planned_gbp_per_hour, abs=1e-7)
    assert total.current_gbp_per_hour - total.saving_gbp_per_hour + total.compliance_delta_gbp_per_hour == (
        pytest.approx(total.planned_gbp_per_hour, abs=1e-7)
    )
    assert total.lower_bound_gbp_per_hour <= total.planned_gbp_per_hour + 1e-9


def no_rule_is_broken(made: Plan) -> None:
    allowed = {"uk": {"GB"}, "europe": {"GB", "EEA"}, "anywhere": {"GB", "EEA"}}
    for one in made.recommendations:
        target, to = one.target, one.recommended
        assert JURISDICTION[to.cluster] in allowed.get(target.residency_class or "", {JURISDICTION[target.cluster]})
        if to.capacity_type == "spot":
            assert target.interruption_tolerance == "spot"
            assert target.criticality != "high"


def owned_machines_hold_what_is_sent_there(made: Plan, inputs: dict[str, Any]) -> None:
    usage = list(inputs["workloads"].iter_rows(named=True))
    arriving = {one.target.workload for one in made.recommendations if one.recommended.cluster == "onprem-lon"}
    there = [row for row in usage if row["cluster"] == "onprem-lon" or row["workload"] in arriving]
    # 32 vCPU less 0.06 + 0.01 + 0.01 + 0.07; 128 GiB less 1 + 0.8 + 0.8 + 6.72 and 100 MiB.
    if arriving:
        assert sum(row["vcpu_request_peak"] for row in there) <= 2 * (32 - 0.15) + 1e-6
        assert sum(row["memory_gib_request_peak"] for row in there) <= 2 * (128 - 9.32 - 100 / 1024) + 1e-6


@any_fleet
@given(rows=ROWS, seed=st.integers(0, 1000))
def test_the_same_inputs_in_any_order_give_the_same_bytes(rows: list[dict[str, Any]], seed: int) -> None:
    inputs = world_of(rows)
    mixed = {name: frame.sample(fraction=1, shuffle=True, seed=seed) for name, frame in inputs.items()}
    fleet = standard_pools().sample(fraction=1, shuffle=True, seed=seed)
    assert plan(**mixed, pools=fleet).to_json() == plan(**inputs).to_json()


@any_fleet
@given(rows=ROWS)
def test_twice_the_prices_is_twice_the_cost(rows: list[dict[str, Any]]) -> None:
    inputs = world_of(rows)
    halves = {"weights": {"interruption_gbp": 1.0}, "steady": {"min_saving_gbp_per_month": 20}}
    wholes = {"weights": {"interruption_gbp": 2.0}, "steady": {"min_saving_gbp_per_month": 40}}
    once = plan(**inputs, policy=policy(**halves))
    twice = plan(**inputs, policy=policy(**wholes), prices=doubled())
    assert [one.id for one in twice.recommendations] == [one.id for one in once.recommendations]
    for name in ("current", "planned", "saving", "lower_bound"):
        column = f"{name}_gbp_per_hour"
        assert getattr(twice.summary, column) == pytest.approx(2 * getattr(once.summary, column), abs=1e-7)


@cache
def doubled() -> Any:
    columns = ("gbp_per_hour", "gbp_per_vcpu_hour", "gbp_per_gib_hour", "marginal_gbp_per_hour")
    offers = [one.with_columns(one[name] * 2 for name in columns) for one in standard_offers()]
    rates = [one.with_columns(one["gbp_per_gib"] * 2) for one in standard_rates()]
    return prices(offers, rates)


def test_an_empty_fleet_an_empty_week_and_a_store_without_prices_give_plans_that_say_so() -> None:
    assert {one.reason for one in plan(workloads=workloads()).not_enough_data} == {"no-usage"}
    assert [one.reason for one in plan(workload(), pools=pools()).not_enough_data] == ["unknown-cluster"]
    unpriced = plan(workload(), prices=prices([], []), pools=pools(GENERAL))
    assert [one.reason for one in unpriced.not_enough_data] == ["no-price"]
    assert (unpriced.summary.planned_gbp_per_hour, unpriced.summary.gap_ratio) == (0.0, None)


def test_pools_that_nobody_named_are_not_needed() -> None:
    lonely = plan(workload(), pools=pools(GENERAL))
    assert lonely.recommendations == ()
    assert lonely.summary.gap_ratio == 0


def test_a_pool_of_the_same_cluster_and_capacity_type_is_a_placement() -> None:
    cheap = pool("eks-lon", "burstable", "t3.xlarge")
    offers = [
        *standard_offers(),
        machine("aws", "eu-west-2", "t3.xlarge", "on-demand", gbp_per_vcpu_hour=0.01, gbp_per_gib_hour=0.002),
    ]
    one = only(plan(workload(), pools=pools(GENERAL, cheap), prices=prices(offers)))
    assert one.kind is Kind.PLACEMENT
    assert one.title == "Move shop/web to pool burstable of eks-lon"
