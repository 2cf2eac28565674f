"""Does the choice of a forecast hold what it promises, on real series and without looking ahead?

Usage: python bench/forecast.py DATA

DATA holds usage/crane_series_2021/series.parquet (columns series, ts, value): real Prometheus series, averaged to five
minutes. Origins every 15 minutes in the second half of each series (the first week is warm-up). Naives get bounds in
the same way as the choice. Exit code 1: a limit is missed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from recommender.forecast.backtest import Backtest, backtest
from recommender.forecast.candidates import CANDIDATES, PERSISTENCE, SEASONAL_NAIVE
from recommender.forecast.conformal import pinball
from recommender.forecast.grid import DAY_SECONDS, Floats, Grid, gridded, horizon_steps

STEP = 300
WARM_UP_DAYS = 7
ZONE = "Asia/Shanghai"
NAMES = [one.name for one in CANDIDATES]
NAIVES = [NAMES.index(PERSISTENCE), NAMES.index(SEASONAL_NAIVE)]
WORSE_AT_MOST = 1.02
WAPE_AT_MOST = 0.80
COVERAGE = (0.87, 0.93)


@dataclass(frozen=True, slots=True)
class Result:
    """One series' figures; losses and errors of every candidate in the order of NAMES, then of the choice."""

    series: int
    losses: list[float]
    wapes: list[float]
    held: list[bool]
    chosen: str

    @property
    def loss_ratio(self) -> float:
        """Loss of the choice ÷ that of the better naive."""
        return self.losses[-1] / min(self.losses[naive] for naive in NAIVES)

    @property
    def naive_wape(self) -> float:
        """WAPE of the better naive."""
        return min(self.wapes[naive] for naive in NAIVES)


def measure(series: int, samples: pl.DataFrame) -> Result:
    """This will back-test one series and judge the choices of its second half."""
    horizon = horizon_steps(STEP, horizon_seconds=3_600, embargo_seconds=300)
    seconds = (samples["ts"] // STEP * STEP).to_numpy().astype(np.int64)
    grid = gridded(
        seconds,
        samples["value"].to_numpy(),
        step_seconds=STEP,
        until=int(seconds.max()) + STEP,
        horizon=horizon,
        time_zone=ZONE,
    )
    assert isinstance(grid, Grid), grid
    found = backtest(grid, backtest_days=14)
    first = min(len(grid.values) // 2, WARM_UP_DAYS * DAY_SECONDS // STEP)
    judged = (found.origins >= first) & ~np.isnan(found.peak.actuals)
    return _judge(series, found, judged)


def _judge(series: int, found: Backtest, judged: np.ndarray) -> Result:
    def loss(bounds: Floats) -> float:
        return float(np.nanmean(pinball(found.peak.actuals, bounds)[judged]))

    def wape(forecasts: Floats) -> float:
        both = judged & ~np.isnan(forecasts) & ~np.isnan(found.end.actuals)
        off = np.abs(found.end.actuals - forecasts)[both].sum()
        return float(off / found.end.actuals[both].sum())

    names, counts = np.unique(found.peak.chosen[judged], return_counts=True)
    return Result(
        series=series,
        losses=[*(loss(one) for one in found.bounds), loss(found.p90)],
        wapes=[*(wape(one) for one in found.end.forecasts), wape(found.end.picked())],
        held=(found.peak.actuals <= found.p90)[judged].tolist(),
        chosen=NAMES[int(names[counts.argmax()])],
    )


def report(results: list[Result]) -> bool:
    """This will print the figures and tell whether every limit holds."""
    print("series  loss÷better naive  WAPE   better naive's  coverage  mostly chosen")
    for one in results:
        held = np.mean(one.held)
        print(
            f"{one.series:>6}  {one.loss_ratio:>17.3f}  {one.wapes[-1]:.3f}  {one.naive_wape:>14.3f}"
            f"  {held:>8.3f}  {one.chosen}"
        )
    print("\nmedian WAPE over the series")
    for number, name in enumerate([*NAMES, "the choice"]):
        print(f"  {name:<26} {np.median([one.wapes[number] for one in results]):.3f}")
    worst = max(one.loss_ratio for one in results)
    better = sum(one.loss_ratio < 1 for one in results)
    wape = np.median([one.wapes[-1] for one in results]) / np.median([one.naive_wape for one in results])
    coverage = np.mean([held for one in results for held in one.held])
    checks = {
        f"loss at most {WORSE_AT_MOST} of the better naive on every series: worst {worst:.3f}": worst <= WORSE_AT_MOST,
        f"better on most series: {better} of {len(results)}": 2 * better > len(results),
        f"median WAPE at most {WAPE_AT_MOST} of the better naive's: {wape:.3f}": wape <= WAPE_AT_MOST,
        f"coverage of P90 from {COVERAGE[0]} to {COVERAGE[1]}: {coverage:.3f}": COVERAGE[0] <= coverage <= COVERAGE[1],
    }
    for text, holds in checks.items():
        print(f"{'ok    ' if holds else 'MISSED'} {text}")
    return all(checks.values())


def main() -> int:
    """This will measure every series."""
    rows = pl.read_parquet(Path(sys.argv[1]) / "usage" / "crane_series_2021" / "series.parquet")
    started = time.perf_counter()
    results = [measure(int(key[0]), part) for key, part in sorted(rows.sort("ts").group_by("series"))]
    print(f"{len(results)} series in {time.perf_counter() - started:.1f} s\n")
    return 0 if report(results) else 1


if __name__ == "__main__":
    sys.exit(main())
