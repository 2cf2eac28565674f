"""GCP for the packaged tables: shapes, offers, and the component prices that the offers determine.

A GCP machine's price is the sum of its components (Cloud Billing Catalog). Where three machines of a family differ in
GiB per vCPU, their prices determine the vCPU and GiB prices exactly; every further machine of the family must then
agree to the last digit, or the family is left out. Local SSD that a machine bundles is a component too; the book
carries it inside the GPU's price.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from packaged_table import PLACES, Row, Shape, missing, offer

PRICES = "prices/gcp_karpenter_2026-08/initial-prices.json"
MACHINES = "prices/gcp_pricing_yml_cyclenerd_2026-07/pricing_2026-07-30.yml.gz"
DAY = "2026-08-03"
REGIONS = ("europe-west2", "europe-west1", "europe-west4", "europe-west3", "europe-north1")
FAMILIES = ("n2", "e2", "c2", "c3", "n2d", "t2d", "g2", "a2", "a3")
SOLVED = ("n2", "e2", "c3", "n2d")
CAPACITY = {"on_demand": "on-demand", "spot": "spot"}
HOURS_PER_MONTH = 730

ARM = ("t2a", "c4a", "n4a", "a4x")
GPU_WORDS = {
    "l4": "L4", "rtx6000": "RTX-6000", "a100": "A100-40GB", "a100-80gb": "A100-80GB", "h100-80gb": "H100",
    "h100-80gb-mega": "H100",
}  # fmt: skip
UNLISTED = {
    "a3-ultragpu-8g": (224, 2952, "H200", 8), "a4-highgpu-8g": (224, 3968, "B200", 8),
    "a4x-highgpu-4g": (140, 884, "GB200", 4),
}  # fmt: skip
"""vCPUs, GiB, GPU model, GPUs of types the price file lacks (Google, GPU machine types); 12,000 GiB of SSD each."""

Prices = Mapping[str, Mapping[str, Mapping[str, Decimal]]]


@dataclass(frozen=True, slots=True)
class Components:
    """USD per hour of one vCPU and one GiB of a family, and of one GPU with the local SSD that comes with it."""

    vcpu: Decimal
    gib: Decimal
    gpus: Mapping[str, Decimal]

    def compose(self, shape: Shape) -> Decimal:
        """The machine's price, exact."""
        gpu = self.gpus[shape.gpu_model] * shape.gpus if shape.gpus else Decimal(0)
        return shape.vcpus * self.vcpu + shape.memory_gib * self.gib + gpu


def load(data: Path) -> tuple[dict[str, Any], Prices]:
    """The machine file (every value as text, so that no price passes through a float) and the offered prices."""
    with gzip.open(data / MACHINES, "rt", encoding="utf-8") as file:
        machines = yaml.load(file, Loader=yaml.CBaseLoader)["compute"]  # noqa: S506 - the base loader makes only text
    prices = json.loads((data / PRICES).read_text(encoding="utf-8"), parse_float=Decimal, parse_int=Decimal)
    return machines, prices["prices"]


def shapes(machines: dict[str, Any], prices: Prices) -> dict[str, Shape]:
    """Every machine type that is offered in some region. Shared-core types count the vCPUs they are billed for."""
    offered = {name for region in prices.values() for name in region["on_demand"]}
    found = {name: _shape(name, machines["instance"][name]) for name in sorted(offered)}
    for name, (vcpus, gib, model, gpus) in UNLISTED.items():
        family = name.split("-", 1)[0]
        architecture = "arm64" if family in ARM else "amd64"
        found[name] = Shape(
            Decimal(vcpus), Decimal(gib), architecture, family, family,
            gpu_model=model, gpus=Decimal(gpus), local_ssd_gib=Decimal(12000),
        )  # fmt: skip
    return found


def _shape(name: str, item: dict[str, Any]) -> Shape:
    family = name.split("-", 1)[0]
    gpu = next((word for word in GPU_WORDS if word in item), "")
    return Shape(
        vcpus=Decimal(item["cpu"]),
        memory_gib=Decimal(item["ram"]),
        architecture="arm64" if family in ARM else "amd64",
        family=family,
        generation=family,
        gpu_model=GPU_WORDS.get(gpu, ""),
        gpus=Decimal(item[gpu]) if gpu else Decimal(0),
        local_ssd_gib=Decimal(item.get("local-ssd", 0)),
    )


def wanted(name: str) -> bool:
    """Whether the price book carries a machine type: the chosen families, without shared cores, metal and -lssd."""
    family, _, rest = name.partition("-")
    return family in FAMILIES and not rest.endswith(("lssd", "metal", "micro", "small", "medium"))


def solve(
    region: str, market: str, machines: dict[str, Any], prices: Prices, known: Mapping[str, Shape]
) -> dict[str, Components]:
    """Component prices by family, of one region and market: those that every machine of the family confirms."""
    listed = prices[region][market]
    solved = {family: found for family in (*SOLVED, "n1") if (found := _host(family, listed, known))}
    n1 = solved.pop("n1", None)
    a2 = _a2(n1, listed, _ssd_gib_hour(region, market, machines), known) if n1 else None
    if a2:
        solved["a2"] = a2
    return {family: found for family, found in solved.items() if _confirmed(family, found, listed, known)}


def _host(family: str, listed: Mapping[str, Decimal], known: Mapping[str, Shape]) -> Components | None:
    """Two machines of 8 vCPUs that differ in GiB give the GiB price, and then the vCPU price."""
    names = f"{family}-standard-8", f"{family}-highmem-8"
    if any(name not in listed for name in names):
        return None
    (small, large), (low, high) = (tuple(known[n] for n in names), tuple(listed[n] for n in names))
    gib = (high - low) / (large.memory_gib - small.memory_gib)
    return Components(vcpu=(low - small.memory_gib * gib) / small.vcpus, gib=gib, gpus={})


def _a2(n1: Components, listed: Mapping[str, Decimal], ssd: Decimal, known: Mapping[str, Shape]) -> Components | None:
    """A2: sixteen times the 1-GPU machine less the 16-GPU machine leaves 96 vCPUs, so the vCPU price is exact.

    Memory cannot be told from GPU by A2 prices alone. A2's vCPU and GiB prices are N1's (the SKUs of us-central1:
    0.031611 and 0.004237), so N1's GiB price is used, and only where the vCPU price found here equals N1's.
    """
    one, sixteen = "a2-highgpu-1g", "a2-megagpu-16g"
    if one not in listed or sixteen not in listed:
        return None
    if (16 * listed[one] - listed[sixteen]) / 96 != n1.vcpu:
        return None
    host = known[one].vcpus * n1.vcpu + known[one].memory_gib * n1.gib
    gpus = {"A100-40GB": listed[one] - host}
    ultra = "a2-ultragpu-1g"
    if ultra in listed:
        shape = known[ultra]
        # the GPU with its SSD, to 12 places, so that a machine's price is an exact sum of book prices
        alone = listed[ultra] - shape.vcpus * n1.vcpu - shape.memory_gib * n1.gib - shape.local_ssd_gib * ssd
        gpus["A100-80GB"] = (alone.quantize(Decimal(1).scaleb(-9)) + shape.local_ssd_gib * ssd).quantize(PLACES)
    return Components(vcpu=n1.vcpu, gib=n1.gib, gpus=gpus)


def _ssd_gib_hour(region: str, market: str, machines: dict[str, Any]) -> Decimal:
    month = machines["storage"]["local"]["cost"][region]["month_spot" if market == "spot" else "month"]
    return Decimal(month) / HOURS_PER_MONTH


def _confirmed(family: str, found: Components, listed: Mapping[str, Decimal], known: Mapping[str, Shape]) -> bool:
    """Every machine of the family in the book comes out at its listed price (SSD bundles to 15 significant digits)."""
    for name, price in listed.items():
        if name.split("-", 1)[0] == family and wanted(name):
            shape = known[name]
            off = abs(found.compose(shape) - price)
            if off > (Decimal("1e-10") if shape.local_ssd_gib else 0):
                return False
    return True


def offers(data: Path) -> tuple[dict[str, Shape], list[Row], list[Row], list[Row]]:
    """Shapes, price book rows, component book rows, and what could not be had."""
    machines, prices = load(data)
    known = shapes(machines, prices)
    book: list[Row] = []
    parts: list[Row] = []
    lost: list[Row] = []
    for region in REGIONS:
        for market, capacity in CAPACITY.items():
            solved = solve(region, market, machines, prices, known)
            parts += _component_rows(region, capacity, solved)
            book += _book_rows(region, capacity, prices[region][market], solved, known)
            lost += _lost_components(region, capacity, prices[region][market], solved)
        lost += _lost_machines(region, prices[region]["on_demand"])
    return known, book, parts, lost


def _book_rows(
    region: str,
    capacity: str,
    listed: Mapping[str, Decimal],
    solved: Mapping[str, Components],
    known: Mapping[str, Shape],
) -> list[Row]:
    rows = []
    for name, price in sorted(listed.items()):
        if not wanted(name) or not price > 0:
            continue
        shape = known[name]
        exact = solved[shape.family].compose(shape) if shape.family in solved else price
        note = f"includes {shape.local_ssd_gib} GiB of local SSD" if shape.local_ssd_gib else ""
        rows.append(offer("gcp", region, name, shape, capacity=capacity, price=exact, day=DAY, note=note))
    return rows


def _component_rows(region: str, capacity: str, solved: Mapping[str, Components]) -> list[Row]:
    rows: list[Row] = []
    for family, found in solved.items():
        base = {
            "provider": "gcp", "region": region, "family": family, "gpu_model": "", "capacity_type": capacity,
            "currency": "USD", "effective_from": DAY, "note": "",
        }  # fmt: skip
        rows.append({**base, "component": "vcpu", "price_per_hour": found.vcpu})
        rows.append({**base, "component": "gib", "price_per_hour": found.gib})
        for model, price in found.gpus.items():
            note = "includes 375 GiB of local SSD per GPU" if model == "A100-80GB" else ""
            rows.append({**base, "component": "gpu", "gpu_model": model, "price_per_hour": price, "note": note})
    return rows


def _lost_components(
    region: str, capacity: str, listed: Mapping[str, Decimal], solved: Mapping[str, Components]
) -> list[Row]:
    offered = {name.split("-", 1)[0] for name in listed if wanted(name)}
    why = "the machine prices do not determine vCPU, GiB and GPU prices exactly"
    return [
        missing("gcp", region, f"{capacity} component prices of {family}", why)
        for family in sorted(offered - set(solved))
    ]


def _lost_machines(region: str, listed: Mapping[str, Decimal]) -> list[Row]:
    offered = {name.split("-", 1)[0] for name in listed if wanted(name)}
    lost = [
        missing("gcp", region, f"{family} machines", "not offered in this region by the dated source")
        for family in sorted(set(FAMILIES) - offered)
    ]
    lost.append(
        missing("gcp", region, "n1 with attached T4, P4, V100, P100", "the dated source prices machine types only")
    )
    return lost
