"""The score `headroom-1h`: what owned nodes will have free for the next hour, in per cent of what they admit.

    forecasts, what owned nodes admit → the scarcest resource of each cluster → 1..100, the same end for all clusters

A cluster that can add nodes without a limit has all the headroom that there is; one whose nodes are limited, and are
not looked at by the burst stage, is unknown. An owned cluster without a forecast lapses the score everywhere: silence
is not headroom, and must not drive anything out either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import dataframely as dy
import polars as pl

from recommender.burst.frames import CapacityFrame
from recommender.emit.score import Lapse, Scores
from recommender.emit.score_scale import LEAST, MOST, OUT
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import SERIES_KEY
from recommender.forecast.grid import Reason
from recommender.frames import ClassScore
from recommender.settings import ClusterSettings

HEADROOM: Final = "headroom-1h"


def points_free(used_ratio: float) -> int:
    """This will turn the share of capacity that is used into points: 1 when nothing is left, 100 when nothing is used.

    Args:
        used_ratio: of the scarcest resource; above 1 when more is wanted than there is.
    """
    return int(min(MOST, max(LEAST, round(100 * (1 - used_ratio)))))


def headroom_scores(
    forecasts: Forecasts,
    capacity: dy.DataFrame[CapacityFrame],
    *,
    clusters: Sequence[ClusterSettings],
    usage_max_age: timedelta,
    at: datetime,
    previous: dy.DataFrame[ClassScore] | None = None,
) -> Scores:
    """This will score the fleet by what is free in the next hour.

    Args:
        forecasts: of the next hour.
        capacity: what owned nodes admit.
        clusters: the fleet.
        usage_max_age: how long usage may be used after its end.
        at: the time of the evaluation (UTC).
        previous: the scores before; None: there are none.
    """
    until = forecasts.forecasts["visible_until"].min()
    used, gaps = _used(forecasts, capacity)
    owned = [one.name for one in clusters if one.tier == "owned"]
    silent = next((name for name in owned if name not in used or name in gaps), None)
    if silent is not None or not isinstance(until, datetime) or until + usage_max_age <= at:
        reason = f"the next hour of {silent} is not known" if silent else "there is no fresh forecast"
        return held_headroom(previous, reason, at=at)
    rows = [_row(one, used, until=until, end=until + usage_max_age) for one in clusters]
    frame = pl.DataFrame(rows, schema=ClassScore.create_empty().schema)
    return Scores(ClassScore.validate(frame.sort("score", "cluster")), ())


def held_headroom(previous: dy.DataFrame[ClassScore] | None, why: str, *, at: datetime) -> Scores:
    """This will hold the scores before, until their own end.

    Args:
        previous: the scores before, of any name; None: there are none.
        why: what is missing.
        at: the time of the evaluation (UTC).
    """
    before = ClassScore.create_empty() if previous is None else previous
    kept = before.filter((pl.col("score") == HEADROOM) & (pl.col("valid_until") > at)).with_columns(
        is_held=pl.lit(value=True)
    )
    end = kept["valid_until"].min()
    return Scores(ClassScore.validate(kept), (Lapse("", why, end if isinstance(end, datetime) else None),))


def together(first: Scores, second: Scores) -> Scores:
    """This will put the scores of two makings beside each other."""
    rows = pl.concat([first.scores, second.scores]).sort("score", "cluster")
    return Scores(ClassScore.validate(rows), (*first.lapsed, *second.lapsed))


def _used(forecasts: Forecasts, capacity: pl.DataFrame) -> tuple[dict[str, tuple[float, str]], set[str]]:
    """The greatest share used and of what, by cluster; and the clusters of which some resource is not foretold."""
    idle = forecasts.not_forecast.filter(pl.col("reason") == Reason.ALL_ZERO.value).select(*SERIES_KEY, p90=0.0)
    expected = pl.concat([forecasts.forecasts.select(*SERIES_KEY, "p90"), idle.with_columns(pl.col("p90").cast(float))])
    joined = capacity.join(expected, on=SERIES_KEY, how="left").sort(*SERIES_KEY)
    used: dict[str, tuple[float, str]] = {}
    gaps: set[str] = set()
    for row in joined.iter_rows(named=True):
        if row["p90"] is None:
            gaps.add(row["cluster"])
            continue
        full = 1.0 if row["p90"] > 0 else 0.0
        share = row["p90"] / row["admissible"] if row["admissible"] > 0 else full
        if row["cluster"] not in used or share > used[row["cluster"]][0]:
            used[row["cluster"]] = (share, f"{row['resource']} ({row['resource_class']})")
    return used, gaps


def _row(
    cluster: ClusterSettings, used: Mapping[str, tuple[float, str]], *, until: datetime, end: datetime
) -> dict[str, Any]:
    quota = cluster.quotas
    unlimited = quota.vcpus is None and quota.gpus is None and quota.nodes is None
    grows = unlimited and any(pool.nodes_max is None for pool in cluster.pools)
    if cluster.tier == "owned":
        share, of = used[cluster.name]
        value, state, reason = points_free(share), "known", f"{share:.0%} of its {of} expected to be used at most"
    elif grows:
        value, state, reason = MOST, "known", "it adds nodes without a limit"
    else:
        value, state, reason = OUT, "unknown", "its nodes have a limit, and how full they will be is not known"
    return {
        "score": HEADROOM,
        "cluster": cluster.name,
        "residency_class": "",
        "resource_class": "",
        "capacity_type": "",
        "value": value,
        "state": state,
        "workloads": 0,
        "reason": reason,
        "usage_until": until,
        "valid_until": end,
        "is_held": False,
    }
