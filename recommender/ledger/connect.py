"""From the setting `ledger.url` to a database: SQLite by a path, PostgreSQL by a URL, and their errors in words.

SQLite keeps its rollback journal and its full synchronisation: a process that is killed while it writes leaves the
ledger as it was before (sqlite.org, "Atomic Commit In SQLite").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from exporters.core.errors import SettingsError, StoreError
from exporters.core.secrets import read_secret
from recommender.settings import LedgerSettings

WRITES = "tuppence_writes"
"""The execution option of a transaction that will write."""

_FORMS = "Set ledger.url to a file, such as tuppence-data/ledger.sqlite, or to postgresql://user@host/database."


@dataclass(frozen=True, slots=True)
class Database:
    """A database that may hold a ledger.

    Args:
        engine: makes connections; none is kept open.
        where: its name for messages, without a password.
        path: SQLite's file; None: it is a server.
    """

    engine: Engine
    where: str
    path: Path | None


def database_of(settings: LedgerSettings, *, lock_wait_seconds: float) -> Database:
    """This will return the database that the settings name; nothing is opened or made yet.

    Args:
        settings: the section `ledger`.
        lock_wait_seconds: how long a writer waits for another one.

    Raises:
        SettingsError: the URL is not of a form that is known, or the driver of PostgreSQL is not installed.
    """
    url = _url(settings)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, lock_wait_seconds)
    if settings.password_file is not None:
        url = url.set(password=read_secret(settings.password_file, setting="ledger.password_file"))
    return _postgresql(url, lock_wait_seconds)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """This will turn an error of the database into one that says what to do.

    Raises:
        StoreError: what the database said.
    """
    try:
        yield
    except DBAPIError as error:
        said = " ".join(str(error.orig).split())
        raise StoreError(f"the ledger refused ({said})", where=where, next_step=_next_step(said)) from error
    except SQLAlchemyError as error:
        raise StoreError(
            f"the ledger could not be used ({' '.join(str(error).split())})", where=where, next_step=_FORMS
        ) from error


def _url(settings: LedgerSettings) -> URL:
    if "://" not in settings.url:
        return URL.create("sqlite", database=settings.url)
    try:
        url = make_url(settings.url)
    except (ArgumentError, ValueError) as error:
        raise SettingsError("this is not a URL of a database", where="ledger.url", next_step=_FORMS) from error
    drivername = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}.get(
        url.drivername
    )
    if drivername is None or not url.database or url.database == ":memory:":
        what = f"{url.drivername}:// is not a ledger" if drivername is None else "the URL names no database"
        raise SettingsError(what, where="ledger.url", next_step=_FORMS)
    return url.set(drivername=drivername)


def _sqlite(url: URL, lock_wait_seconds: float) -> Database:
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": lock_wait_seconds})
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin)
    return Database(engine=engine, where=f"ledger {url.database}", path=Path(url.database or ""))


def _leave_transactions_to_us(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None


def _begin(connection: Connection) -> None:
    """A writer takes the lock before it reads, so that nothing it has read can change before it writes."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(url: URL, lock_wait_seconds: float) -> Database:
    wait = {"connect_timeout": max(2, round(lock_wait_seconds))}
    options = f"-c lock_timeout={round(lock_wait_seconds * 1000)} -c application_name=tuppence"
    try:
        engine = create_engine(url, poolclass=NullPool, connect_args={**wait, "options": options})
    except ModuleNotFoundError as error:
        raise SettingsError(
            "PostgreSQL needs the optional dependencies of the extra 'postgresql'",
            where="ledger.url",
            next_step="Install them with: pip install 'tuppence[postgresql]'",
        ) from error
    return Database(engine=engine, where=f"ledger {url.render_as_string(hide_password=True)}", path=None)


def _next_step(said: str) -> str:
    if "locked" in said or "lock timeout" in said:
        return "Another process is writing to it for too long; try again, or see who holds it."
    if "readonly" in said or "read-only" in said or "permission denied" in said:
        return "Let this user write to it, or leave it out: tuppence recommend --no-ledger."
    if "unable to open" in said:
        return "Check that ledger.url names a file in a folder that this user may write to."
    if "not a database" in said or "malformed" in said:
        return "Put the ledger back from a backup, or let ledger.url name another file."
    return "Check ledger.url, and that the server runs and lets this user in."
