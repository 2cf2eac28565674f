"""Bytes that leave, from Prometheus: sums of a window, by roll-ups at its end; three queries.

Which of two sources counts, and what is made of a destination, is for egress.py to say.
"""

from __future__ import annotations

import polars as pl

from recommender.frames import WORKLOAD_KEY
from recommender.observe.records import Records
from recommender.observe.usage import Egress

EGRESS = "tuppence:workload_egress_gib:sum1h"
TRANSMIT = "tuppence:workload_transmit_gib:sum1h"
BETWEEN_CLUSTERS = "tuppence:cluster_egress_gib:sum1h"
EGRESS_RECORDS = (EGRESS, TRANSMIT, BETWEEN_CLUSTERS)

_WORKLOAD = WORKLOAD_KEY[1:]


def read_egress(records: Records, covered_hours: pl.DataFrame) -> Egress:
    """This will read what left in the window.

    Args:
        records: the server and the window.
        covered_hours: cluster, hours: how long each cluster was observed.
    """
    return Egress(
        flows=_per_hour(records, EGRESS, (*_WORKLOAD, "destination", "flow_source"), covered_hours),
        most=_per_hour(records, TRANSMIT, _WORKLOAD, covered_hours),
        between_clusters=_per_hour(records, BETWEEN_CLUSTERS, ("to_cluster",), covered_hours),
    )


def _per_hour(records: Records, record: str, labels: tuple[str, ...], covered_hours: pl.DataFrame) -> pl.DataFrame:
    """GiB an hour; a series below zero cannot be and says nothing."""
    summed = records.rolled_up("sum_over_time", record, labels).filter(pl.col("value") >= 0)
    return summed.join(covered_hours, on="cluster").select(
        "cluster", *labels, gib_per_hour=pl.col("value") / pl.col("hours")
    )
