"""Very many records hold once what is equal in all of them, and read as if each held its own."""

from __future__ import annotations

from decimal import Decimal

from recommender.advise.compact import compact
from recommender.advise.plan import Plan
from recommender.advise.record import Confidence, Range, Recommendation, Refusal, Risk
from tests.recommender.world import GENERAL, METAL, SPOT, plan, policy, pools, workload


def two() -> Plan:
    racks = METAL | {"nodes_max": None}
    return plan(workload("web"), workload("api"), pools=pools(GENERAL, SPOT, racks), policy=policy())


def test_advice_that_rests_on_the_same_offer_holds_it_once() -> None:
    one, other = two().recommendations
    assert one.prices[0] is other.prices[0]
    assert one.prices[1] is other.prices[1]
    assert [price.used_for for price in one.prices] == ["current", "recommended"]


def test_names_of_places_are_held_once() -> None:
    one, other = two().recommendations
    assert one.recommended.region is other.recommended.region
    assert one.target.cluster is one.current.cluster
    refused, also_refused = two().refused[:2]
    assert refused.rule is also_refused.rule


def test_parts_of_a_shape_share_the_set_of_their_fields() -> None:
    one, other = two().recommendations
    assert one.monthly is not None
    assert other.monthly is not None
    assert one.monthly.model_fields_set is other.monthly.model_fields_set
    assert one.monthly.saving.model_fields_set is other.monthly.saving.model_fields_set
    assert one.refused[0].model_fields_set is other.refused[0].model_fields_set


def test_what_a_part_was_given_is_still_told_from_what_is_the_default() -> None:
    given = Range(p10=Decimal("1.00"), p50=Decimal("2.00"), p90=Decimal("3.00"))
    risk = Risk(interruptions_per_month=0.0, confidence=Confidence.HIGH, confidence_why=())
    assert compact(given).model_fields_set == {"p10", "p50", "p90"}
    assert compact(risk).model_fields_set == {"interruptions_per_month", "confidence", "confidence_why"}


def test_a_changed_copy_leaves_the_shared_set_as_it_was() -> None:
    place = {"cluster": "eks-lon", "pool": "general", "instance_type": "m5.xlarge", "capacity_type": "on-demand"}
    refusal = compact(Refusal.model_validate({"rule": "payback", "stage": "guard", "why": "too late", **place}))
    changed = refusal.model_copy(update={"legal_basis": "UK GDPR Art. 44"})
    assert changed.model_fields_set - refusal.model_fields_set == {"legal_basis"}
    assert "legal_basis" not in refusal.model_fields_set


def test_compact_advice_is_written_and_read_as_any_other() -> None:
    one = two().recommendations[0]
    assert Recommendation.model_validate_json(one.model_dump_json()) == one
    assert one.model_dump(exclude_unset=True)["prices"][0]["instance_type"] == "m5.xlarge"
