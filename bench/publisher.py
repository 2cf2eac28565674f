"""Does the pure part of a publishing round keep up with a large fleet, and does it write only what changed?

Usage: python bench/publisher.py [CLUSTERS [SCORES]]

Three rounds over made-up scores: the first writes every cluster, the second has nothing new, in the third one cluster
in ten moved by three points. Requests to a hub are not timed: emit.hub.requests_per_second decides how long they take.
Exit code 1: a limit is missed.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

import dataframely as dy
import polars as pl

from recommender.emit.live.publisher import Found, Round, Wanted, next_round
from recommender.emit.live.wanted import wanted_of
from recommender.emit_settings import HubSettings
from recommender.frames import ClassScore

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LIMIT_SECONDS = 2.0


def scores(clusters: int, names: int, *, moved: int = 0) -> dy.DataFrame[ClassScore]:
    """Scores of a fleet; the first clusters moved by three points."""
    values = {"cluster": [], "score": [], "value": []}
    for cluster in range(clusters):
        for score in range(names):
            values["cluster"].append(f"cluster-{cluster:04}")
            values["score"].append(f"cost-class-{score:02}")
            values["value"].append((cluster * 7 + score * 13) % 90 + 3 + (3 if cluster < moved else 0))
    frame = pl.DataFrame(values).with_columns(
        pl.col("value").cast(pl.Int32),
        residency_class=pl.lit("uk"),
        resource_class=pl.lit("cpu"),
        capacity_type=pl.lit("any"),
        state=pl.lit("priced"),
        gbp_per_hour=pl.lit(1.0),
        reference_gbp_per_hour=pl.lit(1.0),
        workloads=pl.lit(1, pl.UInt32),
        reason=pl.lit(""),
        priced_at=pl.lit(NOW, pl.Datetime("us", "UTC")),
        usage_until=pl.lit(NOW, pl.Datetime("us", "UTC")),
        valid_until=pl.lit(NOW + timedelta(hours=3), pl.Datetime("us", "UTC")),
        is_held=pl.lit(value=False),
    )
    return ClassScore.validate(frame.select(ClassScore.column_names()).sort("score", "cluster"))


def round_of(frame: dy.DataFrame[ClassScore], there: list[Found]) -> tuple[Round, float]:
    started = time.perf_counter()
    wanted: Wanted = wanted_of(frame, HubSettings(), namespaces=None, running=(), why_none="", at=NOW)
    made = next_round(wanted, there, now=NOW, most=timedelta(days=1))
    return made, time.perf_counter() - started


def after(made: Round, there: list[Found]) -> list[Found]:
    written = {one.namespace: Found(one.namespace, "finops", one.scores, one.valid_until) for one in made.writes}
    return list(({one.namespace: one for one in there} | written).values())


def main(clusters: int = 1_000, names: int = 12) -> int:
    there: list[Found] = []
    expected = {"first": clusters, "nothing new": 0, "one in ten moved": clusters // 10}
    missed = False
    for label, frame in (
        ("first", scores(clusters, names)),
        ("nothing new", scores(clusters, names)),
        ("one in ten moved", scores(clusters, names, moved=clusters // 10)),
    ):
        made, seconds = round_of(frame, there)
        there = after(made, there)
        missed |= seconds > LIMIT_SECONDS or len(made.writes) != expected[label] or bool(made.held)
        print(f"{label}: {seconds:.3f} s, {len(made.writes)} of {clusters} objects written, {made.unchanged} unchanged")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
