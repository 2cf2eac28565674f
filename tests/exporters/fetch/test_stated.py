"""Budgets and commitments of the settings: rows as sources state them, or an error that says what to write."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from exporters.fetch.stated import StatedBudget, StatedCommitment, budgets_of, commitments_of
from exporters.settings import CostSettings

PLAN = {
    "id": "sp-1",
    "provider": "aws",
    "kind": "savings-plan",
    "unit": "money",
    "quantity": 2.5,
    "starts_at": "2026-01-01T00:00:00+01:00",
    "ends_at": "2027-01-01",
}


def test_a_budget_is_a_row() -> None:
    budget = StatedBudget.model_validate({"name": "render", "provider": "aws", "amount": "1000.50"})
    (row,) = budgets_of([budget]).to_dicts()
    assert (row["source"], row["scope"], row["period"], row["currency"]) == ("settings", "render", "month", "GBP")
    assert str(row["amount"].normalize()) == "1000.5"


def test_money_costs_itself_and_times_are_in_utc() -> None:
    (row,) = commitments_of([StatedCommitment.model_validate(PLAN)]).to_dicts()
    assert (row["quantity"], row["cost_per_hour"], row["currency"]) == (2.5, 2.5, "GBP")
    assert row["starts_at"] == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert row["ends_at"] == datetime(2027, 1, 1, tzinfo=UTC)


def test_machines_cost_what_is_said_or_nobody_knows() -> None:
    machines = PLAN | {"kind": "reservation", "unit": "instance", "instance_type": "m7i.xlarge", "quantity": 4}
    rows = [StatedCommitment.model_validate(machines | more) for more in ({}, {"id": "b", "cost_per_hour": 0.4})]
    assert commitments_of(rows)["cost_per_hour"].to_list() == [None, 0.4]


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"commitments": [PLAN | {"ends_at": "2025-01-01"}]}, "ends before it starts"),
        ({"commitments": [PLAN, PLAN]}, "commitments stand twice: aws sp-1 money"),
        ({"budgets": [{"name": "a", "amount": 1}, {"name": "a", "amount": 2}]}, "budgets stand twice: a"),
        ({"budgets": [{"name": "a", "amount": 0}]}, "greater than 0"),
        ({"budgets": [{"name": "a", "amount": 1, "currency": "pounds"}]}, "should match pattern"),
        ({"commitments": [PLAN | {"unit": "nodes"}]}, "Input should be"),
    ],
)
def test_what_cannot_be_meant_is_refused(section: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CostSettings.model_validate(section)


def test_nothing_stated_gives_empty_frames() -> None:
    assert budgets_of([]).is_empty()
    assert commitments_of([]).is_empty()
