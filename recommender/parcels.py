"""The edge between report and delivery: a week is evaluated once, and its reports are made ready for the channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recommender.advise.plan import Plan
from recommender.calibrating import learnt
from recommender.deliver_settings import DeliverSettings
from recommender.delivering import Parcels
from recommender.recorded import remembered
from recommender.report.calibration import with_calibration
from recommender.report.charts.drawing import Chart
from recommender.report.deliver.contract import Parcel
from recommender.report.deliver.due import EVERY_OWNER
from recommender.report.of_owner import owner_report
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from recommender.week.facts import WeekFacts, owners_of, week_facts

CHARTS_OF_A_MAIL = ("spend", "savings", "demand", "price")
"""Kinds of charts, one of each: more pictures than that nobody scrolls through."""


def parcels_of(settings: RecommenderSettings, week: Week, at: datetime) -> Parcels:
    """This will make the reports of a week: the one for all, and one for each owner that a channel wants.

    Args:
        settings: checked settings.
        week: whose report.
        at: the time of the evaluation.

    Raises:
        TuppenceError: an input or the ledger failed, or the week has not ended.
    """
    plan, facts, every = _evaluated(settings, week, at)
    reports = {"": every}
    for owner in _wanted(settings.deliver, owners_of(plan, facts)):
        reports[owner] = owner_report(plan, owner, week, facts)
    page = link(settings.deliver, week)
    return {
        scope: Parcel(report, scope, charts=mail_charts(report.charts), link=page) for scope, report in reports.items()
    }


def report_of_week(settings: RecommenderSettings, week: Week, at: datetime) -> Report:
    """This will make a week's report for all; Args, Raises: see parcels_of."""
    return _evaluated(settings, week, at)[2]


def _evaluated(settings: RecommenderSettings, week: Week, at: datetime) -> tuple[Plan, WeekFacts, Report]:
    plan = remembered(settings, at=at, window=week.window)
    facts = week_facts(settings, week, at=at)
    return plan, facts, with_calibration(report_of(plan, week, facts), plan, learnt(settings, at=at))


def mail_charts(charts: Iterable[Chart]) -> tuple[Chart, ...]:
    """This will choose the charts that a mail shows: the first of each kind."""
    first: dict[str, Chart] = {}
    for chart in charts:
        first.setdefault(chart.name.split("-", 1)[0], chart)
    return tuple(first[kind] for kind in CHARTS_OF_A_MAIL if kind in first)


def link(settings: DeliverSettings, week: Week) -> str:
    """This will return the address of the week's report among the pages; empty: the settings name none."""
    base = settings.public_url.rstrip("/")
    return f"{base}/reports/{week.id}" if base else ""


def _wanted(settings: DeliverSettings, owners: Sequence[str]) -> Sequence[str]:
    named = {owner for channel in settings.channels for owner in channel.owners}
    return owners if EVERY_OWNER in named else [owner for owner in owners if owner in named]
