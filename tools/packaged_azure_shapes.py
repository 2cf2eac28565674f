"""Azure VM sizes: vCPUs, GiB, GPUs and family by name, from the Spare Cores specifications, with the known gaps mended.

The specifications count a fraction of a GPU as one, name the model of few, and include retired sizes. What is mended
stands in the tables below (Microsoft, Azure VM sizes); GPU sizes that are retired or not settled by them are left
out.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import polars as pl
from packaged_table import PLACES, Shape

SPECS = "reference/instance_specs_sparecores_2026-01/servers_aws_azure_gcp.parquet"

GPU_FAMILIES = {
    "NCadsA100v4": "A100-80GB", "NCadsH100v5": "H100", "NCadisH100v5": "H100", "NCasT4v3": "T4", "NCsv3": "V100",
    "NCrsv3": "V100", "NDamsrA100v4": "A100-80GB", "NDasrv4": "A100-40GB", "NDisrH100v5": "H100",
    "NDisrH200v5": "H200", "NDisMI300Xv5": "MI300X", "NDisrMI300Xv5": "MI300X", "NDrsv2": "V100-32GB",
    "NGadmsV620v1": "V620", "NGadsV620v1": "V620", "NVadmsA10v5": "A10", "NVadmsV710v5": "V710", "NVadsA10v5": "A10",
    "NVadsV710v5": "V710", "NVasv4": "MI25", "NVsv3": "M60",
}  # fmt: skip

FRACTIONS = {
    "NV6ads_A10_v5": (1, 6), "NV12ads_A10_v5": (1, 3), "NV18ads_A10_v5": (1, 2), "NV4as_v4": (1, 8),
    "NV8as_v4": (1, 4), "NV16as_v4": (1, 2), "NV4ads_V710_v5": (1, 6), "NV8ads_V710_v5": (1, 3),
    "NV12ads_V710_v5": (1, 2), "NV24ads_V710_v5": (1, 1), "NG8ads_V620_v1": (1, 4), "NG16ads_V620_v1": (1, 2),
}  # fmt: skip
"""GPUs of sizes that hold a share of one."""

UNLISTED_GPUS = {"ND128isr_NDR_GB200_v6": ("GB200", 4), "ND128isr_NDR_GB300_v6": ("GB300", 4)}
"""GPUs that neither the specifications nor Resource SKUs state."""

SIZE = re.compile(
    r"(?P<letters>[A-Z]+)(?P<vcpus>\d+)(?:-(?P<usable>\d+))?(?P<features>[a-z]*)(?P<rest>(?:_[A-Za-z0-9]+)*)$"
)


def shapes(data: Path) -> dict[str, Shape]:
    """Every Azure size whose shape is known, by its ARM name."""
    rows = pl.read_parquet(data / SPECS).filter(pl.col("vendor_id") == "azure")
    columns = ("api_reference", "vcpus", "memory_mib", "gpu_count", "status", "cpu_architecture")
    found: dict[str, Shape] = {}
    for name, vcpus, mib, gpus, status, architecture in rows.select(columns).iter_rows():
        shape = _shape(name, vcpus, mib, gpus or 0, active=status == "ACTIVE", architecture=architecture)
        if shape is not None:
            found[name] = shape
    return found


def family_of(name: str) -> tuple[str, str]:
    """``Standard_D4ls_v5``: family Dlsv5; generation sv5 joins Dlsv5, Dsv5 and Esv5 (2, 4, 8 GiB per vCPU).

    Fsv2 joins Dsv3 and Esv3, the sizes of its day. F sizes from v6 on come with 2, 4 and 8 GiB per vCPU themselves,
    so they are their own generation. Constrained-core sizes are priced by all cores and join nothing.
    """
    match = SIZE.match(name.removeprefix("Standard_"))
    if match is None:
        return name, name
    letters, features, rest = match["letters"], match["features"], match["rest"].replace("_", "")
    family = letters + features + rest
    if match["usable"]:
        return family, f"constrained-{family}"
    if letters not in {"D", "E", "F"}:
        return family, family
    generation = re.sub("[lm]", "", features) + rest or family
    if letters == "F":
        generation = "sv3" if family == "Fsv2" else f"F{generation.removeprefix('F')}"
    return family, generation


def _shape(name: str, vcpus: int, mib: int, gpus: int, *, active: bool, architecture: str) -> Shape | None:
    plain = name.removeprefix("Standard_")
    family, generation = family_of(name)
    match = SIZE.match(plain)
    usable = int(match["usable"]) if match and match["usable"] else vcpus
    model, count = UNLISTED_GPUS.get(plain, (GPU_FAMILIES.get(family, ""), gpus))
    if count and (not active or not model):
        return None
    if not (usable and mib):
        return None
    part, whole = FRACTIONS.get(plain, (count, 1))
    return Shape(
        vcpus=Decimal(usable),
        memory_gib=Decimal(mib) / 1024,
        architecture="arm64" if architecture == "ARM64" else "amd64",
        family=family,
        generation=generation,
        gpu_model=model if count else "",
        gpus=(Decimal(part) / whole).quantize(PLACES) if count else Decimal(0),
    )
