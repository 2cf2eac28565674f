"""Takes scores back so that nothing moves for it: all are set to end at one moment, and deleted after it.

Scores that were deleted one by one would leave some clusters with a score and others with none, which a scheduler reads
as 0. What is refused or unreachable keeps the end that it has, and is named; the same can be asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from recommender.emit.live.publisher import Found, Withdrawn
from recommender.emit.live.refusals import HubError
from recommender.emit.live.rounds import Writer

LEAST_NOTICE = timedelta(seconds=15)


def withdraw(
    hub: Writer,
    objects: Sequence[Found],
    *,
    now: Callable[[], datetime],
    wait: Callable[[float], None],
    requests_per_second: float,
    at_once: bool = False,
) -> Withdrawn:
    """This will take objects back.

    Args:
        hub: where.
        objects: what is to go.
        now: tells the time (UTC).
        wait: waits, in seconds.
        requests_per_second: how fast the hub may be asked; it gives the time until all can end together.
        at_once: delete at once; workloads may move to clusters whose score goes last.
    """
    ordered = sorted(objects, key=lambda one: (one.name, one.namespace))
    live = [] if at_once else [one for one in ordered if one.scores and _stands(one, now())]
    end = now() + max(LEAST_NOTICE, timedelta(seconds=2 * len(live) / requests_per_second))
    ending = 0
    for one in live:
        if one.valid_until is None or one.valid_until > end:
            try:
                hub.write(one.name, one.namespace, one.scores, end, one.freshness)
            except HubError:
                continue  # it is named when it cannot be deleted either
        ending += 1
    if ending:
        wait(max(0.0, (end - now()).total_seconds()))
    left: dict[tuple[str, str], str] = {}
    for one in ordered:
        try:
            hub.withdraw(one)
        except HubError as error:
            left[one.namespace, one.name] = str(error)
    return Withdrawn(gone=len(ordered) - len(left), left=left)


def _stands(one: Found, at: datetime) -> bool:
    return one.valid_until is None or one.valid_until > at
