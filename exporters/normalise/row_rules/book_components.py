"""The row rule of component books: prices per vCPU, GiB and GPU become prices of whole machines.

A machine is composed only when every part of it has a price in its region and capacity type and in one currency; what
the book has no component for (an accelerator, a bundled local SSD) leaves the machine without a price. Source of the
rule: Google Cloud sells vCPUs, memory and GPUs by such components (Cloud Billing catalogue, Compute Engine).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, ListPrice, Reject
from exporters.core.money import NATIVE
from exporters.core.words import NO_ZONE, CapacityType, OperatingSystem, RejectReason
from exporters.normalise.chosen import count_rejects, merge_rejects, one_per_key
from exporters.normalise.row_rules.book_rows import (
    Mistake,
    canonical_gpu,
    effective_from,
    empty,
    money,
    newest,
    no_price,
    not_a_currency,
    not_a_day,
    not_one_of,
    note,
    part_rows,
    unknown_gpu,
    unknown_region,
)

COMPONENTS = ("vcpu", "gib", "gpu")
COMPONENT_KEY = ("provider", "region", "family", "component", "gpu_model", "capacity_type")

PLACES = Decimal(1).scaleb(-NATIVE.scale)

AGREEMENT = 1e-9
"""Relative difference up to which a price and the sum of its components are the same."""

Row = Mapping[str, Any]
Components = dict[tuple[str, str], Row]
"""Rows of components by component and GPU model."""


@dataclass(frozen=True, slots=True)
class Composed:
    """Machines composed of components, machines that lack one, and the rows that were left out.

    Args:
        prices: the ListPrice columns and `family`.
        lacking: the offer key, `reason` and `says`.
        rejects: counts of wrong rows.
    """

    prices: pl.DataFrame
    lacking: pl.DataFrame
    rejects: dy.DataFrame[Reject]


def compose(rows: pl.DataFrame, shapes: pl.DataFrame) -> Composed:
    """This will compose every machine type of the component book's families.

    Args:
        rows: a component book (columns of fetch/book_files.py, with `as_of`).
        shapes: the clouds' packaged machine types (`shapes` of fetch/book.py).
    """
    current = newest(part_rows(rows, _mistakes()), key=COMPONENT_KEY)
    typed = current.good.with_columns(
        pl.col("price_per_hour").cast(NATIVE), canonical_gpu(), effective_from(), note(), money("price_per_hour")
    )
    single = one_per_key(typed, key=COMPONENT_KEY, price="money", example="line")
    made: list[Row] = []
    lacking: list[Row] = []
    for (provider, region, family, capacity), parts in _groups(single.good):
        for shape in shapes.filter(provider=provider, family=family).iter_rows(named=True):
            key = _offer_key(shape, region=region, capacity_type=capacity)
            reason, what = _lacks(shape, parts)
            if reason is None:
                made.append(key | _price(shape, parts))
            else:
                lacking.append(key | {"reason": reason.value, "says": f"{shape['instance_type']} {capacity}: {what}"})
    text = dict.fromkeys((*OFFER_KEY, "reason", "says"), pl.String())
    return Composed(
        prices=pl.DataFrame(made, schema={**ListPrice.create_empty().schema, "family": pl.String()}),
        lacking=pl.DataFrame(lacking, schema=text),
        rejects=merge_rejects(current.rejects, single.rejects),
    )


def attach(prices: pl.DataFrame, composed: pl.DataFrame) -> tuple[pl.DataFrame, dy.DataFrame[Reject]]:
    """This will give the price book's rows their components, where both books agree to 1e-9.

    Where they do not, the price book's row stands as it is and the disagreement is counted.

    Args:
        prices: rows with the ListPrice columns, from the price book.
        composed: rows with the ListPrice columns, from the component book.
    """
    parts = ("price_per_vcpu_hour", "price_per_gib_hour", "price_per_gpu_hour")
    other = composed.select(*OFFER_KEY, *parts, __sum="price_per_hour", __currency="currency")
    joined = prices.drop(parts).join(other, on=OFFER_KEY, how="left", maintain_order="left")
    apart = (pl.col("price_per_hour").cast(pl.Float64) / pl.col("__sum").cast(pl.Float64) - 1).abs()
    agrees = (pl.col("__currency") == pl.col("currency")) & (apart <= AGREEMENT)
    marked = joined.with_columns(__agrees=agrees)
    clash = marked.filter(~pl.col("__agrees"))
    says = pl.format(
        "{} {}: {} {} in the price book, but its components make {} {}; the price book was used",
        "instance_type", "capacity_type", pl.col("price_per_hour").cast(pl.String), "currency",
        pl.col("__sum").cast(pl.String), "__currency",
    )  # fmt: skip
    with_parts = marked.with_columns(pl.when("__agrees").then(pl.col(part)).alias(part) for part in parts)
    return (
        with_parts.select(prices.columns),
        count_rejects(clash, reason=pl.lit(RejectReason.AMBIGUOUS.value), example=says, region=pl.col("region")),
    )


def _mistakes() -> tuple[Mistake, ...]:
    is_gpu = pl.col("component") == "gpu"
    return (
        empty("provider"),
        empty("region"),
        empty("family"),
        not_one_of("component", COMPONENTS),
        Mistake(
            is_gpu == (pl.col("gpu_model") == ""),
            RejectReason.UNKNOWN_GPU,
            pl.lit("gpu_model belongs to the component gpu, and only to it"),
        ),
        unknown_gpu(),
        not_one_of("capacity_type", tuple(word.value for word in CapacityType)),
        unknown_region("region"),
        not_a_currency(),
        not_a_day(),
        *no_price("price_per_hour"),
    )


def _groups(components: pl.DataFrame) -> Iterator[tuple[tuple[str, str, str, str], Components]]:
    """The components of one family in one region and capacity type, by component and GPU model."""
    ordered = components.sort(COMPONENT_KEY)
    key = ["provider", "region", "family", "capacity_type"]
    for group, rows in ordered.group_by(key, maintain_order=True):
        provider, region, family, capacity = (str(part) for part in group)
        found: Components = {(row["component"], row["gpu_model"]): row for row in rows.iter_rows(named=True)}
        yield (provider, region, family, capacity), found


def _needed(shape: Row) -> dict[tuple[str, str], Decimal]:
    """How many of which component a machine has."""
    needed = {("vcpu", ""): Decimal(shape["vcpus"]), ("gib", ""): Decimal(shape["memory_gib"])}
    gpus = Decimal(shape["gpus"] or 0)
    return needed | ({("gpu", shape["gpu_model"]): gpus} if gpus else {})


def _lacks(shape: Row, parts: Components) -> tuple[RejectReason | None, str]:
    missing = [" ".join(name).strip() for name in _needed(shape) if name not in parts]
    missing += ["accelerator"] if Decimal(shape["accelerators"] or 0) else []
    missing += ["local SSD"] if Decimal(shape["local_ssd_gib"] or 0) else []
    if missing:
        return RejectReason.MISSING_COMPONENT, f"the component book has no {', no '.join(missing)}"
    currencies = sorted({parts[name]["currency"] for name in _needed(shape)})
    if len(currencies) > 1:
        return RejectReason.CURRENCY, f"its components are in {' and '.join(currencies)}"
    return None, ""


def _offer_key(shape: Row, *, region: str, capacity_type: str) -> dict[str, Any]:
    return {
        "provider": shape["provider"],
        "region": region,
        "zone": NO_ZONE,
        "instance_type": shape["instance_type"],
        "operating_system": OperatingSystem.LINUX.value,
        "capacity_type": capacity_type,
    }


def _price(shape: Row, parts: Components) -> dict[str, Any]:
    used = {name: parts[name] for name in _needed(shape)}
    total = sum((count * used[name]["price_per_hour"] for name, count in _needed(shape).items()), Decimal(0))
    gpu = used.get(("gpu", shape["gpu_model"]))
    notes = sorted({row["note"] for row in used.values() if row["note"]})
    return {
        "currency": used["vcpu", ""]["currency"],
        "price_per_hour": total.quantize(PLACES, rounding=ROUND_HALF_UP),
        "price_per_vcpu_hour": used["vcpu", ""]["price_per_hour"],
        "price_per_gib_hour": used["gib", ""]["price_per_hour"],
        "price_per_gpu_hour": gpu["price_per_hour"] if gpu else None,
        "marginal_price_per_hour": None,
        "provider_gbp_per_hour": None,
        "sku_id": None,
        "effective_from": max(row["effective_from"] for row in used.values()),
        "note": "; ".join(notes) or None,
        "family": shape["family"],
    }
