"""Advice is superseded, before anybody applies it, when the workload has gone, moved, or asks for something else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recommender.advise.record import State
from recommender.frames import NotEnoughData
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.store import Ledger
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.recommender.ledger.remembering import evaluated, kinds, only, standing_of
from tests.recommender.world import GENERAL, SPOT, pools, workload

DAY = timedelta(days=1)
MOVED = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))


def vanished(**changes: str) -> Any:
    row = {"cluster": "eks-lon", "namespace": "shop", "workload_kind": "Deployment", "workload": "web"}
    row |= {"reason": "vanished", "why": "…", "next_step": "…"} | changes
    return NotEnoughData.validate(pl.DataFrame([row]))


def accepted(ledger: Ledger) -> str:
    one = only(evaluated(ledger, workload()))
    decide(ledger, one.id, Decision(EventKind.ACCEPTED, "ann"), at=NOON + timedelta(hours=1))
    return one.id


def test_accepted_advice_whose_workload_has_gone_is_superseded(ledger: Ledger) -> None:
    identifier = accepted(ledger)
    made = evaluated(ledger, at=NOON + DAY, not_enough_data=vanished())
    now = standing_of(ledger, identifier, at=NOON + DAY)
    assert (made.recommendations, now.state, now.reason) == ((), State.SUPERSEDED, "the workload has gone")


def test_advice_whose_workload_moved_without_it_says_where_it_runs(ledger: Ledger) -> None:
    identifier = accepted(ledger)
    evaluated(ledger, workload(**MOVED), at=NOON + DAY, not_enough_data=vanished())
    now = standing_of(ledger, identifier, at=NOON + DAY)
    assert now.state is State.SUPERSEDED
    assert now.reason.startswith("the workload runs in onprem-lon now, as was advised")
    decide(ledger, identifier, Decision(EventKind.IMPLEMENTED, "ann"), at=NOON + DAY)
    assert standing_of(ledger, identifier, at=NOON + DAY).state is State.IMPLEMENTED


def test_advice_whose_workload_changed_its_pool_is_superseded(ledger: Ledger) -> None:
    """It went to the spot pool by itself, where nothing is advised: twenty pounds a month are not to be saved."""
    identifier = accepted(ledger)
    there = workload(pool="spot", capacity_type="spot", interruption_tolerance="spot", checkpoint_minutes=5.0)
    evaluated(ledger, there, at=NOON + DAY, pools=pools(GENERAL, SPOT))
    now = standing_of(ledger, identifier, at=NOON + DAY)
    assert (now.state, now.reason) == (State.SUPERSEDED, "the workload runs in pool spot now, not where it was")


@pytest.mark.parametrize(("vcpus", "stands"), [(4.4, True), (4.41, False), (3.6, True), (3.5, False)])
def test_a_change_of_more_than_a_tenth_must_be_decided_anew(ledger: Ledger, vcpus: float, *, stands: bool) -> None:
    """4 vCPU were asked for when it was accepted; 4.4 are exactly a tenth more."""
    identifier = accepted(ledger)
    same = only(evaluated(ledger, workload(vcpu_request_mean=vcpus), at=NOON + timedelta(hours=2)))
    assert same.id == identifier
    if stands:
        assert same.state is State.ACCEPTED
        assert kinds(ledger, identifier) == ["proposed", "accepted"]
        return
    assert (same.state, same.proposed_at) == (State.OPEN, NOON + timedelta(hours=2))
    assert kinds(ledger, identifier) == ["proposed", "accepted", "superseded", "proposed"]
    with ledger.reading() as reader:
        ended = reader.histories()[identifier][2]
    assert ended.reason == f"its requests changed from 4 to {vcpus:g} vCPU, by more than 10%"


def test_memory_is_looked_at_as_cpus_are(ledger: Ledger) -> None:
    identifier = accepted(ledger)
    evaluated(ledger, workload(memory_gib_request_mean=24.0), at=NOON + DAY)
    with ledger.reading() as reader:
        reasons = [event.reason for event in reader.histories()[identifier] if event.kind is EventKind.SUPERSEDED]
    assert reasons == ["its requests changed from 16 to 24 GiB, by more than 10%"]


def test_the_same_evaluation_again_supersedes_nothing(ledger: Ledger) -> None:
    identifier = accepted(ledger)
    for hours in (2, 3, 26):
        assert only(evaluated(ledger, workload(), at=NOON + timedelta(hours=hours))).state is State.ACCEPTED
    assert kinds(ledger, identifier)[:2] == ["proposed", "accepted"]
    assert "superseded" not in kinds(ledger, identifier)


def test_dismissed_advice_stays_dismissed_whatever_becomes_of_its_workload(ledger: Ledger) -> None:
    one = only(evaluated(ledger, workload()))
    decide(ledger, one.id, Decision(EventKind.DISMISSED, "ann", reason="no"), at=NOON + timedelta(hours=1))
    evaluated(ledger, at=NOON + DAY, not_enough_data=vanished())
    assert standing_of(ledger, one.id, at=NOON + DAY).state is State.DISMISSED
