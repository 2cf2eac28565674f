"""The plan is a document: ordered, explained, and described by a schema."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter

from recommender.advise.plan import Plan
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    flow,
    flows,
    machine,
    plan,
    pool,
    pools,
    prices,
    standard_offers,
    workload,
)


def test_compliance_leads_and_then_the_low_end_of_the_saving_decides() -> None:
    made = plan(
        workload("small"),
        workload("large", vcpu_request_mean=8.0),
        workload("abroad", cluster="gke-bel", instance_type="n2-standard-4"),
    )
    assert [(one.rank, one.target.workload) for one in made.recommendations] == [
        (1, "abroad"),
        (2, "large"),
        (3, "small"),
    ]


def test_the_explanation_gives_every_term_in_pounds() -> None:
    [one] = plan(workload(), flows=flows(flow(gib_per_hour=1.0)), pools=pools(GENERAL, METAL)).recommendations
    # 630 of 730 GiB at 0.08 are £50.40 a month; 0.184 − 0.04 over 730 hours are £105.12.
    assert one.explanation == (
        "An hour costs £0.2530 on m5.xlarge (on-demand) in eks-lon and £0.0400 on r760 (owned) in onprem-lon.",
        "Compute: £105.12 a month less.",
        "Data leaving the region: £50.40 a month less.",
        "onprem-lon is paid for in any case: an hour there counts £0.0400 in cash, £0.0720 in full.",
        "Moving costs £0.01 once, which comes back within the hour.",
    )
    here, there = one.egress
    assert (here.basis, here.source, here.snapshot_id) == ("internet", "aws", "aws/20261130T120000.000000Z")
    assert (here.currency, here.fx_source, there.source) == ("GBP", "ecb", "onprem")


def test_a_flow_that_nobody_bills_names_no_price_list() -> None:
    to_london = flows(flow(to="aws/eu-west-2", direction="in"))
    [one] = plan(workload(), flows=to_london, pools=pools(GENERAL, METAL)).recommendations
    here, there = one.egress
    assert (here.basis, here.gbp_per_gib, here.source) == ("same-region", 0.0, None)
    assert (there.basis, there.from_region, there.source) == ("internet", "aws/eu-west-2", "aws")


def test_what_a_rule_costs_is_said_in_the_recommendation_with_its_legal_basis() -> None:
    middling = pool("eks-lon", "middling", "t3.xlarge")
    offers = [
        *standard_offers(),
        machine("aws", "eu-west-2", "t3.xlarge", "on-demand", gbp_per_vcpu_hour=0.025, gbp_per_gib_hour=0.0035),
    ]
    [one] = plan(workload(), pools=pools(GENERAL, middling, BELGIUM), prices=prices(offers)).recommendations
    # 4 × 0.025 + 16 × 0.0035 = 0.156 where it may go, 0.128 in Belgium.
    assert one.explanation[-1] == (
        "Rule residency (UK GDPR Art. 44) refuses n2-standard-4 (on-demand) in gke-bel, which would cost £20.44 "
        "a month less: gke-bel is in EEA, class uk allows GB."
    )


def test_a_gpu_machine_kept_from_a_workload_without_gpus_is_counted_but_not_told() -> None:
    gpus = pool("eks-lon", "gpu", "g6")
    shape = {"gpus": 1.0, "gpu_model": "L4", "gbp_per_gpu_hour": 0.5}
    offers = [
        *standard_offers(),
        machine("aws", "eu-west-2", "g6", "on-demand", gbp_per_vcpu_hour=0.01, gbp_per_gib_hour=0.001, **shape),
    ]
    made = plan(workload(), pools=pools(GENERAL, gpus), prices=prices(offers))
    assert made.refused == ()
    assert [(one.rule, one.offers) for one in made.summary.refused_offers] == [("gpu_model", 1)]


def test_a_refused_offer_that_is_dearer_than_the_advice_costs_nothing_to_refuse() -> None:
    # Spot at 0.0413 an hour is cheaper than Belgium at 0.083, which residency refuses.
    tolerant = workload(interruption_tolerance="spot", memory_gib_request_mean=1.0)
    [one] = plan(tolerant, pools=pools(GENERAL, SPOT, BELGIUM)).recommendations
    assert one.recommended.capacity_type == "spot"
    [refusal] = one.refused
    assert (refusal.rule, float(refusal.rule_costs_gbp_per_month)) == ("residency", 0.0)


def test_the_node_mix_holds_every_replica_and_keeps_the_shares_beside_it() -> None:
    made = plan(workload("a", vcpu_request_mean=5.0), workload("b", vcpu_request_mean=4.0), pools=pools(GENERAL))
    [general] = made.node_mix
    # By volume 9 of 4 vCPU would be 2.25 nodes; but of 16 GiB 13.3 are left, and each of four replicas needs 8.
    assert general.nodes == 4
    assert general.nodes_gbp_per_hour == pytest.approx(4 * 0.184)
    assert general.gbp_per_hour == 9 * 0.03 + 32 * 0.004


def test_the_document_fits_its_own_schema_and_reads_back_the_same() -> None:
    made = plan(workload(), flows=flows(flow()))
    document = made.to_json()
    assert Plan.model_validate_json(document).to_json() == document
    schema = TypeAdapter(Plan).json_schema(mode="serialization")
    assert schema["properties"]["schema_version"] == {"default": 1, "title": "Schema Version", "type": "integer"}
    assert schema["$defs"]["Range"]["properties"]["p50"]["type"] == "number"
    assert json.loads(document)["summary"]["hours_per_month"] == 730
