"""What pages show besides a plan: a store of prices, clusters, and a next hour in which owned nodes are short."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl

from exporters.core.frames import Offer
from exporters.store.shelf import open_shelf
from exporters.store.write import write_snapshot
from recommender.advise.capacity import capacity_advice, capacity_gaps
from recommender.outlook import Ahead
from recommender.settings import ClusterSettings
from tests.builders import egress_rate, snapshot
from tests.recommender.advise.own_racks import asked
from tests.recommender.burst.history import full_usage
from tests.recommender.observe.usage_rows import cluster
from tests.recommender.world import fx_snapshot, machine, standard_offers


def price_store(folder: Path) -> Path:
    """This will write the prices of the standard fleet and two GPU machines, and return the store."""
    shelf = open_shelf(str(folder / "prices"))
    gpu = {"gpus": 1.0, "gpu_model": "L4", "vcpus": 4.0, "memory_gib": 16.0}
    parts = {"gbp_per_vcpu_hour": 0.02, "gbp_per_gib_hour": 0.002}
    offers = pl.concat(
        [
            *standard_offers(),
            machine("gcp", "europe-west2", "g2-standard-4", "on-demand", **gpu, **parts, gbp_per_gpu_hour=0.48),
            machine("gcp", "europe-west2", "g2-standard-4", "spot", **gpu, **parts, gbp_per_gpu_hour=0.21),
            machine("gcp", "europe-west4", "g2-standard-4", "on-demand", **gpu, **parts, gbp_per_gpu_hour=0.44),
        ]
    )
    for source in offers["source"].unique().sort():
        of_source = Offer.validate(offers.filter(pl.col("source") == source))
        egress = egress_rate() if source == "aws" else egress_rate().clear()
        write_snapshot(shelf, snapshot(source, offers=of_source, egress=egress))
    write_snapshot(shelf, fx_snapshot())
    return folder / "prices"


@cache
def short_ahead() -> Ahead:
    """This will return a next hour in which nine pods too many ask for the own racks."""
    question = asked(*full_usage(9, for_hours=60))
    return Ahead(question.forecasts, question.bursts, capacity_advice(question), capacity_gaps(question))


def clusters() -> tuple[ClusterSettings, ...]:
    """This will return the clusters that the example plan is about, and one with a name as nobody should write it."""
    return tuple(cluster(name) for name in ("eks-lon", "gke-bel", '"><script>alert(1)</script>'))
