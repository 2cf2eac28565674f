"""Fetch, every cloud: the time one refresh may take, looked at between pages, tries and blocks of a download."""

from __future__ import annotations

import time

from exporters.core.errors import TransientSourceError
from exporters.fetch.contract import FetchRequest
from exporters.fetch.cost_contract import CostRequest


class Deadline:
    """The time a refresh has left, on the monotonic clock, so that a stepped wall clock neither stretches nor cuts it.

    Args:
        seconds: how long the refresh may take from now on.
        source: the source's name, for messages.
        of_costs: whether it is a source of costs, whose section is `costs`, not `sources`.
    """

    __slots__ = ("_advice", "_end")

    def __init__(self, seconds: float, *, source: str, of_costs: bool = False) -> None:
        self._end = time.monotonic() + seconds
        self._advice = (
            f"Raise costs.{source}.deadline_seconds, or look for throttling; what was known stays."
            if of_costs
            else f"Raise sources.{source}.deadline_seconds, name fewer regions, or look for throttling; "
            "the last good prices stay."
        )

    @classmethod
    def of(cls, request: FetchRequest | CostRequest, *, source: str) -> Deadline:
        """This will return the deadline of a request, whose own two times are of one reading of the wall clock."""
        seconds = (request.deadline - request.now).total_seconds()
        return cls(seconds, source=source, of_costs=isinstance(request, CostRequest))

    def remaining(self, where: str) -> float:
        """This will return the seconds left, more than 0.

        Raises:
            TransientSourceError: none are left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TransientSourceError(
                "the deadline of the refresh has passed",
                where=where,
                next_step=self._advice,
            )
        return left

    def check(self, where: str) -> None:
        """This will raise TransientSourceError once the deadline has passed."""
        self.remaining(where)
