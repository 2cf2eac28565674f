"""A demand series on a regular grid: what is known at each step, and what the clock on the wall says then.

Gaps are never interpolated: up to fifteen minutes (or one step, where steps are longer) the last value is carried
forward, which needs no later value; longer gaps stay unknown. Seasonal lags are in local time, so that "this time
yesterday" is the same hour of the working day also across a change of the clocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STEPS_SECONDS = (300, 900, 1_800, 3_600)
"""Grids used: the first that is not finer than the samples."""
LONGEST_FILL_SECONDS = 900
DAY_SECONDS = 86_400


class Reason(StrEnum):
    """Why a series has no forecast."""

    ONE_POINT = "one-point"
    TOO_SHORT = "too-short"
    COVERAGE = "coverage"
    NOT_FINITE = "not-finite"
    NEGATIVE = "negative"
    ALL_ZERO = "all-zero"
    GAP_AT_END = "gap-at-end"


@dataclass(frozen=True, slots=True)
class Grid:
    """One series, step by step, from its first known value to the last one that is visible.

    Args:
        values: mean demand of each step; NaN: not known.
        step_seconds: length of a step.
        start_seconds: start of the first step, seconds since 1970.
        horizon: steps from the last visible one to the last one foretold.
        offsets: local time − UTC of each step and of the `horizon` steps after, seconds.
        coverage_ratio: share of the steps that were known before any was carried forward.
    """

    values: Floats
    step_seconds: int
    start_seconds: int
    horizon: int
    offsets: Ints
    coverage_ratio: float

    def steps(self, seconds: float) -> int:
        """This will return how many steps a time takes, at least one."""
        return max(1, round(seconds / self.step_seconds))

    def peaks(self) -> Grid:
        """This will return the greatest value of each step and the horizon before it: what P90 is a bound of."""
        padded = np.concatenate([np.full(self.horizon - 1, np.nan), self.values])
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.horizon)
        known = ~np.isnan(windows)
        peak = np.where(known, windows, -np.inf).max(axis=1)
        enough = known[:, -1] & (known.sum(axis=1) * 5 >= 4 * np.minimum(np.arange(len(peak)) + 1, self.horizon))
        return Grid(
            np.where(enough, peak, np.nan),
            self.step_seconds,
            self.start_seconds,
            self.horizon,
            self.offsets,
            self.coverage_ratio,
        )

    def ahead(self) -> Floats:
        """This will return, for each step, the value one horizon later; NaN where that is still to come."""
        return np.concatenate([self.values, np.full(self.horizon, np.nan)])[self.horizon :]

    def same_time(self, days: int, *, ahead: int) -> Floats:
        """This will return the value at the same local time some days before the step `ahead` steps from each step.

        Only what is known at the step itself is returned: a lag that reaches past it is NaN.

        Args:
            days: whole days back.
            ahead: steps from the step itself; negative looks back.
        """
        step = np.arange(len(self.values), dtype=np.int64)
        day = DAY_SECONDS // self.step_seconds
        target = np.clip(step + ahead, 0, len(self.offsets) - 1)
        before = step + ahead - days * day
        shift = self.offsets[target] - self.offsets[np.clip(before, 0, len(self.offsets) - 1)]
        source = before + shift // self.step_seconds
        return np.where((source >= 0) & (source <= step), self.values[np.clip(source, 0, step)], np.nan)

    def slot(self, ahead: int) -> Ints:
        """This will return the step of the local day that the step `ahead` steps from each step is."""
        step = np.arange(len(self.values), dtype=np.int64) + ahead
        local = self.start_seconds + step * self.step_seconds + self.offsets[step]
        return (local % DAY_SECONDS) // self.step_seconds

    def trailing_mean(self, seconds: float) -> Floats:
        """This will return the mean of the known values of the time that ends with each step."""
        return trailing_mean(self.values, self.steps(seconds))


def trailing_mean(values: Floats, steps: int) -> Floats:
    """This will return the mean over the last `steps` values, unknown ones left out; NaN where none is known."""
    known = ~np.isnan(values)
    totals = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - steps, 0)
    number = counts[last] - counts[first]
    return np.where(number > 0, (totals[last] - totals[first]) / np.maximum(number, 1), np.nan)


def step_for(sample_seconds: float) -> int:
    """This will return the grid step for samples so far apart."""
    return next((step for step in STEPS_SECONDS if step >= sample_seconds), STEPS_SECONDS[-1])


def horizon_steps(step_seconds: int, *, horizon_seconds: float, embargo_seconds: float) -> int:
    """This will return the steps from the last visible one to the first that ends a whole horizon after now."""
    return math.ceil((horizon_seconds + embargo_seconds) / step_seconds)


def gridded(
    seconds: Ints, demand: Floats, *, step_seconds: int, until: int, horizon: int, time_zone: str
) -> Grid | tuple[Reason, str]:
    """This will lay samples on a grid, or say why that cannot be done.

    Args:
        seconds: start of each sample, seconds since 1970.
        demand: its value.
        step_seconds: length of a step.
        until: end of what is visible; steps that end later are left out.
        horizon: steps foretold.
        time_zone: whose clock people live by.
    """
    inside = seconds + step_seconds <= until
    seconds, demand = seconds[inside], demand[inside]
    wrong = _wrong(demand)
    if wrong is not None:
        return wrong
    first = int(seconds.min()) // step_seconds
    length = until // step_seconds - first
    place = seconds // step_seconds - first
    totals = np.bincount(place, weights=demand, minlength=length)
    counts = np.bincount(place, minlength=length)
    values = np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)
    longest = max(LONGEST_FILL_SECONDS // step_seconds, 1)
    start = first * step_seconds
    return Grid(
        values=carried_forward(values, longest),
        step_seconds=step_seconds,
        start_seconds=start,
        horizon=horizon,
        offsets=_offsets(start + step_seconds * np.arange(length + horizon, dtype=np.int64), time_zone),
        coverage_ratio=float((counts > 0).mean()),
    )


def _wrong(demand: Floats) -> tuple[Reason, str] | None:
    if len(demand) < 2:
        return Reason.ONE_POINT, f"{len(demand)} visible sample{'' if len(demand) == 1 else 's'}"
    if not np.isfinite(demand).all():
        return Reason.NOT_FINITE, f"{int((~np.isfinite(demand)).sum())} samples are not numbers"
    if (demand < 0).any():
        return Reason.NEGATIVE, f"{int((demand < 0).sum())} samples are negative"
    if not demand.any():
        return Reason.ALL_ZERO, "nothing was requested in the whole history"
    return None


def carried_forward(values: Floats, longest: int) -> Floats:
    """This will carry a known value over at most `longest` unknown steps after it; what lies further stays unknown."""
    step = np.arange(len(values))
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, step))
    near = (last >= 0) & (step - last <= longest)
    return np.where(near, values[np.clip(last, 0, None)], np.nan)


def _offsets(seconds: Ints, time_zone: str) -> Ints:
    """Local time − UTC. Asked once an hour, because clocks change on the hour."""
    zone = ZoneInfo(time_zone)
    hours, place = np.unique(seconds // 3_600, return_inverse=True)
    found = []
    for hour in hours.tolist():
        offset = datetime.fromtimestamp(hour * 3_600, tz=UTC).astimezone(zone).utcoffset()
        assert offset is not None
        found.append(int(offset.total_seconds()))
    return np.array(found, dtype=np.int64)[place]
