"""What schedulers of many clusters get of the example, file by file."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.emit.contract import System
from recommender.emit.registry import SYSTEMS
from recommender.emit.subject import allowed_clusters
from tests.recommender.emit.placing import (
    AWAY,
    GOLDEN,
    NAMES,
    back,
    burst,
    burst_move,
    expected,
    placing,
    settings,
    train,
    worker,
    worker_move,
)
from tests.recommender.world import workload

OURS = [system for system in SYSTEMS if system.name in NAMES]
ON_DEMAND = AWAY | {"pool": "general", "capacity_type": "on-demand"}
BELGIUM = ON_DEMAND | {"cluster": "gke-bel"}


@pytest.mark.parametrize("system", NAMES)
def test_the_files_are_the_golden_ones(system: str) -> None:
    made = {name: text for name, text in expected().items() if name.startswith(f"{system}/")}
    there = {path.relative_to(GOLDEN).as_posix(): path for path in (GOLDEN / system).rglob("*") if path.is_file()}
    assert made.keys() == there.keys()
    for name, path in there.items():
        assert made[name] == path.read_text(encoding="utf-8"), f"{name}: python -m tests.recommender.emit.placing"


def test_the_systems_are_registered() -> None:
    assert set(NAMES) <= {system.name for system in SYSTEMS}


@pytest.mark.parametrize("place", [AWAY, ON_DEMAND, BELGIUM])
@pytest.mark.parametrize("system", OURS, ids=lambda system: system.name)
def test_no_burst_and_no_return_lets_a_workload_run_where_it_may_not(system: System, place: dict[str, Any]) -> None:
    moves = [burst_move(), worker_move(), worker_move("free"), worker_move("careful")]
    given = placing(
        train(),
        worker(),
        worker("free", namespace="open", residency_class="anywhere"),
        worker("careful", interruption_tolerance="none"),
        workload("abroad", cluster="gke-bel", instance_type="n2-standard-4"),
        capacity=(burst(*moves, recommended=place), back(moves=moves, current=place)),
        settings=settings(fleet={"members": ["eks-lon", "gke-bel", "onprem-lon"]}),
    )
    allowed = allowed_clusters(given)
    made = system.emit(given)
    assert made.documents
    for document in made.documents:
        assert all(cluster in allowed[key] for key in document.workloads for cluster in document.clusters)
    told = {each for one in made.documents for each in one.recommendations}
    for advice in (*given.plan.recommendations, *given.plan.capacity):
        assert advice.id in told or any(advice.id in one.what for one in made.not_expressed)
