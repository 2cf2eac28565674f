"""A week of 10,000 workloads read from a real Prometheus, and 10,000 new jobs a minute taken in without falling behind.

Usage: python bench/observe.py [--workloads N] [--folder DIR]

The week's hourly records are laid into Prometheus as blocks by promtool, which is not measured. Exit code 1: reading
the week takes more than a minute, the queries are not the same in number for one workload and for all, a workload is
lost, or a minute of new jobs takes more than a minute.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TextIO

import httpx2
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))

from recommender.frames import ClusterSample, StatedAttribute, UsageSample
from recommender.observe.coverage import Window
from recommender.observe.usage import Usage
from recommender.observe.usage_prometheus import read_usage
from recommender.observe.workloads import observe
from recommender.settings import Policy, PrometheusSettings
from tests.servers.prometheus import running_prometheus

END = datetime(2026, 11, 30, tzinfo=UTC)
HOURS = 168
MOST_SECONDS = 60.0
CLUSTERS, NAMESPACES = 20, 97
JOBS_A_MINUTE, MINUTES = 10_000, 10
JOB_RUNS_MINUTES = 5
ONE_IN_THAT_HAS_GPUS = 5
MACHINES = (
    ("general", "m6i.2xlarge", "on-demand"),
    ("general-spot", "m6i.4xlarge", "spot"),
    ("arm", "m7g.2xlarge", ""),
)

MOMENTS = [int((END - timedelta(hours=HOURS - hour)).timestamp()) for hour in range(1, HOURS + 1)]


@dataclass(frozen=True, slots=True)
class One:
    """A workload of the week: its labels as text, its replicas by the hour."""

    workload: str
    place: str
    replicas: tuple[int, ...]
    vcpus: float
    memory_gib: float
    gpus: int


def workload(number: int, random: Random) -> One:
    """This will make up the workload of a number."""
    name = (
        f'cluster="c{number % CLUSTERS:02}",namespace="team-{number % NAMESPACES:02}",'
        f'workload_kind="Deployment",workload="service-{number:05}"'
    )
    pool, machine, capacity_type = MACHINES[number % len(MACHINES)]
    bought = f',capacity_type="{capacity_type}"' if capacity_type else ""
    least, most = random.randint(1, 3), random.randint(3, 8)
    follows_the_day = number % 3 == 0
    replicas = tuple(most if follows_the_day and 8 <= hour % 24 < 19 else least for hour in range(HOURS))
    return One(
        workload=name,
        place=f'{name},pool="{pool}",instance_type="{machine}"{bought}',
        replicas=replicas,
        vcpus=random.choice((0.25, 0.5, 1.0, 2.0)),
        memory_gib=random.choice((0.5, 1.0, 4.0, 8.0)),
        gpus=1 if number % ONE_IN_THAT_HAS_GPUS == 0 else 0,
    )


def write_records(count: int, target: TextIO) -> None:
    """This will write the week as OpenMetrics text, a family a record."""
    random = Random(20261130)
    all_of_them = [workload(number, random) for number in range(count)]
    _family(
        target, "tuppence:cluster_coverage_ratio:1h", ((f'cluster="c{n:02}"', [1] * HOURS) for n in range(CLUSTERS))
    )
    for what in ("replicas", "vcpu_request", "memory_gib_request"):
        for kind in ("mean1h", "max1h"):
            _family(target, f"tuppence:workload_{what}:{kind}", _amounts(all_of_them, what))
    for kind in ("mean1h", "max1h"):
        _family(target, f"tuppence:workload_gpu_request:{kind}", _amounts(all_of_them, "gpus"))
    for what in ("vcpu_usage", "memory_gib_usage", "gpu_usage_ratio"):
        _family(target, f"tuppence:workload_{what}:mean1h", _usages(all_of_them, what, random))
    _family(
        target,
        "tuppence:workload_attributes:info",
        ((f'{one.workload},label_tuppence_owner="team"', [1] * HOURS) for one in all_of_them),
    )
    _family(
        target,
        "tuppence:workload_priority:info",
        ((f'{one.workload},priority_class="standard"', [1] * HOURS) for one in all_of_them),
    )
    target.write("# EOF\n")


def _amounts(workloads: list[One], what: str) -> Iterator[tuple[str, list[float]]]:
    for one in workloads:
        each = {"replicas": 1, "vcpu_request": one.vcpus, "memory_gib_request": one.memory_gib, "gpus": one.gpus}[what]
        if each:
            model = ',gpu_model="NVIDIA-L4"' if what == "gpus" else ""
            yield one.place + model, [each * replicas for replicas in one.replicas]


def _usages(workloads: list[One], what: str, random: Random) -> Iterator[tuple[str, list[float]]]:
    for one in workloads:
        if what == "gpu_usage_ratio":
            if one.gpus:
                yield f'{one.place},gpu_model="NVIDIA-L4"', [round(random.random(), 3) for _ in one.replicas]
        else:
            each = one.vcpus if what == "vcpu_usage" else one.memory_gib
            yield one.place, [round(each * replicas * random.random(), 4) for replicas in one.replicas]


def _family(target: TextIO, record: str, series: Iterator[tuple[str, list[float]]]) -> None:
    target.write(f"# TYPE {record} gauge\n")
    for labels, values in series:
        name = f"{record}{{{labels}}}"
        target.write("".join([f"{name} {value} {at}\n" for at, value in zip(MOMENTS, values, strict=True)]))


def lay_blocks(count: int, data: Path) -> None:
    """This will lay the week of so many workloads into a data folder."""
    data.mkdir(parents=True)
    source = data.parent / "records.om"
    with source.open("w", encoding="utf-8") as target:
        write_records(count, target)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=500h", "--quiet"]
    subprocess.run([*command, str(source), str(data)], check=True)
    source.unlink()


@contextmanager
def holding(count: int, folder: Path | None) -> Iterator[str]:
    """This will run a Prometheus with the week of so many workloads; a folder keeps the blocks, to be used again."""

    def fill(data: Path) -> None:
        if folder is None:
            lay_blocks(count, data)
            return
        kept = folder / f"blocks-{count}"
        if not kept.exists():
            lay_blocks(count, kept)
        shutil.copytree(kept, data)

    with running_prometheus({}, fill=fill, flags=("--storage.tsdb.retention.time=20y",)) as server:
        yield server.url


def asked(url: str) -> int:
    """This will return how many queries a Prometheus has answered, by its own count."""
    text = httpx2.get(f"{url}/metrics", timeout=30).text
    counts = [line for line in text.splitlines() if line.startswith("prometheus_http_requests_total{")]
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in counts if '/api/v1/query"' in line)


def read_week(count: int, folder: Path | None) -> tuple[int, float, float, int]:
    """This will return the queries, the seconds of reading and of reducing, and the workloads that came out."""
    window = Window.ending(END, hours=HOURS)
    with holding(count, folder) as url:
        began = time.monotonic()
        usage = read_usage(PrometheusSettings(url=url), window)
        read = time.monotonic()
        result = observe(usage, Policy(), clusters=(), window=window)
        return asked(url), read - began, time.monotonic() - read, result.workloads.height


def jobs_of(minute: int, first: datetime) -> pl.DataFrame:
    """This will return the samples of the jobs that start in a minute, one for each minute they run."""
    numbers = pl.DataFrame({"n": range(minute * JOBS_A_MINUTE, (minute + 1) * JOBS_A_MINUTE)})
    runs = pl.DataFrame({"timestamp": [first + timedelta(minutes=minute + more) for more in range(JOB_RUNS_MINUTES)]})
    name = pl.col("n").cast(pl.String)
    amounts = {name: pl.lit(1.0) for name in ("replicas", "vcpu_request", "memory_gib_request")}
    return numbers.join(runs, how="cross").select(
        pl.col("timestamp").dt.cast_time_unit("us"),
        cluster=pl.format("c{}", pl.col("n") % CLUSTERS),
        namespace=pl.format("team-{}", pl.col("n") % NAMESPACES),
        workload_kind=pl.lit("Job"),
        workload=pl.concat_str(pl.lit("job-"), name),
        pool=pl.lit("general"),
        instance_type=pl.lit("m6i.2xlarge"),
        capacity_type=pl.lit("on-demand"),
        gpu_request=pl.lit(0.0),
        gpu_model=pl.lit(""),
        pending_replicas=pl.lit(0.0),
        **amounts,
    )


def take_in_jobs() -> list[float]:
    """This will return how long each minute's evaluation takes, all jobs so far being in the window of an hour."""
    first = END - timedelta(minutes=MINUTES)
    seconds, so_far = [], []
    empty = UsageSample.create_empty()
    for minute in range(MINUTES):
        so_far.append(jobs_of(minute, first))
        began = time.monotonic()
        now = first + timedelta(minutes=minute + 1)
        known = pl.concat([empty, *so_far], how="diagonal").filter(pl.col("timestamp") < now)
        observed = known.select("cluster", "timestamp").unique().with_columns(coverage_ratio=pl.lit(1.0))
        usage = Usage(
            samples=UsageSample.validate(known.select(UsageSample.column_names())),
            stated=StatedAttribute.create_empty(),
            observed=ClusterSample.validate(observed),
        )
        result = observe(usage, Policy(), clusters=(), window=Window(start=now - timedelta(hours=1), end=now))
        seconds.append(time.monotonic() - began)
        assert result.workloads.height == JOBS_A_MINUTE * (minute + 1)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="keeps the blocks here, to be used again")
    chosen = parser.parse_args()
    few_queries, *_ = read_week(1, None)
    queries, reading, reducing, workloads = read_week(chosen.workloads, chosen.folder)
    minutes = take_in_jobs()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{workloads} workloads × {HOURS} hours: {queries} queries, {reading:.1f} s; reduced in {reducing:.1f} s")
    print(f"{JOBS_A_MINUTE} new jobs a minute: {minutes[0]:.1f} s in the first minute, {minutes[-1]:.1f} s in the last")
    print(f"most memory: {peak:.1f} GiB")
    kept = {
        "a minute for the week": reading + reducing <= MOST_SECONDS,
        "a fixed number of queries": queries == few_queries,
        "no workload lost": workloads == chosen.workloads,
        "a minute for each minute of jobs": max(minutes) <= MOST_SECONDS,
    }
    for limit, holds in kept.items():
        print(f"{'held' if holds else 'MISSED'}: {limit}")
    return 0 if all(kept.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
