"""Commitments from the store to the ledger: read as they were known, used by the plan, advised on, remembered."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from exporters.core.config_file import read_document, validate
from exporters.core.sections import ALL_SECTIONS
from exporters.store.shelf import open_shelf
from exporters.store.standing_write import write_statement
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.inputs import appraisal, evaluation
from recommender.ledger.store import Ledger
from recommender.recorded import recorded
from recommender.settings import RecommenderSettings
from tests.builders import NOON
from tests.recommender.place.bought import commitment, commitments

EARLY = NOON - timedelta(hours=1)
OF_LONDON = {"instance_type": "", "instance_family": "", "unit": "money", "kind": "savings-plan"}


@pytest.fixture
def settings(company: Path, tmp_path: Path) -> RecommenderSettings:
    """The demonstration's company with a store and a ledger of its own."""
    whole = validate(read_document(company, {}), RecommenderSettings, known=ALL_SECTIONS)
    shutil.copytree(whole.prices.url, tmp_path / "store")
    own = {"prices": {"url": str(tmp_path / "store")}, "ledger": {"url": str(tmp_path / "ledger.sqlite")}}
    return RecommenderSettings.model_validate(whole.model_dump(mode="json") | own)


def state(settings: RecommenderSettings, *rows: dict[str, Any]) -> None:
    """Let a source of costs state commitments an hour before noon."""
    shelf = open_shelf(settings.prices.url)
    write_statement(shelf, "aws-costs", {"commitments": commitments(*rows)}, now=EARLY)


def plan_of(dollars: float, **changes: Any) -> dict[str, Any]:
    """A Savings Plan for any machine of AWS."""
    wide = {"region": "", "currency": "USD", "cost_per_hour": dollars, "quantity": dollars}
    return commitment("sp-1", **OF_LONDON | wide | changes)


def test_what_is_bought_ahead_makes_what_runs_cheaper_and_is_listed(settings: RecommenderSettings) -> None:
    before = evaluation(settings, at=NOON).summary.current_gbp_per_hour
    state(settings, plan_of(1.0))
    made = evaluation(settings, at=NOON)
    assert made.summary.current_gbp_per_hour < before
    assert [(one.commitment_id, one.used_ratio) for one in made.commitments] == [("sp-1", 1.0)]
    cost = made.commitments[0].gbp_per_hour
    assert cost is not None
    # No rate of the plan is known, so it pays for charges of one dollar an hour and no more.
    assert before - made.summary.current_gbp_per_hour <= cost


@pytest.mark.slow
def test_it_can_be_ignored_and_a_replay_does_not_know_it(settings: RecommenderSettings) -> None:
    before = evaluation(settings, at=EARLY - timedelta(minutes=1)).to_json()
    whole = evaluation(settings, at=NOON).summary
    state(settings, plan_of(1.0))
    assert evaluation(settings, at=EARLY - timedelta(minutes=1)).to_json() == before
    prices = settings.prices.model_dump(mode="json") | {"commitments": "ignore"}
    ignoring = RecommenderSettings.model_validate(settings.model_dump(mode="json") | {"prices": prices})
    ignored = appraisal(ignoring, at=NOON)
    assert ignored.covered is None
    assert ignored.plan.commitments == ()
    assert ignored.plan.summary == whole


def not_to_renew(settings: RecommenderSettings) -> CapacityRecommendation:
    """The one piece of advice on a commitment of which much more was bought than runs, as it is recorded at noon."""
    term: dict[str, Any] = {
        "starts_at": NOON - timedelta(days=345),
        "ends_at": NOON + timedelta(days=20),
        "renews": True,
    }
    state(settings, commitment("ri-1", instance_type="m6i.2xlarge", quantity=400.0, cost_per_hour=60.0, **term))
    [one] = [one for one in recorded(settings, at=NOON, now=NOON).plan.capacity if one.commitment is not None]
    return one


def test_advice_not_to_renew_is_in_the_ledger(settings: RecommenderSettings) -> None:
    advice = not_to_renew(settings)
    assert advice.commitment is not None
    assert advice.commitment.action == "renew-smaller"
    with Ledger.at(settings.ledger).reading() as reader:
        assert advice.id in reader.histories()


@pytest.mark.slow
def test_advice_not_to_renew_is_given_again_under_its_id(settings: RecommenderSettings) -> None:
    advice = not_to_renew(settings)
    again = recorded(settings, at=NOON + timedelta(hours=1), now=NOON + timedelta(hours=1))
    assert advice.id in {one.id for one in again.plan.capacity}
