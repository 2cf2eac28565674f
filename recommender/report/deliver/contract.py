"""The arrow report → people: what a channel gets, and what it must tell.

A channel tries once. It returns what the other side answered, or says why it surely did not take the report; whether
and when it is tried again is not its affair.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exporters.core.errors import TuppenceError
from recommender.report.charts.drawing import Chart
from recommender.report.view import Report
from recommender.report.write import as_file_name


class DeliveryError(TuppenceError):
    """The other side surely did not take the report."""


class DeliveryUnsureError(TuppenceError):
    """The connection ended after everything was sent: the other side may have it, so it is not sent again."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One report for one scope.

    Args:
        report: the view model.
        scope: an owner; empty: all.
        charts: the report's, for mail.
        link: of the report's page; empty: there is none.
    """

    report: Report
    scope: str
    charts: tuple[Chart, ...] = field(default=())
    link: str = ""

    @property
    def key(self) -> str:
        """Week and scope: the same report has the same key, however often it is sent; good as a file's name."""
        return f"tuppence-{self.report.week or 'now'}-{as_file_name(self.scope) or 'all'}"


@dataclass(frozen=True, slots=True)
class Outline:
    """What a channel would do.

    Args:
        to: the folder, the bucket, the addresses, or a webhook's host; never a secret.
        size_bytes: of all that would leave.
    """

    to: str
    size_bytes: int
