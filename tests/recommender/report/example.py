"""The example plan of the golden reports, from a file so that they change only when the report does.

``python -m tests.recommender.report.example`` makes the plan anew and writes every golden file; look at the difference.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version
from pathlib import Path

from recommender.advise.capacity import capacity_advice
from recommender.advise.plan import Plan
from recommender.report.registry import FORMATS, Format
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.week.calendar import Week
from tests.recommender.advise.own_racks import asked
from tests.recommender.burst.history import full_usage
from tests.recommender.report.a_week import facts
from tests.recommender.world import flow, flows, plan, prices, standard_offers, workload

GOLDEN = Path(__file__).with_name("golden")
WEEK = Week.parse("2026-W48")

HOSTILE = '=1+1"><script>alert(1)</script>|`x`\n\u202eevil' + "x" * 212
"""A name as nobody should write one: a formula, a tag, a table cell, a newline, right-to-left, 253 letters."""


@cache
def example_plan() -> Plan:
    """This will return the plan of the file."""
    return Plan.model_validate_json((GOLDEN / "plan.json").read_text(encoding="utf-8"))


def example() -> Report:
    """This will return the report of the golden files."""
    return report_of(example_plan(), WEEK, facts(example_plan(), HOSTILE))


def rendered(form: Format, report: Report) -> str:
    """This will render a report without the version that is installed, and without what draws the charts."""
    text = re.sub(r"<svg[^>]*class=\"chart\".*?</svg>", "CHART", form.render(report), flags=re.DOTALL)
    return text.replace(f"Tuppence {version('tuppence')}", "Tuppence VERSION")


def made_plan() -> Plan:
    """This will evaluate the example: savings, a breach, refusals by residency, a gap, a hostile name and a burst."""
    moves = plan(
        workload("web"),
        workload("api", owner="", residency_class="europe", vcpu_request_mean=2.0, memory_gib_request_mean=8.0),
        workload("renderer", interruption_tolerance="spot", residency_class="anywhere", state_gib=500.0),
        workload("abroad", cluster="gke-bel", instance_type="n2-standard-4"),
        workload("pinned", local_volume=True),
        workload(HOSTILE, owner="<b>mallory</b>", namespace="=cmd"),
        workload("lost", pool="", instance_type="", capacity_type=""),
        flows=flows(flow("api", gib_per_hour=2.0)),
        prices=prices(standard_offers()),
    )
    # Nine pods of 3 vCPUs too many for 60 of 72 hours: they leave, and a third node would pay.
    return moves.model_copy(update={"capacity": capacity_advice(asked(*full_usage(9, for_hours=60)))})


def main() -> None:
    """This will write all golden files."""
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "plan.json").write_text(made_plan().to_json() + "\n", encoding="utf-8")
    for form in FORMATS:
        text = rendered(form, example())
        (GOLDEN / f"report.{form.name}").write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
