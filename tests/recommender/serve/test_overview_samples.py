"""The plan by cluster, rule, owner and burst: figures that add up to the plan's, under labels that stay few."""

from __future__ import annotations

from decimal import Decimal

import pytest

from recommender.advise.plan import Plan
from recommender.advise.record import Kind, State
from recommender.observe.fleet import pools
from recommender.serve.overview_samples import MOST_OWNERS, OTHER_OWNERS, overview_samples
from recommender.settings import ClusterSettings
from tests.recommender.report.example import example_plan

EXAMPLE = example_plan()


def samples(plan: Plan, name: str) -> dict[tuple[str, ...], float]:
    return {labels: value for metric, labels, value in overview_samples(plan, None) if metric == name}


def test_costs_of_the_clusters_add_up_to_the_plan() -> None:
    now = samples(EXAMPLE, "tuppence_cluster_current_gbp_per_hour")
    planned = samples(EXAMPLE, "tuppence_cluster_planned_gbp_per_hour")
    assert now.keys() == planned.keys()
    assert len(now) > 1
    assert sum(now.values()) == pytest.approx(EXAMPLE.summary.current_gbp_per_hour)
    assert sum(planned.values()) == pytest.approx(EXAMPLE.summary.planned_gbp_per_hour)


def test_a_cluster_that_empties_is_planned_at_zero_and_not_left_out() -> None:
    [leaver, *_] = EXAMPLE.placements
    gone = leaver.model_copy(update={"cluster": "old", "to_cluster": "new"})
    only = EXAMPLE.model_copy(update={"placements": (gone,)})
    assert samples(only, "tuppence_cluster_planned_gbp_per_hour")[("old",)] == 0
    assert samples(only, "tuppence_cluster_current_gbp_per_hour")[("new",)] == 0


def test_offers_are_counted_by_the_rule_that_refuses_them() -> None:
    shown = samples(EXAMPLE, "tuppence_refused_offers")
    assert shown == {(one.rule,): one.offers for one in EXAMPLE.summary.refused_offers}
    assert shown


def test_savings_of_owners_add_up_to_the_open_saving() -> None:
    shown = samples(EXAMPLE, "tuppence_owner_saving_gbp_per_month")
    open_saving = sum(one.monthly.saving.p50 for one in EXAMPLE.recommendations if one.monthly)
    assert sum(shown.values()) == pytest.approx(float(open_saving), abs=0.001)


def test_a_saving_that_somebody_decided_on_is_open_no_more() -> None:
    decided = [one.model_copy(update={"state": State.ACCEPTED}) for one in EXAMPLE.recommendations]
    plan = EXAMPLE.model_copy(update={"recommendations": tuple(decided)})
    assert samples(plan, "tuppence_owner_saving_gbp_per_month") == {}


def test_owners_past_the_largest_share_one_series() -> None:
    """Twenty-three owners, who save £1, £2, … £23: the three smallest, £1 + £2 + £3, are the others."""
    [saving, *_] = [one for one in EXAMPLE.recommendations if one.monthly is not None]
    assert saving.monthly is not None
    made = []
    for pounds in range(1, MOST_OWNERS + 4):
        spread = saving.monthly.saving.model_copy(update={"p50": Decimal(pounds)})
        monthly = saving.monthly.model_copy(update={"saving": spread})
        target = saving.target.model_copy(update={"owner": f"team-{pounds}"})
        made.append(saving.model_copy(update={"monthly": monthly, "target": target}))
    shown = samples(EXAMPLE.model_copy(update={"recommendations": tuple(made)}), "tuppence_owner_saving_gbp_per_month")
    assert len(shown) == MOST_OWNERS + 1
    assert shown[(OTHER_OWNERS,)] == 6
    assert shown[("team-4",)] == 4
    assert ("team-3",) not in shown


def test_a_burst_says_what_leaves_for_where_and_at_what_cost() -> None:
    [burst] = [one for one in EXAMPLE.capacity if one.kind is Kind.BURST]
    assert burst.recommended is not None
    target = burst.target
    name = (target.cluster, target.resource, target.resource_class, burst.recommended.cluster, "open")
    assert samples(EXAMPLE, "tuppence_burst_replicas") == {name: sum(move.replicas for move in burst.moves)}
    assert samples(EXAMPLE, "tuppence_burst_cost_delta_gbp_per_hour") == {name: burst.cost_delta_gbp_per_hour}


def test_a_burst_that_was_dismissed_takes_nothing_out() -> None:
    dismissed = tuple(one.model_copy(update={"state": State.DISMISSED}) for one in EXAMPLE.capacity)
    assert samples(EXAMPLE.model_copy(update={"capacity": dismissed}), "tuppence_burst_replicas") == {}


def test_of_the_advice_of_a_kind_the_first_to_lapse_counts() -> None:
    shown = samples(EXAMPLE, "tuppence_recommendation_next_expiry_timestamp_seconds")
    placements = [one.expires_at for one in EXAMPLE.recommendations if one.kind is Kind.PLACEMENT]
    assert shown[("placement", "open")] == min(placements).timestamp()
    assert {kind for kind, _ in shown} == {one.kind.value for one in (*EXAMPLE.recommendations, *EXAMPLE.capacity)}


def test_a_cluster_whose_jurisdiction_nobody_knows_says_so() -> None:
    """The region of the second is in no table (core.geography) and its settings name no jurisdiction."""
    pool = {"name": "general", "capacity_type": "on-demand", "instance_types": ["m6i.large", "m6i.xlarge"]}
    clusters = [
        ClusterSettings.model_validate({"name": name, "provider": "aws", "region": region, "pools": [pool]})
        for name, region in (("known", "eu-west-2"), ("unknown", "moon-1"))
    ]
    shown = [
        labels for name, labels, _ in overview_samples(EXAMPLE, pools(clusters)) if name == "tuppence_cluster_info"
    ]
    assert shown == [("known", "aws", "eu-west-2", "GB", "cloud"), ("unknown", "aws", "moon-1", "", "cloud")]
