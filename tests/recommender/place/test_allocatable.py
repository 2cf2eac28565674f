"""What a node leaves for pods, by the figures in Google's "Plan node sizes"."""

from __future__ import annotations

import polars as pl
import pytest

from recommender.place.allocatable import allocatable_memory_gib, allocatable_vcpus, replicas_per_node


def test_a_node_of_4_vcpu_and_16_gib_leaves_3_92_vcpu_and_13_3_gib() -> None:
    # GKE names the reserve of 4 vCPU as 80 millicores; of 16 GiB as 1 + 0.8 + 0.8 GiB and 100 MiB for eviction.
    node = pl.DataFrame({"vcpus": [4.0], "gib": [16.0]})
    left = node.select(allocatable_vcpus("vcpus"), allocatable_memory_gib("gib")).row(0)
    assert left == (pytest.approx(4 - 0.08), pytest.approx(16 - 2.6 - 100 / 1024))


def test_a_node_of_512_gib_keeps_2_percent_of_what_is_beyond_128() -> None:
    left = pl.DataFrame({"gib": [512.0]}).select(allocatable_memory_gib("gib")).item()
    assert left == pytest.approx(512 - (1 + 0.8 + 0.8 + 6.72 + 7.68) - 100 / 1024)


@pytest.mark.parametrize(
    ("replica", "node", "held"),
    [
        ((1.0, 1.0, 0.0), (3.92, 13.3, 0.0), 3),
        ((1.0, 8.0, 0.0), (3.92, 13.3, 0.0), 1),
        ((4.0, 1.0, 0.0), (3.92, 13.3, 0.0), 0),
        ((1.0, 1.0, 3.0), (90.0, 900.0, 8.0), 2),
        ((0.1, 0.0, 0.0), (0.3, 1.0, 0.0), 3),
        ((0.0, 0.0, 0.0), (3.92, 13.3, 0.0), None),
    ],
)
def test_a_node_holds_whole_replicas_only(
    replica: tuple[float, ...], node: tuple[float, ...], held: int | None
) -> None:
    names = ("vcpu", "gib", "gpu"), ("node_vcpu", "node_gib", "node_gpu")
    row = pl.DataFrame([replica + node], schema=names[0] + names[1], orient="row")
    assert row.select(replicas_per_node(*names)).item() == held
