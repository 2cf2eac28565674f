"""What there is to hand over in tests: evaluations of the small fleet, as an emitter gets them.

``python -m tests.recommender.emit.golden`` writes the golden files anew.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from recommender.emit.contract import Subject
from recommender.emit_settings import EmitSettings
from recommender.settings import ClusterSettings, Policy
from tests.builders import NOON
from tests.recommender.world import appraisal, flow, flows, policy, workload

CLUSTERS = tuple(
    ClusterSettings.model_validate(row)
    for row in (
        {
            "name": "eks-lon",
            "provider": "aws",
            "region": "eu-west-2",
            "jurisdiction": "GB",
            "pools": [
                {"name": "general", "capacity_type": "on-demand", "instance_types": ["m5.xlarge"]},
                {"name": "spot", "capacity_type": "spot", "instance_types": ["m5.xlarge"]},
            ],
        },
        {
            "name": "gke-bel",
            "provider": "gcp",
            "region": "europe-west1",
            "jurisdiction": "EEA",
            "pools": [{"name": "general", "capacity_type": "on-demand", "instance_types": ["n2-standard-4"]}],
        },
        {
            "name": "onprem-lon",
            "provider": "onprem",
            "region": "london",
            "jurisdiction": "GB",
            "tier": "owned",
            "pools": [{"name": "metal", "capacity_type": "owned", "instance_types": ["r760"], "nodes_max": 2}],
        },
    )
)
"""The fleet of tests.recommender.world, as settings say it."""


def subject(*rows: dict[str, Any], settings: EmitSettings | None = None, **changes: Any) -> Subject:
    """This will evaluate workloads on the small fleet and return what there is to hand over."""
    made = appraisal(*rows, **changes)
    rules = changes.get("policy") or policy()
    assert isinstance(rules, Policy)
    return Subject(
        plan=made.plan,
        costs=made.costs,
        workloads=made.workloads,
        flows=made.flows,
        clusters=CLUSTERS,
        policy=rules,
        settings=settings or EmitSettings(),
        at=changes.get("at", NOON),
    )


@cache
def example() -> Subject:
    """This will return the subject of the golden files: moves to own racks and abroad, to spot, and what may not."""
    return subject(
        workload("web"),
        workload("api", owner="", residency_class="europe", vcpu_request_mean=2.0, memory_gib_request_mean=8.0),
        workload("renderer", interruption_tolerance="spot", residency_class="anywhere", state_gib=500.0),
        workload("nightly", workload_kind="CronJob", interruption_tolerance="spot", criticality="low"),
        workload("abroad", cluster="gke-bel", instance_type="n2-standard-4"),
        workload("pinned", local_volume=True),
        flows=flows(flow("api", gib_per_hour=2.0), flow("web", to="gcp/europe-west1", gib_per_hour=1.5)),
    )
