"""Would the burst decision have been right? The rule replayed over weeks that it has not seen, and both errors priced.

Usage: python bench/burst_replay.py DATA

DATA holds usage/crane_series_2021/series.parquet: real Prometheus series, averaged to five minutes, each scaled so that
its first week is above an owned pool of 100 vCPUs one step in five. From then on the rule is asked every 15 minutes
(recommender.burst.trigger, with bounds made by rolling origin); nodes come after the embargo and the time to start
them. Bought vCPUs go when the last three samples left room for them at home, the rule wants them no more and their
least runtime is over: the return rule of recommender.burst.ending in one dimension. Beside it: never, always (the first
week's peak), and whoever buys what was seen waiting for 15 minutes. Exit code 1: the rule misses a burst in twenty, is
late for more than one in ten, or is dearer than always or never.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from forecast import STEP, WARM_UP_DAYS, ZONE

from recommender.burst.frames import CapacityFrame
from recommender.burst.trigger import triggers
from recommender.forecast.backtest import backtest
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import Accuracy, Demand, ForecastFrame, NotForecast, RecentBound
from recommender.forecast.grid import DAY_SECONDS, Floats, Grid, gridded, horizon_steps
from recommender.settings import BurstSettings

OWNED_VCPUS = 100.0
OFTEN_SHORT = 0.80
GBP_PER_VCPU_HOUR = 0.03
WAITING_GBP_PER_VCPU_HOUR = 0.30
"""What a vCPU that waits an hour costs its owner: ten times its price. A figure of this replay, not of the product."""
MISSED_AT_MOST, LATE_AT_MOST = 0.05, 0.10
RULE, SEEN = "the rule", "when seen waiting"
EPISODE_STEPS, CALM_STEPS = 3, 12
EMBARGO_STEPS = 1
SETTINGS = BurstSettings()
LEAD_STEPS = -(-round(SETTINGS.node_start_seconds + SETTINGS.image_pull_seconds + SETTINGS.model_load_seconds) // STEP)
HOURS = STEP / 3_600
Wants = Callable[[int], float]
Bought = tuple[int, float]
"""Since which step, and how many vCPUs."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series after its first week.

    Args:
        demand: vCPUs, by step; the pool has 100.
        origins: steps after which the rule is asked.
        wanted: vCPUs short by the rule at each of them; 0: no burst is needed.
        peak: of the first week.
    """

    demand: Floats
    origins: list[int]
    wanted: dict[int, float]
    peak: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way of deciding did, over all series."""

    in_time: int = 0
    late: int = 0
    missed: int = 0
    bursts: int = 0
    false: int = 0
    bought: float = 0.0
    waited: float = 0.0

    @property
    def cost(self) -> float:
        """Pounds for nodes and for waiting."""
        return self.bought * GBP_PER_VCPU_HOUR + self.waited * WAITING_GBP_PER_VCPU_HOUR

    def plus(self, other: Outcome) -> Outcome:
        """This will add up."""
        return Outcome(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def series_of(samples: pl.DataFrame) -> Series:
    """This will lay a series on its grid, bound it by rolling origin, and ask the rule after its first week."""
    seconds = (samples["ts"] // STEP * STEP).to_numpy().astype(np.int64)
    horizon = horizon_steps(STEP, horizon_seconds=3_600, embargo_seconds=300)
    until = int(seconds.max()) + STEP
    values = samples["value"].to_numpy()
    grid = gridded(seconds, values, step_seconds=STEP, until=until, horizon=horizon, time_zone=ZONE)
    assert isinstance(grid, Grid), grid
    first = min(len(grid.values) // 2, WARM_UP_DAYS * DAY_SECONDS // STEP)
    scale = OWNED_VCPUS / float(np.nanquantile(grid.values[:first], OFTEN_SHORT))
    found = backtest(grid, backtest_days=14)
    bounds = dict(zip(found.origins.tolist(), (found.p90 * scale).tolist(), strict=True))
    demand = np.nan_to_num(grid.values * scale, nan=0.0)
    origins = [one for one in bounds if one >= first]
    return Series(demand, origins, _asked(demand, bounds, origins, horizon), float(demand[:first].max()))


def _asked(demand: Floats, bounds: dict[int, float], origins: list[int], horizon: int) -> dict[int, float]:
    """One call of the rule: every evaluation stands as a series of its own."""
    key = {"cluster": "home", "resource": "vcpu"}
    known = [one for one in bounds if not np.isnan(bounds[one])]
    rows, recent = [], []
    for origin in origins:
        name = {**key, "resource_class": f"{origin:09d}"}
        last = [one for one in known if one <= origin][-SETTINGS.evaluations :]
        recent += [
            {**name, "visible_until": _at(one), "demand": demand[one], "p90": max(0.0, bounds[one])} for one in last
        ]
        if last and last[-1] == origin:
            rows.append(
                {**name, "visible_until": _at(origin), "demand": demand[origin], "p90": max(0.0, bounds[origin])}
            )
    told = {"at": _at(origins[-1]), "horizon_seconds": horizon * STEP, "p50": 0.0, "model": "", "model_p50": ""}
    more = {"origins": 0, "beats_both_naives": False, "verdict": ""}
    forecasts = Forecasts(
        ForecastFrame.validate(_frame([{**one, **told, **more} for one in rows], ForecastFrame)),
        Accuracy.create_empty(),
        RecentBound.validate(_frame(recent, RecentBound)),
        NotForecast.create_empty(),
    )
    capacity = [
        {**key, "resource_class": f"{origin:09d}", "admissible": OWNED_VCPUS, "nominal": OWNED_VCPUS}
        for origin in origins
    ]
    found = triggers(
        CapacityFrame.validate(_frame(capacity, CapacityFrame)), Demand.create_empty(), forecasts, SETTINGS, at=_at(0)
    )
    short = zip(found["resource_class"], found["is_needed"], found["short"], strict=True)
    return {int(name): amount if needed else 0.0 for name, needed, amount in short}


def _frame(rows: Iterable[dict[str, object]], schema: type) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=schema.create_empty().schema)


def _at(step: int) -> datetime:
    return datetime(2021, 1, 1, tzinfo=UTC) + timedelta(seconds=(step + 1) * STEP)


def replayed(one: Series, wants: Wants) -> Outcome:
    """This will replay one way of deciding: what it wants after each origin, kept until the return rule lets go."""
    steps = len(one.demand)
    paid, ready = np.zeros(steps + 1), np.zeros(steps + 1)
    bought: list[Bought] = []
    bursts: list[tuple[int, int]] = []
    began = 0
    for origin, following in zip(one.origins, [*one.origins[1:], steps], strict=True):
        start, until = origin + 1 + EMBARGO_STEPS, following + 1 + EMBARGO_STEPS
        wanted, before = wants(origin), sum(amount for _, amount in bought)
        seen = float(one.demand[origin + 1 - SETTINGS.idle_evaluations : origin + 1].max()) - OWNED_VCPUS
        bought = _kept(bought, max(seen, wanted, 0.0), start)
        if wanted > (there := sum(amount for _, amount in bought)) + 1e-9:
            bought = [*bought, (start, wanted - there)]
        if bought and not before:
            began = start
        if before and not bought:
            bursts.append((began, start))
        paid[start:until] = sum(amount for _, amount in bought)
        for step in range(start, min(until, steps)):
            ready[step] = sum(amount for since, amount in bought if step >= since + LEAD_STEPS)
    if bought:
        bursts.append((began, steps))
    return _told(one, paid[:steps], ready[:steps], bursts)


def _kept(bought: list[Bought], needed: float, now: int) -> list[Bought]:
    """What stays: what is needed, and what has not been there for the least runtime; the newest goes first."""
    least = round(SETTINGS.min_runtime_minutes * 60 / STEP)
    excess = sum(amount for _, amount in bought) - needed
    kept: list[Bought] = []
    for since, amount in reversed(bought):
        goes = min(amount, max(excess, 0.0)) if now - since >= least else 0.0
        excess -= goes
        kept += [(since, amount - goes)] if amount - goes > 1e-9 else []
    return kept[::-1]


def _told(one: Series, paid: Floats, ready: Floats, bursts: list[tuple[int, int]]) -> Outcome:
    first = one.origins[0] + 1 + EMBARGO_STEPS
    over = np.maximum(one.demand - OWNED_VCPUS, 0.0)
    waits = np.maximum(over - ready, 0.0)[first:]
    begins = [_first_ready(ready, start, end) for start, end in episodes(over, first)]
    return Outcome(
        in_time=sum(late is not None and late < EPISODE_STEPS for late in begins),
        late=sum(late is not None and late >= EPISODE_STEPS for late in begins),
        missed=sum(late is None for late in begins),
        bursts=len(bursts),
        false=sum(not over[start:end].any() for start, end in bursts),
        bought=float(paid[first:].sum()) * HOURS,
        waited=float(waits.sum()) * HOURS,
    )


def _first_ready(ready: Floats, start: int, end: int) -> int | None:
    there = np.flatnonzero(ready[start:end] > 0)
    return int(there[0]) if len(there) else None


def episodes(over: Floats, first: int) -> Iterator[tuple[int, int]]:
    """This will yield the times of at least 15 minutes above the pool, those less than an hour apart as one."""
    above = [int(one) for one in np.flatnonzero(over > 0) if one >= first]
    start = last = above[0] if above else 0
    for one in [*above[1:], sys.maxsize]:
        if one - last > CALM_STEPS:
            if (over[start : last + 1] > 0).sum() >= EPISODE_STEPS:
                yield start, last + 1
            start = one
        last = one


def seen_waiting(one: Series) -> Wants:
    """This will return the way of whoever waits until pods have waited for 15 minutes, and then buys what waits."""

    def wants(origin: int) -> float:
        last = one.demand[origin + 1 - EPISODE_STEPS : origin + 1] - OWNED_VCPUS
        return float(last[-1]) if (last > 0).all() else 0.0

    return wants


def ways(one: Series) -> dict[str, Wants]:
    """This will return the ways of deciding."""
    return {
        RULE: lambda origin: one.wanted.get(origin, 0.0),
        SEEN: seen_waiting(one),
        "always": lambda _: max(0.0, one.peak - OWNED_VCPUS),
        "never": lambda _: 0.0,
    }


def main() -> int:
    """This will replay every series in every way."""
    rows = pl.read_parquet(Path(sys.argv[1]) / "usage" / "crane_series_2021" / "series.parquet")
    started = time.perf_counter()
    found = [series_of(part) for _, part in sorted(rows.sort("ts").group_by("series"), key=lambda pair: pair[0])]
    totals: dict[str, Outcome] = {}
    for one in found:
        for name, wants in ways(one).items():
            totals[name] = totals.get(name, Outcome()).plus(replayed(one, wants))
    asked = sum(len(one.origins) for one in found)
    print(f"{len(found)} series, {asked} evaluations in {time.perf_counter() - started:.1f} s\n")
    print(f"{'':<18}  in time  late  missed  bursts  false  bought vCPU-h  waited vCPU-h       £")
    for name, one in totals.items():
        print(
            f"{name:<18}  {one.in_time:>7}  {one.late:>4}  {one.missed:>6}  {one.bursts:>6}  {one.false:>5}"
            f"  {one.bought:>13,.0f}  {one.waited:>13,.0f}  {one.cost:>6,.0f}"
        )
    rule = totals[RULE]
    even = [break_even(*(replayed(one, ways(one)[name]) for name in (RULE, SEEN))) for one in found]
    print(f"\nagainst waiting to see, the rule pays from £ a waited vCPU-hour of: {break_even(rule, totals[SEEN]):.3f}")
    print(f"by series: {', '.join(f'{one:.3f}' for one in sorted(even))}")
    return 0 if _holds(totals) else 1


def break_even(rule: Outcome, seen: Outcome) -> float:
    """This will return the price of a waited vCPU-hour at which both cost the same."""
    return (rule.bought - seen.bought) * GBP_PER_VCPU_HOUR / (seen.waited - rule.waited)


def _holds(totals: dict[str, Outcome]) -> bool:
    rule = totals[RULE]
    number = rule.in_time + rule.late + rule.missed
    checks = {
        f"missed at most {MISSED_AT_MOST:.0%}: {rule.missed} of {number}": rule.missed <= MISSED_AT_MOST * number,
        f"late at most {LATE_AT_MOST:.0%}: {rule.late} of {number}": rule.late <= LATE_AT_MOST * number,
        "cheaper than always and than never": rule.cost < min(totals["always"].cost, totals["never"].cost),
    }
    for text, holds in checks.items():
        print(f"{'ok    ' if holds else 'MISSED'} {text}")
    return all(checks.values())


if __name__ == "__main__":
    sys.exit(main())
