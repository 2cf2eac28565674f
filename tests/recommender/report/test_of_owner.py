"""One owner's report: everything of theirs, sums of their own, and no name of anybody else's."""

from __future__ import annotations

import json

import jsonschema
import pytest

from exporters.core.errors import SettingsError
from recommender.advise.plan import Plan
from recommender.ledger.events import TUPPENCE
from recommender.report.document import schema
from recommender.report.of_owner import of_owner, owner_report, reports_by_scope
from recommender.report.registry import FORMATS, Format
from recommender.report.view import Report
from recommender.week.calendar import Week
from recommender.week.events import Happened
from recommender.week.facts import WeekFacts
from recommender.week.spend import Spend
from tests.recommender.report.a_week import START, change, demanded, happened, move, past, prices
from tests.recommender.world import plan, workload

WEEK = Week.parse("2026-W48")
MINE = ("zebra-web", "zebra-abroad")
OTHERS = ("walrus-api", "walrus-batch", "yak-job", "walrus-team", "walrus-gone")


@pytest.fixture(scope="module")
def every() -> Plan:
    return plan(
        workload("zebra-web", owner="zebra-team"),
        workload("zebra-abroad", owner="zebra-team", cluster="gke-bel", instance_type="n2-standard-4"),
        workload("walrus-api", owner="walrus-team", residency_class="europe"),
        workload("walrus-batch", owner="walrus-team", interruption_tolerance="spot"),
        workload("yak-job", owner="", local_volume=True),
    )


def facts(every: Plan) -> WeekFacts:
    mine = next(one for one in every.recommendations if one.target.owner == "zebra-team")
    theirs = next(one for one in every.recommendations if one.target.owner == "walrus-team")
    events = (happened(mine.id, Happened.NEW, author=TUPPENCE), happened(theirs.id, Happened.NEW, author=TUPPENCE))
    return WeekFacts(
        week=WEEK,
        spend=Spend(
            change(owner="walrus-team", name="walrus-api"),
            {"zebra-team": change(owner="zebra-team", name="zebra-web"), "walrus-team": change(name="walrus-gone")},
        ),
        prices=prices(),
        demanded=demanded(),
        past=past(
            every,
            "walrus-gone",
            events=events,
            measured=(
                move("Move zebra-web", owner="zebra-team"),
                move("Move walrus-gone", owner="walrus-team", identifier="m2"),
            ),
        ),
    )


@pytest.fixture(scope="module")
def report(every: Plan) -> Report:
    return owner_report(every, "zebra-team", WEEK, facts(every))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_nothing_of_anybody_else_stands_in_any_format(report: Report, form: Format) -> None:
    text = form.render(report)
    assert [name for name in OTHERS if name in text] == []
    assert all(name in text for name in MINE)


def test_its_sums_are_its_own(every: Plan, report: Report) -> None:
    own = of_owner(every, "zebra-team")
    # eks-lon: 4 × 0.03 + 16 × 0.004 = 0.184; gke-bel: 4 × 0.02 + 16 × 0.003 = 0.128; × 730.
    assert str(own.summary.current_gbp_per_month) == "227.76"
    summary = own.summary
    planned = summary.current_gbp_per_hour - summary.saving_gbp_per_hour + summary.compliance_delta_gbp_per_hour
    assert planned == pytest.approx(summary.planned_gbp_per_hour, abs=1e-8)
    assert [one.rank for one in own.recommendations] == [1, 2]
    assert report.realised is not None
    assert report.realised.total == "£36.00"
    assert report.spend is not None
    assert "£110.00 after £100.00" in report.spend.sentence


def test_parts_of_all_owners_add_up_to_the_whole(every: Plan) -> None:
    named = [of_owner(every, owner).summary for owner in ("zebra-team", "walrus-team")]
    nobody = [one for one in every.placements if one.owner is None]
    hourly = sum(one.current_gbp_per_hour for one in named) + sum(one.current_gbp_per_hour for one in nobody)
    assert hourly == pytest.approx(every.summary.current_gbp_per_hour, abs=1e-7)
    saving = sum(one.saving_gbp_per_month for one in named)
    assert saving == every.summary.saving_gbp_per_month


def test_its_document_keeps_the_schema_and_says_whose_it_is(report: Report) -> None:
    document = json.loads(next(one for one in FORMATS if one.name == "json").render(report))
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert document == json.loads(json.dumps(report.document))
    assert document["owner"] == "zebra-team"
    assert "lower_bound_gbp_per_hour" not in document["summary"]
    assert document["owned_capacity"] == []


def test_every_owner_and_everybody_get_a_report(every: Plan) -> None:
    found = reports_by_scope(every, WEEK, facts(every))
    assert sorted(found) == ["", "walrus-team", "zebra-team"]
    assert found[""].owner == ""


def test_an_owner_without_anything_is_a_mistake_that_names_the_others(every: Plan) -> None:
    with pytest.raises(SettingsError, match=r"nothing belongs to 'nobody'.*walrus-team, zebra-team"):
        owner_report(every, "nobody")


def test_events_of_the_week_are_the_owners(report: Report) -> None:
    assert report.events is not None
    assert [one.what for one in report.events.lines] == ["new"]
    assert report.events.period.startswith(f"{START:%-d %B %Y}")
