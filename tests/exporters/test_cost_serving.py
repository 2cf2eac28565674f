"""What was paid as a part of the service: imported by itself, published as the days go by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from exporters.cost_serving import CostService
from exporters.publish.health import Health
from exporters.publish.published import PublishedPrices
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf
from tests.exporters.focus_exports import charge, days_of_september, importer, write_csv
from tests.exporters.publish.sample import prices

SEVENTH = datetime(2024, 9, 7, 1, tzinfo=UTC)


@dataclass
class MovingClock:
    """A clock that a test sets."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


class World:
    """A service over a folder of exports."""

    def __init__(self, folder: Path) -> None:
        self.settings = ExporterSettings.model_validate(
            {
                "store": {"url": str(folder / "store")},
                "costs": {"paths": [str(folder / "in")]},
                "sources": {"fx": {"contract_rates": {"USD": "0.75"}}},
            }
        )
        self.clock = MovingClock(SEVENTH)
        self.published = PublishedPrices(Health())
        self.published.publish(prices())
        self.costs = CostService(open_shelf(str(folder / "store")), self.published, clock=self.clock, scratch=folder)

    def run(self) -> None:
        """Import, as the scheduler does."""
        (job,) = self.costs.jobs(self.settings)
        job.run()

    def body(self) -> str:
        assert self.published.current is not None
        return b"".join(self.published.current.bodies.text.plain(b"")).decode()


def settings_with(settings: ExporterSettings, **costs: Any) -> ExporterSettings:
    """The settings with other costs."""
    document = settings.model_dump(mode="json")
    return ExporterSettings.model_validate(document | {"costs": document["costs"] | costs})


def test_without_paths_there_is_no_job(tmp_path: Path) -> None:
    assert World(tmp_path).costs.jobs(ExporterSettings()) == []


def test_each_source_that_is_turned_on_has_a_job_of_its_own(tmp_path: Path) -> None:
    settings = ExporterSettings.model_validate(
        {"costs": {"paths": ["in"], "opencost": {"enabled": True, "refresh_minutes": 90}}}
    )
    jobs = World(tmp_path).costs.jobs(settings)
    assert [(job.name, job.minutes) for job in jobs] == [("costs", 360), ("costs-opencost", 90)]


def test_budgets_and_commitments_of_the_settings_are_published_and_follow_them(tmp_path: Path) -> None:
    world = World(tmp_path)
    budget = {"name": "all of it", "amount": "1200", "period": "year", "currency": "USD"}
    commitment = {
        "id": "sp-1",
        "provider": "aws",
        "kind": "savings-plan",
        "unit": "money",
        "quantity": 2.0,
        "starts_at": "2024-01-01",
        "ends_at": "2025-01-01",
    }
    world.settings = settings_with(world.settings, budgets=[budget], commitments=[commitment])
    world.costs.publish(world.settings)
    assert "tuppence_budget_gbp{" not in world.body(), "there is no rate of the dollar"
    assert 'expiry_timestamp_seconds{provider="aws",account="all",scope="sp-1"} 1735689600.0' in world.body()
    assert 'tuppence_commitment_gbp_per_hour{provider="aws",account="all",scope="sp-1"} 2.0' in world.body()
    world.settings = settings_with(world.settings, budgets=[budget | {"currency": "GBP"}], commitments=[])
    world.costs.publish(world.settings)
    assert 'tuppence_budget_gbp{provider="all",account="all",scope="all of it"} 100.0' in world.body()
    assert "tuppence_commitment_gbp_per_hour{" not in world.body()


def test_an_import_is_published_and_yesterday_moves_with_the_days(tmp_path: Path) -> None:
    world = World(tmp_path)
    write_csv(tmp_path / "in" / "export.csv", days_of_september(1, 6), made_at=SEVENTH)
    world.run()
    assert 'tuppence_cost_import_success{source="files"} 1.0' in world.body()
    assert 'window="month_to_date",basis="billed"} 0.375' in world.body()
    assert 'window="yesterday"' not in world.body()
    world.clock.moment = datetime(2024, 9, 6, 1, tzinfo=UTC)
    world.costs.turn_the_day(world.settings, world.clock.now())
    assert 'window="yesterday",basis="billed"} 0.075' in world.body()


def test_an_import_that_fails_leaves_what_was_there_and_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    write_csv(tmp_path / "in" / "export.csv", days_of_september(1, 6), made_at=SEVENTH)
    world.run()
    write_csv(tmp_path / "in" / "later" / "export.csv", [charge(7, BilledCost="?")], made_at=SEVENTH)
    world.run()
    assert 'tuppence_cost_import_success{source="files"} 0.0' in world.body()
    assert 'window="month_to_date",basis="billed"} 0.375' in world.body()


def test_what_another_process_imported_is_taken_up(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.costs.publish(world.settings)
    assert "tuppence_cost_gbp{" not in world.body()
    path = write_csv(tmp_path / "by hand.csv", days_of_september(1, 6), made_at=SEVENTH + timedelta(hours=1))
    importer(tmp_path).run([str(path)])
    world.costs.look(world.settings)
    assert "tuppence_cost_gbp{" in world.body()
