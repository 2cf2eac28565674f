"""What every usage source gives: samples, what labels or columns say of workloads, and when each cluster was observed.

The sources (usage_file.py, usage_prometheus.py) end here and workloads.py begins here, so that the same data give the
same workloads wherever they were read.
"""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.geography import gpu_aliases
from recommender.frames import ClusterSample, ObservedPool, StatedAttribute, UsageSample
from recommender.settings import Attributes

PRIORITY_CLASS = "priority_class"
ATTRIBUTE_NAMES = (*Attributes.model_fields, PRIORITY_CLASS)
"""What a label or a usage column may state: the policy's attributes, and the Kubernetes priority class."""


@dataclass(frozen=True, slots=True)
class Egress:
    """What a source says of bytes that leave; GiB an hour on average over the hours in which a cluster was observed.

    Args:
        flows: WORKLOAD_KEY, destination (`internet`, `region`: the workload's own, `other-region`: one that the source
            does not name), flow_source, gib_per_hour.
        most: WORKLOAD_KEY, gib_per_hour: what left the interfaces of its pods, wherever it went; an upper bound.
        between_clusters: cluster, to_cluster, gib_per_hour: by tunnels, of nobody knows which workloads.
    """

    flows: pl.DataFrame
    most: pl.DataFrame
    between_clusters: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage as a source gave it.

    Args:
        samples: requests and usage, one row a workload, place and time.
        stated: attributes by label or column.
        observed: when each cluster was observed. A time that is not here is not known, never zero.
        wrong: WORKLOAD_KEY and why: workloads with values that cannot be; None: there are none.
        pools: the nodes that were seen; None: the source does not know nodes.
        egress: bytes that leave; None: the source does not measure them.
    """

    samples: dy.DataFrame[UsageSample]
    stated: dy.DataFrame[StatedAttribute]
    observed: dy.DataFrame[ClusterSample]
    wrong: pl.DataFrame | None = None
    pools: dy.DataFrame[ObservedPool] | None = None
    egress: Egress | None = None


def canonical_gpu_model(column: str) -> pl.Expr:
    """This will replace every known spelling of a GPU model by its one word; others stay as they are."""
    spellings = {
        str(alias).casefold(): str(model) for alias, model in gpu_aliases().select("alias", "gpu_model").iter_rows()
    }
    text = pl.col(column).fill_null("").str.strip_chars()
    return text.str.to_lowercase().replace_strict(spellings, default=text, return_dtype=pl.String).alias(column)
