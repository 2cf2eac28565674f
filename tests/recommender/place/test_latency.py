"""Distance counts where a class asks for it, and what nobody measured is never made up."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl
import pytest
from pydantic import ValidationError

from recommender.advise.plan import Plan
from recommender.frames import Latency
from tests.recommender.world import BELGIUM, GENERAL, METAL, SPOT, flow, flows, plan, policy, pools, workload

LONDON_TO_BELGIUM = ("gcp/europe-west1", "aws/eu-west-2", 7.5)


def table(*rows: tuple[str, str, float]) -> dy.DataFrame[Latency]:
    return Latency.validate(pl.DataFrame(list(rows), schema=Latency.create_empty().schema, orient="row"))


def limited(most: float, *rows: tuple[str, str, float], traffic: dy.DataFrame | None = None) -> Plan:  # type: ignore[type-arg]
    near = {"near": {"residency": ["GB", "EEA"], "latency_ms_max": most}}
    return plan(
        workload(residency_class="near"),
        pools=pools(GENERAL, BELGIUM),
        policy=policy(classes=near),
        latency=table(*rows),
        flows=flows() if traffic is None else traffic,
    )


def test_a_place_within_the_limit_is_advised_and_one_beyond_it_refused_with_both_figures() -> None:
    [advice] = limited(8.0, LONDON_TO_BELGIUM).recommendations
    assert (advice.recommended.cluster, advice.recommended.latency_ms) == ("gke-bel", 7.5)
    beyond = limited(7.0, LONDON_TO_BELGIUM)
    assert beyond.recommendations == ()
    [refusal] = [one for one in beyond.refused if one.rule == "latency"]
    assert refusal.why == "europe-west1 is 7.5 ms from aws/eu-west-2, class near allows 7.0 ms"


def test_a_distance_that_nobody_measured_is_refused_under_a_limit() -> None:
    [refusal] = [one for one in limited(500.0).refused if one.rule == "latency"]
    assert refusal.why == "nobody measured how far europe-west1 is from aws/eu-west-2, class near allows 500.0 ms"


def test_the_farthest_end_of_the_data_flows_counts_and_not_where_the_workload_is() -> None:
    users = flows(
        flow(to="gcp/europe-west1", gib_per_hour=0.0, direction="in"),
        flow(to="azure/uksouth", gib_per_hour=0.0, direction="in"),
    )
    rows = (LONDON_TO_BELGIUM, ("gcp/europe-west1", "azure/uksouth", 12.0))
    [refusal] = [one for one in limited(11.0, *rows, traffic=users).refused if one.rule == "latency"]
    assert "12.0 ms from azure/uksouth" in refusal.why


def test_a_goal_of_latency_pays_for_each_millisecond_and_the_terms_add_up() -> None:
    classes = {"quick": {"residency": ["GB", "EEA"], "goal": "latency"}}
    quick = policy(classes=classes, weights={"latency_gbp_per_ms_hour": 0.002})
    made = plan(
        workload(residency_class="quick"),
        pools=pools(GENERAL, BELGIUM),
        policy=quick,
        latency=table(LONDON_TO_BELGIUM),
    )
    [advice] = made.recommendations
    # 0.184 in London; in Belgium 0.128 + 7.5 × 0.002 = 0.143.
    assert advice.recommended.latency_gbp_per_hour == pytest.approx(0.015)
    assert advice.recommended.gbp_per_hour == pytest.approx(0.143)
    assert float(advice.monthly.latency_gbp) == round(-0.015 * 730, 2)
    assert "The penalty for distance: £10.95 a month more." in advice.explanation


def test_a_penalty_that_outweighs_the_saving_keeps_the_workload_near() -> None:
    classes = {"quick": {"residency": ["GB", "EEA"], "goal": "latency"}}
    dear = policy(classes=classes, weights={"latency_gbp_per_ms_hour": 0.01})
    made = plan(
        workload(residency_class="quick"), pools=pools(GENERAL, BELGIUM), policy=dear, latency=table(LONDON_TO_BELGIUM)
    )
    assert made.recommendations == ()


def test_without_a_figure_no_penalty_is_made_up_and_the_explanation_says_so() -> None:
    quick = policy(classes={"quick": {"residency": ["GB"], "goal": "latency"}})
    [advice] = plan(workload(residency_class="quick"), pools=pools(GENERAL, METAL), policy=quick).recommendations
    assert advice.recommended.latency_gbp_per_hour == 0
    assert "Nobody measured how far onprem/london is: no penalty for distance is counted there." in advice.explanation


def classed(latency_class: str, **classes: Any) -> Plan:
    """Web of the latency class, that may go to Belgium, 7.5 ms away; its residency class allows 20 ms."""
    near = {"near": {"residency": ["GB", "EEA"], "latency_ms_max": 20.0}}
    return plan(
        workload(residency_class="near", latency_class=latency_class),
        pools=pools(GENERAL, BELGIUM),
        policy=policy(classes=near, latency_classes=classes),
        latency=table(LONDON_TO_BELGIUM),
    )


def test_a_latency_class_limits_distance_where_it_is_the_stricter_and_is_named() -> None:
    made = classed("interactive", interactive={"latency_ms_max": 5.0})
    assert made.recommendations == ()
    [refusal] = [one for one in made.refused if one.rule == "latency"]
    assert refusal.why == "europe-west1 is 7.5 ms from aws/eu-west-2, class interactive allows 5.0 ms"
    assert len(classed("loose", loose={"latency_ms_max": 50.0}).recommendations) == 1


def test_a_latency_class_prices_distance_whatever_the_goal() -> None:
    [advice] = classed("interactive", interactive={"gbp_per_ms_hour": 0.002}).recommendations
    assert advice.recommended.latency_gbp_per_hour == pytest.approx(7.5 * 0.002)
    assert classed("dear", dear={"gbp_per_ms_hour": 0.01}).recommendations == ()


def test_a_latency_class_that_the_policy_does_not_have_keeps_the_workload_from_being_advised() -> None:
    made = classed("interactve", interactive={"latency_ms_max": 5.0})
    assert made.recommendations == ()
    [gap] = [one for one in made.not_enough_data if one.workload == "web"]
    assert (gap.reason, gap.why) == ("unknown-latency-class", "the policy has no latency class 'interactve'")
    with pytest.raises(ValidationError, match="not one of the latency_classes"):
        policy(rules=[{"match": {}, "set": {"latency_class": "nobody"}}])


def test_a_goal_of_reliability_weighs_interruptions_more() -> None:
    tolerant = workload(residency_class="steady", interruption_tolerance="spot")
    fleet = pools(GENERAL, SPOT)
    weights = {"interruption_gbp": 1.50, "reliability_interruption_gbp": 30.0}
    found = {}
    for goal in ("cost", "reliability"):
        made = plan(
            tolerant,
            pools=fleet,
            policy=policy(classes={"steady": {"residency": ["GB"], "goal": goal}}, weights=weights),
        )
        found[goal] = made.recommendations[0].recommended.interruption_gbp_per_hour
    assert found["reliability"] == pytest.approx(20 * found["cost"], rel=1e-6)
    assert found["cost"] == pytest.approx(2 * 0.15 / 730 * 1.50, rel=1e-6)
