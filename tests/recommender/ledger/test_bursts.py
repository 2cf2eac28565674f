"""Bursts live in the ledger: proposed, carried out, running, brought home; and what was decided holds them back."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from recommender.advise.capacity import capacity_advice
from recommender.advise.capacity_record import CAPACITY_GAP, CapacityRecommendation
from recommender.advise.capacity_return import active_bursts
from recommender.advise.plan import NotEnoughData, Plan
from recommender.advise.record import Kind, State
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.listing import listed, people_read
from recommender.ledger.measurement import Savings
from recommender.ledger.memory import Memory, memory_of, verified
from recommender.ledger.merge import Merged, merge
from recommender.ledger.standing import IllegalTransitionError
from recommender.ledger.store import Ledger, Reader
from recommender.report.view_model import report_of
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.recommender.advise.own_racks import asked
from tests.recommender.burst.history import HOURS, Rows, full_usage, later, samples
from tests.recommender.burst.home import pods
from tests.recommender.ledger.remembering import kinds, standing_of
from tests.recommender.world import GENERAL, METAL, plan, pools, workload

HOUR = timedelta(hours=1)
LONDON = 4 * 0.03 + 16 * 0.004
FULL = full_usage(2, for_hours=5)


def room(number: int = 5) -> tuple[Rows, Rows]:
    """So many pods at home for three days, and room for many more."""
    rows = pods(number)
    return rows, [one for row in rows for one in samples(row, list(range(1, HOURS)))]


def remembered(ledger: Ledger, *, at: datetime) -> Memory:
    with ledger.reading() as reader:
        return memory_of(reader, at=at)


def advised(ledger: Ledger, usage: tuple[Rows, Rows], *, at: datetime = NOON, **changes: Any) -> Plan:
    """One evaluation of the own racks with the ledger on both sides of it; workloads elsewhere are left out."""
    memory = remembered(ledger, at=at)
    if usage is FULL and not memory.running and not memory.held.dismissed and not changes:
        return written(ledger, fresh(at), at=at)
    question = asked(*usage, running=memory.running, dismissed=tuple(memory.held.destinations), at=at, **changes)
    return written(ledger, capacity_advice(question, memory.held), at=at)


@cache
def fresh(at: datetime) -> tuple[CapacityRecommendation, ...]:
    """What is advised of full racks when nothing was decided and nothing runs."""
    return capacity_advice(asked(*FULL, at=at))


def written(
    ledger: Ledger, capacity: tuple[CapacityRecommendation, ...], *, at: datetime, gaps: tuple[NotEnoughData, ...] = ()
) -> Plan:
    bare = plan(workload(), pools=pools(GENERAL)).model_copy(update={"capacity": capacity, "not_enough_data": gaps})
    merged: list[Merged] = []

    def write(reader: Reader) -> Any:
        merged[:] = [merge(bare, reader.histories(), at=at)]
        return merged[0].events

    ledger.add(write)
    return merged[0].plan


def only(made: Plan) -> CapacityRecommendation:
    (one,) = made.capacity
    return one


def said(ledger: Ledger, one: CapacityRecommendation, kind: EventKind, *, at: datetime, **words: Any) -> None:
    reason = {"reason": "not there"} if kind is EventKind.DISMISSED else {}
    decide(ledger, one.id, Decision(kind, "ann", **reason | words), at=at)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """One of SQLite; what may depend on the database takes the settings of each kind."""
    return Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))


@pytest.fixture
def carried_out(ledger: Ledger) -> CapacityRecommendation:
    """A burst that was advised at noon, accepted, and carried out at five past."""
    return carry_out(ledger)


def carry_out(ledger: Ledger) -> CapacityRecommendation:
    one = only(advised(ledger, FULL))
    said(ledger, one, EventKind.ACCEPTED, at=NOON + timedelta(minutes=4))
    said(ledger, one, EventKind.IMPLEMENTED, at=NOON + timedelta(minutes=5))
    return one


def test_a_burst_is_proposed_once_and_found_again(ledger: Ledger) -> None:
    first, second = only(advised(ledger, FULL)), only(advised(ledger, FULL, at=NOON + HOUR))
    assert (first.id, first.state, second.proposed_at) == (second.id, State.OPEN, NOON)
    assert kinds(ledger, first.id) == ["proposed"]


def test_a_burst_that_is_needed_no_more_expires_at_once(ledger: Ledger) -> None:
    one = only(advised(ledger, FULL))
    advised(ledger, room(), at=NOON + HOUR)
    assert kinds(ledger, one.id) == ["proposed", "expired"]


def test_an_accepted_burst_is_shown_as_accepted_and_waits_for_its_time(ledger: Ledger) -> None:
    one = only(advised(ledger, FULL))
    said(ledger, one, EventKind.ACCEPTED, at=NOON + HOUR)
    assert only(advised(ledger, FULL, at=NOON + 2 * HOUR)).state is State.ACCEPTED
    advised(ledger, room(), at=NOON + 3 * HOUR)
    assert standing_of(ledger, one.id, at=NOON + 3 * HOUR).state is State.ACCEPTED
    assert standing_of(ledger, one.id, at=NOON + 25 * HOUR).state is State.EXPIRED


def test_what_could_not_be_judged_closes_no_burst(ledger: Ledger) -> None:
    one = only(advised(ledger, FULL))
    gap = NotEnoughData(cluster="onprem-lon", reason=f"{CAPACITY_GAP}failed", why="it failed", next_step="Look.")
    written(ledger, (), at=NOON + HOUR, gaps=(gap,))
    assert kinds(ledger, one.id) == ["proposed"]


def test_a_gap_in_owned_capacity_keeps_no_advice_on_moves_alive(ledger: Ledger) -> None:
    made = plan(workload(), pools=pools(GENERAL, METAL))
    (move,) = made.recommendations
    ledger.add(lambda reader: merge(made, reader.histories(), at=NOON).events)
    gap = NotEnoughData(cluster="eks-lon", reason=f"{CAPACITY_GAP}failed", why="it failed", next_step="Look.")
    written(ledger, (), at=NOON + HOUR, gaps=(gap,))
    assert kinds(ledger, move.id) == ["proposed", "expired"]


def test_a_burst_that_goes_elsewhere_now_supersedes_the_one_before(ledger: Ledger) -> None:
    rows, used = full_usage(1, for_hours=5)
    rows[20] |= {"residency_class": "europe"}
    first = only(advised(ledger, (rows, used)))
    second = only(advised(ledger, (rows, used), at=NOON + HOUR, pools=pools(GENERAL, METAL)))
    assert first.id != second.id
    now = standing_of(ledger, first.id, at=NOON + HOUR)
    assert (now.state, now.successor_id) == (State.SUPERSEDED, second.id)
    assert now.reason == "the pool is advised otherwise"


def test_a_burst_that_was_carried_out_runs_from_then_on(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    (burst,) = remembered(ledger, at=NOON + HOUR).running
    assert (burst.advice.id, burst.started_at) == (carried_out.id, NOON + timedelta(minutes=5))
    active = active_bursts([burst])
    assert active.select("workload", "at_cluster", "replicas", "gbp_per_hour").rows() == [
        ("w20", "eks-lon", 1, LONDON),
        ("w21", "eks-lon", 1, LONDON),
    ]
    assert remembered(ledger, at=NOON).running == ()


def test_a_burst_returns_after_its_minimum_runtime_and_ends_when_the_return_is_carried_out(
    settings: LedgerSettings,
) -> None:
    ledger = Ledger.at(settings)
    carried_out = carry_out(ledger)
    assert advised(ledger, room(), at=NOON + timedelta(minutes=64)).capacity == ()
    back = only(advised(ledger, room(), at=NOON + timedelta(minutes=66)))
    assert (back.kind, back.burst_id) == (Kind.BURST_RETURN, carried_out.id)
    said(ledger, back, EventKind.IMPLEMENTED, at=NOON + 2 * HOUR)
    assert remembered(ledger, at=NOON + 2 * HOUR).running == ()
    assert advised(ledger, room(), at=NOON + 3 * HOUR).capacity == ()
    assert kinds(ledger, back.id) == ["proposed", "implemented"]


def test_a_burst_stays_while_home_is_full(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    kept = advised(ledger, room(20), at=NOON + 3 * HOUR)
    assert kept.capacity == ()
    assert [one.advice.id for one in remembered(ledger, at=NOON + 3 * HOUR).running] == [carried_out.id]


def test_a_return_that_is_due_no_more_expires(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    back = only(advised(ledger, room(), at=NOON + 2 * HOUR))
    advised(ledger, room(20), at=NOON + 3 * HOUR)
    assert kinds(ledger, back.id) == ["proposed", "expired"]
    assert len(remembered(ledger, at=NOON + 3 * HOUR).running) == 1
    assert kinds(ledger, carried_out.id) == ["proposed", "accepted", "implemented"]


def test_a_return_said_by_mistake_lets_the_burst_run_on(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    back = only(advised(ledger, room(), at=NOON + 2 * HOUR))
    said(ledger, back, EventKind.IMPLEMENTED, at=NOON + 2 * HOUR)
    said(ledger, back, EventKind.REOPENED, at=NOON + 3 * HOUR)
    assert [one.advice.id for one in remembered(ledger, at=NOON + 3 * HOUR).running] == [carried_out.id]


def test_a_burst_said_by_mistake_never_ran(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    said(ledger, carried_out, EventKind.REOPENED, at=NOON + HOUR)
    assert remembered(ledger, at=NOON + HOUR).running == ()


def test_a_burst_to_the_same_place_can_be_advised_and_carried_out_again(
    ledger: Ledger, carried_out: CapacityRecommendation
) -> None:
    rows, used = FULL
    again = only(advised(ledger, (rows, later(used, 3)), at=NOON + 3 * HOUR, seen_at=NOON + 3 * HOUR))
    assert (again.id, again.state, again.proposed_at) == (carried_out.id, State.OPEN, NOON + 3 * HOUR)
    said(ledger, again, EventKind.IMPLEMENTED, at=NOON + 3 * HOUR)
    starts = [one.started_at for one in remembered(ledger, at=NOON + 3 * HOUR).running]
    assert starts == [NOON + timedelta(minutes=5), NOON + 3 * HOUR]


@pytest.mark.usefixtures("carried_out")
def test_usage_from_before_a_burst_asks_for_no_second_one(ledger: Ledger) -> None:
    assert advised(ledger, FULL, at=NOON + HOUR).capacity == ()


def test_a_dismissed_burst_does_not_come_back_until_its_time(ledger: Ledger) -> None:
    one = only(advised(ledger, FULL))
    said(ledger, one, EventKind.DISMISSED, at=NOON + HOUR, until=NOON + 4 * HOUR)
    assert advised(ledger, FULL, at=NOON + 2 * HOUR).capacity == ()
    assert standing_of(ledger, one.id, at=NOON + 2 * HOUR).state is State.DISMISSED
    assert only(advised(ledger, FULL, at=NOON + 5 * HOUR)).id == one.id


def test_a_snoozed_burst_keeps_all_bursts_of_its_class_away(ledger: Ledger) -> None:
    rows, used = full_usage(1, for_hours=5)
    rows[20] |= {"residency_class": "europe"}
    one = only(advised(ledger, (rows, used)))
    said(ledger, one, EventKind.SNOOZED, at=NOON + HOUR, until=NOON + 4 * HOUR)
    assert advised(ledger, (rows, used), at=NOON + 2 * HOUR, pools=pools(GENERAL, METAL)).capacity == ()


def test_a_dismissed_return_leaves_the_burst_where_it_is(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    back = only(advised(ledger, room(), at=NOON + 2 * HOUR))
    said(ledger, back, EventKind.DISMISSED, at=NOON + 2 * HOUR)
    assert advised(ledger, room(), at=NOON + 3 * HOUR).capacity == ()
    assert [one.advice.id for one in remembered(ledger, at=NOON + 3 * HOUR).running] == [carried_out.id]


def test_bursts_are_listed_with_what_an_hour_costs(settings: LedgerSettings) -> None:
    ledger = Ledger.at(settings)
    carried_out = carry_out(ledger)
    with ledger.reading() as reader:
        rows = listed(reader, at=NOON + HOUR, states=set(State))
    (row,) = rows.filter(recommendation_id=carried_out.id).to_dicts()
    assert (row["kind"], row["state"], row["cluster"], row["pool"]) == ("burst", "implemented", "onprem-lon", "metal")
    assert (row["to_cluster"], row["owner"], row["workload"]) == ("eks-lon", "shop-team", None)
    assert row["saving_gbp_per_month"] is None
    assert row["cost_delta_gbp_per_hour"] == pytest.approx(2 * LONDON)
    shown = people_read(rows).filter(id=carried_out.id)
    assert shown["money"].item() == "costs £0.3680 an hour more"


def test_a_burst_is_no_move_and_no_saving(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    memory = remembered(ledger, at=NOON + HOUR)
    assert memory.moves.is_empty()
    assert memory.decided == ()
    assert carried_out.cost_delta_gbp_per_hour > 0
    with ledger.reading() as reader:
        measured = verified(reader, reader.histories(), at=NOON + timedelta(days=30))
    assert Savings.of(measured).realised_gbp == 0
    bare = plan(workload(), pools=pools(GENERAL))
    with_burst = bare.model_copy(update={"capacity": (carried_out,)})
    assert report_of(with_burst).figures == report_of(bare).figures


def test_a_decision_that_does_not_fit_writes_nothing(ledger: Ledger, carried_out: CapacityRecommendation) -> None:
    with pytest.raises(IllegalTransitionError, match="it is implemented"):
        said(ledger, carried_out, EventKind.ACCEPTED, at=NOON + HOUR)
    assert kinds(ledger, carried_out.id) == ["proposed", "accepted", "implemented"]
