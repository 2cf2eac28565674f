"""One evaluation of the own racks of the standard fleet, and advice on it, without a settings file or a ledger."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from recommender.advise.capacity_question import CapacityQuestion, RunningBurst
from recommender.advise.capacity_return import active_bursts
from recommender.burst.burst import burst
from recommender.settings import BurstSettings
from tests.builders import NOON
from tests.recommender.burst.history import Rows, observation
from tests.recommender.burst.home import places
from tests.recommender.world import policy, prices


def asked(
    rows: Rows,
    used: Rows,
    *,
    running: tuple[RunningBurst, ...] = (),
    settings: BurstSettings | None = None,
    at: datetime = NOON,
    seen_at: datetime = NOON,
    **changes: Any,
) -> CapacityQuestion:
    """This will judge the own racks.

    Args:
        rows: workloads.
        used: their samples.
        running: bursts that run.
        settings: of bursts.
        at: the evaluation time.
        seen_at: until when usage was seen.
        changes: inputs of legal_places.
    """
    chosen = settings or BurstSettings()
    seen = observation(rows, used, active_bursts(running), seen_at=seen_at)
    found = places(rows, **changes)
    return CapacityQuestion(
        bursts=burst(seen, found, policy=changes.get("policy", policy()), settings=chosen, at=at),
        places=found,
        prices=changes.get("prices", prices()),
        workloads=seen.workloads,
        demand=seen.demand,
        forecasts=seen.forecasts,
        running=running,
        settings=chosen,
        at=at,
        expires_after_hours=168,
    )


def hours(number: float) -> timedelta:
    """This will return so many hours."""
    return timedelta(hours=number)
