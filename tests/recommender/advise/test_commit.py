"""Advice to buy ahead what runs hour after hour, and not to renew what is not used: figures worked out by hand.

m5.xlarge in London: 4 vCPU and 16 GiB, £0.184 an hour on demand, £0.1104 (60 %) for a year, £0.0736 (40 %) for three.
A workload of 4 vCPU and 16 GiB is one node's worth.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recommender.advise.capacity import Held
from recommender.advise.capacity_record import CapacityRecommendation, advice_of
from recommender.advise.commit import CommitQuestion
from recommender.advise.commit_all import commitment_advice
from recommender.advise.commitment_record import CommitmentAdvice
from recommender.advise.plan import NotEnoughData
from recommender.advise.record import Confidence, Kind
from recommender.advise.steady_use import SteadyUse
from recommender.commit_settings import CommitSettings
from recommender.frames import ClusterSample, UsageSample
from recommender.place.committed import Covered
from tests.builders import NOON
from tests.recommender.observe.usage_rows import SAMPLE
from tests.recommender.place.bought import bought, commitment
from tests.recommender.world import GENERAL, appraisal, machine, pools, prices, standard_offers, workload

HOURS = 28 * 24
ALWAYS = [2.0] * HOURS
DAY_AND_NIGHT = [4.0 if hour % 24 < 12 else 2.0 for hour in range(HOURS)]
YEAR = {"gbp_per_vcpu_hour": 0.03 * 0.6, "gbp_per_gib_hour": 0.004 * 0.6}
THREE_YEARS = {"gbp_per_vcpu_hour": 0.03 * 0.4, "gbp_per_gib_hour": 0.004 * 0.4}
PRICES = prices(
    [
        *standard_offers(),
        machine("aws", "eu-west-2", "m5.xlarge", "committed-1y", **YEAR),
        machine("aws", "eu-west-2", "m5.xlarge", "committed-3y", **THREE_YEARS),
    ]
)


def covered_by(*rows: dict[str, Any]) -> Covered:
    """What commitments pay for where two workloads of two nodes each run."""
    made = appraisal(
        workload("a"), workload("b"), prices=PRICES, pools=pools(GENERAL), commitments=bought(*rows)
    ).covered
    assert made is not None
    return made


NONE_BOUGHT = covered_by()


def advised(
    nodes: Sequence[float],
    *,
    covered: Covered = NONE_BOUGHT,
    leaving: frozenset[tuple[str, str, str, str]] = frozenset(),
    held: Held | None = None,
    chance: random.Random | None = None,
    **changes: Any,
) -> tuple[tuple[CapacityRecommendation, ...], tuple[NotEnoughData, ...]]:
    """Advice after hours in which workload a ran on so many nodes' worth of m5.xlarge."""
    shape = {"cluster": "eks-lon", "workload": "a", "instance_type": "m5.xlarge"}
    times = [NOON - timedelta(hours=len(nodes) - hour) for hour in range(len(nodes))]
    rows = [
        {**SAMPLE, **shape, "timestamp": at, "vcpu_request": 4.0 * one, "memory_gib_request": 16.0 * one}
        for at, one in zip(times, nodes, strict=True)
    ]
    if chance is not None:
        chance.shuffle(rows)
    seen = [{"cluster": "eks-lon", "timestamp": at, "coverage_ratio": 1.0} for at in times]
    question = CommitQuestion(
        covered=covered,
        use=SteadyUse(
            pl.DataFrame(rows, schema=UsageSample.create_empty().schema),
            pl.DataFrame(seen, schema=ClusterSample.create_empty().schema),
            running=covered.running,
            leaving=leaving,
            groups=covered.groups,
        ),
        prices=PRICES,
        settings=CommitSettings(**changes),
        at=NOON,
        expires_after_hours=168.0,
    )
    return commitment_advice(question) if held is None else commitment_advice(question, held)


def only(made: tuple[tuple[CapacityRecommendation, ...], object]) -> tuple[CapacityRecommendation, CommitmentAdvice]:
    """The one piece of advice."""
    assert len(made[0]) == 1
    one = made[0][0]
    assert one.commitment is not None
    return one, one.commitment


def test_what_always_runs_is_worth_a_year() -> None:
    one, advice = only(advised(ALWAYS))
    assert one.title == "Commit to 2 nodes of m5.xlarge in aws eu-west-2 for 1 year"
    assert (advice.action, advice.nodes, advice.steady_nodes, advice.observed_days) == ("commit", 2, 2.0, 28.0)
    assert advice.break_even_ratio == pytest.approx(0.6)
    # Two nodes at £0.184 less £0.1104.
    assert one.cost_delta_gbp_per_hour == pytest.approx(-2 * 0.0736)
    assert one.kind is Kind.COMMIT
    assert [price.capacity_type for price in one.prices] == ["committed-1y", "on-demand"]


def test_both_terms_are_told_with_what_can_be_lost() -> None:
    _, advice = only(advised(ALWAYS))
    year, three = advice.terms
    assert (year.term_months, three.term_months) == (12, 36)
    assert year.break_even_months == pytest.approx(7.2)
    assert year.whole_term_gbp == pytest.approx(round(2 * 0.1104 * 730 * 12, 2))
    assert three.saving_gbp_per_month == pytest.approx(round(2 * 0.1104 * 730, 2))


def test_only_the_base_is_bought_and_never_the_peak() -> None:
    _, advice = only(advised(DAY_AND_NIGHT))
    assert (advice.steady_nodes, advice.nodes) == (2.0, 2)


def test_what_commitments_pay_for_already_is_not_bought_again() -> None:
    _, advice = only(advised(ALWAYS, covered=covered_by(commitment(quantity=1.0))))
    assert (advice.covered_nodes, advice.nodes) == (1.0, 1)
    assert advised(ALWAYS, covered=covered_by(commitment(quantity=2.0)))[0] == ()


def test_what_the_plan_moves_away_is_not_bought() -> None:
    assert advised(ALWAYS, leaving=frozenset({("eks-lon", "shop", "Deployment", "a")}))[0] == ()


def test_a_short_history_is_not_enough_data() -> None:
    advice, gaps = advised([2.0] * 72)
    assert advice == ()
    assert [one.reason for one in gaps] == ["capacity-commit-history"]
    assert "3.0 days were observed, 7 are needed" in gaps[0].why


def test_less_than_four_weeks_is_told_as_a_doubt() -> None:
    one, _ = only(advised([2.0] * 24 * 8))
    assert one.risk.confidence is Confidence.MEDIUM
    assert "8.0 days were observed, four weeks show a month" in one.risk.confidence_why


def test_the_id_survives_other_figures_and_the_etag_does_not() -> None:
    first, second = only(advised(ALWAYS))[0], only(advised([3.0] * HOURS))[0]
    assert first.id == second.id
    assert first.group == second.group
    assert first.etag != second.etag


def test_what_was_dismissed_or_snoozed_stays_away() -> None:
    one, _ = only(advised(ALWAYS))
    assert advised(ALWAYS, held=Held({one.id}, (), {}))[0] == ()
    assert advised(ALWAYS, held=Held((), {one.group}, {}))[0] == ()


def test_the_record_can_be_read_again() -> None:
    one, _ = only(advised(ALWAYS))
    assert advice_of(one.model_dump_json(exclude_none=True)) == one


SOON: dict[str, Any] = {"ends_at": NOON + timedelta(days=30), "starts_at": NOON - timedelta(days=335)}


def renewal(nodes: Sequence[float], **changes: Any) -> tuple[CapacityRecommendation, CommitmentAdvice]:
    """Advice on four machines at £0.1104 an hour that are reserved for thirty days more."""
    row = commitment(**{"quantity": 4.0, "cost_per_hour": 4 * 0.1104} | SOON | changes)
    made, _ = advised(nodes, covered=covered_by(row))
    return only((tuple(one for one in made if one.commitment and one.commitment.commitment_id), ()))


def test_what_is_used_by_half_is_renewed_by_half() -> None:
    one, advice = renewal(ALWAYS)
    assert (advice.action, advice.nodes, advice.used_ratio) == ("renew-smaller", 2, 0.5)
    assert one.title == "Renew 2 of 4 nodes of reservation ri-1 on 30 December 2026"
    # Two idle nodes at £0.1104 less: against renewing all of it.
    assert one.cost_delta_gbp_per_hour == pytest.approx(-2 * 0.1104)


def test_what_is_not_used_lapses_and_the_provider_has_to_be_told() -> None:
    one, advice = renewal([0.0] * (HOURS - 1) + [1.0], renews=True)
    assert (advice.action, advice.nodes) == ("let-lapse", 0)
    assert advice.decide_by == NOON + timedelta(days=30)
    assert one.nodes == ()
    assert "renewal has to be turned off before" in one.explanation[-1]


def test_what_is_used_whole_is_renewed_unless_it_renews_itself() -> None:
    one, advice = renewal([4.0] * HOURS)
    assert (advice.action, advice.nodes) == ("commit", 4)
    assert one.cost_delta_gbp_per_hour == pytest.approx(-4 * 0.0736)
    row = commitment(quantity=4.0, cost_per_hour=4 * 0.1104, renews=True, **SOON)
    assert advised([4.0] * HOURS, covered=covered_by(row))[0] == ()


def test_what_ends_later_is_left_alone() -> None:
    assert advised([0.5] * HOURS, covered=covered_by(commitment(quantity=4.0)))[0] == ()


def test_a_savings_plan_is_judged_by_its_own_rate_and_not_without_one() -> None:
    money: dict[str, Any] = {
        "unit": "money",
        "kind": "savings-plan",
        "instance_type": "",
        "quantity": 0.4416,
        "cost_per_hour": 0.4416,
    }
    one, advice = renewal(ALWAYS, **money)
    # £0.4416 an hour are four machines at £0.1104.
    assert (advice.action, advice.nodes) == ("renew-smaller", 2)
    assert one.cost_delta_gbp_per_hour == pytest.approx(-2 * 0.1104)
    unpriced = appraisal(
        workload("a"), workload("b"), pools=pools(GENERAL), commitments=bought(commitment(**money, **SOON))
    ).covered
    assert unpriced is not None
    made, gaps = advised(ALWAYS, covered=unpriced)
    assert made == ()
    assert "what it charges for m5.xlarge is not known" in gaps[0].why


def test_without_its_cost_nothing_is_said_of_renewal() -> None:
    made, gaps = advised(ALWAYS, covered=covered_by(commitment(quantity=4.0, cost_per_hour=None, **SOON)))
    assert made == ()
    assert "its cost an hour is not known" in gaps[0].why


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0, 4), min_size=24, max_size=24), st.randoms(use_true_random=False))
def test_never_more_than_the_steady_base_whatever_the_order_of_samples(day: list[float], chance: random.Random) -> None:
    made, _ = advised(day * 8)
    mixed, _ = advised(day * 8, chance=chance)
    assert made == mixed
    for one in made:
        assert one.commitment is not None
        assert one.commitment.nodes <= one.commitment.steady_nodes - one.commitment.covered_nodes + 1e-9
        # Eight days of 24 hours: the twentieth smallest of 192 is the third smallest of a day.
        assert one.commitment.steady_nodes == pytest.approx(sorted(day)[2], abs=1e-8)
        assert -one.cost_delta_gbp_per_hour <= one.commitment.nodes * 0.184
