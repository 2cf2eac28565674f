"""Quotas of a region hold over all its clusters, those of a namespace inside one."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl

from recommender.frames import NamespaceQuota, RegionQuota
from tests.recommender.world import GENERAL, SPOT, plan, policy, pool, pools, workload

TOLERANT = {"interruption_tolerance": "spot", "replicas_mean": 1.0}


def region(vcpus: float | None = None) -> dy.DataFrame[RegionQuota]:
    row = {"provider": "aws", "region": "eu-west-2", "vcpus": vcpus, "gpus": None}
    return RegionQuota.validate(pl.DataFrame([row], schema=RegionQuota.create_empty().schema))


def namespace(**limits: Any) -> dy.DataFrame[NamespaceQuota]:
    row = {"cluster": "eks-lon", "namespace": "shop", "vcpus": None, "memory_gib": None, "gpus": None} | limits
    return NamespaceQuota.validate(pl.DataFrame([row], schema=NamespaceQuota.create_empty().schema))


def small(name: str) -> dict[str, Any]:
    """A workload of 1 vCPU and 4 GiB: a quarter and a bit of a machine of 4 and 16, of which two fit."""
    return workload(name, vcpu_request_mean=1.0, memory_gib_request_mean=4.0, **TOLERANT)


def advised(**limits: Any) -> list[str]:
    cheap = policy(steady={"min_saving_gbp_per_month": 1})
    made = plan(small("a"), small("b"), pools=pools(GENERAL, SPOT), policy=cheap, **limits)
    return [one.target.workload for one in made.recommendations]


def held(vcpus: float) -> list[str]:
    """The first rules that refuse what shares of machines do not let through."""
    cheap = policy(steady={"min_saving_gbp_per_month": 1})
    made = plan(small("a"), small("b"), pools=pools(GENERAL, SPOT), policy=cheap, region_quotas=region(vcpus))
    return [one.rule for one in made.refused if one.stage != "guard"]


def test_without_a_quota_both_move() -> None:
    assert advised() == ["a", "b"]


def test_a_regions_quota_counts_the_machines_of_what_runs_and_lets_through_what_fits() -> None:
    # Three replicas fit on a machine, so each takes a third of its 4 vCPUs: 8/3 run, each mover takes 4/3 more.
    assert held(vcpus=16 / 3 + 0.01) == []
    assert held(vcpus=4.01) == ["capacity_taken"]
    assert held(vcpus=3.9) == ["quota", "quota"]


def test_what_a_quota_lets_through_by_shares_must_fit_in_whole_machines_too() -> None:
    # One machine runs both; one on spot would take both.
    assert advised(region_quotas=region(vcpus=8.0)) == ["a", "b"]
    assert advised(region_quotas=region(vcpus=7.9)) == []


def test_a_regions_quota_is_shared_by_all_clusters_there() -> None:
    other = pool("eks-two", "spot", "m5.xlarge", capacity_type="spot")
    cheap = policy(steady={"min_saving_gbp_per_month": 1})
    watched = workload("agent", cluster="eks-two", pool="spot", capacity_type="spot", is_system=True, **TOLERANT)
    made = plan(
        small("a"),
        watched | {"vcpu_request_mean": 3.0, "vcpu_request_peak": 3.0},
        pools=pools(GENERAL, SPOT, other),
        policy=cheap,
        region_quotas=region(vcpus=5.0),
    )
    assert made.recommendations == ()
    assert {one.rule for one in made.refused} == {"quota"}


def test_a_namespaces_quota_counts_requests_and_the_refusal_names_it() -> None:
    assert advised(namespace_quotas=namespace(vcpus=4.0)) == ["a", "b"]
    assert len(advised(namespace_quotas=namespace(vcpus=3.0))) == 1
    assert advised(namespace_quotas=namespace(memory_gib=11.0)) == []
    made = plan(small("a"), pools=pools(GENERAL, SPOT), namespace_quotas=namespace(vcpus=1.5))
    [refusal] = [one for one in made.refused if one.rule == "quota"]
    assert refusal.why == "at peak it requests more than the quota of namespace shop in eks-lon has left"
