"""The golden files of the hand-over: what Argo CD, meshes, KAI, cluster profiles and Kubernetes get of the example.

``python -m tests.recommender.emit.golden`` writes them anew; look at the difference.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

from recommender.emit.contract import Subject
from recommender.emit.index import Index, index_of
from recommender.emit.index_page import page
from recommender.emit.registry import SYSTEMS
from recommender.emit.write import files_of
from recommender.emit_settings import EmitSettings
from tests.recommender.emit.subjects import subject
from tests.recommender.world import flow, flows, workload

GOLDEN = Path(__file__).with_name("golden")
NAMES = ("argocd", "clusterprofile", "kai", "kubernetes", "mesh")
OURS = tuple(system for system in SYSTEMS if system.name in NAMES)


REPOSITORY = {"repo_url": "https://git.example.org/apps.git", "revision": "main"}
SETTINGS = {
    "argocd": {
        "applications": [
            {"namespace": "shop", "workload": name, "path": f"apps/{name}", **REPOSITORY}
            for name in ("abroad", "nightly", "web")
        ]
    },
    "mesh": {"services": [{"cluster": "eks-lon", "namespace": "shop", "workload": "api", "name": "api"}]},
}


@cache
def handed_over() -> Subject:
    """This will return the subject: moves in one step and in two, to spot, shared Services and minimum runtimes."""
    in_belgium = {"cluster": "gke-bel", "instance_type": "n2-standard-4"}
    small = {"residency_class": "europe", "vcpu_request_mean": 2.0, "memory_gib_request_mean": 8.0}
    return subject(
        workload("web", state_gib=20.0),
        workload("api", owner="", **small),
        workload("api", owner="", **small, **in_belgium),
        workload(
            "renderer",
            interruption_tolerance="spot",
            residency_class="anywhere",
            state_gib=500.0,
            minimum_runtime_minutes=90.5,
        ),
        workload("nightly", workload_kind="CronJob", criticality="low", minimum_runtime_minutes=15.0),
        workload("abroad", **in_belgium),
        workload("pinned", local_volume=True),
        settings=EmitSettings.model_validate(SETTINGS),
        flows=flows(
            flow("api", to="gcp/europe-west1", gib_per_hour=2.0), flow("web", to="gcp/europe-west1", gib_per_hour=1.5)
        ),
    )


def made() -> tuple[Index, dict[str, str]]:
    """This will return the index of the example, and its files."""
    emitted = [(system, system.emit(handed_over())) for system in OURS]
    files = files_of(handed_over(), emitted)
    return index_of(handed_over(), emitted, files=sorted(files)), files


def everything() -> dict[str, str]:
    """This will return the text of each golden file by its path; hashes of frames are left out."""
    index, files = made()
    hashes = {f"{name}_sha256": "0" * 64 for name in ("usage", "fleet", "policy")}
    index = index.model_copy(update={"inputs": index.inputs.model_copy(update=hashes)})
    document = json.dumps(index.model_dump(mode="json", exclude_none=True), indent=2, sort_keys=True)
    return {**files, "index.md": page(index), "index.json": document + "\n"}


def main() -> None:
    """This will write all golden files."""
    for system in OURS:
        shutil.rmtree(GOLDEN / system.name, ignore_errors=True)
    for name, text in everything().items():
        path = GOLDEN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
