"""Bytes that leave become data flows: what was measured beside what the policy states, never one on top of the other.

The policy wins: a workload whose outgoing flows it states is not looked up. Of two sources that speak of the same
workload and destination the first in SOURCES counts. Bytes to the workload's own region become a flow to that region:
they cost nothing there, and what they would cost from elsewhere is what moving away would cost. Bytes whose
destination nobody names are in no flow; they are said, and so is the upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dataframely as dy
import polars as pl

from recommender.frames import WORKLOAD_KEY, Flow, NotEnoughData
from recommender.observe.coverage import Reason
from recommender.observe.usage import Egress
from recommender.settings import ClusterSettings

SOURCES: Mapping[str, str] = {"kubecost": "measured", "obi": "inferred", "beyla": "inferred"}
"""What is believed first, with the confidence of its figures: OBI and Beyla count each flow twice, which is halved."""
BOUND_SOURCE, BOUND = "cadvisor", "upper-bound"
REGION, OTHER_REGION, INTERNET = "region", "other-region", "internet"

_KEY = list(WORKLOAD_KEY)


def with_measured(
    stated: dy.DataFrame[Flow], measured: pl.DataFrame, clusters: Sequence[ClusterSettings]
) -> dy.DataFrame[Flow]:
    """This will add the flows that were measured to those that the policy states.

    Args:
        stated: flows of the policy, labels and columns.
        measured: as in Egress.flows.
        clusters: the fleet: the region of each.
    """
    regions = pl.DataFrame(
        [(cluster.name, f"{cluster.provider}/{cluster.region}") for cluster in clusters],
        schema={"cluster": pl.String, "_region": pl.String},
        orient="row",
    )
    named = (
        measured.filter(pl.col("destination").is_in([REGION, INTERNET]) & (pl.col("gib_per_hour") > 0))
        .join(regions, on="cluster")
        .join(stated.filter(pl.col("direction") == "out"), on=_KEY, how="anti")
        .with_columns(
            to=pl.when(pl.col("destination") == REGION).then("_region").otherwise("destination"),
            direction=pl.lit("out"),
            confidence=pl.col("flow_source").replace_strict(SOURCES, default=None, return_dtype=pl.String),
            _rank=pl.col("flow_source").replace_strict(
                {name: rank for rank, name in enumerate(SOURCES)}, default=None, return_dtype=pl.Int64
            ),
        )
        .filter(pl.col("_rank").is_not_null())
        .sort("_rank")
        .unique([*_KEY, "to"], keep="first", maintain_order=True)
    )
    columns = Flow.column_names()
    return Flow.validate(pl.concat([stated.select(columns), named.select(columns)]).sort(Flow.primary_key()))


def upper_bounds(most: pl.DataFrame) -> dy.DataFrame[Flow]:
    """This will return the most that can have left each workload, to nobody knows where; never to be priced."""
    rows = most.filter(pl.col("gib_per_hour") > 0).with_columns(
        to=pl.lit(""), direction=pl.lit("out"), flow_source=pl.lit(BOUND_SOURCE), confidence=pl.lit(BOUND)
    )
    return Flow.validate(rows.select(Flow.column_names()).sort(Flow.primary_key()))


def egress_unknown(egress: Egress, clusters: Sequence[ClusterSettings]) -> dy.DataFrame[NotEnoughData]:
    """This will say for each cluster of the fleet which bytes left that no flow holds."""
    told = {cluster.name: _unknown_of(cluster.name, egress) for cluster in clusters}
    rows = [
        {
            "cluster": cluster,
            "namespace": "",
            "workload_kind": "Egress",
            "workload": "egress",
            "reason": Reason.EGRESS_UNKNOWN.value,
            "why": "; ".join(why),
            "next_step": "State the flows in the policy, or let Kubecost's network costs, OBI or Beyla tell them.",
        }
        for cluster, why in told.items()
        if why
    ]
    return NotEnoughData.validate(pl.DataFrame(rows, schema=NotEnoughData.create_empty().schema))


def _unknown_of(cluster: str, egress: Egress) -> list[str]:
    here = pl.col("cluster") == cluster
    why = []
    flows = egress.flows.filter(here)
    if (elsewhere := flows.filter(pl.col("destination") == OTHER_REGION)["gib_per_hour"].sum()) > 0:
        why.append(f"{elsewhere:.3g} GiB/h went to other regions that the source does not name")
    between = egress.between_clusters.filter(here & (pl.col("gib_per_hour") > 0)).sort("to_cluster")
    why += [
        f"{gib:.3g} GiB/h went to cluster {name} by Submariner, which names no workload"
        for name, gib in between.select("to_cluster", "gib_per_hour").iter_rows()
    ]
    most = egress.most.filter(here)["gib_per_hour"].sum()
    if flows.is_empty() and most > 0:
        why.append(
            f"at most {most:.3g} GiB/h left the pods of it (container_network_transmit_bytes_total: an upper bound "
            "without a destination), and nothing tells where to"
        )
    return why
