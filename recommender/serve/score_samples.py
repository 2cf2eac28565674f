"""Scores as samples of metrics: one a cluster and score while it may be believed, and until when that is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import polars as pl

from recommender.emit.score import Scores

Sample = tuple[str, tuple[str, ...], float]


def score_samples(made: Scores, *, now: datetime) -> Iterator[Sample]:
    """This will yield the samples of the metrics SCORES of the catalogue; a score that has lapsed has none."""
    live = made.scores.filter(pl.col("valid_until") > now).select("cluster", "score", "value", "valid_until")
    for cluster, score, value, end in live.iter_rows():
        yield "tuppence_placement_score", (cluster, score), float(value)
        yield "tuppence_placement_score_valid_until_timestamp_seconds", (cluster, score), end.timestamp()
