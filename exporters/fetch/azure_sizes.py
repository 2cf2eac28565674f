"""Azure, the names: what the name of a machine size says about its family, generation, architecture and GPUs.

Names follow ``Standard_<series><vCPUs>[-<usable>]<features>[_<accelerator>]_v<version>`` (Microsoft Learn, "Azure
virtual machine sizes naming conventions"). Memory is not in the name and is never guessed.

Generation is what the split fits vCPU and GiB prices within: machines of one generation and architecture differ only
in GiB per vCPU. Since version 5 Azure sells that as Dl (2 GiB), D (4) and E (8): Dlsv5, Dsv5 and Esv5 share ``sv5``,
Dalsv6, Dasv6 and Easv6 share ``asv6``. Before, F was the 2 GiB family: Fsv2 stands with Dsv3 and Esv3 (``sv3``), which
run on the same processors and also have a temporary disk. From version 6 F means whole cores at another price and is a
generation of its own (Fals, Fas, Fams: ``Fasv6``). Sizes with constrained cores cost as much as their parent for
fewer usable vCPUs and would spoil a fit, so they are apart. Every other series is its own generation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

_NAME = re.compile(
    r"^Standard_(?P<series>[A-Z]+)(?P<size>\d+)(?:-(?P<usable>\d+))?(?P<features>[a-z]*)(?:-(?P<usable_after>\d+))?"
    r"(?P<rest>(?:_[A-Za-z0-9]+)*?)(?:_v(?P<version>\d+))?$"
)

_GPUS: tuple[tuple[str, str, float | None, float | None], ...] = (
    # pattern, model, vCPUs of one whole GPU (parts of a GPU are sold by vCPU), GPUs (where the API says none or 1)
    (r"NV\d+adm?s_A10_v5", "A10", 36, None),
    (r"NV\d+as_v4", "MI25", 32, None),
    (r"NV28adms_V710_v5", "V710", None, 1),
    (r"NV\d+ads_V710_v5", "V710", 24, None),
    (r"NG\d+adm?s_V620(_v1)?", "V620", 32, None),
    (r"NC\d+as_T4_v3", "T4", None, None),
    (r"NC\d+ads_A10_v4", "A10", None, None),
    (r"NC\d+ads_A100_v4", "A100-80GB", None, None),
    (r"NC\d+adi?s_H100_v5", "H100", None, None),
    (r"NCC40ads_H100_v5", "H100", None, 1),
    (r"ND96asr(_A100)?_v4", "A100-40GB", None, 8),
    (r"ND96amsr?_A100_v4", "A100-80GB", None, 8),
    (r"ND96is\w*_H100_v5", "H100", None, 8),
    (r"ND96isr?_H200_v5", "H200", None, 8),
    (r"ND96isr?_MI300X_v5", "MI300X", None, 8),
    (r"ND128isrf?_(NDR_)?GB200_v6", "GB200", None, 4),
    (r"ND128isrf?_(NDR_)?GB300_v6", "GB300", None, 4),
    (r"ND40rs_v2", "V100-32GB", None, 8),
    (r"ND\d+r?s", "P40", None, None),
    (r"NC\d+r?s_v3", "V100", None, None),
    (r"NC\d+r?s_v2", "P100", None, None),
    (r"NC\d+r?", "K80", None, None),
    (r"NV\d+s_v[23]", "M60", None, None),
    (r"NV\d+", "M60", None, None),
)
"""GPU model and count by size. Resource SKUs name no model, say 1 for a part of one, and none for GB200 and MI300X.

Sources: Microsoft Learn, "GPU accelerated virtual machine sizes", one page a series: NVadsA10v5 sells an A10 in sixths
(6 of 36 vCPUs), NVv4 an MI25 in eighths (4 of 32), NVadsV710v5 a V710 in sixths (4 of 24), NGads V620 in quarters.
"""

_FPGA = (re.compile(r"NP(\d+)s"), "Alveo-U250", 10.0)
"""A card that Resource SKUs count as a GPU but is not: one FPGA for each 10 vCPUs (Microsoft Learn, "NP-series")."""


SHAPE_COLUMNS: dict[str, pl.DataType] = {
    **dict.fromkeys(("region", "instance_type"), pl.String()),
    **dict.fromkeys(("vcpus", "memory_gib"), pl.Float64()),
    "gpu_model": pl.String(),
    "gpus": pl.Float64(),
    "accelerator_model": pl.String(),
    "accelerators": pl.Float64(),
    **dict.fromkeys(("architecture", "family", "generation", "shape_source"), pl.String()),
}
"""The raw frame `shapes`, whichever list of sizes it comes from."""


@dataclass(frozen=True, slots=True)
class SizeName:
    """What a size's name says.

    Args:
        family: series, features and version: Dsv5 of Standard_D4s_v5.
        generation: groups families that differ only in GiB per vCPU; see the module.
        architecture: amd64 or arm64 (feature p).
    """

    family: str
    generation: str
    architecture: str


@dataclass(frozen=True, slots=True)
class Devices:
    """GPUs and other accelerators of a size. A model of None: the size has GPUs, but which or how many is not known."""

    gpu_model: str | None = ""
    gpus: float = 0.0
    accelerator_model: str = ""
    accelerators: float = 0.0


def read_name(instance_type: str) -> SizeName:
    """This will read a size's name; a name outside the convention is its own family and generation."""
    match = _NAME.match(instance_type)
    if match is None:
        bare = instance_type.removeprefix("Standard_")
        return SizeName(family=bare, generation=bare, architecture="amd64")
    series, features, rest = match["series"], match["features"], match["rest"].replace("_", "")
    version = f"v{match['version']}" if match["version"] else ""
    family = f"{series}{features}{rest}{version}"
    generation = _generation(series, features, rest, int(match["version"] or 1), family)
    if match["usable"] or match["usable_after"]:
        generation = f"constrained-{family}"
    return SizeName(family=family, generation=generation, architecture="arm64" if "p" in features else "amd64")


def _generation(series: str, features: str, rest: str, version: int, family: str) -> str:
    if series == "F" and version == 2:
        return f"{features}v3"
    if series == "F" and version >= 6:
        return f"F{features.replace('l', '').replace('m', '')}{rest}v{version}"
    if series in {"D", "E"} and version >= 2:
        return f"{features.replace('l', '')}{rest}v{version}"
    return family


def devices_of(instance_type: str, *, vcpus: float, reported: float | None) -> Devices:
    """This will return a size's GPUs: the model by name, the count by table, by its share of a GPU, or as reported.

    Args:
        instance_type: the size's name.
        vcpus: its nominal vCPUs.
        reported: the API's capability `GPUs`; None: absent.
    """
    bare = instance_type.removeprefix("Standard_").removesuffix("_Promo").strip()
    fpga, card, vcpus_of_one_card = _FPGA
    if fpga.fullmatch(bare):
        return Devices(accelerator_model=card, accelerators=vcpus / vcpus_of_one_card)
    for pattern, model, vcpus_of_one, count in _GPUS:
        if re.fullmatch(pattern, bare):
            gpus = vcpus / vcpus_of_one if vcpus_of_one else count or reported
            return Devices(gpu_model=model, gpus=gpus) if gpus else Devices(gpu_model=None)
    return Devices(gpu_model=None) if reported or bare.startswith("N") else Devices()
