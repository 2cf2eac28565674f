"""A small fleet with round prices in pounds, and rows for it that differ from the default only where a test says so.

Prices, £/h: eks-lon (AWS London, GB) on-demand 0.03 a vCPU and 0.004 a GiB, spot a third of it; gke-bel (GCP Belgium,
EEA) 0.02 and 0.003; onprem-lon (own racks, GB) in full 0.01 and 0.002, marginal 0.32 a node of 32 vCPU and 128 GiB.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.cost_frames import Discount
from exporters.core.frames import EgressRate, Offer
from exporters.store.read import Prices, combine
from exporters.store.snapshot import Snapshot
from recommender.advise.plan import Plan
from recommender.cycle import Evaluation, evaluate
from recommender.frames import Flow, Move, Pool, Quota, Workload
from recommender.settings import Policy
from tests.builders import NOON, egress_rate, fx_table, offer, snapshot

WEEK = (NOON - timedelta(days=7), NOON)
CLASSES = {
    "uk": {"residency": ["GB"], "legal_basis": "UK GDPR Art. 44"},
    "europe": {"residency": ["GB", "EEA"]},
    "anywhere": {},
}


def machine(provider: str, region: str, instance_type: str, capacity_type: str, **changes: Any) -> dy.DataFrame[Offer]:
    """This will return an offer of 4 vCPU and 16 GiB in pounds, its whole price the sum of its parts."""
    row: dict[str, Any] = {
        "provider": provider,
        "region": region,
        "instance_type": instance_type,
        "capacity_type": capacity_type,
        "currency": "GBP",
        "gbp_per_unit": 1.0,
        "vcpus": 4.0,
        "memory_gib": 16.0,
        "source": provider,
    } | changes
    whole = (
        row["vcpus"] * row["gbp_per_vcpu_hour"]
        + row["memory_gib"] * row["gbp_per_gib_hour"]
        + row.get("gpus", 0.0) * (row.get("gbp_per_gpu_hour") or 0.0)
    )
    return offer(**({"price_per_hour": f"{whole:.12f}", "gbp_per_hour": whole} | row))


def standard_offers() -> list[dy.DataFrame[Offer]]:
    """This will return the four machines of the fleet."""
    return [
        machine("aws", "eu-west-2", "m5.xlarge", "on-demand", gbp_per_vcpu_hour=0.03, gbp_per_gib_hour=0.004),
        machine("aws", "eu-west-2", "m5.xlarge", "spot", gbp_per_vcpu_hour=0.01, gbp_per_gib_hour=0.004 / 3),
        machine("gcp", "europe-west1", "n2-standard-4", "on-demand", gbp_per_vcpu_hour=0.02, gbp_per_gib_hour=0.003),
        machine(
            "onprem",
            "london",
            "r760",
            "owned",
            vcpus=32.0,
            memory_gib=128.0,
            gbp_per_vcpu_hour=0.01,
            gbp_per_gib_hour=0.002,
            marginal_gbp_per_hour=0.32,
            split_method="rate-card",
        ),
    ]


def standard_rates() -> list[dy.DataFrame[EgressRate]]:
    """This will return internet rates: AWS 0.08 after 100 free GiB, GCP 0.10, nothing on the own line."""
    in_pounds = {"currency": "GBP", "gbp_per_unit": 1.0}
    return [
        egress_rate(price_per_gib="0", gbp_per_gib=0.0, **in_pounds),
        egress_rate(tier_start_gib=100.0, price_per_gib="0.08", gbp_per_gib=0.08, **in_pounds),
        egress_rate(
            provider="gcp",
            from_region="europe-west1",
            price_per_gib="0.10",
            gbp_per_gib=0.10,
            source="gcp",
            **in_pounds,
        ),
        egress_rate(
            provider="onprem", from_region="london", price_per_gib="0", gbp_per_gib=0.0, source="onprem", **in_pounds
        ),
    ]


def prices(
    offers: list[dy.DataFrame[Offer]] | None = None, rates: list[dy.DataFrame[EgressRate]] | None = None
) -> Prices:
    """This will return prices as the store combines them, one snapshot a source."""
    if offers is None and rates is None:
        return standard_prices()
    all_offers = pl.concat([Offer.create_empty(), *(standard_offers() if offers is None else offers)])
    all_rates = pl.concat([EgressRate.create_empty(), *(standard_rates() if rates is None else rates)])
    sources = sorted({*all_offers["source"], *all_rates["source"]})
    return combine([_snapshot(source, all_offers, all_rates) for source in sources] + [fx_snapshot()], now=NOON)


@cache
def standard_prices() -> Prices:
    """This will return the prices of the standard fleet."""
    return prices(standard_offers(), standard_rates())


@cache
def standard_pools() -> dy.DataFrame[Pool]:
    """This will return the four pools."""
    return pools(*FLEET)


def discounts(*rows: dict[str, Any]) -> dy.DataFrame[Discount]:
    """This will return discounts of the given rows; what a row leaves out is 40 % on AWS London's m5 on demand."""
    row = {
        "provider": "aws",
        "region": "eu-west-2",
        "instance_family": "m5",
        "capacity_type": "on-demand",
        "verdict": "holds",
        "discount_ratio": 0.4,
        "list_gbp": 1000.0,
        "contracted_gbp": 600.0,
        "effective_gbp": 600.0,
        "billed_gbp": 600.0,
        "adjustment_gbp": 0.0,
        "paid_gbp": 600.0,
        "committed_list_gbp": 0.0,
        "committed_gbp": 0.0,
        "vcpu_hours": 20_000.0,
        "days": 30,
        "first_day": NOON.date() - timedelta(days=31),
        "last_day": NOON.date() - timedelta(days=2),
        "accounts": 1,
        "charges": 720,
        "charges_left_out": 0,
    }
    return Discount.validate(pl.DataFrame([row | one for one in rows], schema=Discount.create_empty().schema))


def fx_snapshot() -> Snapshot:
    """This will return the snapshot of exchange rates."""
    return snapshot("fx", fx=fx_table())


def pool(cluster: str, name: str, instance_type: str, **changes: Any) -> dict[str, Any]:
    """This will return a row of Pool: an on-demand pool of AWS London without a limit, unless changed."""
    return {
        "cluster": cluster,
        "pool": name,
        "instance_type": instance_type,
        "provider": "aws",
        "region": "eu-west-2",
        "zone": "",
        "jurisdiction": "GB",
        "tier": "cloud",
        "capacity_type": "on-demand",
        "nodes_min": 0,
        "nodes_max": None,
    } | changes


GENERAL = pool("eks-lon", "general", "m5.xlarge")
SPOT = pool("eks-lon", "spot", "m5.xlarge", capacity_type="spot")
BELGIUM = pool("gke-bel", "general", "n2-standard-4", provider="gcp", region="europe-west1", jurisdiction="EEA")
METAL = pool(
    "onprem-lon",
    "metal",
    "r760",
    provider="onprem",
    region="london",
    tier="owned",
    capacity_type="owned",
    nodes_max=2,
)
FLEET = (GENERAL, SPOT, BELGIUM, METAL)


def pools(*rows: dict[str, Any]) -> dy.DataFrame[Pool]:
    """This will return a fleet of the given rows."""
    return Pool.validate(pl.DataFrame(list(rows), schema=Pool.create_empty().schema))


def workload(name: str = "web", **changes: Any) -> dict[str, Any]:
    """This will return a row of Workload: 2 replicas, in all 4 vCPU and 16 GiB on demand in London, unless changed.

    Peaks are the means unless they are given. It costs 4 × 0.03 + 16 × 0.004 = £0.184 an hour.
    """
    row = {
        "cluster": "eks-lon",
        "namespace": "shop",
        "workload_kind": "Deployment",
        "workload": name,
        "pool": "general",
        "instance_type": "m5.xlarge",
        "capacity_type": "on-demand",
        "replicas_mean": 2.0,
        "vcpu_request_mean": 4.0,
        "memory_gib_request_mean": 16.0,
        "gpu_request_mean": 0.0,
        "gpu_model": "",
        "vcpu_usage_p95": None,
        "memory_gib_usage_peak": None,
        "gpu_usage_ratio_mean": None,
        "running_ratio": 1.0,
        "coverage_ratio": 1.0,
        "samples": 168,
        "first_seen": WEEK[0],
        "last_seen": NOON,
        "is_system": False,
        "owner": "shop-team",
        "residency_class": "uk",
        "criticality": "medium",
        "interruption_tolerance": "none",
        "checkpoint_minutes": 0.0,
        "gang_size": 1,
        "state_gib": 0.0,
        "minimum_runtime_minutes": 0.0,
        "architecture": "",
        "local_volume": False,
    } | changes
    for name_of_mean in ("replicas", "vcpu_request", "memory_gib_request", "gpu_request"):
        row.setdefault(f"{name_of_mean}_peak", row[f"{name_of_mean}_mean"])
    return row


def workloads(*rows: dict[str, Any]) -> dy.DataFrame[Workload]:
    """This will return usage of the given rows."""
    return Workload.validate(pl.DataFrame(list(rows), schema=Workload.create_empty().schema))


def flow(
    name: str = "web", *, to: str = "internet", gib_per_hour: float = 1.0, direction: str = "out"
) -> dict[str, Any]:
    """This will return a row of Flow of a workload of the default cluster and namespace."""
    return {
        "cluster": "eks-lon",
        "namespace": "shop",
        "workload_kind": "Deployment",
        "workload": name,
        "to": to,
        "direction": direction,
        "gib_per_hour": gib_per_hour,
    }


def flows(*rows: dict[str, Any]) -> dy.DataFrame[Flow]:
    """This will return flows of the given rows."""
    return Flow.validate(pl.DataFrame(list(rows), schema=Flow.create_empty().schema))


def quotas(*rows: dict[str, Any]) -> dy.DataFrame[Quota]:
    """This will return quotas of the given rows; what a row leaves out has no limit."""
    return Quota.validate(pl.DataFrame(list(rows), schema=Quota.create_empty().schema))


def move(name: str = "web", *, moved_at: datetime, from_cluster: str = "", from_pool: str = "") -> dict[str, Any]:
    """This will return a row of Move of a workload of the default cluster and namespace."""
    return {
        "cluster": "eks-lon",
        "namespace": "shop",
        "workload_kind": "Deployment",
        "workload": name,
        "moved_at": moved_at,
        "from_cluster": from_cluster,
        "from_pool": from_pool,
    }


def moves(*rows: dict[str, Any]) -> dy.DataFrame[Move]:
    """This will return a history of the given rows."""
    return Move.validate(pl.DataFrame(list(rows), schema=Move.create_empty().schema))


def policy(**changes: Any) -> Policy:
    """This will return a policy with the classes uk, europe and anywhere."""
    return Policy.model_validate({"classes": CLASSES} | changes)


def node_agents() -> list[dict[str, Any]]:
    """This will return a system pod of each other cluster: it shows that the cluster is observed, and takes nothing."""
    idle = {"vcpu_request_mean": 0.001, "memory_gib_request_mean": 0.001, "is_system": True}
    at = {
        "onprem-lon": {"pool": "metal", "instance_type": "r760", "capacity_type": "owned"},
        "gke-bel": {"pool": "general", "instance_type": "n2-standard-4"},
    }
    return [workload("node-agent", cluster=cluster, **idle, **place) for cluster, place in at.items()]


def plan(*rows: dict[str, Any], **changes: Any) -> Plan:
    """This will advise on the given workloads on the standard fleet, unless changed."""
    return appraisal(*rows, **changes).plan


def appraisal(*rows: dict[str, Any], **changes: Any) -> Evaluation:
    """This will evaluate the given workloads on the standard fleet, unless changed."""
    inputs: dict[str, Any] = {
        "prices": prices(),
        "workloads": workloads(*rows, *node_agents()),
        "flows": flows(),
        "pools": standard_pools(),
        "policy": policy(),
        "at": NOON,
        "usage_window": WEEK,
    } | changes
    return evaluate(**inputs)


def _snapshot(source: str, offers: pl.DataFrame, rates: pl.DataFrame) -> Snapshot:
    return snapshot(
        source,
        offers=Offer.validate(offers.filter(pl.col("source") == source)),
        egress=EgressRate.validate(rates.filter(pl.col("source") == source)),
    )
