"""Statements of what holds now: the last whole one of each source, and what was not asked for stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dataframely as dy
import polars as pl
import pytest

from exporters.core.errors import StoreError
from exporters.core.frames import FxRate
from exporters.core.standing_frames import Budget, Commitment
from exporters.store.shelf import Shelf, open_shelf
from exporters.store.standing import (
    STANDING_FRAMES,
    STANDING_MANIFEST,
    StandingManifest,
    in_pounds_now,
    read_standing,
    standing_folders,
)
from exporters.store.standing_write import KEPT_STATEMENTS, remove_statements, write_statement

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def budgets(*amounts: int, source: str = "aws") -> dy.DataFrame[Budget]:
    """Budgets of an account, named by their number."""
    rows: list[dict[str, Any]] = [
        {
            "source": source,
            "provider": "aws",
            "account": "1111",
            "scope": str(number),
            "period": "month",
            "amount": amount,
            "currency": "USD",
        }
        for number, amount in enumerate(amounts)
    ]
    return Budget.validate(pl.DataFrame(rows, schema=Budget.create_empty().schema), cast=True)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty shelf."""
    return open_shelf(str(tmp_path))


def amounts(shelf: Shelf, **options: Any) -> list[float]:
    """What the budgets on a shelf come to."""
    return sorted(float(amount) for amount in read_standing(shelf, **options).budgets["amount"])


def test_the_last_statement_of_each_source_holds(shelf: Shelf) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100, 200)}, now=NOW)
    write_statement(shelf, "aws", {"budgets": budgets(300)}, now=NOW + timedelta(hours=1))
    write_statement(shelf, "settings", {"budgets": budgets(50, source="settings")}, now=NOW)
    assert amounts(shelf) == [50, 300]


def test_a_reader_of_the_past_sees_what_was_there_then(shelf: Shelf) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100)}, now=NOW)
    write_statement(shelf, "aws", {"budgets": budgets(300)}, now=NOW + timedelta(hours=1))
    assert amounts(shelf, until=NOW + timedelta(minutes=30)) == [100]
    assert amounts(shelf, until=NOW - timedelta(minutes=30)) == []


def test_what_was_not_asked_for_stays_and_keeps_its_time(shelf: Shelf) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100)}, now=NOW)
    later = NOW + timedelta(days=1)
    write_statement(shelf, "aws", {"commitments": Commitment.create_empty(), "budgets": None}, now=later)
    standing = read_standing(shelf)
    assert standing.budgets.height == 1
    assert standing.manifests[0].asked_at == {"budgets": NOW, "commitments": later}


def test_a_source_that_states_nothing_leaves_nothing_on_the_shelf(shelf: Shelf) -> None:
    assert write_statement(shelf, "aws", {}, now=NOW) is None
    assert write_statement(shelf, "aws", {"budgets": budgets()}, now=NOW) is None
    assert shelf.keys("") == []


def test_a_source_that_no_longer_has_budgets_has_none(shelf: Shelf) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100)}, now=NOW)
    write_statement(shelf, "aws", {"budgets": budgets()}, now=NOW + timedelta(hours=1))
    assert amounts(shelf) == []


@pytest.mark.parametrize("damage", [STANDING_MANIFEST, "budgets.parquet"])
def test_a_damaged_statement_gives_way_to_the_one_before(shelf: Shelf, damage: str) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100)}, now=NOW)
    write_statement(shelf, "aws", {"budgets": budgets(300)}, now=NOW + timedelta(hours=1))
    shelf.put(f"{standing_folders(shelf)['aws'][-1]}/{damage}", b"{}")
    assert amounts(shelf) == [100]


def test_a_statement_without_its_manifest_does_not_exist(shelf: Shelf) -> None:
    write_statement(shelf, "aws", {"budgets": budgets(100)}, now=NOW)
    shelf.delete(f"{standing_folders(shelf)['aws'][0]}/{STANDING_MANIFEST}")
    assert amounts(shelf) == []


def test_a_statement_of_another_schema_is_refused() -> None:
    newer = StandingManifest("aws", NOW, {}, {}).to_json().replace(b'"schema_version": 1', b'"schema_version": 9')
    with pytest.raises(StoreError, match="schema version 9"):
        StandingManifest.from_json(newer, where="x")


def test_old_statements_are_cleared_and_a_source_can_be_removed(shelf: Shelf) -> None:
    for hour in range(KEPT_STATEMENTS + 2):
        write_statement(shelf, "aws", {"budgets": budgets(hour)}, now=NOW + timedelta(hours=hour))
    assert len(standing_folders(shelf)["aws"]) == KEPT_STATEMENTS
    assert len(shelf.keys("")) == KEPT_STATEMENTS * (len(STANDING_FRAMES) + 1)
    remove_statements(shelf, "aws")
    assert shelf.keys("") == []


def test_amounts_are_in_pounds_at_the_newest_rate_and_absent_without_one() -> None:
    rate = {"currency": "USD", "gbp_per_unit": 0.75, "rate_date": NOW.date(), "fx_source": "ecb"}
    fx = FxRate.cast(pl.DataFrame([rate]))
    rows = pl.DataFrame({"currency": ["USD", "GBP", "JPY"], "amount": [100, 100, 100]})
    assert in_pounds_now(rows, fx, "amount")["amount_gbp"].to_list() == [75, 100, None]
