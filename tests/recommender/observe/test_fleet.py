"""The fleet: pools and quotas as the settings say, and nothing that they do not."""

from __future__ import annotations

import pytest

from recommender.observe.fleet import pools, quotas
from tests.recommender.observe.usage_rows import cluster


def test_a_pool_is_one_row_a_machine_type():
    general = {
        "name": "general", "capacity_type": "spot", "instance_types": ("m5.large", "m6i.large", "m5.large"),
        "nodes_max": 4,
    }  # fmt: skip
    rows = pools((cluster(pools=(general,)),))
    assert rows.select("instance_type", "capacity_type", "nodes_min", "nodes_max").rows() == [
        ("m5.large", "spot", 0, 4),
        ("m6i.large", "spot", 0, 4),
    ]


@pytest.mark.parametrize(
    ("provider", "region", "stated", "jurisdiction"),
    [
        ("aws", "eu-west-2", "", "GB"),
        ("gcp", "europe-west1", "", "EEA"),
        ("aws", "eu-west-1", "GB", "GB"),
        ("aws", "eu-nowhere-9", "", ""),
        ("onprem", "london-1", "", ""),
        ("onprem", "london-1", "GB", "GB"),
    ],
)
def test_the_jurisdiction_is_stated_or_follows_from_the_region_or_is_unknown(
    provider: str, region: str, stated: str, jurisdiction: str
):
    rows = pools((cluster(provider=provider, region=region, jurisdiction=stated),))
    assert rows["jurisdiction"].to_list() == [jurisdiction]


@pytest.mark.parametrize(("zones", "zone"), [((), ""), (("a",), "a"), (("a", "b"), "")])
def test_a_cluster_in_one_zone_has_it_and_others_have_none(zones: tuple[str, ...], zone: str):
    assert pools((cluster(zones=zones),))["zone"].to_list() == [zone]


def test_only_clusters_with_a_limit_have_a_quota():
    rows = quotas((cluster(), cluster("c2", quotas={"gpus": 16})))
    assert rows.select("cluster", "vcpus", "gpus", "nodes").rows() == [("c2", None, 16.0, None)]


def test_an_empty_fleet_has_no_pools():
    assert pools(()).is_empty()
    assert quotas(()).is_empty()
