"""A made-up fleet of any size for bench/scale.py: three clouds, own racks in London, workloads of all sorts.

Everything follows from a seed. Prices are of the order of real ones; half of the pools are spot.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl

from exporters.core.frames import EgressRate, Offer
from recommender.frames import Flow, Pool, Workload
from recommender.settings import Policy

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OWNED_POOLS = 5
OWNED_SHARE = 0.15
"""Of all requests that the racks hold."""
IN_BREACH = 0.01
"""Share of the workloads bound to the UK that may run anywhere all the same."""
REGIONS = (
    ("aws", "eu-west-2", "GB", 1.00),
    ("aws", "eu-west-1", "EEA", 0.95),
    ("aws", "eu-central-1", "EEA", 1.02),
    ("gcp", "europe-west2", "GB", 0.97),
    ("gcp", "europe-west1", "EEA", 0.84),
    ("azure", "uksouth", "GB", 0.99),
    ("azure", "westeurope", "EEA", 0.93),
)
SHAPES = ((4, 8), (4, 16), (4, 32), (8, 16), (8, 32), (8, 64), (16, 32), (16, 64), (16, 128), (32, 128))
POLICY = Policy.model_validate(
    {"classes": {"uk": {"residency": ["GB"]}, "europe": {"residency": ["GB", "EEA"]}, "anywhere": {}}}
)


def fleet(count: int, *, workloads: int) -> tuple[dy.DataFrame[Pool], dy.DataFrame[Offer]]:
    """This will return `count` pools, five of them owned, and a price of each machine."""
    rows, offers = [], []
    for number in range(count - OWNED_POOLS):
        provider, region, jurisdiction, level = REGIONS[number % len(REGIONS)]
        vcpus, gib = SHAPES[number // len(REGIONS) % len(SHAPES)]
        capacity_type = "spot" if number % 2 else "on-demand"
        instance_type = f"m{number}.{vcpus}x{gib}"
        site = (provider, region, jurisdiction)
        rows.append(_pool(f"{provider}-{region}", f"p{number}", site, (instance_type, capacity_type)))
        part = level * (1 + number % 13 / 100) * (0.35 if capacity_type == "spot" else 1.0)
        offers.append(_offer(rows[-1], float(vcpus), float(gib), per_vcpu=0.030 * part, per_gib=0.0032 * part))
    for number in range(OWNED_POOLS):
        pool = _pool("racks", f"rack{number}", ("onprem", "london", "GB"), (f"r{number}", "owned"))
        nodes = max(1, round(OWNED_SHARE * workloads * 2.6 / (64 - 0.2) / OWNED_POOLS))
        rows.append(pool | {"tier": "owned", "nodes_max": nodes})
        marginal = 0.30 + 0.05 * number
        offers.append(_offer(pool, 64.0, 256.0, per_vcpu=0.01, per_gib=0.002, marginal=marginal))
    return (
        Pool.validate(pl.DataFrame(rows, schema=Pool.create_empty().schema)),
        _complete(Offer, pl.DataFrame(offers, infer_schema_length=None)),
    )


def usage(count: int, pools: dy.DataFrame[Pool], *, seed: int) -> tuple[dy.DataFrame[Workload], dy.DataFrame[Flow]]:
    """This will return workloads on random cloud pools, and data flows of a tenth of them."""
    chance = np.random.default_rng(seed)
    residency = chance.choice(["uk", "europe", "anywhere"], count, p=[0.4, 0.4, 0.2])
    place = _places(pools, (residency == "uk") & (chance.random(count) >= IN_BREACH), chance)
    replicas = chance.choice([1.0, 2.0, 3.0, 6.0, 12.0], count, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    vcpus = chance.choice([0.1, 0.25, 0.5, 1.0, 2.0], count) * replicas
    gib = vcpus * chance.uniform(1.0, 8.0, count)
    fixed = {
        "gpu_model": "", "running_ratio": 1.0, "coverage_ratio": 1.0, "samples": 168, "is_system": False,
        "first_seen": NOW - timedelta(days=7), "last_seen": NOW, "owner": "", "checkpoint_minutes": 0.0, "gang_size": 1,
        "minimum_runtime_minutes": 0.0, "architecture": "", "local_volume": False, "gpu_request_mean": 0.0,
        "gpu_request_peak": 0.0, "vcpu_usage_p95": None, "memory_gib_usage_peak": None, "gpu_usage_ratio_mean": None,
    }  # fmt: skip
    rows = place.with_columns(
        *(pl.lit(value).alias(name) for name, value in fixed.items()),
        namespace=pl.lit("ns"),
        workload_kind=pl.lit("Deployment"),
        workload=pl.format("w{}", pl.int_range(count)),
        replicas_mean=pl.Series(replicas),
        replicas_peak=pl.Series(replicas),
        vcpu_request_mean=pl.Series(vcpus),
        vcpu_request_peak=pl.Series(vcpus * chance.uniform(1.0, 1.3, count)),
        memory_gib_request_mean=pl.Series(gib),
        memory_gib_request_peak=pl.Series(gib),
        residency_class=pl.Series(residency),
        criticality=pl.Series(chance.choice(["low", "medium", "high"], count)),
        interruption_tolerance=pl.Series(chance.choice(["none", "spot"], count, p=[0.7, 0.3])),
        state_gib=pl.Series(np.where(chance.random(count) < 0.05, 50.0, 0.0)),
    )
    traffic = rows.filter(pl.Series(chance.random(count) < 0.1)).select(
        "cluster", "namespace", "workload_kind", "workload"
    )
    flows = traffic.with_columns(
        to=pl.Series(chance.choice(["internet", "aws/eu-west-2", "gcp/europe-west2"], traffic.height)),
        direction=pl.lit("out"),
        gib_per_hour=pl.Series(chance.uniform(0.0, 2.0, traffic.height)),
    )
    idle = _seen(rows)
    return _complete(Workload, pl.concat([rows, idle], how="diagonal_relaxed")), _complete(Flow, flows)


def rates() -> dy.DataFrame[EgressRate]:
    """This will return a rate to the internet and one to other regions, of each region."""
    rows = [
        {
            "provider": provider, "from_region": region, "destination": destination, "to_region": "",
            "tier_start_gib": 0.0, "currency": "GBP", "price_per_gib": str(price), "gbp_per_gib": price,
            "gbp_per_unit": 1.0, "fx_date": NOW.date(), "fx_source": "none", "observed_at": NOW, "source": "bench",
        }
        for provider, region in (*((one[0], one[1]) for one in REGIONS), ("onprem", "london"))
        for destination, price in (("internet", 0.07), ("region", 0.02))
    ]  # fmt: skip
    return _complete(EgressRate, pl.DataFrame(rows))


def _places(pools: dy.DataFrame[Pool], in_the_uk: npt.NDArray[np.bool_], chance: np.random.Generator) -> pl.DataFrame:
    """A random on-demand pool of a cloud for each workload, in the UK for those that must."""
    at = pools.filter((pl.col("tier") == "cloud") & (pl.col("capacity_type") == "on-demand"))
    named = at.select("cluster", "pool", "instance_type", "capacity_type")
    home = np.flatnonzero((at["jurisdiction"] == "GB").to_numpy())
    anywhere = chance.integers(0, at.height, in_the_uk.size)
    return named[np.where(in_the_uk, chance.choice(home, in_the_uk.size), anywhere)]


def _seen(rows: pl.DataFrame) -> pl.DataFrame:
    """A workload of next to nothing on the racks, which shows that they were observed."""
    at = {"cluster": "racks", "pool": "rack0", "instance_type": "r0", "capacity_type": "owned", "workload": "idle"}
    little = [name for name in rows.columns if name.startswith(("vcpu_request", "memory_gib_request"))]
    return rows.head(1).with_columns(
        *(pl.lit(value).alias(name) for name, value in at.items()),
        *(pl.lit(0.001).alias(name) for name in little),
        is_system=pl.lit(value=True),
    )


def _complete(schema: type[dy.Schema], rows: pl.DataFrame) -> dy.DataFrame:  # type: ignore[type-arg]
    empty = schema.create_empty()
    missing = [pl.lit(None, kind).alias(name) for name, kind in empty.schema.items() if name not in rows.columns]
    return schema.validate(rows.with_columns(missing).select(empty.columns), cast=True)


def _pool(cluster: str, name: str, site: tuple[str, str, str], machine: tuple[str, str]) -> dict[str, object]:
    provider, region, jurisdiction = site
    instance_type, capacity_type = machine
    return {
        "cluster": cluster, "pool": name, "instance_type": instance_type, "provider": provider, "region": region,
        "zone": "", "jurisdiction": jurisdiction, "tier": "cloud", "capacity_type": capacity_type, "nodes_min": 0,
        "nodes_max": None,
    }  # fmt: skip


def _offer(
    pool: dict[str, object], vcpus: float, gib: float, *, per_vcpu: float, per_gib: float, marginal: float | None = None
) -> dict[str, object]:
    whole = vcpus * per_vcpu + gib * per_gib
    names = ("provider", "region", "zone", "instance_type", "capacity_type")
    return {name: pool[name] for name in names} | {
        "operating_system": "linux", "currency": "GBP", "price_per_hour": f"{whole:.12f}", "vcpus": vcpus,
        "memory_gib": gib,
        "gpu_model": "", "gpus": 0.0, "accelerator_model": "", "accelerators": 0.0, "architecture": "amd64",
        "family": "m", "generation": "1", "shape_source": "book", "gbp_per_hour": whole, "gbp_per_vcpu_hour": per_vcpu,
        "gbp_per_gib_hour": per_gib, "marginal_gbp_per_hour": marginal, "split_method": "fitted", "gbp_per_unit": 1.0,
        "fx_date": NOW.date(), "fx_source": "none", "observed_at": NOW, "source": "bench",
    }  # fmt: skip
