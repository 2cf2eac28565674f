"""What every workload costs in every cluster: the cheapest allowed place, and rules apart from room."""

from __future__ import annotations

import polars as pl
import pytest

from tests.recommender import world


def _costs(*rows: dict[str, object], **changes: object) -> dict[tuple[str, str, str], dict[str, object]]:
    costs = world.appraisal(*rows, **changes).costs
    return {(one["workload"], one["to_cluster"], one["to_capacity_type"]): one for one in costs.to_dicts()}


def test_each_cluster_and_capacity_type_has_the_cash_price_of_its_cheapest_place() -> None:
    costs = _costs(world.workload("api", residency_class="anywhere", interruption_tolerance="spot"))
    # 4 vCPU and 16 GiB: 4 x 0.03 + 16 x 0.004, and 4 x 0.02 + 16 x 0.003.
    assert costs["api", "eks-lon", "on-demand"]["gbp_per_hour"] == pytest.approx(0.184)
    assert costs["api", "gke-bel", "on-demand"]["gbp_per_hour"] == pytest.approx(0.128)
    assert costs["api", "eks-lon", "on-demand"]["is_current"]
    assert not costs["api", "gke-bel", "on-demand"]["is_current"]


def test_a_cluster_that_the_policy_forbids_has_no_price_and_names_the_rule() -> None:
    costs = _costs(world.workload("api", residency_class="uk"))
    forbidden = costs["api", "gke-bel", "on-demand"]
    assert (forbidden["allowed"], forbidden["gbp_per_hour"], forbidden["rules"]) == (False, None, ["residency"])


def test_a_full_cluster_is_allowed_and_has_a_price_but_no_room() -> None:
    costs = _costs(
        world.workload("big", replicas_mean=30.0, replicas_peak=30.0, vcpu_request_peak=90.0, residency_class="uk"),
        pools=world.pools(world.GENERAL, world.pool("onprem-lon", "metal", "r760", provider="onprem", region="london",
                          tier="owned", capacity_type="owned", nodes_max=1)),
    )  # fmt: skip
    full = costs["big", "onprem-lon", "owned"]
    assert full["allowed"]
    assert not full["has_room"]
    assert full["gbp_per_hour"] is not None


def test_system_pods_and_workloads_without_data_are_not_in_it() -> None:
    names = world.appraisal(world.workload("api"), world.workload("agent", is_system=True)).costs["workload"]
    assert set(names) == {"api"}


def test_the_order_of_the_workloads_changes_nothing() -> None:
    rows = [world.workload(name, residency_class="europe") for name in ("a", "b", "c")]
    assert world.appraisal(*rows).costs.equals(pl.DataFrame(world.appraisal(*reversed(rows)).costs))
