"""The ledger keeps every event, whole, whoever else writes and whatever ends the process; on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from exporters.core.errors import SettingsError, StoreError, TuppenceError
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import Event, EventKind
from recommender.ledger.standing import IllegalTransitionError
from recommender.ledger.store import Ledger, Reader
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.recommender.ledger.happened import event, story

ROOT = Path(__file__).parents[3]
NOBODY = 65534


def written(ledger: Ledger) -> dict[str, list[str]]:
    with ledger.reading() as reader:
        return {one: [event.kind.value for event in events] for one, events in reader.histories().items()}


def test_a_ledger_that_is_not_there_is_empty_and_reading_does_not_make_it(tmp_path: Path) -> None:
    ledger = Ledger.at(LedgerSettings(url=str(tmp_path / "deep" / "ledger.sqlite")))
    assert written(ledger) == {}
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_of_a_server_is_an_empty_ledger(ledger: Ledger) -> None:
    assert written(ledger) == {}


def test_events_come_back_as_they_were_written(ledger: Ledger) -> None:
    summer = datetime(2026, 7, 1, 12, 30, 15, 123456, tzinfo=timezone(timedelta(hours=1)))
    told = [
        event("proposed", document='{"title": "£ naïve 🚀"}'),
        event("snoozed", 2, hours=1, until=summer, reason="after the launch – 'soon'; --"),
        event("superseded", 3, hours=99, successor_id="def456"),
        event("implemented", 4, hours=100, happened_at=NOON + timedelta(microseconds=1)),
    ]
    ledger.add(lambda _: told)
    with ledger.reading() as reader:
        events = reader.histories()["abc123"]
        assert reader.documents(events[:1]) == {("abc123", 1): '{"title": "£ naïve 🚀"}'}
        assert reader.documents(events[1:2]) == {}
    assert [one.until for one in events] == [None, summer, None, None]
    assert [one.happened_at for one in events] == [None, None, None, NOON + timedelta(microseconds=1)]
    assert (events[1].reason, events[2].successor_id) == (told[1].reason, "def456")
    assert all(one.at.utcoffset() == timedelta(0) for one in events)


def test_a_decision_is_added_and_one_that_does_not_fit_leaves_nothing(ledger: Ledger) -> None:
    ledger.add(lambda _: story("proposed"))
    decide(ledger, "abc", Decision(EventKind.ACCEPTED, "ann"), at=NOON + timedelta(hours=1))
    with pytest.raises(IllegalTransitionError, match="it is accepted"):
        decide(ledger, "abc", Decision(EventKind.ACCEPTED, "bob"), at=NOON + timedelta(hours=2))
    assert written(ledger) == {"abc123": ["proposed", "accepted"]}


def test_a_write_that_fails_halfway_leaves_nothing(ledger: Ledger) -> None:
    def halfway(_: Reader) -> Iterator[Event]:
        yield event("proposed")
        raise SettingsError("stop", where="here", next_step="none")

    with pytest.raises(SettingsError):
        ledger.add(halfway)
    assert written(ledger) == {}


def test_two_writers_at_once_lose_nothing(settings: LedgerSettings) -> None:
    """Each of four threads adds ten times the next event to the same recommendation."""
    Ledger.at(settings).add(lambda _: story("proposed"))
    gate = threading.Barrier(4)

    def write(author: str) -> None:
        ledger = Ledger.at(settings)
        gate.wait()
        for n in range(10):
            ledger.add(lambda reader, n=n: [renewal(reader, f"{author}-{n}")])  # type: ignore[misc]

    def renewal(reader: Reader, author: str) -> Event:
        events = reader.histories()["abc123"]
        return event("proposed", events[-1].sequence + 1, hours=float(len(events)), author=author)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with Ledger.at(settings).reading() as reader:
        events = reader.histories()["abc123"]
    assert [one.sequence for one in events] == list(range(1, 42))
    assert {one.author for one in events[1:]} == {f"{name}-{n}" for name in "abcd" for n in range(10)}


def test_of_two_who_accept_at_once_one_is_told_that_it_is_accepted(settings: LedgerSettings) -> None:
    Ledger.at(settings).add(lambda _: story("proposed"))
    gate, said = threading.Barrier(2), []

    def accept(name: str) -> None:
        gate.wait()
        try:
            decide(Ledger.at(settings), "abc123", Decision(EventKind.ACCEPTED, name), at=NOON + timedelta(hours=1))
            said.append("written")
        except IllegalTransitionError:
            said.append("refused")

    threads = [threading.Thread(target=accept, args=(name,)) for name in ("ann", "bob")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(said) == ["refused", "written"]
    assert written(Ledger.at(settings)) == {"abc123": ["proposed", "accepted"]}


KILLED = """
import os, signal, sys
from sqlalchemy import func, insert, select
from recommender.ledger import store
from recommender.settings import LedgerSettings
from tests.recommender.ledger.happened import event

def die(reader):
    rows = [store._row(event("proposed", recommendation_id=f"r{n}", document="x" * 20000)) for n in range(300)]
    reader._connection.execute(insert(store.EVENTS), rows)
    print(reader._connection.execute(select(func.count()).select_from(store.EVENTS)).scalar_one(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

store.Ledger.at(LedgerSettings(url=sys.argv[1])).add(die)
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_ledger_as_it_was(settings: LedgerSettings) -> None:
    """The rows, six megabytes that overflow SQLite's page cache into the file, are written but not committed."""
    ledger = Ledger.at(settings)
    ledger.add(lambda _: story("proposed"))
    done = subprocess.run([sys.executable, "-c", KILLED, settings.url], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"301\n")
    assert written(ledger) == {"abc123": ["proposed"]}
    decide(ledger, "abc123", Decision(EventKind.ACCEPTED, "ann"), at=NOON + timedelta(hours=1))
    assert written(ledger)["abc123"] == ["proposed", "accepted"]


def test_a_locked_file_is_waited_for_and_then_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    settings = LedgerSettings(url=str(path))
    Ledger.at(settings).add(lambda _: story("proposed"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"ledger\.sqlite: the ledger refused \(database is locked\)"):
        Ledger.at(settings, lock_wait_seconds=0.2).add(lambda _: [event("accepted", 2)])
    assert written(Ledger.at(settings)) == {"abc123": ["proposed"]}
    other.execute("ROLLBACK")
    other.close()
    Ledger.at(settings).add(lambda _: [event("accepted", 2, hours=1)])
    assert written(Ledger.at(settings)) == {"abc123": ["proposed", "accepted"]}


@contextmanager
def without_the_rights_of_root() -> Iterator[None]:
    """Root may write to every file; for the block this process is nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_only_be_read_is_read_and_a_write_says_so() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "ledger.sqlite"
        ledger = Ledger.at(LedgerSettings(url=str(path)))
        ledger.add(lambda _: story("proposed"))
        path.chmod(0o444)
        folder.chmod(0o555)
        with without_the_rights_of_root():
            assert written(ledger) == {"abc123": ["proposed"]}
            with pytest.raises(StoreError, match=r"attempt to write a readonly database.*recommend --no-ledger"):
                ledger.add(lambda _: [event("accepted", 2)])
        folder.chmod(0o755)


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("mysql://root@localhost/x", "mysql:// is not a ledger"),
        ("sqlite://", "the URL names no database"),
        ("sqlite:///:memory:", "the URL names no database"),
        ("postgresql://ann@localhost", "the URL names no database"),
        ("postgresql://ann@localhost:port/x", "this is not a URL of a database"),
    ],
)
def test_a_url_that_cannot_be_a_ledger_is_refused(url: str, what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        Ledger.at(LedgerSettings(url=url))


def test_a_server_that_does_not_run_is_named_without_its_password() -> None:
    ledger = Ledger.at(LedgerSettings(url="postgresql://ann:hunter2@127.0.0.1:1/books"), lock_wait_seconds=2)
    with pytest.raises(StoreError, match=r"Check ledger\.url, and that the server runs") as caught, ledger.reading():
        pass
    assert "hunter2" not in str(caught.value)
    assert "books" in str(caught.value)


def test_the_password_comes_from_its_file(postgresql: str, tmp_path: Path) -> None:
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("SELECT 1")
    secret = tmp_path / "password"
    secret.write_text("not asked for\n")
    ledger = Ledger.at(LedgerSettings(url=postgresql, password_file=secret))
    assert "not asked for" not in ledger.where
    assert written(ledger) == {}
    with pytest.raises(SettingsError, match=r"ledger\.password_file"):
        Ledger.at(LedgerSettings(url=postgresql, password_file=tmp_path / "absent"))


@pytest.mark.parametrize("content", [b"this is not a database" * 100, b"{}"])
def test_a_file_that_is_no_ledger_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(TuppenceError, match="file is not a database"):
        Ledger.at(LedgerSettings(url=str(path))).add(lambda _: story("proposed"))
    assert path.read_bytes() == content


def test_a_folder_in_the_files_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        Ledger.at(LedgerSettings(url=str(tmp_path))).add(lambda _: story("proposed"))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the folder of the ledger cannot be made"):
        Ledger.at(LedgerSettings(url=str(tmp_path / "file" / "ledger.sqlite"))).add(lambda _: story("proposed"))


def test_a_ledger_of_a_newer_tuppence_is_left_alone(ledger: Ledger, settings: LedgerSettings) -> None:
    ledger.add(lambda _: story("proposed"))
    statement = "UPDATE tuppence_ledger SET version = 99"
    if settings.url.startswith("postgresql"):
        with psycopg.connect(settings.url) as connection:
            connection.execute(statement)
    else:
        other = sqlite3.connect(settings.url)
        other.execute(statement)
        other.commit()
        other.close()
    for use in (lambda: written(ledger), lambda: ledger.add(lambda _: [event("accepted", 2)])):
        with pytest.raises(StoreError, match="the ledger has version 99, and this Tuppence knows versions up to"):
            use()
