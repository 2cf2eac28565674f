"""A source of costs on its way to the shelf: asked for the right days, restated ones replaced, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from exporters.core.clock import FixedClock
from exporters.core.cost_frames import Charge
from exporters.core.errors import IntegrityError, TransientSourceError
from exporters.core.standing_frames import Budget, WorkloadCost
from exporters.cost_refresh import CostOutcome, CostRefresher
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings
from exporters.settings import ExporterSettings
from exporters.store.costs import read_costs
from exporters.store.shelf import open_shelf
from exporters.store.standing import read_standing

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
TODAY = NOW.date()


def billed(day: date, amount: str | None, **changes: Any) -> dict[str, Any]:
    """A charge as a cloud's API states it: what a service cost on a day, in dollars."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    row = dict.fromkeys(Charge.column_names()) | {
        "charge_start": start,
        "charge_end": start + timedelta(days=1),
        "billing_period": day.replace(day=1),
        "provider": "aws",
        "billing_account": "1111",
        "sub_account": "2222",
        "service": "Amazon EC2",
        "region": "eu-west-2",
        "charge_category": "Usage",
        "currency": "USD",
        "billed_cost": None if amount is None else Decimal(amount),
        "effective_cost": None if amount is None else Decimal(amount),
        "reject": "absent" if amount is None else None,
    }
    return row | changes


@dataclass
class Cloud:
    """The other side of a source: what it would answer, and what it was asked."""

    answer: Callable[[CostRequest], dict[str, Any]]
    asked: list[CostRequest] = field(default_factory=list)

    def source(self) -> CostSource:
        """A source that asks this cloud; it takes the place of AWS, whose settings it has."""

        def fetch(settings: Any, cloud: Any, request: CostRequest) -> CostFetched:
            del settings, cloud
            self.asked.append(request)
            answer = self.answer(request)
            rows = answer.pop("rows", None)
            charges = None if rows is None else pl.LazyFrame(rows, schema=Charge.create_empty().schema)
            return CostFetched(source="opencost", observed_at=request.now, charges=charges, **answer)

        return CostSource(
            name="opencost", settings_model=CostSourceSettings, fetch=fetch, check=lambda *_: (), cloud=None
        )


def every_day(amount: str, *, but: dict[int, str] | None = None) -> Callable[[CostRequest], dict[str, Any]]:
    """A cloud that charges the same on each day that it is asked for, but on some days of November something else."""

    def answer(request: CostRequest) -> dict[str, Any]:
        days = [request.first_day + timedelta(days=n) for n in range((request.last_day - request.first_day).days + 1)]
        special = {date(2026, 11, day): other for day, other in (but or {}).items()}
        return {"rows": [billed(day, special.get(day, amount)) for day in days]}

    return answer


def refreshed(folder: Path, cloud: Cloud, *, now: datetime = NOW, **costs: Any) -> CostOutcome:
    """What becomes of asking it once; a dollar is 75 pence by contract."""
    settings = ExporterSettings.model_validate(
        {"store": {"url": str(folder)}, "costs": costs, "sources": {"fx": {"contract_rates": {"USD": "0.75"}}}}
    )
    refresher = CostRefresher(settings=settings, shelf=open_shelf(str(folder)), clock=FixedClock(now), scratch=folder)
    return refresher.refresh(cloud.source())


def days(folder: Path) -> pl.DataFrame:
    """The days on the shelf."""
    return read_costs(open_shelf(str(folder))).days.sort("charge_day")


def test_the_first_time_asks_for_the_history_up_to_today(tmp_path: Path) -> None:
    cloud = Cloud(every_day("4"))
    outcome = refreshed(tmp_path, cloud)
    assert outcome.error is None
    assert (cloud.asked[0].first_day, cloud.asked[0].last_day) == (TODAY - timedelta(days=62), TODAY)
    assert days(tmp_path)["billed_gbp"].sum() == 63 * 3


def test_today_and_yesterday_are_not_whole_before_they_have_settled(tmp_path: Path) -> None:
    refreshed(tmp_path, Cloud(every_day("4")))
    whole = days(tmp_path).filter("is_whole")
    assert whole["charge_day"].max() == date(2026, 11, 28)
    assert set(days(tmp_path)["reached"]) == {date(2026, 11, 28)}


def test_later_times_ask_from_some_days_before_the_last_whole_one(tmp_path: Path) -> None:
    cloud = Cloud(every_day("4"))
    refreshed(tmp_path, cloud)
    refreshed(tmp_path, cloud, now=NOW + timedelta(days=1), opencost={"restated_days": 3})
    assert cloud.asked[1].first_day == date(2026, 11, 26)
    assert days(tmp_path)["charge_day"].n_unique() == 64


def test_a_restated_day_takes_the_place_of_the_old_one_and_is_named(tmp_path: Path) -> None:
    refreshed(tmp_path, Cloud(every_day("4")))
    outcome = refreshed(tmp_path, Cloud(every_day("4", but={25: "6"})))
    (row,) = outcome.restated.to_dicts()
    assert (row["charge_day"], row["billed_before"], row["billed_now"]) == (date(2026, 11, 25), 4, 6)
    assert days(tmp_path)["billed_cost"].sum() == 63 * 4 + 2


def test_a_charge_that_the_cloud_took_back_is_gone(tmp_path: Path) -> None:
    refreshed(tmp_path, Cloud(every_day("4")))
    refreshed(tmp_path, Cloud(lambda request: {"rows": [billed(request.last_day, "1")]}))
    assert days(tmp_path).filter(pl.col("charge_day") >= date(2026, 11, 19))["billed_cost"].to_list() == [1]


def test_an_account_without_charges_is_no_failure(tmp_path: Path) -> None:
    outcome = refreshed(tmp_path, Cloud(lambda _: {"rows": []}))
    assert (outcome.error, outcome.days.height) == (None, 0)


def _throttled(_: CostRequest) -> dict[str, Any]:
    raise TransientSourceError("429", where="the cloud", next_step="Wait.")


def _broken(_: CostRequest) -> dict[str, Any]:
    raise KeyError("page")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_throttled, "429"),
        (_broken, "unforeseen fault"),
        (lambda _: {"rows": [billed(date(2025, 1, 1), "1")]}, "was asked for 2026-11-19"),
        (lambda _: {"rows": [billed(TODAY, None)]}, "1 of 1 charges cannot be read: 1 absent"),
        (lambda _: {"rows": [billed(TODAY, "1", currency="XYZ")]}, "1 no-exchange-rate"),
    ],
)
def test_whatever_goes_wrong_what_was_known_stays(
    tmp_path: Path, answer: Callable[[CostRequest], dict[str, Any]], said: str
) -> None:
    refreshed(tmp_path, Cloud(every_day("4")))
    before = days(tmp_path)
    outcome = refreshed(tmp_path, Cloud(answer))
    assert outcome.error is not None
    assert said in str(outcome.error)
    assert days(tmp_path).equals(before)


def test_what_is_refused_leaves_the_statement_of_before(tmp_path: Path) -> None:
    budget = {
        "source": "opencost",
        "provider": "aws",
        "account": "1111",
        "scope": "all",
        "period": "month",
        "amount": Decimal(100),
        "currency": "USD",
    }
    budgets = Budget.validate(pl.DataFrame([budget], schema=Budget.create_empty().schema))
    refreshed(tmp_path, Cloud(lambda _: {"rows": [], "budgets": budgets}))
    refused = Cloud(lambda _: {"rows": [billed(TODAY, None)], "budgets": Budget.create_empty()})
    assert isinstance(refreshed(tmp_path, refused).error, IntegrityError)
    assert read_standing(open_shelf(str(tmp_path))).budgets["amount"].to_list() == [100]


@pytest.mark.parametrize(
    ("answer", "minutes"),
    [(every_day("4"), 1440), (_throttled, 60)],
)
def test_a_service_that_starts_again_asks_when_it_would_have_asked(
    tmp_path: Path, answer: Callable[[CostRequest], dict[str, Any]], minutes: int
) -> None:
    cloud = Cloud(answer)
    settings = ExporterSettings.model_validate({"sources": {"fx": {"contract_rates": {"USD": "0.75"}}}})
    shelf = open_shelf(str(tmp_path))
    clock = FixedClock(NOW)
    refresher = CostRefresher(settings=settings, shelf=shelf, clock=clock, scratch=tmp_path)
    assert refresher.next_time(cloud.source()) == NOW
    refresher.refresh(cloud.source())
    assert refresher.next_time(cloud.source()) == NOW + timedelta(minutes=minutes)
    days_later = CostRefresher(settings=settings, shelf=shelf, clock=FixedClock(NOW + timedelta(days=3)))
    assert days_later.next_time(cloud.source()) == NOW + timedelta(days=3)


def workload(day: date, cost: float) -> dict[str, Any]:
    """What a workload cost on a day."""
    parts = dict.fromkeys(("memory_cost", "gpu_cost", "network_cost", "other_cost"), 0.0)
    return parts | {
        "source": "opencost",
        "cluster": "london",
        "namespace": "render",
        "workload_kind": "deployment",
        "workload": "frames",
        "day": day,
        "currency": "GBP",
        "vcpu_cost": cost,
        "total_cost": cost,
        "vcpu_hours": 1.0,
        "memory_gib_hours": 1.0,
        "gpu_hours": 0.0,
    }


def test_what_workloads_cost_is_kept_by_day_and_old_days_go(tmp_path: Path) -> None:
    def answer(cost: float, *on: int) -> Cloud:
        rows = [workload(date(2026, 11, day), cost) for day in on]
        frame = WorkloadCost.validate(pl.DataFrame(rows, schema=WorkloadCost.create_empty().schema))
        return Cloud(lambda _: {"workloads": frame})

    refreshed(tmp_path, answer(1.0, 1, 10, 28))
    section = {"opencost": {"history_days": 5}, "workload_days": 25}
    refreshed(tmp_path, answer(2.0, 28, 29), **section)
    kept = read_standing(open_shelf(str(tmp_path))).workloads.sort("day")
    assert list(zip(kept["day"].dt.day(), kept["total_cost"], strict=True)) == [(10, 1.0), (28, 2.0), (29, 2.0)]
