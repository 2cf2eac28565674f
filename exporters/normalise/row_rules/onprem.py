"""The row rule of on-prem: a rate card's costs become one full and one marginal price per machine-hour.

The full price spreads everything that owning costs over the hours in which the machine works; it is for charge-back and
comparison. The marginal price is the energy of one more hour on hardware that is already paid for; placement uses it.
Method: total cost of ownership with straight-line depreciation (IAS 16, paragraph 62), energy by PUE (ISO/IEC 30134-2),
spread over used capacity as in the FinOps Framework's capability "Unit Economics".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import dataframely as dy
import polars as pl

from exporters.core.frames import EgressListPrice, ListPrice, Reject, Shape
from exporters.core.money import NATIVE
from exporters.core.units import HOURS_PER_YEAR
from exporters.core.words import NO_ZONE, CapacityType, OperatingSystem
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters

PROVIDER = "onprem"
SHAPE_SOURCE = "rate-card"
WATTS_PER_KILOWATT = 1_000

PLACES = Decimal(1).scaleb(-NATIVE.scale)


@dataclass(frozen=True, slots=True)
class HourlyPrices:
    """What an hour of a machine costs, in the card's currency; parts are None where the card gives no shares.

    Args:
        full: per machine-hour of use, all costs of owning.
        marginal: per machine-hour, energy only.
        vcpu: of full, per vCPU.
        gib: of full, per GiB of memory.
        gpu: of full, per GPU.
    """

    full: Decimal
    marginal: Decimal
    vcpu: Decimal | None = None
    gib: Decimal | None = None
    gpu: Decimal | None = None


def choose(fetched: Fetched, filters: Filters) -> Chosen:
    """This will turn rate cards into list prices, shapes and egress prices.

    Rule: each machine of a card is one offer (capacity type owned, operating system linux, the whole site). A filter on
    capacity types or operating systems that leaves these out leaves out the offers; filters on families name cloud
    families and do not apply. Mistakes in a card are refused when the settings are read, so nothing is rejected here.

    Args:
        fetched: frames `machines` and `egress` of fetch/onprem.py.
        filters: what the settings let through.
    """
    machines = fetched.frames["machines"].collect().to_dicts() if _lets_through(filters) else []
    return Chosen(
        prices=ListPrice.validate(
            pl.DataFrame([_list_price(row) for row in machines], schema=ListPrice.create_empty().schema)
        ),
        shapes=Shape.validate(pl.DataFrame([_shape(row) for row in machines], schema=Shape.create_empty().schema)),
        egress=_egress(fetched.frames["egress"].collect()),
        rejects=Reject.create_empty(),
    )


def hourly_prices(row: dict[str, str | None]) -> HourlyPrices:
    """This will compute the prices of one machine of a rate card.

    With money in the card's currency, u the target utilisation and 8,760 hours a year::

        fixed  = (purchase_price − residual_value) / life_years                          [money / year]
                 + hosting_per_year + support_per_year + staff_per_year
        power  = idle_watts + (full_watts − idle_watts) × u                              [W, mean of a year]
        energy = power / 1,000 × pue × price_per_kwh                                     [money / hour]
        full   = (fixed / 8,760 + energy) / u                                            [money / hour of use]
        marginal = (full_watts − idle_watts) / 1,000 × pue × price_per_kwh               [money / hour]

    support_per_year may be given as support_ratio × purchase_price. The machine is taken to stay on when idle, so that
    one more hour adds only the difference to full load; with powered_off_when_idle it adds full_watts, and a year's
    mean power is full_watts × u. Dividing by u charges idle hours to the hours of use.

    The parts divide `full` as the purchase price divides into GPUs, memory and the rest (the vCPUs'); without these
    shares they are left to the common split. Everything is exact until the last step, which rounds to 12 places.
    """
    card = {name: Decimal(value) for name, value in row.items() if value is not None and name in _NUMBERS}
    kilowatt_hour = card["pue"] * card["price_per_kwh"]
    off_when_idle = row["powered_off_when_idle"] == str(True)
    idle = Decimal(0) if off_when_idle else card["idle_watts"]
    used = card["target_utilisation"]
    mean_watts = idle + (card["full_watts"] - idle) * used
    energy = mean_watts / WATTS_PER_KILOWATT * kilowatt_hour
    full = _rounded((_fixed_per_year(card) / HOURS_PER_YEAR + energy) / used)
    marginal = _rounded((card["full_watts"] - idle) / WATTS_PER_KILOWATT * kilowatt_hour)
    return _with_parts(HourlyPrices(full=full, marginal=marginal), card)


_NUMBERS = frozenset(
    {
        "price_per_kwh", "pue", "vcpus", "memory_gib", "gpus", "purchase_price", "gpu_purchase_price",
        "memory_purchase_price", "life_years", "residual_value", "idle_watts", "full_watts", "hosting_per_year",
        "support_per_year", "support_ratio", "staff_per_year", "target_utilisation",
    }
)  # fmt: skip


def _fixed_per_year(card: dict[str, Decimal]) -> Decimal:
    depreciation = (card["purchase_price"] - card["residual_value"]) / card["life_years"]
    by_ratio = card.get("support_ratio")
    support = card["support_per_year"] if by_ratio is None else by_ratio * card["purchase_price"]
    return depreciation + card["hosting_per_year"] + support + card["staff_per_year"]


def _with_parts(prices: HourlyPrices, card: dict[str, Decimal]) -> HourlyPrices:
    memory_share = card.get("memory_purchase_price")
    if memory_share is None:
        return prices
    gib = _rounded(prices.full * memory_share / card["purchase_price"] / card["memory_gib"])
    gpu = None
    if card["gpus"]:
        gpu = _rounded(prices.full * card["gpu_purchase_price"] / card["purchase_price"] / card["gpus"])
    rest = prices.full - gib * card["memory_gib"] - (gpu or 0) * card["gpus"]
    vcpu = max(Decimal(0), _rounded(rest / card["vcpus"]))
    return HourlyPrices(full=prices.full, marginal=prices.marginal, vcpu=vcpu, gib=gib, gpu=gpu)


def _rounded(amount: Decimal) -> Decimal:
    return amount.quantize(PLACES, rounding=ROUND_HALF_UP)


def _lets_through(filters: Filters) -> bool:
    capacity = not filters.capacity_types or CapacityType.OWNED in filters.capacity_types
    return capacity and (not filters.operating_systems or OperatingSystem.LINUX in filters.operating_systems)


def _list_price(row: dict[str, str | None]) -> dict[str, object]:
    prices = hourly_prices(row)
    return {
        "provider": PROVIDER,
        "region": row["site"],
        "zone": NO_ZONE,
        "instance_type": row["instance_type"],
        "operating_system": OperatingSystem.LINUX.value,
        "capacity_type": CapacityType.OWNED.value,
        "currency": row["currency"],
        "price_per_hour": prices.full,
        "price_per_vcpu_hour": prices.vcpu,
        "price_per_gib_hour": prices.gib,
        "price_per_gpu_hour": prices.gpu,
        "marginal_price_per_hour": prices.marginal,
        "provider_gbp_per_hour": None,
        "sku_id": None,
        "effective_from": None,
        "note": f"full cost at {Decimal(row['target_utilisation'] or 0):.0%} utilisation",
    }


def _shape(row: dict[str, str | None]) -> dict[str, object]:
    return {
        "provider": PROVIDER,
        "region": row["site"],
        "instance_type": row["instance_type"],
        "vcpus": float(row["vcpus"] or 0),
        "memory_gib": float(row["memory_gib"] or 0),
        "gpu_model": row["gpu_model"] or "",
        "gpus": float(row["gpus"] or 0),
        "accelerator_model": "",
        "accelerators": 0.0,
        "architecture": row["architecture"],
        "family": row["instance_type"],
        "generation": row["instance_type"],
        "shape_source": SHAPE_SOURCE,
    }


def _egress(sites: pl.DataFrame) -> dy.DataFrame[EgressListPrice]:
    """Bytes that leave a site cost the same wherever they go: one row to the internet, one to any other region."""
    prices = sites.select(
        provider=pl.lit(PROVIDER),
        from_region="site",
        to_region=pl.lit(""),
        tier_start_gib=pl.lit(0.0),
        currency="currency",
        price_per_gib=pl.col("egress_price_per_gib").cast(NATIVE),
        effective_from=pl.lit(None, dtype=pl.Datetime("us", "UTC")),
        note=pl.lit(None, dtype=pl.String),
    )
    destinations = pl.DataFrame({"destination": ["internet", "region"]})
    return EgressListPrice.validate(
        prices.join(destinations, how="cross").select(EgressListPrice.column_names()), cast=True
    )
