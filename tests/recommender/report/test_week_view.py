"""What a week adds to a report, in words: figures worked out by hand, and what is said where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import polars as pl
import pytest

from recommender.advise.plan import Plan
from recommender.report.registry import FORMATS
from recommender.report.view import MOST_ROWS, Report
from recommender.report.view_model import report_of
from recommender.week.calendar import Week
from recommender.week.events import Happened
from recommender.week.facts import WeekFacts
from recommender.week.price_points import COLUMNS, points_of
from recommender.week.spend import Spend
from tests.recommender.report.a_week import change, facts, happened, past
from tests.recommender.world import machine, plan, workload

WEEK = Week.parse("2026-W48")


def told(made: Plan, known: WeekFacts) -> Report:
    return report_of(made, WEEK, known)


@pytest.fixture(scope="module")
def one() -> Plan:
    return plan(workload("web"))


def figure(report: Report, name: str) -> tuple[str, str]:
    return next((found.value, found.note) for found in report.figures if found.name == name)


def test_the_figures_at_the_top_are_the_weeks(one: Plan) -> None:
    report = told(one, facts(one))
    # £0.184 an hour for 168 hours; £100.00 became £110.00.
    assert figure(report, "Spend last week") == ("£30.91", "£10.00 more (10%) than the week before; 1 workload priced")
    assert figure(report, "Realised this quarter") == ("£72.00", "October to December 2026, 2 moves measured")
    assert [found.name for found in report.figures][1:2] == ["Open saving"]


def test_the_reasons_of_the_change_stand_with_their_signs(one: Plan) -> None:
    spend = told(one, facts(one)).spend
    assert spend is not None
    assert spend.sentence == (
        "£110.00 after £100.00 the week before, £10.00 more (10%): usage +£12.00, prices -£3.00, exchange rates +£1.00."
    )
    assert spend.notes == (
        "1 workload of which a price is not known in one of the weeks: in neither sum.",
        "2 workloads of which no price of the week before is kept: at this week's prices in both weeks.",
    )
    assert [(found.workload, found.change, found.because) for found in spend.reasons][1] == (
        "eks-lon/shop/old",
        "-£2.00",
        "it is gone",
    )


def test_a_week_that_cannot_be_compared_says_why_in_every_format_for_people(one: Plan) -> None:
    known = replace(facts(one), spend=None, no_spend="no prices of 23 November 2026 are kept.")
    report = told(one, known)
    assert figure(report, "Spend last week")[1].startswith("no week before to compare with")
    assert report.charts_of("spend") == ()
    for form in FORMATS[:2]:
        assert "No prices of 23 November 2026 are kept." in form.render(report)


def test_an_empty_week_is_a_report_that_says_so() -> None:
    nothing = plan()
    quiet = past(plan(workload("web")), "x", events=(), advice={}, measured=())
    zero = {"before_gbp": 0, "after_gbp": 0, "usage_gbp": 0, "price_gbp": 0, "exchange_rate_gbp": 0}
    whole = change(compared=0, contributions=(), **zero)
    report = told(nothing, WeekFacts(week=WEEK, spend=Spend(whole, {}), past=quiet))
    assert figure(report, "Spend last week")[1].startswith("no more and no less than the week before")
    assert report.charts == ()
    for form in FORMATS:
        form.render(report)
    assert "Nothing was proposed or decided." in FORMATS[0].render(report)
    assert "No move was measured in October to December 2026." in FORMATS[1].render(report)


def test_without_the_ledger_nothing_is_said_to_be_realised(one: Plan) -> None:
    report = told(one, replace(facts(one), past=None))
    assert figure(report, "Realised this quarter") == ("not known", "the ledger was left out")
    assert (report.events, report.realised) == (None, None)


def test_of_many_events_ten_of_a_kind_are_shown_and_all_are_counted(one: Plan) -> None:
    identifier = one.recommendations[0].id
    many = tuple(happened(identifier, Happened.NEW, hours=hours / 10) for hours in range(25))
    events = told(one, replace(facts(one), past=past(one, "x", events=many))).events
    assert events is not None
    assert [(found.what, found.count) for found in events.counts] == [("new", "25")]
    assert len(events.lines) == 10
    assert events.left == "15 more: tuppence list shows all."


def test_burst_days_and_accuracy_are_counted(one: Plan) -> None:
    demand = told(one, facts(one)).demand
    assert demand is not None
    # 14 of 12 vCPUs from noon to three, on every day.
    assert [(found.hours, found.peak, found.capacity) for found in demand.bursts] == [("3", "14", "12")] * 7
    assert demand.sentence.startswith(
        "Demand was beyond what the owned nodes admit on 7 days of the week. Of past hours 92%"
    )


def test_pages_show_two_hundred_rows_and_say_how_many_more_there_are() -> None:
    template = plan(workload("web"))
    record = template.recommendations[0]
    rows = tuple(
        record.model_copy(update={"id": f"{number:016x}", "rank": number + 1}) for number in range(MOST_ROWS + 30)
    )
    report = report_of(template.model_copy(update={"recommendations": rows}), WEEK)
    assert (len(report.advice), len(report.rest), len(report.shown)) == (230, 220, 210)
    assert report.advice[-1].rank == "230"
    for form in FORMATS[:2]:
        page = form.render(report)
        assert "20 more are in the CSV and JSON files" in page
        assert f"{209:016x}" in page
        assert f"{210:016x}" not in page
    assert f"{229:016x}" in FORMATS[3].render(report)


def test_the_cheapest_offers_of_a_day_are_linux_on_demand_and_of_the_wanted_regions() -> None:
    prices = {"gbp_per_vcpu_hour": 0.03, "gbp_per_gib_hour": 0.004}
    offers = pl.concat(
        [
            machine("aws", "eu-west-2", "m5.xlarge", "on-demand", **prices),
            machine("aws", "eu-west-2", "m5.2xlarge", "on-demand", **prices | {"gbp_per_vcpu_hour": 0.02}),
            machine("aws", "eu-west-2", "m5.4xlarge", "spot", **prices | {"gbp_per_vcpu_hour": 0.001}),
            machine("aws", "us-east-1", "m5.xlarge", "on-demand", **prices | {"gbp_per_vcpu_hour": 0.001}),
            machine(
                "aws", "eu-west-2", "g6.xlarge", "on-demand", **prices, gpu_model="L4", gpus=1.0, gbp_per_gpu_hour=0.5
            ),
        ]
    ).select(COLUMNS)
    found = points_of(offers, day=date(2026, 11, 29), regions={("aws", "eu-west-2")}, gpu_models=("L4", "T4"))
    assert found.rows() == [
        (date(2026, 11, 29), "aws", "eu-west-2", "vCPU", 0.02),
        (date(2026, 11, 29), "aws", "eu-west-2", "L4", 0.5),
    ]
