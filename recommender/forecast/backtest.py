"""The back-test of one series: what every candidate would have said, what came, and which one was the best to trust.

Rolling origin, strictly causal: a forecast uses steps that were visible at its origin, a bound and a choice use errors
that had come due by then. The choice at the last origin is the forecast; the choices before it are its test, made in
the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recommender.forecast.candidates import CANDIDATES, foretold
from recommender.forecast.conformal import bounded, pinball
from recommender.forecast.grid import DAY_SECONDS, Floats, Grid, Ints

ORIGIN_SECONDS = 900
CALIBRATION_SECONDS = 7 * DAY_SECONDS
LEAST_ERRORS_SECONDS = DAY_SECONDS // 2
LEAST_ERRORS = 10
LEAST_SHARE = 0.25
"""Of persistence's origins, how many a candidate must have been tried on."""
MARGIN = 0.02
"""By how much a candidate must beat the best naive, so that a tie goes to the simpler one."""
UNJUDGED = 1e300
NAIVE = np.array([one.is_naive for one in CANDIDATES])
CHOOSABLE = np.array([not one.is_baseline_only for one in CANDIDATES])


@dataclass(frozen=True, slots=True)
class Protocol:
    """Counts of the back-test, in origins.

    Args:
        every: steps between two origins.
        due: origins until a forecast has come due.
        calibration: errors that a bound rests on.
        least: errors below which there is no bound.
        window: origins that the choice rests on.
    """

    every: int
    due: int
    calibration: int
    least: int
    window: int

    @classmethod
    def of(cls, grid: Grid, *, backtest_days: float) -> Protocol:
        """This will return the counts for a grid."""
        every = grid.steps(ORIGIN_SECONDS)
        seconds = every * grid.step_seconds
        return cls(
            every=every,
            due=math.ceil(grid.horizon / every),
            calibration=round(CALIBRATION_SECONDS / seconds),
            least=max(LEAST_ERRORS, round(LEAST_ERRORS_SECONDS / seconds)),
            window=round(backtest_days * DAY_SECONDS / seconds),
        )


@dataclass(frozen=True, slots=True)
class Target:
    """One thing foretold (the value at the end of the horizon, or the peak within it) at every origin.

    Args:
        forecasts: candidates × origins.
        actuals: what came; NaN where it is still to come or not known.
        losses: candidates × origins, what each was wrong by; NaN where it said nothing.
        chosen: the candidate that would have been chosen at each origin.
        scores: candidates × origins, loss relative to persistence's over the same origins that had come due.
        counts: candidates × origins, how many those were.
    """

    forecasts: Floats
    actuals: Floats
    losses: Floats
    chosen: Ints
    scores: Floats
    counts: Ints

    def picked(self) -> Floats:
        """This will return the forecast of the candidate chosen at each origin."""
        return np.asarray(np.take_along_axis(self.forecasts, self.chosen[None], axis=0)[0], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Backtest:
    """Everything about one series.

    Args:
        protocol: its counts.
        origins: the step of each origin; the last one is the last visible step.
        end: the value at the end of the horizon, chosen by absolute error.
        peak: the peak within the horizon, chosen by the pinball loss of its bound.
        bounds: candidates × origins, each candidate's own P90.
    """

    protocol: Protocol
    origins: Ints
    end: Target
    peak: Target
    bounds: Floats

    @property
    def p90(self) -> Floats:
        """This will return the bound of the candidate chosen at each origin."""
        return np.asarray(np.take_along_axis(self.bounds, self.peak.chosen[None], axis=0)[0], dtype=np.float64)


def backtest(grid: Grid, *, backtest_days: float) -> Backtest:
    """This will foretell at every origin of a series.

    Args:
        grid: the series.
        backtest_days: days of origins that a choice rests on.
    """
    protocol = Protocol.of(grid, backtest_days=backtest_days)
    last = len(grid.values) - 1
    origins = np.arange(last % protocol.every, last + 1, protocol.every, dtype=np.int64)
    peaks = grid.peaks()
    points, point_actuals = foretold(grid)[:, origins], grid.ahead()[origins]
    end = _chosen(points, point_actuals, np.abs(point_actuals - points), protocol, says=~np.isnan(points))
    forecasts, actuals = foretold(peaks)[:, origins], peaks.ahead()[origins]
    bounds = np.stack(
        [
            bounded(one, actuals, due=protocol.due, window=protocol.calibration, least=protocol.least)
            for one in forecasts
        ]
    )
    peak = _chosen(forecasts, actuals, pinball(actuals, bounds), protocol, says=~np.isnan(bounds))
    return Backtest(protocol, origins, end, peak, bounds)


def _chosen(
    forecasts: Floats, actuals: Floats, losses: Floats, protocol: Protocol, *, says: npt.NDArray[np.bool_]
) -> Target:
    """Chooses at each origin the candidate with the least loss so far, among those that say something now.

    Losses are held against persistence's over the same origins, so that a candidate that needs a longer history is not
    judged on easier days. One that is not a naive has to beat the best of the naives by a margin.
    """
    persisted = losses[0]
    both = ~np.isnan(losses) & ~np.isnan(persisted)
    own = _due_sums(np.where(both, losses, 0.0), protocol)
    of_persistence = _due_sums(np.where(both, persisted, 0.0), protocol)
    counts = _due_sums(both.astype(np.float64), protocol).round().astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(of_persistence > 0, own / of_persistence, np.where(own > 0, np.inf, 1.0))
    scores = np.where(counts > 0, scores, np.nan)
    judged = (counts > 0) & (counts >= LEAST_SHARE * counts[0])
    handicap = np.where(NAIVE, 1.0 - MARGIN, 1.0)[:, None]
    ranked = np.where(says & CHOOSABLE[:, None], np.where(judged, scores * handicap, UNJUDGED), np.inf)
    return Target(forecasts, actuals, losses, np.argmin(ranked, axis=0), scores, counts)


def _due_sums(losses: Floats, protocol: Protocol) -> Floats:
    """Sums over the window of origins that have come due at each origin."""
    length = losses.shape[-1]
    totals = np.concatenate([np.zeros((*losses.shape[:-1], 1)), np.cumsum(losses, axis=-1)], axis=-1)
    until = np.clip(np.arange(length) - protocol.due + 1, 0, None)
    since = np.clip(until - protocol.window, 0, None)
    return np.asarray(totals[..., until] - totals[..., since], dtype=np.float64)
