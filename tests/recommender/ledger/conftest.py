"""Ledgers for tests: a SQLite file and a database of a real PostgreSQL, each empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from recommender.ledger.store import Ledger
from recommender.settings import LedgerSettings
from tests.servers.postgresql import running_postgresql

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server."""
    with running_postgresql() as url:
        yield url


def new_database(server: str) -> str:
    """This will make an empty database and return its URL."""
    name = f"ledger_{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.rsplit("/", 1)[0] + f"/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerSettings:
    """The settings of an empty ledger, of each kind."""
    if request.param == "sqlite":
        return LedgerSettings(url=str(tmp_path / "data" / "ledger.sqlite"))
    return LedgerSettings(url=new_database(request.getfixturevalue("postgresql")))


@pytest.fixture
def ledger(settings: LedgerSettings) -> Ledger:
    """An empty ledger."""
    return Ledger.at(settings)
