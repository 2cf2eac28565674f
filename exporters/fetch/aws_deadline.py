"""Fetch, AWS: the time one refresh may take, looked at between pages, tries and blocks of a download."""

from __future__ import annotations

import time

from exporters.core.errors import TransientSourceError
from exporters.fetch.contract import FetchRequest


class Deadline:
    """The time one refresh may take, measured on a clock that never jumps."""

    def __init__(self, request: FetchRequest) -> None:
        self._end = time.monotonic() + (request.deadline - request.now).total_seconds()

    def remaining_seconds(self) -> float:
        """This will return the seconds left; negative when the deadline has passed."""
        return self._end - time.monotonic()

    def check(self, where: str) -> None:
        """This will raise TransientSourceError once the deadline has passed."""
        if self.remaining_seconds() <= 0:
            raise TransientSourceError(
                "the deadline of the refresh has passed",
                where=where,
                next_step="Raise sources.aws.deadline_seconds, or ask for fewer regions.",
            )
