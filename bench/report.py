"""How long the report takes, and how much memory, where there is much to say: ``PYTHONPATH=. python bench/report.py``.

Builds the report of a plan with 50,000 recommendations, each with its own name, owner, reasons, prices and figures, and
writes HTML, Markdown, CSV and JSON. The plan is there before the clock starts; its own memory is told apart.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from recommender.advise.plan import Placement, Plan
from recommender.advise.record import Recommendation
from recommender.report.registry import FORMATS
from recommender.report.view_model import report_of
from recommender.report.week import Week
from recommender.report.write import write_report
from tests.recommender.report.a_week import facts
from tests.recommender.world import plan, workload

OWNERS = 120


def many(count: int) -> Plan:
    """This will return a plan of so many recommendations, made of real ones that differ in every name."""
    made = plan(
        workload("web", vcpu_request_mean=1.0, memory_gib_request_mean=4.0),
        workload("api", residency_class="europe", vcpu_request_mean=1.0, memory_gib_request_mean=4.0),
        workload("renderer", interruption_tolerance="spot", residency_class="anywhere"),
    )
    texts = [one.model_dump(mode="json", exclude_none=True) for one in made.recommendations]
    advised = [_named(texts[number % len(texts)], number) for number in range(count)]
    placed = tuple(_placed(one) for one in advised)
    summary = made.summary.model_copy(update={"workloads": count, "workloads_priced": count, "recommendations": count})
    return made.model_copy(update={"recommendations": tuple(advised), "placements": placed, "summary": summary})


def _named(record: dict[str, object], number: int) -> Recommendation:
    name = f"{record['target']['workload']}-{number}"  # type: ignore[index]
    target = {**record["target"], "workload": name, "owner": f"team-{number % OWNERS}"}  # type: ignore[dict-item]
    changed = {"id": f"{number:016x}", "rank": number + 1, "title": f"Move shop/{name}", "target": target}
    return Recommendation.model_validate(record | changed)


def _placed(one: Recommendation) -> Placement:
    target, to = one.target, one.recommended
    return Placement(
        cluster=target.cluster,
        namespace=target.namespace,
        workload_kind=target.workload_kind,
        workload=target.workload,
        to_cluster=to.cluster,
        to_pool=to.pool,
        instance_type=to.instance_type,
        capacity_type=to.capacity_type,
        gbp_per_hour=to.gbp_per_hour,
        current_gbp_per_hour=one.current.gbp_per_hour,
        owner=target.owner,
        recommendation_id=one.id,
    )


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
