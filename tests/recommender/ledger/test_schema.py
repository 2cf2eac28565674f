"""A ledger of an older version is brought up to this one, whole or not at all, and keeps every event."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from exporters.core.errors import StoreError
from recommender.ledger import schema
from recommender.ledger.approvals import Approval
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.memory import standings_at
from recommender.ledger.schema import MIGRATIONS, VERSION
from recommender.ledger.store import Ledger
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.recommender.ledger.happened import DAY, story

TABLES_1 = """
CREATE TABLE tuppence_ledger (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO tuppence_ledger VALUES (1);
CREATE TABLE tuppence_events (
    recommendation_id VARCHAR(64) NOT NULL, sequence INTEGER NOT NULL, kind VARCHAR(16) NOT NULL, at {time} NOT NULL,
    author TEXT NOT NULL, reason TEXT NOT NULL, until {time}, happened_at {time}, successor_id VARCHAR(64),
    etag VARCHAR(64), expires_at {time}, xor_group TEXT, document TEXT, PRIMARY KEY (recommendation_id, sequence)
);
INSERT INTO tuppence_events VALUES
    ('abc123', 1, 'proposed', '2026-11-30 12:00:00.000000', 'tuppence', '', NULL, NULL, NULL, 'e1',
     '2026-12-07 12:00:00.000000', 'a/b/c/d', '{{}}'),
    ('abc123', 2, 'snoozed', '2026-11-30 13:00:00.250000', 'ann', 'busy', '2026-12-02 00:00:00.000000', NULL, NULL,
     NULL, NULL, NULL, NULL);
"""
"""The tables of version 1, as SQL of their own, with two events."""


@pytest.fixture
def old(settings: LedgerSettings) -> LedgerSettings:
    """A ledger of version 1."""
    if settings.url.startswith("postgresql"):
        with psycopg.connect(settings.url, options="-c timezone=UTC") as server:
            server.execute(TABLES_1.format(time="TIMESTAMPTZ"))
    else:
        Path(settings.url).parent.mkdir()
        file = sqlite3.connect(settings.url)
        file.executescript(TABLES_1.format(time="DATETIME"))
        file.close()
    return settings


def version_in(settings: LedgerSettings) -> int:
    statement = "SELECT version FROM tuppence_ledger"
    if settings.url.startswith("postgresql"):
        with psycopg.connect(settings.url) as server:
            row = server.execute(statement).fetchone()
    else:
        file = sqlite3.connect(settings.url)
        row = file.execute(statement).fetchone()
        file.close()
    assert row is not None
    return int(row[0])


def test_there_is_a_way_from_every_version_to_this_one() -> None:
    assert sorted(MIGRATIONS) == list(range(1, VERSION))


def test_a_ledger_of_version_1_is_read_with_all_that_is_in_it(old: LedgerSettings) -> None:
    with Ledger.at(old).reading() as reader:
        histories = reader.histories()
        now = standings_at(histories, at=NOON + DAY)["abc123"]
        assert reader.documents(histories["abc123"]) == {("abc123", 1): "{}"}
    assert (now.state, now.author, now.reason) == ("snoozed", "ann", "busy")
    assert now.since == NOON.replace(hour=13, microsecond=250_000)
    assert version_in(old) == VERSION


def test_the_first_write_to_a_ledger_of_version_1_brings_it_up(old: LedgerSettings) -> None:
    decide(Ledger.at(old), "abc", Decision(EventKind.REOPENED, "bob"), at=NOON + DAY)
    assert version_in(old) == VERSION
    with Ledger.at(old).reading() as reader:
        assert [one.kind.value for one in reader.histories()["abc123"]] == ["proposed", "snoozed", "reopened"]


def test_an_old_and_a_new_ledger_have_the_same_columns(old: LedgerSettings) -> None:
    Ledger.at(old).add(lambda _: story("proposed", recommendation_id="new", measured="{}"))
    with Ledger.at(old).reading() as reader:
        assert reader.measurements(reader.histories()["new"]) == {("new", 1): "{}"}


def test_a_ledger_of_version_1_takes_approvals(old: LedgerSettings) -> None:
    ledger = Ledger.at(old)
    ledger.approve(lambda reader: Approval(reader.next_approval(), "calibration", NOON, "ann", "", "{}"))
    with ledger.reading() as reader:
        assert [(one.number, one.author) for one in reader.approvals("calibration")] == [(1, "ann")]


def test_two_that_bring_it_up_at_once_do_it_once(old: LedgerSettings) -> None:
    gate, errors = threading.Barrier(3), []

    def write(name: str) -> None:
        gate.wait()
        try:
            Ledger.at(old).add(lambda _: story("proposed", recommendation_id=name))
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("r1", "r2", "r3")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
    with Ledger.at(old).reading() as reader:
        assert sorted(reader.histories()) == ["abc123", "r1", "r2", "r3"]


def test_a_step_that_fails_leaves_the_ledger_at_its_version(
    old: LedgerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step's own change is made, then it fails: the column must not be left behind."""
    whole = MIGRATIONS[1]

    def fails(connection: schema.Connection) -> None:
        whole(connection)
        raise OperationalError("ALTER TABLE", {}, RuntimeError("disk full"))

    monkeypatch.setitem(MIGRATIONS, 1, fails)
    with pytest.raises(StoreError, match="disk full"), Ledger.at(old).reading():
        pass
    assert version_in(old) == 1
    monkeypatch.setitem(MIGRATIONS, 1, whole)
    with Ledger.at(old).reading() as reader:
        assert len(reader.histories()["abc123"]) == 2
