"""The ledger's tables, and how a ledger of an older version becomes one of this version.

The same statements run on SQLite and on PostgreSQL. A change of the tables is a new version and a new step here;
a ledger is brought up step by step in one transaction, so that it is never left between two versions.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.types import TypeDecorator

from exporters.core.errors import StoreError

VERSION = 5
"""1: events. 2: what a verification measured. 3: approvals. 4: publications. 5: deliveries."""


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, to the microsecond; SQLite keeps no offset, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """This will turn a moment into UTC."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: object, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """This will give every moment its offset."""
        if value is None:
            return None
        assert isinstance(value, datetime)
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()

EVENTS = Table(
    "tuppence_events",
    METADATA,
    Column("recommendation_id", String(64), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("until", UtcTime),
    Column("happened_at", UtcTime),
    Column("successor_id", String(64)),
    Column("etag", String(64)),
    Column("expires_at", UtcTime),
    Column("xor_group", Text),
    Column("document", Text),
    Column("measured", Text),
)
"""Append only. The primary key keeps two writers from writing the same next event."""

APPROVALS = Table(
    "tuppence_approvals",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("subject", String(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
"""Append only, as the events are."""

PUBLICATIONS = Table(
    "tuppence_publications",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("hub", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("namespaces", Text, nullable=False),
)
"""Append only, as the events are."""

DELIVERIES = Table(
    "tuppence_deliveries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("week", String(8), nullable=False),
    Column("scope", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("detail", Text, nullable=False),
)
"""Append only, as the events are."""

SCHEMA = Table("tuppence_ledger", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))
"""One row: the version of the tables."""


def _to_2(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE tuppence_events ADD COLUMN measured TEXT"))


def _to_3(connection: Connection) -> None:
    APPROVALS.create(connection)


def _to_4(connection: Connection) -> None:
    PUBLICATIONS.create(connection)


def _to_5(connection: Connection) -> None:
    DELIVERIES.create(connection)


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _to_2, 2: _to_3, 3: _to_4, 4: _to_5}
"""What brings a ledger of a version to the next one."""


def version_of(connection: Connection, *, where: str) -> int | None:
    """This will return the version of a ledger's tables; None: there are none.

    Raises:
        StoreError: a newer Tuppence wrote them.
    """
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    version = connection.execute(select(SCHEMA.c.version)).scalar_one()
    if version > VERSION:
        raise StoreError(
            f"the ledger has version {version}, and this Tuppence knows versions up to {VERSION}",
            where=where,
            next_step="Use the Tuppence that wrote it, or a newer one. Nothing was changed.",
        )
    return int(version)


def bring_up(connection: Connection, *, where: str) -> None:
    """This will make the tables, or bring older ones to this version; the caller's transaction makes it all or none.

    Raises:
        StoreError: a newer Tuppence wrote them.
    """
    if connection.dialect.name == "postgresql":
        # Two that start at once would both make the tables; SQLite's write lock is held already.
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tuppence_ledger'))"))
    version = version_of(connection, where=where)
    if version is None:
        METADATA.create_all(connection)
        connection.execute(insert(SCHEMA).values(version=VERSION))
        return
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    if version < VERSION:
        connection.execute(update(SCHEMA).values(version=VERSION))
