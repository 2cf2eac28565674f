"""Decisions that were read back, as rows: what each is to the advice, for tables and for machines."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from recommender.ledger.feedback import Link

_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "source": pl.String,
    "system": pl.String,
    "clusters": pl.String,
    "outcome": pl.String,
    "why": pl.String,
    "recommendation_id": pl.String,
    "title": pl.String,
    "decided_at": pl.Datetime("us", "UTC"),
    "recorded": pl.Boolean,
}


def linked_rows(links: Iterable[Link]) -> pl.DataFrame:
    """This will return one row a decision and advice, in the order given; clusters joined with commas."""
    rows = [
        {
            "source": link.decision.source,
            "system": link.decision.system,
            "clusters": ", ".join(link.decision.clusters),
            "outcome": link.outcome.value,
            "why": link.why,
            "recommendation_id": None if link.advice is None else link.advice.id,
            "title": None if link.advice is None else link.advice.title,
            "decided_at": link.decision.decided_at,
            "recorded": link.event is not None,
        }
        for link in links
    ]
    return pl.DataFrame(rows, schema=_SCHEMA)
