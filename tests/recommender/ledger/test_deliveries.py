"""Deliveries: of two senders at once only one claims, and a sender that died leaves `unknown`, not a second message."""

from __future__ import annotations

import threading
from datetime import timedelta

from recommender.ledger.deliveries import LEASE, Delivery, DeliveryState, Outcomes, failing, outcomes_of, standing_of
from recommender.ledger.store import Ledger, Reader
from tests.builders import NOON

KEY = ("2026-W48", "radiology", "finops-mail")


def step(number: int, state: DeliveryState, *, minutes: int = 0, attempt: int = 1) -> Delivery:
    return Delivery(number, NOON + timedelta(minutes=minutes), *KEY, state, attempt, "why – 'not'")


def claim(reader: Reader) -> tuple[Delivery, ...]:
    taken = standing_of(reader.deliveries(week=KEY[0]), at=NOON)
    return () if KEY in taken else (step(reader.next_delivery(), DeliveryState.CLAIMED),)


def test_steps_come_back_as_they_were_written_and_by_their_week(ledger: Ledger) -> None:
    made = ledger.deliver(lambda reader: [step(reader.next_delivery(), DeliveryState.SENT)])
    with ledger.reading() as reader:
        assert reader.deliveries() == made
        assert reader.deliveries(week="2026-W47") == ()


def test_of_two_that_claim_at_once_one_has_it(ledger: Ledger) -> None:
    gate, claimed = threading.Barrier(4), []

    def take() -> None:
        gate.wait()
        claimed.extend(ledger.deliver(claim))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(claimed) == 1


def test_the_last_step_is_what_is_known() -> None:
    steps = [step(1, DeliveryState.CLAIMED), step(2, DeliveryState.FAILED, minutes=1), step(3, DeliveryState.CLAIMED)]
    assert standing_of(steps, at=NOON + timedelta(minutes=2))[KEY].number == 3


def test_a_claim_without_an_outcome_is_unknown_once_its_lease_is_over() -> None:
    steps = [step(1, DeliveryState.CLAIMED)]
    assert standing_of(steps, at=NOON + LEASE - timedelta(seconds=1))[KEY].state is DeliveryState.CLAIMED
    assert standing_of(steps, at=NOON + LEASE)[KEY].state is DeliveryState.UNKNOWN


def test_what_was_sent_stays_sent() -> None:
    steps = [step(1, DeliveryState.CLAIMED), step(2, DeliveryState.SENT, minutes=1)]
    assert standing_of(steps, at=NOON + timedelta(days=30))[KEY].state is DeliveryState.SENT


def test_attempts_are_counted_by_their_last_step_and_one_under_way_is_not() -> None:
    steps = [
        step(1, DeliveryState.CLAIMED),
        step(2, DeliveryState.FAILED),
        step(3, DeliveryState.CLAIMED, attempt=2, minutes=10),
        step(4, DeliveryState.SENT, attempt=2, minutes=11),
    ]
    under_way = Delivery(5, NOON, "2026-W49", *KEY[1:], DeliveryState.CLAIMED, 1, "")
    found = outcomes_of([*steps, under_way], at=NOON + timedelta(minutes=12))
    assert found == {"finops-mail": Outcomes(sent=1, failed=1, last_sent_at=NOON + timedelta(minutes=11))}
    assert outcomes_of([*steps, under_way], at=NOON + LEASE)["finops-mail"].failed == 2


def test_what_fails_is_that_of_the_last_week_in_the_channels_that_there_are() -> None:
    old = Delivery(1, NOON, "2026-W47", *KEY[1:], DeliveryState.FAILED, 6, "")
    assert failing([old, step(2, DeliveryState.SENT)], channels=["finops-mail"], at=NOON) == ()
    bad = step(3, DeliveryState.UNKNOWN)
    assert failing([old, bad], channels=["finops-mail"], at=NOON) == (bad,)
    assert failing([old, bad], channels=["chat"], at=NOON) == ()
