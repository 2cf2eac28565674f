"""What the demonstration shows of prices: the cheapest hour of a vCPU and of each GPU, and a GiB to the internet."""

from __future__ import annotations

import polars as pl

from exporters.core.frames import OFFER_KEY
from exporters.core.money import rate
from exporters.core.words import EgressDestination, OperatingSystem
from exporters.store.read import Prices

_DATED = pl.col("note").fill_null("").str.contains("illustrative", literal=True).not_()
_LINUX = pl.col("operating_system") == OperatingSystem.LINUX.value


def cheapest_vcpus(prices: Prices) -> pl.DataFrame:
    """This will return the cheapest vCPU-hour of each provider and capacity type, on machines without accelerators."""
    plain = prices.offers.filter(_LINUX, _DATED, pl.col("gpus") == 0, pl.col("accelerators") == 0)
    return _cheapest(plain, by=("provider", "capacity_type"), price="gbp_per_vcpu_hour")


def cheapest_gpus(prices: Prices) -> pl.DataFrame:
    """This will return the cheapest hour of each GPU model at each provider."""
    with_gpu = prices.offers.filter(_LINUX, _DATED, pl.col("gpus") > 0)
    return _cheapest(with_gpu, by=("gpu_model", "provider", "capacity_type"), price="gbp_per_gpu_hour")


def internet_egress(prices: Prices, regions: set[tuple[str, str]]) -> pl.DataFrame:
    """This will return the first paid tier to the internet out of each of the regions; the only tier, if it is free."""
    paid_first = pl.col("gbp_per_gib") == 0
    rates = (
        prices.egress.filter(pl.col("destination") == EgressDestination.INTERNET.value)
        .sort("provider", "from_region", paid_first, "tier_start_gib")
        .unique(["provider", "from_region"], keep="first", maintain_order=True)
    )
    return pl.DataFrame(
        [
            {
                "provider": row["provider"],
                "from region": row["from_region"],
                "£/GiB": rate(row["gbp_per_gib"]),
                "from GiB a month": f"{row['tier_start_gib']:,.0f}",
                "as of": f"{row['observed_at']:%-d %B %Y}",
            }
            for row in rates.iter_rows(named=True)
            if (row["provider"], row["from_region"]) in regions
        ]
    )


def _cheapest(offers: pl.DataFrame, *, by: tuple[str, ...], price: str) -> pl.DataFrame:
    best = offers.sort(price, *OFFER_KEY).unique(by, keep="first", maintain_order=True).sort(*by)
    return pl.DataFrame(
        [
            {
                **{name.replace("_", " "): row[name] for name in by},
                f"£/{'GPU' if 'gpu' in price else 'vCPU'}-hour": rate(row[price]),
                "machine": row["instance_type"],
                "region": row["region"],
                "as of": f"{row['observed_at']:%-d %B %Y}",
            }
            for row in best.iter_rows(named=True)
        ]
    )
