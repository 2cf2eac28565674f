"""What was bought ahead, as the recommender takes it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOON, USD_RATE
from tests.recommender.place.bought import bought, commitment


def test_rows_of_vcpus_and_of_gib_are_one_commitment() -> None:
    cud = {"provider": "gcp", "kind": "cud", "instance_type": "", "instance_family": "n2", "region": "europe-west1"}
    found = bought(
        commitment("cud-7", **cud, unit="vcpu", quantity=16.0, cost_per_hour=0.2),
        commitment("cud-7", **cud, unit="gib", quantity=64.0, cost_per_hour=0.1),
    )
    row = found.row(0, named=True)
    assert found.height == 1
    assert (row["vcpus"], row["memory_gib"], row["instances"]) == (16.0, 64.0, None)
    assert row["gbp_per_hour"] == pytest.approx(0.3)


def test_a_part_of_a_cost_is_no_cost() -> None:
    rows = [
        commitment("cud-7", unit="vcpu", quantity=16.0, cost_per_hour=0.2),
        commitment("cud-7", unit="gib", quantity=64.0, cost_per_hour=None),
    ]
    assert bought(*rows)["gbp_per_hour"].to_list() == [None]


def test_money_is_turned_into_pounds() -> None:
    plan = commitment("sp-1", kind="savings-plan", unit="money", quantity=2.0, currency="USD", cost_per_hour=2.0)
    row = bought(plan).row(0, named=True)
    assert row["money_gbp"] == pytest.approx(2.0 * USD_RATE)
    assert row["unusable"] == ""


def test_money_without_a_rate_is_kept_and_pays_for_nothing() -> None:
    plan = commitment("sp-1", unit="money", quantity=2.0, currency="XAU", cost_per_hour=None)
    assert bought(plan)["unusable"].to_list() == ["there is no exchange rate for XAU"]


def test_what_has_ended_is_gone_and_what_has_not_begun_pays_for_nothing() -> None:
    ended = commitment("ri-old", ends_at=NOON)
    queued = commitment("ri-new", starts_at=NOON + timedelta(days=1), ends_at=NOON + timedelta(days=366))
    found = bought(ended, queued)
    assert found["commitment_id"].to_list() == ["ri-new"]
    assert found["unusable"].to_list() == ["it begins on 1 December 2026"]


def test_a_commitment_that_two_sources_state_counts_once() -> None:
    found = bought(commitment(), commitment(source="settings", quantity=7.0))
    assert found.select("source", "instances").rows() == [("aws-costs", 5.0)]


@pytest.mark.parametrize(("days", "word"), [(365, "committed-1y"), (366, "committed-1y"), (1096, "committed-3y")])
def test_the_term_says_how_it_was_bought(days: int, word: str) -> None:
    one = commitment(ends_at=NOON + timedelta(days=1), starts_at=NOON + timedelta(days=1 - days))
    assert bought(one)["capacity_type"].to_list() == [word]
