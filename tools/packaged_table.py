"""How every packaged table is written: exact decimal text, sorted rows, LF, the same bytes for the same input."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

PLACES = Decimal(1).scaleb(-12)
"""Native prices are kept to 12 digits after the point (exporters.core.money.NATIVE)."""

PRICE_BOOK = (
    "provider", "region", "zone", "instance_type", "operating_system", "capacity_type", "vcpus", "memory_gib",
    "gpu_model", "gpus", "architecture", "currency", "price_per_hour", "effective_from", "note",
    "accelerator_model", "accelerators",
)  # fmt: skip
COMPONENT_BOOK = (
    "provider", "region", "family", "component", "gpu_model", "capacity_type", "currency", "price_per_hour",
    "effective_from", "note",
)  # fmt: skip
EGRESS_BOOK = (
    "provider", "from_region", "destination", "to_region", "tier_start_gib", "currency", "price_per_gib",
    "effective_from", "note",
)  # fmt: skip
MISSING = ("provider", "region", "what", "why")
SHAPES = ("instance_type", "vcpus", "memory_gib", "gpu_model", "gpus", "architecture", "family", "generation")
ACCELERATORS = ("accelerator_model", "accelerators")

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a machine type consists of; GPUs and accelerators are whole or fractional devices."""

    vcpus: Decimal
    memory_gib: Decimal
    architecture: str
    family: str
    generation: str
    gpu_model: str = ""
    gpus: Decimal = Decimal(0)
    accelerator_model: str = ""
    accelerators: Decimal = Decimal(0)
    local_ssd_gib: Decimal = Decimal(0)


def text(value: object) -> str:
    """A cell: decimals without exponent or trailing zeros, never more than 12 places."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        exact = value.quantize(PLACES).normalize()
        return f"{exact:f}"
    return "" if value is None else str(value)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> int:
    """Write the rows sorted by their cells, and give their number."""
    cells = sorted([text(row.get(column)) for column in columns] for row in rows)
    with path.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(cells)
    return len(cells)


def shape_row(instance_type: str, shape: Shape) -> Row:
    """One line of a shape table."""
    return {
        "instance_type": instance_type,
        **{name: getattr(shape, name) for name in (*SHAPES[1:], *ACCELERATORS, "local_ssd_gib")},
    }


def offer(
    provider: str, region: str, instance_type: str, shape: Shape, *, capacity: str, price: Decimal, day: str, note: str
) -> Row:
    """One line of the price book: Linux, USD, whole region. A price that is not positive is an error of the caller."""
    if not (price.is_finite() and price > 0):
        raise ValueError(f"{provider} {region} {instance_type} {capacity}: price {price}; leave the offer out instead")
    return {
        "provider": provider, "region": region, "zone": "", "instance_type": instance_type,
        "operating_system": "linux", "capacity_type": capacity, "vcpus": shape.vcpus,
        "memory_gib": shape.memory_gib, "gpu_model": shape.gpu_model, "gpus": shape.gpus,
        "architecture": shape.architecture, "currency": "USD", "price_per_hour": price, "effective_from": day,
        "note": note, "accelerator_model": shape.accelerator_model, "accelerators": shape.accelerators,
    }  # fmt: skip


def missing(provider: str, region: str, what: str, why: str) -> Row:
    """One line of the list of what could not be had."""
    return {"provider": provider, "region": region, "what": what, "why": why}
