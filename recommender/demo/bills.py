"""The made-up company's bills: two months of FOCUS exports of three clouds, at discounts that list prices do not show.

Machines are billed for what the usage asked for, at the list prices of the store less what was negotiated; reserved
machines cover a part and are not used up; storage, data transfer, support, tax and a credit stand beside them, and a
day on which much more data left than usual. The same usage, prices and day give the same rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from exporters.core.errors import StoreError
from recommender.demo.payers import PAYERS, Payer

DAYS: Final = 75
"""Up to yesterday: two whole months, and two weeks before them."""
NODES_FILLED: Final = 0.85
"""What of a node's vCPUs is requested, on average."""
FOLDER: Final = "billing"
RESERVATION: Final = "arn:aws:ec2:eu-west-2:210987654321:reserved-instances/7c9b1f52"
RESERVED: Final = "m6i.2xlarge"
RESERVED_REGION: Final = "eu-west-2"
RESERVED_FAMILY: Final = "m6i."
RESERVED_MACHINES: Final = 10
RESERVED_DOLLARS_PER_HOUR: Final = 0.32
"""As the settings of the demonstration state it, of one machine; 28 % below its list price of 0.444."""
RESERVED_RATIO: Final = 0.72
RESERVED_USED: Final = 0.91
"""On a day with enough to cover; its size is flexible within the family."""
ODD_DAY: Final = 5
"""Days before today on which data left a cloud by mistake."""
ODD_SERVICE: Final = "Networking"
ODD_TIMES: Final = 6.0
GROWTH_PER_DAY: Final = 0.0008
NOISE: Final = 0.05
"""How far a day may lie from its weekday."""


Row = dict[str, Any]
_VAT: Final = 0.2
_EMPTY: Final = (
    "CommitmentDiscountId",
    "CommitmentDiscountStatus",
    "ConsumedQuantity",
    "ConsumedUnit",
    "InvoiceId",
    "PricingCategory",
    "RegionId",
    "ServiceName",
    "SkuPriceDetails",
    "Tags",
)
_AMOUNTS: Final = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
_OF_RESERVATION: Final[Row] = {
    "ServiceName": PAYERS["aws"].machines,
    "RegionId": RESERVED_REGION,
    "PricingCategory": "Committed",
    "CommitmentDiscountId": RESERVATION,
}


def write_bills(folder: Path, *, usage: pl.DataFrame, offers: pl.DataFrame, today: date, seed: int) -> Path:
    """This will write one export a cloud and return their folder.

    Args:
        folder: of the demonstration.
        usage: rows of a usage file.
        offers: list prices, with vCPUs and GPUs of the machines.
        today: the day; bills end with yesterday.
        seed: of how far days differ.

    Raises:
        StoreError: the folder cannot be written.
    """
    hours = _node_hours(usage, offers)
    try:
        for provider, payer in PAYERS.items():
            rows = pl.DataFrame(
                list(_bill(payer, hours.filter(provider=provider), today, seed)), infer_schema_length=None
            )
            (folder / FOLDER / provider).mkdir(parents=True, exist_ok=True)
            rows.write_csv(folder / FOLDER / provider / "focus.csv")
    except OSError as error:
        raise StoreError(
            f"the bills cannot be written ({error})",
            where=str(folder / FOLDER),
            next_step="Check that the folder can be written and the disk has room.",
        ) from error
    return folder / FOLDER


def _node_hours(usage: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    """Machine-hours of each weekday by cluster, machine, way of buying and owner, with the list price of an hour."""
    shapes = offers.select("instance_type", "vcpus", "gpus").unique("instance_type")
    nodes = pl.max_horizontal(
        pl.col("vcpu_request") / (pl.col("vcpus") * NODES_FILLED),
        pl.when(pl.col("gpus") > 0).then(pl.col("gpu_request") / pl.col("gpus")).otherwise(0.0),
    )
    weeks = pl.col("timestamp").dt.date().n_unique() / 7
    placed = usage.join(shapes, on="instance_type").with_columns(
        weekday=pl.col("timestamp").dt.weekday(), node_hours=nodes / weeks
    )
    key = ["cluster", "instance_type", "capacity_type", "owner", "weekday"]
    prices = offers.filter(operating_system="linux").select(
        "provider", "region", "instance_type", "capacity_type", "vcpus", "currency", "price_per_hour", "gbp_per_hour"
    )
    summed = (
        placed.group_by(key)
        .agg(pl.col("node_hours").sum())
        .with_columns(region=pl.col("cluster").str.replace(r"^(eks|gke|aks)-", ""))
    )
    cheapest = prices.sort("gbp_per_hour").unique(
        ["provider", "region", "instance_type", "capacity_type"], keep="first", maintain_order=True
    )
    return summed.join(cheapest, on=["region", "instance_type", "capacity_type"]).sort(key)


def _reserved() -> pl.Expr:
    return (
        (pl.col("region") == RESERVED_REGION)
        & (pl.col("capacity_type") == "on-demand")
        & pl.col("instance_type").str.starts_with(RESERVED_FAMILY)
    )


def _bill(payer: Payer, hours: pl.DataFrame, today: date, seed: int) -> Iterator[Row]:
    """Every charge of a cloud, day by day; the tax of each whole month, once it is over."""
    billed: dict[date, float] = {}
    noise = random.Random(f"{seed} {payer.provider}")
    for day in (today - timedelta(days=n) for n in range(DAYS, 0, -1)):
        grown = (1.0 - GROWTH_PER_DAY * (today - day).days) * noise.uniform(1 - NOISE, 1 + NOISE)
        machines = hours.filter(weekday=day.isoweekday()).with_columns(pl.col("node_hours") * grown)
        for row in (*_machines(payer, machines, day), *_others(payer, day, today, grown, _home(hours))):
            month = day.replace(day=1)
            billed[month] = billed.get(month, 0.0) + row["BilledCost"]
            yield row
    for month, amount in billed.items():
        if today - timedelta(days=DAYS) <= month < today.replace(day=1):
            tax = {"ServiceName": "Tax", "ChargeCategory": "Tax", "BilledCost": amount * _VAT}
            yield _charge(payer, month, tax, days=28)


def _machines(payer: Payer, hours: pl.DataFrame, day: date) -> Iterator[Row]:
    """What machines cost on a day, under the reservation and not, and what of it was left."""
    planned = hours.filter(_reserved())
    listed = float(sum(planned["node_hours"] * planned["price_per_hour"].cast(pl.Float64)))
    committed = 24 * RESERVED_MACHINES * RESERVED_DOLLARS_PER_HOUR
    covered = min(RESERVED_USED, RESERVED_USED * committed / RESERVED_RATIO / listed) if listed else 0.0
    for row in hours.with_columns(reserved=_reserved()).iter_rows(named=True):
        yield from _machine(payer, row, day, covered if row["reserved"] else 0.0)
    if listed:
        unused = committed - covered * RESERVED_RATIO * listed
        yield _charge(payer, day, _OF_RESERVATION | {"CommitmentDiscountStatus": "Unused", "EffectiveCost": unused})
        bought = {"ChargeCategory": "Purchase", "BilledCost": committed, "EffectiveCost": 0.0}
        yield _charge(payer, day, _OF_RESERVATION | bought)


def _machine(payer: Payer, row: Row, day: date, covered: float) -> Iterator[Row]:
    """What one kind of machine cost one owner: a part under the reservation, the rest on its own."""
    price = row["price_per_hour"] if payer.currency == row["currency"] else row["gbp_per_hour"]
    is_spot = row["capacity_type"] == "spot"
    listed = row["node_hours"] * float(price)
    paid = listed if is_spot else listed * (1 - payer.discount)
    same: Row = {
        "ServiceName": payer.machines,
        "RegionId": row["region"],
        "SubAccountId": row["cluster"],
        "SkuPriceDetails": json.dumps({"CoreCount": row["vcpus"], "InstanceType": row["instance_type"]}),
        "ConsumedUnit": "Hours",
        "Tags": json.dumps({"owner": row["owner"]}) if row["owner"] else "",
    }
    if covered:
        used = {
            "CommitmentDiscountStatus": "Used",
            "ConsumedQuantity": row["node_hours"] * covered,
            "ListCost": listed * covered,
            "EffectiveCost": listed * covered * RESERVED_RATIO,
        }
        yield _charge(payer, day, same | _OF_RESERVATION | used)
    rest = {
        "ConsumedQuantity": row["node_hours"] * (1 - covered),
        "PricingCategory": "Dynamic" if is_spot else "Standard",
        "ListCost": listed * (1 - covered),
        "BilledCost": paid * (1 - covered),
    }
    yield _charge(payer, day, same | rest)


def _others(payer: Payer, day: date, today: date, grown: float, region: str) -> Iterator[Row]:
    """Storage and data transfer of a day, and what comes once a month."""
    for service, unit, quantity, price in payer.others:
        odd = ODD_TIMES if (today - day).days == ODD_DAY and service == ODD_SERVICE else 1.0
        amount = quantity * grown * odd
        used = {"ServiceName": service, "RegionId": region, "ConsumedQuantity": amount, "ConsumedUnit": unit}
        yield _charge(payer, day, used | {"PricingCategory": "Standard", "BilledCost": amount * price})
    if day.day == 1 and payer.support:
        support = {"ServiceName": "Support", "ChargeCategory": "Purchase", "BilledCost": payer.support}
        yield _charge(payer, day, support, days=28)
    if day.day == 5 and payer.credit:
        credit = {"ServiceName": payer.machines, "ChargeCategory": "Credit", "BilledCost": payer.credit}
        yield _charge(payer, day, credit)


def _home(hours: pl.DataFrame) -> str:
    return str(hours["region"].max() or "")


def _charge(payer: Payer, day: date, columns: Row, *, days: int = 1) -> Row:
    """A row of FOCUS 1.2, its amounts to ten digits; what is not said of its cost is what was billed."""
    month = day.replace(day=1)
    billed = columns.get("BilledCost", 0.0)
    effective = columns.get("EffectiveCost", billed)
    row = dict.fromkeys(_EMPTY, "") | {
        "ProviderName": payer.provider,
        "BillingAccountId": payer.account,
        "BillingCurrency": payer.currency,
        "PricingCurrency": payer.currency,
        "BillingPeriodStart": f"{month}T00:00:00Z",
        "BillingPeriodEnd": f"{(month + timedelta(days=32)).replace(day=1)}T00:00:00Z",
        "ChargePeriodStart": f"{day}T00:00:00Z",
        "ChargePeriodEnd": f"{day + timedelta(days=days)}T00:00:00Z",
        "ChargeCategory": "Usage",
        "SubAccountId": payer.account,
        "BilledCost": billed,
        "EffectiveCost": effective,
        "ListCost": effective,
        "ContractedCost": effective,
    }
    whole: Row = row | columns
    return whole | {name: round(whole[name], 10) for name in _AMOUNTS}
