"""What a size's name says, for real names of every pattern."""

from __future__ import annotations

import polars as pl
import pytest

from exporters.core.geography import gpu_aliases
from exporters.fetch.azure_packaged import packaged_shapes
from exporters.fetch.azure_sizes import devices_of, read_name


@pytest.mark.parametrize(
    ("size", "family", "generation", "architecture"),
    [
        ("D4s_v5", "Dsv5", "sv5", "amd64"),
        ("D4ls_v5", "Dlsv5", "sv5", "amd64"),
        ("E4s_v5", "Esv5", "sv5", "amd64"),
        ("E4ds_v5", "Edsv5", "dsv5", "amd64"),
        ("D4lds_v5", "Dldsv5", "dsv5", "amd64"),
        ("D4as_v5", "Dasv5", "asv5", "amd64"),
        ("D2pls_v5", "Dplsv5", "psv5", "arm64"),
        ("E2ps_v6", "Epsv6", "psv6", "arm64"),
        ("F4s_v2", "Fsv2", "sv3", "amd64"),
        ("D4s_v3", "Dsv3", "sv3", "amd64"),
        ("E4s_v3", "Esv3", "sv3", "amd64"),
        ("F4als_v6", "Falsv6", "Fasv6", "amd64"),
        ("F4ams_v6", "Famsv6", "Fasv6", "amd64"),
        ("E16-4s_v5", "Esv5", "constrained-Esv5", "amd64"),
        ("M176ds-88_4_v3", "Mds4v3", "constrained-Mds4v3", "amd64"),
        ("DS11-1_v2", "DSv2", "constrained-DSv2", "amd64"),
        ("D2_v2", "Dv2", "v2", "amd64"),
        ("D2", "D", "D", "amd64"),
        ("B2ms", "Bms", "Bms", "amd64"),
        ("DC2as_cc_v5", "DCasccv5", "DCasccv5", "amd64"),
        ("NC24ads_A100_v4", "NCadsA100v4", "NCadsA100v4", "amd64"),
        ("ND128isr_NDR_GB200_v6", "NDisrNDRGB200v6", "NDisrNDRGB200v6", "amd64"),
        ("what is this", "what is this", "what is this", "amd64"),
    ],
)
def test_a_name_gives_family_generation_and_architecture(size, family, generation, architecture):
    name = read_name(f"Standard_{size}")
    assert (name.family, name.generation, name.architecture) == (family, generation, architecture)


@pytest.mark.parametrize(
    ("size", "vcpus", "reported", "model", "gpus"),
    [
        ("NV6ads_A10_v5", 6, 1, "A10", 1 / 6),
        ("NV12ads_A10_v5", 12, 1, "A10", 1 / 3),
        ("NV36adms_A10_v5", 36, 1, "A10", 1),
        ("NV72ads_A10_v5", 72, 2, "A10", 2),
        ("NV4as_v4", 4, 1, "MI25", 1 / 8),
        ("NV8ads_V710_v5", 8, 1, "V710", 1 / 3),
        ("NV28adms_V710_v5", 28, 1, "V710", 1),
        ("NC48ads_A100_v4", 48, 2, "A100-80GB", 2),
        ("ND96asr_v4", 96, 8, "A100-40GB", 8),
        ("ND96isr_H100_v5", 96, None, "H100", 8),
        ("ND96isr_MI300X_v5", 96, None, "MI300X", 8),
        ("ND128isr_NDR_GB200_v6", 128, None, "GB200", 4),
        ("NC24rs_v3", 24, 4, "V100", 4),
        ("NC16as_T4_v3", 16, 1, "T4", 1),
        ("NC16as_T4_v3", 16, None, None, 0),
        ("NC6_Promo", 6, 1, "K80", 1),
        ("NV12s_v3", 12, 1, "M60", 1),
        ("NC64ds_xl_RTXPRO6000BSE_v6", 64, 1, None, 0),
        ("D4s_v5", 4, None, "", 0),
        ("D4s_v9", 4, 1, None, 0),
    ],
)
def test_gpus_are_whole_parts_or_not_known(size, vcpus, reported, model, gpus):
    devices = devices_of(f"Standard_{size}", vcpus=vcpus, reported=reported)
    assert (devices.gpu_model, devices.gpus) == (model, pytest.approx(gpus))


def test_an_fpga_is_not_a_gpu():
    devices = devices_of("Standard_NP20s", vcpus=20, reported=2)
    assert (devices.gpu_model, devices.gpus, devices.accelerator_model, devices.accelerators) == (
        "",
        0,
        "Alveo-U250",
        2,
    )


def test_the_packaged_table_agrees_with_the_names_and_the_canonical_models():
    shapes = packaged_shapes()
    assert shapes["instance_type"].is_unique().all()
    assert shapes.filter(pl.col("gpu_model").is_null()).is_empty()
    assert set(shapes["gpu_model"]) - {""} <= set(gpu_aliases()["gpu_model"])
    for row in shapes.filter(pl.col("gpus") > 0).iter_rows(named=True):
        devices = devices_of(row["instance_type"], vcpus=row["vcpus"], reported=row["gpus"])
        assert (devices.gpu_model, devices.gpus) == (row["gpu_model"], pytest.approx(row["gpus"], abs=1e-4))
