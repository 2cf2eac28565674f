"""Effective prices as an evaluation reads them: from the bills that were known then, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exporters.core.errors import PricesUnavailableError
from exporters.core.words import PriceBasis
from exporters.store.write import write_snapshot
from recommender.inputs import list_prices_at, prices_at
from recommender.settings import RecommenderSettings
from tests.builders import NOON, offer, offers, snapshot
from tests.exporters.focus_exports import Row, charge, importer, write_csv

TOLD = NOON + timedelta(hours=1)


def bills(folder: Path, *, paid: str = "80", days: int = 20, at: datetime = NOON, **costs: Any) -> None:
    """This will import a bill of November 2026: a machine of London listed at $100 a day."""
    machine: Row = {
        "BillingPeriodStart": "2026-11-01T00:00:00Z",
        "BillingPeriodEnd": "2026-12-01T00:00:00Z",
        "ListCost": "100",
        "ContractedCost": paid,
        "SkuPriceDetails": '{"InstanceType":"m5.large"}',
    }
    rows = [
        charge(**machine | costs)
        | {"ChargePeriodStart": f"2026-11-{day:02}T00:00:00Z", "ChargePeriodEnd": f"2026-11-{day:02}T01:00:00Z"}
        for day in range(1, days + 1)
    ]
    importer(folder, now=at).run([str(write_csv(folder / f"{paid}.csv", rows, made_at=at))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with the price of one machine on demand and on spot, fetched two hours before noon."""
    two = offers(offer(), offer(capacity_type="spot", price_per_hour="0.03"))
    write_snapshot(importer(tmp_path, now=NOON).shelf, snapshot(taken_at=NOON - timedelta(hours=2), offers=two))
    return tmp_path


def settings(folder: Path, basis: str = "effective", **prices: int) -> RecommenderSettings:
    return RecommenderSettings.model_validate({"prices": {"url": str(folder / "store"), "price_basis": basis} | prices})


def test_effective_prices_are_list_prices_less_what_the_bills_say(folder: Path) -> None:
    bills(folder)
    listed, paid = list_prices_at(settings(folder), at=TOLD).offers, prices_at(settings(folder), at=TOLD).offers
    assert listed["capacity_type"].to_list() == ["on-demand", "spot"]
    assert paid["gbp_per_hour"][0] == pytest.approx(listed["gbp_per_hour"][0] * 0.8)
    assert paid["gbp_per_hour"][1] == listed["gbp_per_hour"][1]


def test_at_list_basis_the_bills_stand_beside_the_prices(folder: Path) -> None:
    bills(folder)
    found = prices_at(settings(folder, "list"), at=TOLD)
    assert found.offers.equals(list_prices_at(settings(folder), at=TOLD).offers)
    assert found.discounts["discount_ratio"].unique().to_list() == [0.2]
    assert found.basis is PriceBasis.LIST


def test_bills_that_came_later_are_not_seen(folder: Path) -> None:
    bills(folder)
    with pytest.raises(
        PricesUnavailableError, match=r"no bill of that time.*tuppence costs import.*price_basis to list"
    ):
        prices_at(settings(folder), at=NOON - timedelta(minutes=1))
    before = prices_at(settings(folder), at=TOLD)
    bills(folder, paid="50", at=NOON + timedelta(hours=2))
    assert prices_at(settings(folder), at=TOLD).offers.equals(before.offers)
    assert not prices_at(settings(folder), at=NOON + timedelta(hours=3)).offers.equals(before.offers)


def test_who_looks_back_knows_the_bills_that_came_since_but_only_their_days_up_to_then(folder: Path) -> None:
    bills(folder)
    then = NOON - timedelta(minutes=1)
    listed, paid = (
        list_prices_at(settings(folder), at=then).offers,
        prices_at(settings(folder), at=then, known_at=TOLD).offers,
    )
    assert paid["gbp_per_hour"][0] == pytest.approx(listed["gbp_per_hour"][0] * 0.8)
    with pytest.raises(PricesUnavailableError):
        prices_at(settings(folder), at=NOON - timedelta(days=60), known_at=TOLD)


def test_without_bills_effective_prices_are_refused_and_list_prices_are_not(folder: Path) -> None:
    with pytest.raises(PricesUnavailableError, match=r"price_basis is effective"):
        prices_at(settings(folder), at=TOLD)
    assert prices_at(settings(folder, "list"), at=TOLD).discounts.is_empty()


def test_bills_without_list_costs_are_none(folder: Path) -> None:
    bills(folder, ListCost="")
    with pytest.raises(PricesUnavailableError, match="with a list cost"):
        prices_at(settings(folder), at=TOLD)


def test_without_enough_evidence_the_list_price_stays(folder: Path) -> None:
    bills(folder, days=5)
    found = prices_at(settings(folder), at=TOLD)
    assert found.offers.equals(list_prices_at(settings(folder), at=TOLD).offers)
    assert found.discounts.is_empty()


def test_the_days_that_count_are_a_setting(folder: Path) -> None:
    bills(folder, days=20)
    assert prices_at(settings(folder, discount_days=10), at=TOLD).discounts["days"].unique().to_list() == [10]
