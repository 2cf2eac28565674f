"""The standard fleet's own racks, full: 2 nodes of 32 vCPUs hold 10 pods of 3 vCPUs each, and there are more."""

from __future__ import annotations

from typing import Any

import dataframely as dy
import polars as pl

from recommender.burst.home import shapes
from recommender.burst.legal import Limits, Places, legal_places
from recommender.burst.overflow import Leaving, Question, choose_overflow
from recommender.burst.units import Unit
from recommender.frames import Latency, NamespaceQuota, RegionQuota
from recommender.settings import BurstSettings, Policy
from tests.recommender.burst.units_of import unit
from tests.recommender.world import flows, node_agents, policy, prices, quotas, standard_pools, workload, workloads

FITS = 20
LONDON = 4 * 0.03 + 16 * 0.004
"""£/h of an m5.xlarge on demand; spot is a third."""
BELGIUM = 4 * 0.02 + 16 * 0.003
"""£/h of an n2-standard-4."""


def pod(name: str, **changes: Any) -> dict[str, Any]:
    """This will return a row of Workload: one replica of 3 vCPUs and 4 GiB on the own racks."""
    return workload(
        name,
        **{
            "cluster": "onprem-lon",
            "pool": "metal",
            "instance_type": "r760",
            "capacity_type": "owned",
            "replicas_mean": 1.0,
            "vcpu_request_mean": 3.0,
            "memory_gib_request_mean": 4.0,
        }
        | changes,
    )


def pods(number: int, **changes: Any) -> list[dict[str, Any]]:
    """This will return so many workloads, named w00, w01 and so on."""
    return [pod(f"w{n:02d}", **changes) for n in range(number)]


def as_unit(row: dict[str, Any], **changes: Any) -> Unit:
    """This will return the unit of a workload of one replica."""
    return unit(
        row["workload"],
        **{
            "workload": (row["cluster"], row["namespace"], row["workload_kind"], row["workload"]),
            "vcpus": row["vcpu_request_mean"],
            "memory_gib": row["memory_gib_request_mean"],
            "is_critical": row["criticality"] == "high",
            "is_tolerant": row["interruption_tolerance"] == "spot",
        }
        | changes,
    )


def limits(
    *,
    clusters: list[dict[str, Any]] | None = None,
    regions: list[dict[str, Any]] | None = None,
    namespaces: list[dict[str, Any]] | None = None,
) -> Limits:
    """This will return quotas of the given rows; what a row leaves out has no limit."""
    return Limits(
        quotas(*(clusters or [])),
        RegionQuota.validate(pl.DataFrame(regions or [], schema=RegionQuota.create_empty().schema)),
        NamespaceQuota.validate(pl.DataFrame(namespaces or [], schema=NamespaceQuota.create_empty().schema)),
    )


def distance(*rows: tuple[str, str, float]) -> dy.DataFrame[Latency]:
    """This will return measured distances: from, to, milliseconds."""
    return Latency.validate(pl.DataFrame(list(rows), schema=Latency.create_empty().schema, orient="row"))


def places(rows: list[dict[str, Any]], **changes: Any) -> Places:
    """This will judge the workloads beside every place of the standard fleet."""
    eks_agent = workload("node-agent", vcpu_request_mean=0.001, memory_gib_request_mean=0.001, is_system=True)
    inputs: dict[str, Any] = {
        "prices": prices(),
        "workloads": workloads(*rows, eks_agent, *node_agents()),
        "flows": flows(),
        "pools": standard_pools(),
        "limits": limits(),
        "latency": Latency.create_empty(),
        "policy": policy(),
        "min_coverage_ratio": 0.8,
    } | changes
    return legal_places(**inputs)


def leaving(
    rows: list[dict[str, Any]],
    *,
    waiting: tuple[str, ...] = (),
    growth: tuple[Unit, ...] = (),
    replicas: dict[str, int] | None = None,
    **changes: Any,
) -> Leaving:
    """This will choose what leaves the own racks; a workload with several replicas is a gang of them."""
    found = places(rows, **changes)
    gangs = replicas or {}
    mix = [as_unit(row, is_waiting=row["workload"] in waiting, replicas=gangs.get(row["workload"], 1)) for row in rows]
    nodes = shapes(found.fleet, "onprem-lon", overhead=(0.0, 0.0))
    rules: Policy = changes.get("policy", policy())
    return choose_overflow(Question("onprem-lon", mix, growth, nodes, found, rules, BurstSettings(expected_hours=4)))


def left(found: Leaving) -> dict[str, str]:
    """This will return the place of each workload that leaves."""
    return {found.units[name].workload[3]: offer for name, offer, _ in found.packing.assignment if offer in found.away}
