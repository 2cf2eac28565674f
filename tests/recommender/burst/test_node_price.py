"""What one more node costs: its parts, its energy, or nothing until what is paid for is used up."""

from __future__ import annotations

import pytest

from recommender.burst.node_price import price_of


@pytest.mark.parametrize(
    ("capacity_type", "limited", "expected"),
    [("on-demand", True, 4 * 0.03 + 16 * 0.004), ("owned", True, 0.05), ("committed-1y", True, 0.0)],
)
def test_one_more_node_costs_its_parts_its_energy_or_nothing(
    capacity_type: str, limited: bool, expected: float
) -> None:
    row = {
        "to_capacity_type": capacity_type,
        "to_nodes_limited": limited,
        "to_marginal_gbp_per_hour": 0.05,
        "to_vcpus": 4.0,
        "to_memory_gib": 16.0,
        "to_gpus": 0.0,
        "to_gbp_per_vcpu_hour": 0.03,
        "to_gbp_per_gib_hour": 0.004,
        "to_gbp_per_gpu_hour": 0.0,
    }
    assert price_of(row) == pytest.approx(expected)
    assert price_of(row | {"to_capacity_type": "committed-1y", "to_nodes_limited": False}) == pytest.approx(0.184)
    assert price_of(row | {"to_capacity_type": "owned", "to_marginal_gbp_per_hour": None}) is None
