"""How a demonstration workload's load goes through a week: the share of its replicas that run in an hour.

Office hours and weekends are London's, so that a week in which the clocks change looks like one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from exporters.core.clock import LONDON

SATURDAY = 5
HOURS = 168
NEW_FOR_HOURS = 12
GONE_FOR_HOURS = 100


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour of the week.

    Args:
        number: from 0, the week's first, to HOURS − 1.
        local: its start in London.
    """

    number: int
    local: datetime

    @classmethod
    def of(cls, number: int, start: datetime) -> Hour:
        """This will return the hour that starts at a moment in UTC."""
        return cls(number=number, local=start.astimezone(LONDON))

    @property
    def is_weekend(self) -> bool:
        """Whether it lies on a Saturday or Sunday."""
        return self.local.weekday() >= SATURDAY

    def between(self, first: int, last: int) -> bool:
        """This will tell whether its clock hour is from first to last, over midnight if first > last."""
        hour = self.local.hour
        return first <= hour <= last if first <= last else hour >= first or hour <= last


def _flat(hour: Hour) -> float:
    del hour
    return 1.0


def _office(hour: Hour) -> float:
    if hour.is_weekend:
        return 0.25
    return 1.0 if hour.between(8, 17) else 0.35


def _web(hour: Hour) -> float:
    """Lowest at 04:00, highest at 16:00 and after; quieter at weekends."""
    day = 0.7 + 0.3 * math.cos((hour.local.hour - 17) / 24 * 2 * math.pi)
    return day * (0.85 if hour.is_weekend else 1.0)


def _night(hour: Hour) -> float:
    return 1.0 if hour.between(2, 4) else 0.0


def _night_long(hour: Hour) -> float:
    return 1.0 if hour.between(21, 5) else 0.2


def _evening(hour: Hour) -> float:
    return 1.0 if hour.between(18, 3) else 0.0


def _weekend(hour: Hour) -> float:
    return 1.0 if hour.is_weekend else 0.0


def _gpu_day(hour: Hour) -> float:
    if hour.is_weekend:
        return 0.25
    return 1.0 if hour.between(11, 17) else 0.75 if hour.between(9, 10) else 0.4


def _new(hour: Hour) -> float:
    return 1.0 if hour.number >= HOURS - NEW_FOR_HOURS else 0.0


def _gone(hour: Hour) -> float:
    return 1.0 if hour.number < HOURS - GONE_FOR_HOURS else 0.0


SHAPES: Mapping[str, Callable[[Hour], float]] = {
    "flat": _flat,
    "office": _office,
    "web": _web,
    "night": _night,
    "night-long": _night_long,
    "evening": _evening,
    "weekend": _weekend,
    "gpu-day": _gpu_day,
    "new": _new,
    "gone": _gone,
}
"""From 0 (does not run) to 1 (all replicas), by the name in data/workloads.csv."""


def waiting(shape: str, hour: Hour) -> float:
    """This will return what waits for a place, as a share of the replicas: GPUs are full on weekdays at 14:00."""
    return 0.5 if shape == "gpu-day" and not hour.is_weekend and hour.between(13, 15) else 0.0
