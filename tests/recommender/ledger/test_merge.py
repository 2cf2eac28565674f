"""Plans meet the ledger: advice is written down once, what people decided holds, and what has gone is closed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recommender.advise.record import Kind, Recommendation, State
from recommender.frames import NotEnoughData
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.memory import memory_of
from recommender.ledger.standing import IllegalTransitionError
from recommender.ledger.store import Ledger
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.properties import examples
from tests.recommender.ledger.remembering import evaluated, kinds, only, standing_of
from tests.recommender.world import (
    BELGIUM,
    GENERAL,
    METAL,
    SPOT,
    machine,
    policy,
    pools,
    prices,
    standard_offers,
    workload,
)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TOLERANT = {"interruption_tolerance": "spot", "checkpoint_minutes": 30.0}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """One of SQLite: what is tested here does not depend on the database."""
    return Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))


def said(ledger: Ledger, one: Recommendation, kind: EventKind, *, hours: float = 1, **words: Any) -> None:
    reason = {"reason": "not this one"} if kind is EventKind.DISMISSED else {}
    decide(ledger, one.id, Decision(kind, "ann", **reason | words), at=NOON + timedelta(hours=hours))


def dearer(gbp_per_vcpu_hour: float) -> Any:
    """Prices with another on-demand price in London, 0.03 by default."""
    changed = machine(
        "aws",
        "eu-west-2",
        "m5.xlarge",
        "on-demand",
        gbp_per_vcpu_hour=gbp_per_vcpu_hour,
        gbp_per_gib_hour=0.004,
    )
    return prices([changed, *standard_offers()[1:]])


def test_advice_is_proposed_once_and_keeps_the_time_of_its_first_proposal(ledger: Ledger) -> None:
    first, second = only(evaluated(ledger, workload())), only(evaluated(ledger, workload(), at=NOON + HOUR))
    assert kinds(ledger, first.id) == ["proposed"]
    assert (first.state, second.state) == (State.OPEN, State.OPEN)
    assert (second.id, second.proposed_at, second.expires_at) == (first.id, NOON, NOON + HOUR + 7 * DAY)


def test_changed_figures_are_written_down_with_the_prices_of_the_day_but_once_a_day(ledger: Ledger) -> None:
    first = only(evaluated(ledger, workload()))
    said(ledger, first, EventKind.ACCEPTED)
    same_day = only(evaluated(ledger, workload(), at=NOON + 2 * HOUR, prices=dearer(0.031)))
    assert same_day.etag != first.etag
    assert kinds(ledger, first.id) == ["proposed", "accepted"]
    next_day = only(evaluated(ledger, workload(), at=NOON + DAY, prices=dearer(0.032)))
    assert (next_day.state, next_day.id) == (State.ACCEPTED, first.id)
    assert kinds(ledger, first.id) == ["proposed", "accepted", "proposed"]
    with ledger.reading() as reader:
        events = reader.histories()[first.id]
        texts = reader.documents(events)
    documents = {number: Recommendation.model_validate_json(text) for (_, number), text in texts.items()}
    assert {number: one.prices[0].gbp_per_vcpu_hour for number, one in documents.items()} == {1: 0.03, 3: 0.032}


def test_advice_that_stands_is_renewed_when_half_of_its_life_is_over(ledger: Ledger) -> None:
    for day in range(10):
        one = only(evaluated(ledger, workload(), at=NOON + day * DAY))
    assert (one.state, one.proposed_at) == (State.OPEN, NOON)
    assert kinds(ledger, one.id) == ["proposed"] * 3


def test_dismissed_advice_stays_away_until_its_time_and_the_plan_says_why(ledger: Ledger) -> None:
    one = only(evaluated(ledger, workload()))
    said(ledger, one, EventKind.DISMISSED, until=NOON + 3 * DAY, reason="audit in December")
    without = evaluated(ledger, workload(), at=NOON + DAY)
    assert without.recommendations == ()
    assert without.summary.planned_gbp_per_hour == without.summary.current_gbp_per_hour
    [refusal] = [row for row in without.refused if row.stage == "guard"]
    assert refusal.rule == "dismissed"
    assert refusal.why == "ann dismissed it on 30 November 2026 until 3 December 2026: audit in December"
    assert float(refusal.rule_costs_gbp_per_month or 0) == pytest.approx((0.184 - 0.04) * 730, abs=0.01)
    assert standing_of(ledger, one.id, at=NOON + DAY).state is State.DISMISSED
    back = only(evaluated(ledger, workload(), at=NOON + 3 * DAY))
    assert (back.id, back.state) == (one.id, State.OPEN)


def test_a_dismissal_is_of_one_place_and_a_snooze_of_the_workload(ledger: Ledger) -> None:
    fleet = {"pools": pools(GENERAL, SPOT, METAL)}
    row = workload(**TOLERANT)
    owned = only(evaluated(ledger, row, **fleet))
    assert owned.recommended.pool == "metal"
    said(ledger, owned, EventKind.DISMISSED)
    spot = only(evaluated(ledger, row, at=NOON + 2 * HOUR, **fleet))
    assert (spot.recommended.pool, spot.state) == ("spot", State.OPEN)
    said(ledger, spot, EventKind.SNOOZED, hours=3, until=NOON + DAY)
    assert evaluated(ledger, row, at=NOON + 4 * HOUR, **fleet).recommendations == ()
    assert only(evaluated(ledger, row, at=NOON + 26 * HOUR, **fleet)).id == spot.id


def test_a_dismissed_move_that_is_owed_to_a_rule_stays_away_and_the_breach_stays(ledger: Ledger) -> None:
    abroad = workload(cluster="gke-bel", pool="general", instance_type="n2-standard-4")
    fleet = {"pools": pools(GENERAL, BELGIUM)}
    one = only(evaluated(ledger, abroad, **fleet))
    assert one.kind is Kind.COMPLIANCE
    said(ledger, one, EventKind.DISMISSED)
    after = evaluated(ledger, abroad, at=NOON + DAY, **fleet)
    assert after.recommendations == ()
    assert [(row.rule, row.recommendation_id) for row in after.breaches] == [("residency", None)]


def test_advice_that_went_expires_and_advice_elsewhere_supersedes_it(ledger: Ledger) -> None:
    row = workload(**TOLERANT)
    owned = only(evaluated(ledger, row))
    spot = only(evaluated(ledger, row, at=NOON + DAY, pools=pools(GENERAL, SPOT)))
    now = standing_of(ledger, owned.id, at=NOON + DAY)
    assert (now.state, now.successor_id) == (State.SUPERSEDED, spot.id)
    assert evaluated(ledger, row, at=NOON + 2 * DAY, pools=pools(GENERAL)).recommendations == ()
    gone = standing_of(ledger, spot.id, at=NOON + 2 * DAY)
    assert (gone.state, gone.reason) == (State.EXPIRED, "it is no longer advised")
    again = only(evaluated(ledger, row, at=NOON + 3 * DAY, pools=pools(GENERAL, SPOT)))
    assert (again.id, again.state, again.proposed_at) == (spot.id, State.OPEN, NOON + 3 * DAY)


def test_accepted_advice_and_a_workload_of_which_nothing_can_be_said_keep_their_time(ledger: Ledger) -> None:
    made = evaluated(ledger, workload("web"), workload("api"), workload("gone"))
    ids = {one.target.workload: one.id for one in made.recommendations}
    web = next(one for one in made.recommendations if one.target.workload == "web")
    said(ledger, web, EventKind.ACCEPTED)
    rows = [("api", "new"), ("gone", "vanished")]
    unfit = NotEnoughData.validate(
        pl.DataFrame(
            [
                {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": name}
                | {"reason": reason, "why": "…", "next_step": "…"}
                for name, reason in rows
            ]
        )
    )
    evaluated(ledger, at=NOON + DAY, not_enough_data=unfit)
    at = NOON + DAY
    states = {name: standing_of(ledger, identifier, at=at).state for name, identifier in ids.items()}
    assert states == {"web": State.ACCEPTED, "api": State.OPEN, "gone": State.SUPERSEDED}
    late = {standing_of(ledger, ids[name], at=NOON + 8 * DAY).state for name in ("web", "api")}
    assert late == {State.EXPIRED}


def test_a_cluster_that_is_not_seen_expires_nothing(ledger: Ledger) -> None:
    one = only(evaluated(ledger, workload()))
    blind = NotEnoughData.validate(
        pl.DataFrame(
            [
                {"cluster": "eks-lon", "namespace": "", "workload_kind": "", "workload": ""}
                | {"reason": "cluster-not-seen", "why": "…", "next_step": "…"}
            ]
        )
    )
    evaluated(ledger, at=NOON + DAY, not_enough_data=blind)
    assert standing_of(ledger, one.id, at=NOON + DAY).state is State.OPEN


def test_what_was_carried_out_is_not_advised_again_from_usage_of_before(ledger: Ledger) -> None:
    one = only(evaluated(ledger, workload()))
    said(ledger, one, EventKind.IMPLEMENTED, happened_at=NOON + HOUR / 2)
    assert evaluated(ledger, workload(), at=NOON + 6 * DAY).recommendations == ()
    back = only(evaluated(ledger, workload(), at=NOON + 8 * DAY))
    assert (back.id, back.state, back.proposed_at) == (one.id, State.OPEN, NOON + 8 * DAY)


@pytest.mark.parametrize(("days", "rule"), [(2, "cool_down"), (6, "undo"), (8, None)])
def test_a_move_that_was_made_cools_down_and_is_not_undone(ledger: Ledger, days: int, rule: str | None) -> None:
    """After the move on demand becomes ten times cheaper, so that money alone would send it back."""
    one = only(evaluated(ledger, workload()))
    said(ledger, one, EventKind.IMPLEMENTED)
    moved = workload(cluster="onprem-lon", pool="metal", instance_type="r760", capacity_type="owned")
    cheap = machine("aws", "eu-west-2", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.0005, gbp_per_gib_hour=0.0001)
    steady = {"steady": {"min_saving_gbp_per_month": 1}}
    made = evaluated(
        ledger,
        moved,
        workload("node-agent", vcpu_request_mean=0.001, memory_gib_request_mean=0.001, is_system=True),
        at=NOON + HOUR + days * DAY,
        prices=prices([cheap, *standard_offers()[1:]]),
        policy=policy(**steady),
    )
    held = [row.rule for row in made.refused if row.stage == "guard"]
    assert (held, len(made.recommendations)) == (([rule], 0) if rule else ([], 1))


def test_a_move_that_was_taken_back_leaves_no_trace_in_the_cool_down(ledger: Ledger) -> None:
    one = only(evaluated(ledger, workload()))
    said(ledger, one, EventKind.IMPLEMENTED)
    with ledger.reading() as reader:
        [move] = memory_of(reader, at=NOON + HOUR).moves.to_dicts()
    assert (move["cluster"], move["from_cluster"], move["from_pool"]) == ("onprem-lon", "eks-lon", "general")
    assert move["moved_at"] == NOON + HOUR
    said(ledger, one, EventKind.REOPENED, hours=2)
    with ledger.reading() as reader:
        assert memory_of(reader, at=NOON + 2 * HOUR).moves.is_empty()
        assert memory_of(reader, at=NOON + HOUR).moves.height == 1


def test_an_evaluation_of_the_past_says_what_it_said_then(ledger: Ledger) -> None:
    then = evaluated(ledger, workload())
    said(ledger, only(then), EventKind.DISMISSED)
    assert evaluated(ledger, workload(), at=NOON + 2 * HOUR).recommendations == ()
    assert evaluated(ledger, workload()).to_json() == then.to_json()
    assert kinds(ledger, only(then).id) == ["proposed", "dismissed"]


DECISIONS = st.sampled_from(
    [EventKind.ACCEPTED, EventKind.DISMISSED, EventKind.SNOOZED, EventKind.IMPLEMENTED, EventKind.REOPENED]
)
STEPS = st.lists(
    st.one_of(DECISIONS, st.tuples(st.booleans(), st.sampled_from([0.03, 0.05]), st.sampled_from([1, 40, 200]))),
    max_size=8,
)


@settings(max_examples=examples(4, 20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_is_decided_between_evaluations_the_next_one_succeeds_and_agrees_with_the_ledger(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    ledger = Ledger.at(LedgerSettings(url=str(tmp_path_factory.mktemp("any") / "ledger.sqlite")))
    one, at = only(evaluated(ledger, workload())), NOON
    for step in steps:
        if isinstance(step, EventKind):
            at += HOUR
            until = at + 30 * HOUR if step in {EventKind.SNOOZED, EventKind.DISMISSED} else None
            try:
                decide(ledger, one.id, Decision(step, "ann", reason="so", until=until), at=at)
            except IllegalTransitionError:
                continue
        else:
            there, price, hours = step
            at += timedelta(hours=hours)
            made = evaluated(ledger, *([workload()] if there else []), at=at, prices=dearer(price))
            shown = {row.id: row.state for row in made.recommendations}
            state = standing_of(ledger, one.id, at=at).state
            live = state in {State.OPEN, State.ACCEPTED}
            assert shown == ({one.id: state} if there and live else {})
