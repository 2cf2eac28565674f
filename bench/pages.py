"""How long the pages take at 50,000 recommendations, through the real application.

Usage: python bench/pages.py [--recommendations 50000]

The plan is the example's advice repeated under other names. Making what is served is done once a plan, in the
evaluation's thread; the pages are what a person waits for. Times are of the whole answer, the median of several. Exit
code 1: the first page of the list takes more than 100 ms.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from pathlib import Path

from fastapi.testclient import TestClient

from exporters.core.clock import FixedClock
from recommender.advise.plan import Plan
from recommender.serve.advice_index import AdviceIndex
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan

PLAN = Path(__file__).parents[1] / "tests" / "recommender" / "report" / "golden" / "plan.json"
TARGET_MS = 100.0
TIMES = 15
PAGES = {
    "list, first page": "/recommendations",
    "list, last page": "/recommendations?page=1000000",
    "list, by saving": "/recommendations?sort=-saving",
    "list, by owner": "/recommendations?sort=owner",
    "list, one owner and text": "/recommendations?owner=team-7&text=web-4",
    "API, first page": "/api/v1/recommendations",
    "API, by saving, 500": "/api/v1/recommendations?sort=-saving&limit=500",
    "one recommendation": "/recommendations/{id}",
    "overview": "/",
}


def enlarged(plan: Plan, number: int) -> Plan:
    """This will repeat the plan's advice under other names."""
    models = plan.recommendations
    made = []
    for rank in range(1, number + 1):
        one = models[rank % len(models)]
        target = one.target.model_copy(update={"workload": f"web-{rank}", "owner": f"team-{rank % 211}"})
        title = f"Move shop/web-{rank} from {one.target.cluster} to {one.recommended.cluster}"
        made.append(one.model_copy(update={"id": f"{rank:016x}", "rank": rank, "target": target, "title": title}))
    return plan.model_copy(update={"recommendations": tuple(made)})


def milliseconds(client: TestClient, path: str) -> float:
    """This will return the median time of an answer."""
    found = []
    for _ in range(TIMES):
        started = time.perf_counter()
        answer = client.get(path)
        found.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, answer.text
    return statistics.median(found)


def main() -> None:
    """This will print the table, and fail where the target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--recommendations", type=int, default=50_000)
    number = parser.parse_args().recommendations
    plan = enlarged(Plan.model_validate_json(PLAN.read_text(encoding="utf-8")), number)
    last = LastPlan()
    started = time.perf_counter()
    AdviceIndex.of(plan)
    indexed = time.perf_counter() - started
    started = time.perf_counter()
    last.succeeded(plan, at=plan.generated_at, duration_seconds=1)
    rendered = time.perf_counter() - started
    client = TestClient(create_app(Recommender(last=last, clock=FixedClock(plan.generated_at), reload=lambda: None)))
    print(f"{number:,} recommendations: index {indexed:.2f} s; index, report and JSON {rendered:.1f} s, once a plan")
    times = {name: milliseconds(client, path.format(id=f"{number // 2:016x}")) for name, path in PAGES.items()}
    for name, found in times.items():
        print(f"{name:26} {found:7.1f} ms")
    print(f"peak of memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.2f} GiB")
    if times["list, first page"] > TARGET_MS:
        raise SystemExit(f"the first page took more than {TARGET_MS:.0f} ms")


if __name__ == "__main__":
    main()
