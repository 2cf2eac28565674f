"""The archive of reports: each week since the ledger's first event, made when somebody asks for it, and kept a while.

A week's report is the evaluation of that week's usage with today's prices and decisions; what was sent at the time is
with whom it was sent to.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from fastapi import APIRouter, Request, Response

from exporters.core.clock import Clock
from recommender.ledger.deliveries import Delivery, standing_of
from recommender.ledger.store import Ledger
from recommender.report import html as report_html
from recommender.report import words
from recommender.report.view import Report
from recommender.serve.access import Access
from recommender.serve.layout import html, report_headers
from recommender.serve.problem import RETRY_AFTER_SECONDS, ProblemError
from recommender.settings import LedgerSettings
from recommender.week.calendar import Week

_HERE = "/reports"
WEEKS = 104
KEPT_WEEKS = 12
KEPT_FOR = timedelta(hours=1)

MakeReport = Callable[[Week], Report]


@dataclass(frozen=True, slots=True)
class WeekRow:
    """One week of the archive."""

    id: str
    title: str
    delivered: str


class Archive:
    """Reports of weeks, each made once an hour at most, and one at a time.

    Args:
        make: makes a week's report.
        clock: the time.
    """

    def __init__(self, make: MakeReport, clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._making = threading.Lock()
        self._kept: OrderedDict[str, tuple[datetime, bytes]] = OrderedDict()

    def page(self, week: Week) -> bytes:
        """This will return a week's report as HTML.

        Raises:
            ProblemError: 503, another one is being made.
            TuppenceError: it cannot be made.
        """
        now = self._clock.now()
        kept = self._kept.get(week.id)
        if kept is not None and now - kept[0] < KEPT_FOR:
            return kept[1]
        if not self._making.acquire(blocking=False):
            raise ProblemError(
                503,
                "Another report is being made.",
                where=f"{_HERE}/{week.id}",
                next_step="Load the page again in a while.",
                headers={"retry-after": str(RETRY_AFTER_SECONDS)},
            )
        try:
            page = report_html.render(self._make(week)).encode()
        finally:
            self._making.release()
        self._kept[week.id] = (now, page)
        while len(self._kept) > KEPT_WEEKS:
            self._kept.popitem(last=False)
        return page


def report_pages(make: MakeReport, ledger: Callable[[], LedgerSettings], access: Access, clock: Clock) -> APIRouter:
    """This will return the routes of the archive."""
    router, archive = APIRouter(include_in_schema=False), Archive(make, clock)

    def weeks() -> tuple[list[Week], tuple[Delivery, ...]]:
        with Ledger.at(ledger(), lock_wait_seconds=2.0).reading() as reader:
            return _weeks(reader.begun(), now=clock.now()), reader.deliveries()

    @router.api_route(_HERE, methods=["GET", "HEAD"])
    def _archive(request: Request) -> Response:
        known, deliveries = weeks()
        return html(
            "reports.html",
            here=_HERE,
            who=access.visitor(request).shown_name,
            weeks=[WeekRow(one.id, one.title, _delivered(deliveries, one, now=clock.now())) for one in known],
        )

    @router.api_route(f"{_HERE}/{{week_id}}", methods=["GET", "HEAD"])
    def _report(week_id: str) -> Response:
        known, _ = weeks()
        week = next((one for one in known if one.id == week_id), None)
        if week is None:
            raise ProblemError(
                404,
                f"There is no report of {words.shown(week_id)!r}.",
                where=f"{_HERE}/{words.shown(week_id)}",
                next_step="See /reports for the weeks that there are; tuppence report --week makes any.",
            )
        return Response(archive.page(week), media_type="text/html", headers=report_headers())

    return router


def _weeks(begun: datetime | None, *, now: datetime) -> list[Week]:
    """The weeks that have ended, newest first, from the one before the first event: that is what it was advised by."""
    last = Week.last_whole(now)
    first = Week.last_whole(begun).monday if begun is not None else last.monday
    number = min(WEEKS, (last.monday - first).days // 7 + 1)
    return [Week(last.monday - timedelta(days=7 * back)) for back in range(max(1, number))]


def _delivered(deliveries: tuple[Delivery, ...], week: Week, *, now: datetime) -> str:
    of_week = [one for one in deliveries if one.week == week.id]
    states = [(one.channel, one.state.value) for one in standing_of(of_week, at=now).values()]
    return words.shown(", ".join(sorted({f"{channel}: {state}" for channel, state in states})))
