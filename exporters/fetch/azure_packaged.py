"""Azure, the shapes without an account: the packaged table of sizes in the form of the raw frame `shapes`.

Promises the same families and generations as for a subscription's sizes, because both read them from the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files

import polars as pl

from exporters.core.words import ANY_REGION
from exporters.fetch.azure_sizes import SHAPE_COLUMNS, Devices, devices_of, read_name


@cache
def packaged_shapes() -> pl.DataFrame:
    """This will return the packaged table of sizes; families, and cards it does not know, are read from the names."""
    with files("exporters.fetch").joinpath("data", "azure_shapes.csv").open("rb") as table:
        rows = pl.read_csv(table, infer_schema=False).to_dicts()
    return pl.DataFrame([_packaged(row) for row in rows], schema=SHAPE_COLUMNS)


def _packaged(row: Mapping[str, str | None]) -> dict[str, object]:
    size, vcpus, gpus = str(row["instance_type"]), float(row["vcpus"] or 0), float(row["gpus"] or 0)
    name = read_name(size)
    devices = Devices(row["gpu_model"], gpus) if gpus else devices_of(size, vcpus=vcpus, reported=None)
    return {
        "region": ANY_REGION,
        "instance_type": size,
        "vcpus": vcpus,
        "memory_gib": float(row["memory_gib"] or 0),
        "architecture": row["architecture"],
        **asdict(devices),
        "family": name.family,
        "generation": name.generation,
        "shape_source": "packaged",
    }
