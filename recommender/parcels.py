"""The edge between report and delivery: a week is evaluated, and its reports are made ready for the channels."""

from __future__ import annotations

from datetime import datetime

from recommender.calibrating import learnt
from recommender.delivering import Parcels
from recommender.recorded import remembered
from recommender.report.calibration import with_calibration
from recommender.report.deliver.contract import Parcel
from recommender.report.view_model import report_of
from recommender.report.week import Week
from recommender.settings import RecommenderSettings


def parcels_of(settings: RecommenderSettings, week: Week, at: datetime) -> Parcels:
    """This will make the reports of a week: the one for all.

    Args:
        settings: checked settings.
        week: whose report.
        at: the time of the evaluation.

    Raises:
        TuppenceError: an input or the ledger failed, or the week has not ended.
    """
    plan = remembered(settings, at=at, window=week.window)
    report = with_calibration(report_of(plan, week), plan, learnt(settings, at=at))
    return {"": Parcel(report, "", link=link(settings))}


def link(settings: RecommenderSettings) -> str:
    """This will return the address of the report's page; empty: the settings name none."""
    base = settings.deliver.public_url.rstrip("/")
    return f"{base}/report" if base else ""
