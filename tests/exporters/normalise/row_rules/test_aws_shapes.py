"""What an AWS machine consists of: GPUs in fractions, accelerators once, unknown devices not at all."""

from __future__ import annotations

import pytest

from tests.fakes.aws_fetched import M5, choose_linux, prices
from tests.fakes.aws_rows import Json, gpu, instance_type, machine


@pytest.mark.parametrize(
    ("name", "devices", "expected"),
    [
        ("g6f.large", {"GpuInfo": gpu("L4", 2861, 0, partition=0.125, logical=1)}, ("L4", 0.125)),
        ("gr6f.4xlarge", {"GpuInfo": gpu("L4", 11444, 0, partition=0.5, logical=1)}, ("L4", 0.5)),
        ("g5.48xlarge", {"GpuInfo": gpu("A10G", 22888, 8)}, ("A10G", 8.0)),
        ("p4d.24xlarge", {"GpuInfo": gpu("A100", 40960, 8)}, ("A100-40GB", 8.0)),
        ("p4de.24xlarge", {"GpuInfo": gpu("A100", 81920, 8)}, ("A100-80GB", 8.0)),
    ],
)
def test_gpus_are_counted_whole_or_in_fractions(name: str, devices: Json, expected: tuple[str, float]) -> None:
    types = {"eu-west-2": [instance_type(name, **devices)]}

    shapes = choose_linux([machine(name, "eu-west-2", "1")], types=types).shapes

    assert shapes.select("gpu_model", "gpus").row(0) == expected


def test_an_accelerator_that_is_listed_twice_is_counted_once() -> None:
    device = {"Name": "Inferentia2", "Count": 12, "MemoryInfo": {"SizeInMiB": 32768}}
    both = {"InferenceAcceleratorInfo": {"Accelerators": [device]}, "NeuronInfo": {"NeuronDevices": [device]}}
    types = {"eu-west-2": [instance_type("inf2.48xlarge", **both)]}

    shapes = choose_linux([machine("inf2.48xlarge", "eu-west-2", "12.98")], types=types).shapes

    assert shapes.select("accelerator_model", "accelerators", "gpus").row(0) == ("Inferentia2", 12.0, 0.0)


@pytest.mark.parametrize(
    "devices", [gpu("Z9000", 16384, 1), gpu("L4", 2861, 0, partition=0.0), {"Gpus": [{"Name": "L4"}]}], ids=str
)
def test_a_gpu_that_is_unknown_or_cannot_be_counted_has_no_price(devices: Json) -> None:
    types = {"eu-west-2": [instance_type("m5.large"), instance_type("g9.large", GpuInfo=devices)]}

    chosen = choose_linux([M5, machine("g9.large", "eu-west-2", "1")], types=types)

    assert prices(chosen).keys() == {"m5.large"}
    assert chosen.rejects.filter(reason="unknown-gpu", example="g9.large").height == 1


@pytest.mark.parametrize("architecture", ["arm64_mac", "x86_64_mac", ""])
def test_a_machine_of_no_architecture_that_runs_kubernetes_is_rejected(architecture: str) -> None:
    types = {"eu-west-2": [instance_type("m5.large"), instance_type("mac2.metal", architecture=architecture)]}

    chosen = choose_linux([M5, machine("mac2.metal", "eu-west-2", "1")], types=types)

    assert chosen.rejects.filter(reason="unknown-shape", example="mac2.metal").height == 1


def test_a_type_that_ec2_does_not_offer_in_the_region_is_not_an_offer() -> None:
    rows = [M5, machine("m5.large", "us-east-1", "0.096"), machine("u9.large", "us-east-1", "0.1")]
    types = {
        "eu-west-2": [instance_type("m5.large"), instance_type("u9.large")],
        "us-east-1": [instance_type("m5.large")],
    }

    chosen = choose_linux(rows, types=types)

    assert chosen.prices.filter(instance_type="u9.large").is_empty()
    assert chosen.rejects.filter(reason="unknown-shape")["region"].to_list() == ["us-east-1"]


def test_a_type_that_differs_between_regions_is_described_in_each() -> None:
    rows = [machine("m5.large", region, "0.1") for region in ("eu-west-2", "us-east-1")]
    types = {"eu-west-2": [instance_type("m5.large")], "us-east-1": [instance_type("m5.large", mib=16384)]}

    shapes = choose_linux(rows, types=types).shapes

    assert dict(shapes.select("region", "memory_gib").iter_rows()) == {"eu-west-2": 8.0, "us-east-1": 16.0}
    assert choose_linux(rows).shapes["region"].to_list() == [""]
