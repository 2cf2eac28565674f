"""The rights of a mode: what it needs, in the places where it needs it, and nothing beside."""

from __future__ import annotations

from typing import Any

import pytest

from recommender.emit.live.modes import Mode
from recommender.emit.live.rbac import rights
from recommender.emit_settings import HubSettings

HUB = HubSettings(pilot_namespaces=("gke-bel", "eks-lon"))


def made(mode: Mode) -> list[dict[str, Any]]:
    return rights(mode, HUB, namespace="tuppence", account="robot")


def granted(mode: Mode, kind: str) -> set[tuple[str, str, str]]:
    """Verb, resource and name (empty: all) of every rule of the roles of a kind."""
    return {
        (verb, resource, name)
        for one in made(mode)
        if one["kind"] == kind
        for rule in one["rules"]
        for verb in rule["verbs"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
    }


def writes(mode: Mode, kind: str = "ClusterRole") -> set[tuple[str, str, str]]:
    return {one for one in granted(mode, kind) if one[0] not in {"get", "list"}}


def test_who_only_recommends_needs_no_right() -> None:
    assert [one["kind"] for one in made(Mode.RECOMMEND)] == ["ServiceAccount"]


def test_a_shadow_may_write_its_own_name_and_no_other() -> None:
    assert writes(Mode.SHADOW) == {
        ("create", "addonplacementscores", ""),
        ("delete", "addonplacementscores", "finops-shadow"),
        ("patch", "addonplacementscores/status", "finops-shadow"),
    }


def test_who_publishes_may_also_take_the_shadow_back() -> None:
    assert ("delete", "addonplacementscores", "finops-shadow") in writes(Mode.PUBLISH)
    assert ("patch", "addonplacementscores/status", "finops") in writes(Mode.PUBLISH)


def test_a_pilot_may_write_in_its_namespaces_only() -> None:
    assert writes(Mode.PILOT, "ClusterRole") == set()
    roles = [one["metadata"]["namespace"] for one in made(Mode.PILOT) if one["kind"] == "Role"]
    assert roles == ["eks-lon", "gke-bel"]
    assert ("list", "addonplacementscores", "") not in granted(Mode.PILOT, "ClusterRole")


@pytest.mark.parametrize("mode", list(Mode))
def test_no_mode_may_change_placements_decisions_or_workloads(mode: Mode) -> None:
    changed = {resource.split("/")[0] for kind in ("ClusterRole", "Role") for _, resource, _ in writes(mode, kind)}
    assert changed <= {"addonplacementscores"}


@pytest.mark.parametrize("mode", list(Mode))
def test_every_role_is_bound_to_the_account(mode: Mode) -> None:
    roles = [(one["kind"], one["metadata"]) for one in made(mode) if one["kind"] in {"Role", "ClusterRole"}]
    bound = [one for one in made(mode) if one["kind"].endswith("Binding")]
    assert [(one["roleRef"]["kind"], one["metadata"]) for one in bound] == roles
    assert all(
        one["subjects"] == [{"kind": "ServiceAccount", "name": "robot", "namespace": "tuppence"}] for one in bound
    )
