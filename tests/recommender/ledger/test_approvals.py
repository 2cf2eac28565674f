"""Approvals are kept in the order in which they were given, whoever gives one at the same time."""

from __future__ import annotations

import threading

from recommender.ledger.approvals import Approval
from recommender.ledger.store import Ledger
from tests.builders import NOON


def approve(ledger: Ledger, author: str, subject: str = "calibration") -> Approval | None:
    return ledger.approve(
        lambda reader: Approval(reader.next_approval(), subject, NOON, author, "why – 'not'", '{"£": 1}')
    )


def test_an_approval_comes_back_as_it_was_given_and_by_its_subject(ledger: Ledger) -> None:
    made = approve(ledger, "ann")
    approve(ledger, "bob", subject="mode")
    with ledger.reading() as reader:
        assert reader.approvals("calibration") == (made,)
        assert [(one.number, one.author) for one in reader.approvals("mode")] == [(2, "bob")]


def test_approvals_given_at_once_are_all_kept_each_with_a_number_of_its_own(ledger: Ledger) -> None:
    gate = threading.Barrier(4)

    def give(author: str) -> None:
        gate.wait()
        approve(ledger, author)

    threads = [threading.Thread(target=give, args=(name,)) for name in ("a", "b", "c", "d")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with ledger.reading() as reader:
        found = reader.approvals("calibration")
    assert [one.number for one in found] == [1, 2, 3, 4]
    assert {one.author for one in found} == {"a", "b", "c", "d"}


def test_who_approves_nothing_writes_nothing(ledger: Ledger) -> None:
    assert ledger.approve(lambda _: None) is None
    with ledger.reading() as reader:
        assert reader.approvals("calibration") == ()
