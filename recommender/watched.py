"""The edge of the watch: which pods wait now for a scheduler that is not the default one."""

from __future__ import annotations

from datetime import datetime

import dataframely as dy

from recommender.observe.pending_scheduler import PendingOnOtherScheduler, read_pending
from recommender.settings import RecommenderSettings


def pending_at(settings: RecommenderSettings, *, at: datetime) -> dy.DataFrame[PendingOnOtherScheduler] | None:
    """This will read the pods that wait for another scheduler; None: usage comes from a file, which does not tell.

    Args:
        settings: checked settings.
        at: the moment (UTC).

    Raises:
        TuppenceError: Prometheus did not answer as it should.
    """
    if settings.usage.prometheus is None:
        return None
    watched = settings.rollout
    return read_pending(
        settings.usage.prometheus, at=at, minutes=watched.pending_minutes, settled=watched.settled_schedulers
    )
