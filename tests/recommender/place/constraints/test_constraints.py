"""Each constraint says no where it should, with its reason, and nowhere else; all of them are known and described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recommender.place.constraints as package
from recommender.guard.steady import BALANCE, worth_rules
from recommender.place.constraints import BINDING, CONSTRAINTS
from recommender.place.rule import judge, reasons
from recommender.settings import Steady

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "placement.md"
NUMBERS = (
    "free_vcpus",
    "free_memory_gib",
    "free_gpus",
    "free_nodes",
    "quota_vcpus",
    "quota_gpus",
    "quota_nodes",
    "region_vcpus",
    "region_gpus",
    "namespace_vcpus",
    "namespace_memory_gib",
    "namespace_gpus",
    "latency_ms",
    "latency_ms_max",
    "max_gbp_per_vcpu_hour",
)


def pair(**changes: Any) -> pl.DataFrame:
    """A workload of class uk beside a place that every rule lets it have, unless changed."""
    row: dict[str, Any] = {
        "from_cluster": "eks-lon",
        "from_jurisdiction": "GB",
        "from_architecture": "amd64",
        "to_cluster": "aks-lon",
        "to_region": "uksouth",
        "to_provider": "azure",
        "namespace": "shop",
        "latency_to": "aws/eu-west-2",
        "latency_limit_of": "uk",
        "to_jurisdiction": "GB",
        "to_capacity_type": "on-demand",
        "to_instance_type": "D4s_v5",
        "to_architecture": "amd64",
        "to_gpu_model": "",
        "to_gpus": 0.0,
        "to_accelerators": 0.0,
        "to_vcpus": 4.0,
        "to_gbp_per_vcpu_hour": 0.03,
        "to_marginal_gbp_per_hour": 0.1,
        "to_nodes_limited": False,
        "to_has_quota": False,
        "to_observed": True,
        "residency_class": "uk",
        "residency": ["GB"],
        "class_architectures": ["amd64"],
        "accepted_gpu_models": ["A10G"],
        "criticality": "medium",
        "interruption_tolerance": "none",
        "architecture": "",
        "local_volume": False,
        "gpu_model": "",
        "gpu_request_peak": 0.0,
        "vcpu_request_peak": 2.0,
        "memory_gib_request_peak": 8.0,
        "replica_vcpus": 2.0,
        "replica_memory_gib": 8.0,
        "replica_gpus": 0.0,
        "replicas_per_node": 1.0,
        "gang_size": 1,
        "nodes_needed": 1.0,
        "needs_quota_vcpus": 4.0,
        "needs_quota_gpus": 0.0,
        "egress_gbp_per_hour": 0.0,
        "state_gbp": 0.0,
    } | dict.fromkeys(NUMBERS)
    lists = dict.fromkeys(("residency", "class_architectures", "accepted_gpu_models"), pl.List(pl.String))
    return pl.DataFrame([row | changes], schema_overrides=dict.fromkeys(NUMBERS, pl.Float64) | lists)


def refused_by(**changes: Any) -> list[str]:
    found: list[str] = judge(pair(**changes), CONSTRAINTS, into="refused")["refused"].item().to_list()
    return found


def why(rule: str, **changes: Any) -> str:
    told: str = reasons(pair(**changes).with_columns(rule=pl.lit(rule)), CONSTRAINTS, rule="rule")["why"].item()
    return told


def test_a_place_that_suits_is_refused_by_nothing() -> None:
    assert refused_by() == []


NO_CLASS = {"residency_class": "", "residency": None}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"to_jurisdiction": "EEA"}, True),
        ({"to_jurisdiction": ""}, True),
        ({"to_jurisdiction": None}, True),
        ({"to_jurisdiction": "EEA", "residency": ["GB", "EEA"]}, False),
        ({"to_jurisdiction": "US", "residency": []}, False),
        ({"to_jurisdiction": "", "residency": []}, False),
        (NO_CLASS, False),
        (NO_CLASS | {"to_jurisdiction": "EEA"}, True),
        (NO_CLASS | {"to_jurisdiction": "", "from_jurisdiction": ""}, True),
        (NO_CLASS | {"to_jurisdiction": "", "from_jurisdiction": "", "to_cluster": "eks-lon"}, False),
    ],
)
def test_residency_lets_through_only_what_somebody_allowed(changes: dict[str, Any], refused: bool) -> None:
    assert refused_by(**changes) == (["residency"] if refused else [])


def test_residency_says_where_the_place_is_and_what_the_class_allows() -> None:
    assert why("residency", to_jurisdiction="EEA") == "aks-lon is in EEA, class uk allows GB"
    assert why("residency", to_jurisdiction="") == "aks-lon is in an unknown jurisdiction, class uk allows GB"
    leaves = why("residency", to_jurisdiction="EEA", **NO_CLASS)
    assert leaves == "no residency class lets it leave GB for EEA"


@pytest.mark.parametrize(
    ("tolerance", "criticality", "refused"),
    [("none", "low", True), ("spot", "low", False), ("spot", "medium", False), ("spot", "high", True)],
)
def test_spot_is_for_what_tolerates_it_and_is_not_critical(tolerance: str, criticality: str, refused: bool) -> None:
    on_spot = {"to_capacity_type": "spot", "interruption_tolerance": tolerance, "criticality": criticality}
    assert refused_by(**on_spot) == (["interruption"] if refused else [])


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"to_architecture": "arm64"}, True),
        ({"to_architecture": "arm64", "class_architectures": ["amd64", "arm64"]}, False),
        ({"to_architecture": "arm64", "class_architectures": None}, True),
        ({"to_architecture": "arm64", "architecture": "arm64"}, False),
        ({"architecture": "arm64", "class_architectures": ["amd64", "arm64"]}, True),
        ({"to_architecture": "arm64", "from_architecture": "arm64"}, False),
    ],
)
def test_images_go_only_to_processors_they_are_built_for(changes: dict[str, Any], refused: bool) -> None:
    assert refused_by(**changes) == (["architecture"] if refused else [])


NEEDS_L4 = {"gpu_request_peak": 1.0, "gpu_model": "L4"}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        (NEEDS_L4 | {"to_gpu_model": "L4", "to_gpus": 1.0}, False),
        (NEEDS_L4 | {"to_gpu_model": "A10G", "to_gpus": 1.0}, False),
        (NEEDS_L4 | {"to_gpu_model": "T4", "to_gpus": 1.0}, True),
        (NEEDS_L4, True),
        ({"to_gpu_model": "L4", "to_gpus": 1.0}, True),
        ({"to_accelerators": 1.0}, True),
    ],
)
def test_gpus_are_matched_by_model_and_kept_for_who_needs_them(changes: dict[str, Any], refused: bool) -> None:
    assert refused_by(**changes) == (["gpu_model"] if refused else [])


def test_a_replica_must_fit_on_one_node() -> None:
    assert refused_by(replicas_per_node=0.0) == ["machine_size"]
    told = why("machine_size", replica_vcpus=8.0)
    assert told == "a replica needs 8.0 vCPU, 8.0 GiB and 0.0 GPU, more than a D4s_v5 leaves for pods"


def test_a_gang_needs_all_its_nodes_at_once() -> None:
    gang = {"gang_size": 8, "replicas_per_node": 2.0, "to_nodes_limited": True}
    assert refused_by(free_nodes=4.0, **gang) == []
    assert refused_by(free_nodes=3.0, **gang) == ["gang"]
    assert why("gang", free_nodes=3.0, **gang) == "a gang of 8 needs 4 whole nodes at once, 3 are free"


def test_a_price_cap_is_for_capacity_that_is_bought() -> None:
    assert refused_by(max_gbp_per_vcpu_hour=0.03) == []
    assert refused_by(max_gbp_per_vcpu_hour=0.029) == ["price_cap"]
    assert refused_by(max_gbp_per_vcpu_hour=0.029, to_capacity_type="owned") == []


def test_the_peak_must_fit_into_what_a_pool_has_free() -> None:
    room = {"free_vcpus": 2.0, "free_memory_gib": 8.0, "free_gpus": 0.0, "to_nodes_limited": True}
    assert refused_by(**room) == []
    assert refused_by(**room | {"free_memory_gib": 7.9}) == ["capacity"]


@pytest.mark.parametrize("name", ["quota_vcpus", "quota_nodes", "region_vcpus", "namespace_vcpus"])
def test_a_quota_that_is_used_up_refuses(name: str) -> None:
    assert refused_by(**{name: 4.0, "to_has_quota": True}) == []
    assert refused_by(**{name: 0.5, "to_has_quota": True}) == ["quota"]


def test_a_place_with_a_limit_that_nobody_observed_is_not_taken_for_idle() -> None:
    assert refused_by(to_observed=False) == []
    assert refused_by(to_observed=False, to_nodes_limited=True) == ["cluster_observed"]
    assert refused_by(to_observed=False, to_has_quota=True) == ["cluster_observed"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"to_vcpus": None}, "no usable on-demand price for D4s_v5 in uksouth"),
        (
            {"to_capacity_type": "owned", "to_marginal_gbp_per_hour": None},
            "no marginal price for D4s_v5 in uksouth",
        ),
        ({"egress_gbp_per_hour": None}, "a data flow to or from uksouth has no published egress price"),
        ({"state_gbp": None}, "its state has no published egress price on the way to uksouth"),
    ],
)
def test_an_unknown_price_refuses_and_says_which(changes: dict[str, Any], told: str) -> None:
    assert refused_by(**changes) == ["price_unknown"]
    assert why("price_unknown", **changes) == told


def test_local_volumes_stay() -> None:
    assert refused_by(local_volume=True) == ["local_volume"]


def test_all_rules_that_refuse_are_told_law_first() -> None:
    found = refused_by(to_jurisdiction="EEA", to_capacity_type="spot", to_vcpus=None)
    assert found == ["residency", "interruption", "price_unknown"]


def test_only_rules_about_where_a_workload_may_be_bind_what_already_runs() -> None:
    assert [rule.id for rule in BINDING] == ["residency", "interruption"]


def test_every_module_of_the_folder_is_registered() -> None:
    folder = Path(package.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    registered = {name for name in files if getattr(package, name).RULE in CONSTRAINTS}
    assert registered == files
    assert len({rule.id for rule in CONSTRAINTS}) == len(CONSTRAINTS) == len(files)


def test_the_page_on_placement_describes_every_rule_in_the_rules_own_words() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for rule in (*CONSTRAINTS, *worth_rules(Steady()), BALANCE):
        assert f"| `{rule.id}` | {rule.says} |" in page
