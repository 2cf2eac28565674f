"""From scores of classes to what a name's objects should hold: clusters become namespaces of the hub. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import dataframely as dy
import polars as pl

from recommender.emit.live.publisher import Wanted
from recommender.emit.score_status import freshness_of
from recommender.emit_settings import HubSettings
from recommender.frames import ClassScore


def wanted_of(
    scores: dy.DataFrame[ClassScore],
    hub: HubSettings,
    *,
    namespaces: frozenset[str] | None,
    running: Iterable[str],
    why_none: str,
    at: datetime,
) -> Wanted:
    """This will return the scores by namespace, with the one `validUntil` that all of them can have.

    Args:
        scores: of all classes; all of one class in every cluster.
        hub: the names of clusters on the hub.
        namespaces: the only ones that count; None: all.
        running: clusters in which workloads run that are scored.
        why_none: what to say where there are no scores.
        at: the time of the evaluation (UTC).
    """
    if scores.is_empty():
        return Wanted({}, at, stale=why_none or "no class has a score")
    by_cluster: dict[str, dict[str, int]] = {}
    for cluster, score, value in scores.select("cluster", "score", "value").iter_rows():
        by_cluster.setdefault(hub.managed_clusters.get(cluster, cluster), {})[score] = value
    kept = {one: values for one, values in by_cluster.items() if namespaces is None or one in namespaces}
    return Wanted(
        scores=kept,
        valid_until=scores.select(pl.col("valid_until").min()).item(),
        order=frozenset(hub.managed_clusters.get(one, one) for one in running),
        freshness=freshness_of(scores, at=at),
    )
