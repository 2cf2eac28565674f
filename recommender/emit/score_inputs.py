"""How long scores may be believed: the ages of prices and usage behind them → one end for a whole class.

A scheduler counts a missing or lapsed score as 0, so a gap in the data of one cluster would move workloads. Scores of a
class therefore live and die together, and an end is never later than that of the input that ends first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from exporters.store.snapshot import FX_SOURCE
from recommender.advise.plan import Inputs, SnapshotUsed
from recommender.settings import ClusterSettings

USAGE: Final = "usage"
_CLOUDS: Final = frozenset({"aws", "azure", "gcp", "onprem"})
"""Sources that price the provider of their own name; any other (books, exchange rates) may price anything."""


@dataclass(frozen=True, slots=True)
class InputAge:
    """One input.

    Args:
        name: a snapshot's id, or usage.
        as_of: when it was taken, or ended; None: it is missing.
        max_age: past which nobody may use it; None: none, such as for packaged prices.
    """

    name: str
    as_of: datetime | None
    max_age: timedelta | None

    def ends(self) -> datetime | None:
        """This will return the moment from which it must not be used; None: never."""
        return None if self.as_of is None or self.max_age is None else self.as_of + self.max_age

    def wrong(self, at: datetime) -> str:
        """This will say what is wrong with it at a moment; empty: nothing."""
        if self.as_of is None:
            return f"{self.name} is missing"
        end = self.ends()
        return "" if end is None or end > at else f"{self.name} is too old since {end:%Y-%m-%d %H:%M} UTC"


def input_ages(
    inputs: Inputs, clusters: Sequence[ClusterSettings], *, usage_max_age: timedelta
) -> tuple[InputAge, ...]:
    """This will return the inputs of an evaluation that bear on a fleet, too old ones with them.

    Args:
        inputs: of the plan.
        clusters: the fleet; a provider that it does not use can go stale without harm, one of which there is no
            snapshot at all never had a price that could be missed.
        usage_max_age: how long usage may be used after its end.
    """
    providers = {one.provider for one in clusters}

    def bears(snapshot: SnapshotUsed) -> bool:
        return snapshot.source not in _CLOUDS or snapshot.source in providers

    snapshots = [one for one in (*inputs.snapshots, *inputs.stale_snapshots) if bears(one)]
    return (
        *(InputAge(one.id, one.taken_at, _hours(one.max_age_hours)) for one in snapshots),
        InputAge(USAGE, inputs.usage_window.end, usage_max_age),
    )


def valid_until(ages: Sequence[InputAge]) -> datetime | None:
    """This will return the first end of all; None: none of them ever ends."""
    return min((end for one in ages if (end := one.ends()) is not None), default=None)


def priced_at(ages: Sequence[InputAge]) -> datetime | None:
    """This will return when the oldest price was taken; None: there is none."""
    prices = [one.as_of for one in ages if one.name != USAGE and not one.name.startswith(f"{FX_SOURCE}/")]
    return min((moment for moment in prices if moment is not None), default=None)


def usage_until(ages: Sequence[InputAge]) -> datetime | None:
    """This will return when the usage ended; None: there is none."""
    return next((one.as_of for one in ages if one.name == USAGE), None)


def _hours(hours: float | None) -> timedelta | None:
    return None if hours is None else timedelta(hours=hours)
