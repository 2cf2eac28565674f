"""The ledger: events in, events out. A write happens whole or not at all, and two writers never lose each other's.

A writer says what to add as a function of what is there; where another writer was faster, the function is asked
again with what is there now. Nothing is updated and nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Column, Connection, RowMapping, Table, func, insert, select, tuple_
from sqlalchemy.exc import IntegrityError

from exporters.core.errors import StoreError
from recommender.ledger.approvals import Approval
from recommender.ledger.connect import WRITES, Database, database_of, explained
from recommender.ledger.deliveries import Delivery, DeliveryState
from recommender.ledger.events import Event, EventKind
from recommender.ledger.publications import Publication, latest
from recommender.ledger.schema import APPROVALS, DELIVERIES, EVENTS, PUBLICATIONS, VERSION, bring_up, version_of
from recommender.settings import LedgerSettings

LOCK_WAIT_SECONDS = 10.0
TRIES = 20
"""How often a writer asks again when others were faster."""
_AT_ONCE = 200
_LEAN = [column for column in EVENTS.columns if column.name not in {"document", "measured"}]

Entry = TypeVar("Entry", Event, Approval, Publication, Delivery)

Histories = Mapping[str, tuple[Event, ...]]
"""The events of each recommendation, by sequence, without their documents."""
Texts = Mapping[tuple[str, int], str]
"""JSON by recommendation and sequence; an event without any is not in it."""


class Reader:
    """What a transaction sees.

    Args:
        connection: an open one; None: there is no ledger yet, and nothing in it.
    """

    def __init__(self, connection: Connection | None) -> None:
        self._connection = connection

    def histories(self) -> Histories:
        """This will return every event, without documents."""
        if self._connection is None:
            return {}
        found: dict[str, list[Event]] = {}
        rows = self._connection.execute(select(*_LEAN).order_by(EVENTS.c.recommendation_id, EVENTS.c.sequence))
        for row in rows.mappings():
            found.setdefault(row["recommendation_id"], []).append(_event(row))
        return {one: tuple(events) for one, events in found.items()}

    def history(self, recommendation_id: str) -> tuple[Event, ...]:
        """This will return the events of one recommendation, without documents; empty: it is not known."""
        if self._connection is None:
            return ()
        wanted = select(*_LEAN).where(EVENTS.c.recommendation_id == recommendation_id).order_by(EVENTS.c.sequence)
        return tuple(_event(row) for row in self._connection.execute(wanted).mappings())

    def begun(self) -> datetime | None:
        """This will return the time of the first event; None: there is none."""
        if self._connection is None:
            return None
        found: datetime | None = self._connection.execute(select(func.min(EVENTS.c.at))).scalar_one()
        return found

    def documents(self, events: Iterable[Event]) -> Texts:
        """This will return the records that some proposals keep."""
        return self._texts(EVENTS.c.document, events)

    def measurements(self, events: Iterable[Event]) -> Texts:
        """This will return what some verifications measured."""
        return self._texts(EVENTS.c.measured, events)

    def approvals(self, subject: str) -> tuple[Approval, ...]:
        """This will return every approval of a subject, oldest first."""
        if self._connection is None:
            return ()
        rows = self._connection.execute(select(APPROVALS).order_by(APPROVALS.c.number)).mappings()
        return tuple(Approval(**dict(row)) for row in rows if row["subject"] == subject)

    def next_approval(self) -> int:
        """This will return the number of the next approval."""
        return self._next_number(APPROVALS)

    def publications(self) -> dict[tuple[str, str], Publication]:
        """This will return the newest publication of each hub and name."""
        if self._connection is None:
            return {}
        rows = self._connection.execute(select(PUBLICATIONS)).mappings()
        return latest(Publication(**{str(name): value for name, value in row.items()}) for row in rows)

    def next_publication(self) -> int:
        """This will return the number of the next publication."""
        return self._next_number(PUBLICATIONS)

    def deliveries(self, *, week: str | None = None) -> tuple[Delivery, ...]:
        """This will return every step of a week's deliveries, oldest first; None: of all weeks."""
        if self._connection is None:
            return ()
        rows = self._connection.execute(select(DELIVERIES).order_by(DELIVERIES.c.number)).mappings()
        wanted = (row for row in rows if week in {None, row["week"]})
        return tuple(Delivery(**{**row, "state": DeliveryState(row["state"])}) for row in wanted)

    def next_delivery(self) -> int:
        """This will return the number of the next step of a delivery."""
        return self._next_number(DELIVERIES)

    def _next_number(self, table: Table) -> int:
        if self._connection is None:
            return 1
        return int(self._connection.execute(select(func.coalesce(func.max(table.c.number), 0))).scalar_one()) + 1

    def _texts(self, column: Column[str], events: Iterable[Event]) -> Texts:
        if self._connection is None:
            return {}
        keys = [(one.recommendation_id, one.sequence) for one in events]
        key = (EVENTS.c.recommendation_id, EVENTS.c.sequence)
        found: dict[tuple[str, int], str] = {}
        for start in range(0, len(keys), _AT_ONCE):
            wanted = tuple_(*key).in_(keys[start : start + _AT_ONCE])
            rows = self._connection.execute(select(*key, column).where(wanted))
            found.update(((one, sequence), text) for one, sequence, text in rows if text is not None)
        return found


class Ledger:
    """A ledger in a database.

    Args:
        database: where it is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def at(cls, settings: LedgerSettings, *, lock_wait_seconds: float = LOCK_WAIT_SECONDS) -> Ledger:
        """This will return the ledger that the settings name; it is made at the first write.

        Raises:
            SettingsError: the settings name no database.
        """
        return cls(database_of(settings, lock_wait_seconds=lock_wait_seconds))

    @property
    def where(self) -> str:
        """Its name for messages."""
        return self._database.where

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """This will let the caller read, all of one moment; a ledger that is not there yet is empty.

        Raises:
            StoreError: the database refused, or a newer Tuppence wrote it.
        """
        if self._database.path is not None and not self._database.path.exists():
            yield Reader(None)
            return
        with explained(self.where):
            with self._transaction(writes=False) as connection:
                version = version_of(connection, where=self.where)
            if version is not None and version < VERSION:
                with self._transaction(writes=True) as connection:
                    bring_up(connection, where=self.where)
            with self._transaction(writes=False) as connection:
                yield Reader(None if version is None else connection)

    def add(self, decide: Callable[[Reader], Iterable[Event]]) -> tuple[Event, ...]:
        """This will write what `decide` makes of what is there, in one transaction, and return it.

        Args:
            decide: pure but for its reading; it may be called several times, and what it raises ends the write.

        Raises:
            StoreError: the database refused, or others were faster every time.
        """
        return self._append(EVENTS, decide, _row)

    def approve(self, decide: Callable[[Reader], Approval | None]) -> Approval | None:
        """This will write the approval that `decide` makes of what is there; None: it approves nothing.

        Raises:
            StoreError: see add.
        """

        def some(reader: Reader) -> tuple[Approval, ...]:
            made = decide(reader)
            return () if made is None else (made,)

        return next(iter(self._append(APPROVALS, some, asdict)), None)

    def publish(self, decide: Callable[[Reader], Iterable[Publication]]) -> tuple[Publication, ...]:
        """This will write the publications that `decide` makes of what is there, in one transaction.

        Raises:
            StoreError: see add.
        """
        return self._append(PUBLICATIONS, decide, asdict)

    def deliver(self, decide: Callable[[Reader], Iterable[Delivery]]) -> tuple[Delivery, ...]:
        """This will write the steps of deliveries that `decide` makes of what is there, in one transaction.

        Raises:
            StoreError: see add.
        """
        return self._append(DELIVERIES, decide, asdict)

    def _append(
        self, table: Table, decide: Callable[[Reader], Iterable[Entry]], as_row: Callable[[Entry], Mapping[str, object]]
    ) -> tuple[Entry, ...]:
        self._make_folder()
        with explained(self.where):
            for _ in range(TRIES):
                try:
                    with self._transaction(writes=True) as connection:
                        bring_up(connection, where=self.where)
                        made = tuple(decide(Reader(connection)))
                        if made:
                            connection.execute(insert(table), [as_row(one) for one in made])
                except IntegrityError:
                    continue
                return made
        raise StoreError(
            f"other writers were faster {TRIES} times",
            where=self.where,
            next_step="Try again; should it last, look for a process that writes without end.",
        )

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        with self._database.engine.connect() as connection:
            # PostgreSQL: one moment for all that a reader sees; a writer is kept right by the primary key.
            level = {} if writes or self._database.path is not None else {"isolation_level": "REPEATABLE READ"}
            chosen = connection.execution_options(**{WRITES: writes}, **level)
            with chosen.begin():
                yield chosen

    def _make_folder(self) -> None:
        path = self._database.path
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder of the ledger cannot be made ({error.strerror})",
                where=self.where,
                next_step="Let ledger.url name a file in a folder that this user may write to.",
            ) from error


def _event(row: RowMapping) -> Event:
    values = {str(name): value for name, value in row.items()}
    return Event(**values | {"kind": EventKind(values["kind"])})


def _row(event: Event) -> dict[str, object]:
    return {one.name: getattr(event, one.name) for one in fields(event)} | {"kind": event.kind.value}
