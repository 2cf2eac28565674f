"""What there is to hand over to schedulers of many clusters: a burst and its return beside moves, gangs and data.

``python -m tests.recommender.emit.placing`` writes the golden files of Kueue, Karmada, Fleet and Volcano anew; look at
the difference.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.emit.contract import Document, Emitted, Manifest, Subject
from recommender.emit.registry import SYSTEMS
from recommender.emit.write import files_of
from recommender.emit_settings import EmitSettings
from recommender.settings import Policy
from tests.builders import NOON
from tests.recommender.emit.subjects import subject
from tests.recommender.world import flow, flows, workload

GOLDEN = Path(__file__).with_name("golden")
NAMES = ("kueue", "karmada", "fleet", "volcano")

HOME = {"cluster": "onprem-lon", "pool": "metal", "provider": "onprem", "region": "london", "jurisdiction": "GB"}
HOME |= {"instance_type": "r760", "capacity_type": "owned"}
AWAY = {"cluster": "eks-lon", "pool": "spot", "provider": "aws", "region": "eu-west-2", "jurisdiction": "GB"}
AWAY |= {"instance_type": "m5.xlarge", "capacity_type": "spot"}
ON_METAL = {"cluster": "onprem-lon", "pool": "metal", "instance_type": "r760", "capacity_type": "owned"}


def burst_move(name: str = "train", **changes: Any) -> dict[str, Any]:
    """This will return four replicas of 2 vCPU and 4 GiB that leave the racks, one gang."""
    return {
        "cluster": "onprem-lon",
        "namespace": "ml",
        "workload_kind": "Job",
        "workload": name,
        "replicas": 4,
        "gang_size": 4,
        "replica_vcpus": 2.0,
        "replica_memory_gib": 4.0,
        "replica_gpus": 0.0,
        "minimum_runtime_minutes": 60.0,
        "nodes_gbp_per_hour": 0.1,
        "other_gbp_per_hour": 0.0,
        "gbp_per_hour": 0.1,
        "one_off_gbp": 0.0,
    } | changes


def burst(*moves: dict[str, Any], **changes: Any) -> CapacityRecommendation:
    """This will return the advice to burst from the racks to spot nodes in London, unless changed."""
    record = {
        "id": "burst00000000001",
        "etag": "etag1",
        "kind": "burst",
        "title": "Burst 1 workload from onprem-lon to eks-lon, pool spot",
        "target": {"cluster": "onprem-lon", "pool": "metal", "resource": "vcpu", "resource_class": "amd64"},
        "recommended": AWAY,
        "moves": list(moves or (burst_move(),)),
        "cost_delta_gbp_per_hour": 0.1,
        "one_off_gbp": 0.0,
        "prices": [],
        "risk": {"interruptions_per_month": 0.6, "confidence": "high", "confidence_why": []},
        "explanation": ["P90 of the next hour is beyond what the racks admit."],
        "group": "onprem-lon/vcpu",
        "proposed_at": NOON,
        "expires_at": NOON + timedelta(hours=2),
    }
    return CapacityRecommendation.model_validate(record | changes)


def back(**changes: Any) -> CapacityRecommendation:
    """This will return the advice to come home from an earlier burst, unless changed."""
    ended = {
        "id": "return0000000001",
        "kind": "burst-return",
        "title": "Bring 1 workload home from eks-lon to onprem-lon",
        "recommended": HOME,
        "current": AWAY,
        "burst_id": "burst00000000000",
        "cost_delta_gbp_per_hour": -0.1,
    }
    return burst(**(ended | changes))


def train(**changes: Any) -> dict[str, Any]:
    """This will return a gang of four on the racks that takes spot: 8 vCPU and 16 GiB in all."""
    row = {
        "namespace": "ml",
        "workload_kind": "Job",
        "interruption_tolerance": "spot",
        "criticality": "low",
        "gang_size": 4,
        "replicas_mean": 4.0,
        "vcpu_request_mean": 8.0,
        "memory_gib_request_mean": 16.0,
    }
    return workload("train", **(ON_METAL | row | changes))


def worker(name: str = "worker", **changes: Any) -> dict[str, Any]:
    """This will return three replicas on the racks that are no gang and take spot: 3 vCPU and 6 GiB in all."""
    row = {"replicas_mean": 3.0, "vcpu_request_mean": 3.0, "memory_gib_request_mean": 6.0}
    return workload(name, **(ON_METAL | {"namespace": "ml", "interruption_tolerance": "spot"} | row | changes))


def worker_move(name: str = "worker", **changes: Any) -> dict[str, Any]:
    """This will return two of its replicas that leave the racks."""
    row = {"workload_kind": "Deployment", "gang_size": 1, "replicas": 2, "replica_vcpus": 1.0}
    return burst_move(name, **(row | {"replica_memory_gib": 2.0} | changes))


def placing(
    *rows: dict[str, Any],
    capacity: tuple[CapacityRecommendation, ...] = (),
    settings: EmitSettings | None = None,
    **changes: Any,
) -> Subject:
    """This will return a subject of the given workloads with advice about owned capacity."""
    key = repr((rows, [(name, _told(value)) for name, value in sorted(changes.items())]))
    if key not in _EVALUATED:
        _EVALUATED[key] = subject(*rows, **changes), changes
    made, _ = _EVALUATED[key]
    plan = made.plan.model_copy(update={"capacity": capacity})
    return replace(made, plan=plan, settings=settings or EmitSettings())


_EVALUATED: dict[str, tuple[Subject, Mapping[str, Any]]] = {}
"""Subjects by what they were made from: an evaluation takes ten times as long as all that is asked of it."""


def _told(value: object) -> object:
    """A value as its text, where that says all of it; else its number, for as long as it is kept."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    return repr(value) if isinstance(value, Policy) else id(value)


def settings(**sections: Any) -> EmitSettings:
    """This will return settings of the hand-over."""
    return EmitSettings.model_validate(sections)


@cache
def example() -> Subject:
    """This will return the subject of the golden files."""
    return placing(
        train(),
        workload("web"),
        workload("api", residency_class="europe", vcpu_request_mean=2.0, memory_gib_request_mean=8.0),
        workload("renderer", interruption_tolerance="spot", residency_class="anywhere", state_gib=500.0),
        workload("abroad", cluster="gke-bel", instance_type="n2-standard-4"),
        workload("pinned", local_volume=True),
        workload("lost", residency_class=""),
        worker(),
        worker("indexer"),
        capacity=(burst(burst_move(), worker_move()), back(moves=[worker_move("indexer")])),
        flows=flows(flow("api", gib_per_hour=2.0), flow("renderer", to="aws/eu-west-2", gib_per_hour=30.0)),
        settings=settings(
            karmada={
                "split": [
                    {"cluster": "eks-lon", "namespace": "shop", "workload": "api", "clusters": ["eks-lon", "gke-bel"]}
                ]
            },
            fleet={"members": ["eks-lon", "onprem-lon"]},
            volcano={"data_sources": [{"name": "corpus", "system": "s3", "type": "bucket", "to": "aws/eu-west-2"}]},
        ),
    )


def objects_of(emitted: Emitted) -> list[Manifest]:
    """This will return every whole object that was written, roll-backs too."""
    manifests = [one for one in emitted.documents if one.form == "manifest"]
    return [made for one in manifests for made in (*one.objects, *one.rollback_objects)]


def document_at(emitted: Emitted, path: str) -> Document:
    """This will return the document at a path."""
    return next(one for one in emitted.documents if one.path == path)


def why(emitted: Emitted, what: str) -> str:
    """This will return why something is not expressed; empty: nothing is said of it."""
    return "; ".join(one.why for one in emitted.not_expressed if what in one.what)


def expected() -> Mapping[str, str]:
    """This will return the text of every golden file by its path."""
    found: dict[str, str] = {}
    for system in SYSTEMS:
        if system.name in NAMES:
            emitted = system.emit(example())
            said = "".join(f"{one.what}: {one.why}\n" for one in emitted.not_expressed)
            found |= files_of(example(), [(system, emitted)]) | {f"{system.name}/not-expressed.txt": said}
    return found


def main() -> None:
    """This will write the golden files."""
    for name in NAMES:
        shutil.rmtree(GOLDEN / name, ignore_errors=True)
    for name, text in expected().items():
        path = GOLDEN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
