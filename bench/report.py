"""How long the report takes, and how much memory, where there is much to say: ``PYTHONPATH=. python bench/report.py``.

Builds the report of a plan with 50,000 recommendations, each with its own name, owner, reasons and figures, and writes
HTML, Markdown, CSV and JSON. The plan is made by the product's own evaluations before the clock starts; its memory
is told apart.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from recommender.advise.plan import Placement, Plan, WorkloadRefusal
from recommender.advise.record import Recommendation
from recommender.report.registry import FORMATS
from recommender.report.view_model import report_of
from recommender.report.write import write_report
from recommender.week.calendar import Week
from tests.recommender.report.a_week import facts
from tests.recommender.world import BELGIUM, GENERAL, METAL, SPOT, plan, policy, pools, workload

OWNERS = 120
BATCH = 1_000
"""Workloads of an evaluation: the report is measured, not what 50,000 workloads take to evaluate."""

SORTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("web", {}),
    ("api", {"residency_class": "europe"}),
    ("renderer", {"interruption_tolerance": "spot", "residency_class": "anywhere"}),
)


def many(count: int) -> Plan:
    """This will return a plan of so many recommendations, made by evaluations of BATCH workloads that all move.

    What is one row of a plan (recommendations, placements, refusals) is of all evaluations, the rest of the last.
    """
    advised: list[Recommendation] = []
    placed: list[Placement] = []
    refused: list[WorkloadRefusal] = []
    for start in range(0, count, BATCH):
        made = _batch(range(start, min(start + BATCH, count)))
        advised.extend(one.model_copy(update={"rank": start + one.rank}) for one in made.recommendations)
        placed.extend(made.placements)
        refused.extend(made.refused)
    summary = made.summary.model_copy(
        update={"workloads": count, "workloads_priced": count, "recommendations": len(advised)}
    )
    rows = {"recommendations": tuple(advised), "placements": tuple(placed), "refused": tuple(refused)}
    return made.model_copy(update={"summary": summary, **rows})


def _batch(numbers: range) -> Plan:
    return plan(
        *(_workload(number) for number in numbers),
        pools=pools(GENERAL, SPOT, BELGIUM, METAL | {"nodes_max": None}),
        policy=policy(steady={"max_moves_per_week": BATCH, "min_saving_gbp_per_month": 1.0}),
    )


def _workload(number: int) -> dict[str, Any]:
    name, changes = SORTS[number % len(SORTS)]
    vcpus = 1.0 + number % 1009 / 1009
    figures = {"vcpu_request_mean": vcpus, "memory_gib_request_mean": 4.0 * vcpus}
    return workload(f"{name}-{number}", owner=f"team-{number % OWNERS}", **figures, **changes)


def peak_mib() -> float:
    """This will return the greatest memory of the process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """This will print seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    count = parser.parse_args().count
    made = many(count)
    week = Week.parse("2026-W48")
    known = facts(made)
    print(f"a plan of {count:,} recommendations: {peak_mib():,.0f} MiB at its peak")
    start, cpu = time.perf_counter(), time.process_time()
    report = report_of(made, week, known)
    print(f"view model: {time.process_time() - cpu:.2f} s of processor")
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMATS:
            before = time.process_time()
            (path,) = write_report(report, Path(folder), names=[form.name])
            took = time.process_time() - before
            print(f"{form.name}: {took:.2f} s of processor, {path.stat().st_size / 1e6:,.1f} MB")
    clock, processor = time.perf_counter() - start, time.process_time() - cpu
    print(f"in all {clock:.1f} s by the clock, {processor:.1f} s of processor; {peak_mib():,.0f} MiB at the peak")


if __name__ == "__main__":
    main()
