"""Modes, rounds and stop as a user types them: the demonstration's company, a ledger, and a hub that can misbehave."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import stamina
import time_machine
import yaml
from typer.testing import CliRunner, Result

from recommender import serving
from recommender.cli import load_settings
from recommender.commands import publish as publish_commands
from recommender.emit.live import withdraw
from recommender.emit.live.modes import Mode
from recommender.publishing import approve
from recommender.recorded import Recorded, recorded
from recommender.serving import RecommenderService
from recommender.settings import RecommenderSettings
from tests.builders import NOON
from tests.fakes.api_server import FakeHub, Fault, fake_hub
from tuppence import app

Run = Callable[..., Result]
_EVALUATED: dict[str, Recorded] = {}


def evaluated_once(settings: RecommenderSettings, *, at: datetime, now: datetime) -> Recorded:
    """The evaluation that the command makes, made once for all tests: it is the same each time, and takes a second."""
    if "made" not in _EVALUATED:
        _EVALUATED["made"] = recorded(settings, at=at, now=now)
    return _EVALUATED["made"]


@pytest.fixture
def clusters(company: Path) -> set[str]:
    return {one["name"] for one in yaml.safe_load(company.read_text(encoding="utf-8"))["clusters"]}


@pytest.fixture
def hub(tmp_path: Path, clusters: set[str]) -> Iterator[FakeHub]:
    with fake_hub(tmp_path, *clusters) as running:
        yield running


@pytest.fixture
def configure(company: Path, tmp_path: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Settings with a mode, and what else `emit.hub` needs."""
    path = tmp_path / "tuppence.yaml"

    def write(mode: str, **settings: Any) -> Path:
        document = yaml.safe_load(company.read_text(encoding="utf-8"))
        document["ledger"] = {"url": str(tmp_path / "ledger.sqlite")}
        document["recommend"] = {"mode": mode}
        reached = {"kubeconfig": str(hub.kubeconfig), "requests_per_second": 1_000}
        document["emit"] = {"hub": reached | settings, "score": {"usage_max_age_hours": 24}}
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        return path

    monkeypatch.setenv("TUPPENCE_CONFIG", str(path))
    return write


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The command at Monday noon; scores that are taken back end at once."""
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setattr(withdraw, "LEAST_NOTICE", timedelta(0))
    monkeypatch.setattr(publish_commands, "recorded", evaluated_once)
    monkeypatch.setattr(serving, "recorded", evaluated_once)
    with time_machine.travel(NOON, tick=False), stamina.set_testing(testing=True, attempts=2):
        yield lambda *arguments: CliRunner().invoke(app, list(arguments))


def row(result: Result) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found[0]


def scored(hub: FakeHub, name: str = "finops") -> set[str]:
    return {namespace for namespace, values in hub.values(name).items() if values}


def test_nothing_is_written_until_it_is_asked_for(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("recommend")
    assert row(run("mode", "show", "-o", "json"))["mode"] == "recommend"
    result = run("publish", "-o", "json")
    assert (result.exit_code, row(result)["written"]) == (0, 0)
    assert "The mode is recommend: nothing may be written." in result.stderr
    assert hub.asked == []


def test_the_setting_alone_is_not_enough(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("publish")
    shown = row(run("mode", "show", "-o", "json"))
    assert (shown["mode"], shown["setting"], shown["approved"]) == ("recommend", "publish", "recommend")
    assert shown["missing"] == "an approval: tuppence mode set publish"
    run("publish")
    assert hub.asked == []


def test_neither_is_the_approval(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("recommend")
    shown = row(run("mode", "set", "publish", "--reason", "board of 30 November", "-o", "json"))
    assert (shown["mode"], shown["missing"]) == ("recommend", "the setting: recommend.mode: publish")
    run("publish")
    assert hub.asked == []


def test_a_shadow_writes_under_a_name_that_nothing_reads(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "shadow")
    result = run("publish", "-o", "json")
    assert (result.exit_code, row(result)["written"]) == (0, len(clusters)), result.stderr
    assert scored(hub, "finops-shadow") == clusters
    assert scored(hub, "finops") == set()


def test_a_second_round_writes_nothing_and_a_dry_run_never_does(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    dry = row(run("publish", "--dry-run", "-o", "json"))
    assert (dry["written"], hub.changes()) == (len(clusters), [])
    run("publish")
    hub.asked.clear()
    assert row(run("publish", "-o", "json"))["unchanged"] == len(clusters)
    assert hub.changes() == []


def test_a_pilot_writes_in_the_listed_namespaces_only(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    pilot = sorted(clusters)[:2]
    configure("pilot", pilot_namespaces=pilot)
    hub.may_list_everywhere = False
    run("mode", "set", "pilot")
    assert run("publish").exit_code == 0
    assert scored(hub) == set(pilot)
    assert {one.namespace for one in hub.asked} == set(pilot)


def test_a_namespace_that_is_listed_later_waits_for_an_approval(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    first, second = sorted(clusters)[:2]
    configure("pilot", pilot_namespaces=[first])
    run("mode", "set", "pilot")
    configure("pilot", pilot_namespaces=[first, second])
    assert row(run("mode", "show", "-o", "json"))["missing"] == f"not approved: {second}: tuppence mode set pilot"
    run("publish")
    assert scored(hub) == {first}


def test_a_step_down_takes_back_at_once_what_the_lower_mode_may_not_have(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    pilot = sorted(clusters)[:1]
    configure("publish", pilot_namespaces=pilot)
    run("mode", "set", "publish")
    run("publish")
    assert scored(hub) == clusters
    lowered = run("mode", "set", "pilot")
    assert (lowered.exit_code, scored(hub)) == (0, set(pilot)), lowered.stderr
    run("mode", "set", "recommend")
    assert hub.values() == {}


def test_a_lower_setting_takes_back_with_the_next_round(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    configure("recommend")
    result = run("publish", "-o", "json")
    assert (result.exit_code, hub.values()) == (0, {}), result.stderr


def test_a_step_up_takes_the_shadow_back(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "shadow")
    run("publish")
    run("mode", "set", "publish")
    run("publish")
    assert (scored(hub), hub.values("finops-shadow")) == (clusters, {})


def test_stop_takes_everything_back_and_keeps_it_back(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    stopped = run("stop", "--reason", "a workload moved that should not")
    assert (stopped.exit_code, hub.values()) == (0, {}), stopped.stderr
    assert f"Taken back: {len(clusters)} objects." in stopped.stderr
    assert row(run("publish", "-o", "json"))["written"] == 0
    assert row(run("mode", "show", "-o", "json"))["approved"] == "recommend"
    assert run("stop").exit_code == 0


@pytest.mark.parametrize("fault", [Fault(403, "forbidden"), Fault(500, "an admission webhook is down")])
def test_stop_works_while_half_of_the_hub_fails_and_can_be_repeated(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str], fault: Fault
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    broken = set(sorted(clusters)[::2])
    hub.fault = lambda request: fault if request.namespace in broken else None
    stopped = run("stop")
    assert (stopped.exit_code, scored(hub)) == (1, broken)
    for namespace in broken:
        assert f"finops in {namespace}" in stopped.stderr
    hub.fault = lambda _: None
    again = run("stop")
    assert (again.exit_code, hub.values()) == (0, {}), again.stderr


def test_stop_finds_what_lost_its_label_by_the_ledger(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    for one in hub.objects.values():
        one["metadata"].pop("labels")
    assert run("stop").exit_code == 0
    assert hub.values() == {}


def test_stop_finds_what_the_ledger_does_not_know_by_its_label(
    run: Run, configure: Callable[..., Path], hub: FakeHub, tmp_path: Path
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    (tmp_path / "ledger.sqlite").unlink()
    assert run("stop").exit_code == 0
    assert hub.values() == {}


def test_stop_lowers_the_mode_though_the_hub_is_away(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    hub.fault = lambda _: Fault(cut=True)
    stopped = run("stop")
    assert stopped.exit_code == 1
    assert "does not answer" in stopped.stderr
    hub.fault = lambda _: None
    assert row(run("mode", "show", "-o", "json"))["mode"] == "recommend"
    assert row(run("publish", "-o", "json"))["written"] == 0
    assert hub.values() == {}, "the next round took back what stop could not reach"


def test_stop_without_a_hub_has_nothing_to_take_back_unless_the_ledger_says_so(
    run: Run, configure: Callable[..., Path]
) -> None:
    configure("recommend", kubeconfig=None)
    stopped = run("stop", "--reason", "to be sure")
    assert (stopped.exit_code, "Taken back: 0 objects." in stopped.stderr) == (0, True)
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    configure("recommend", kubeconfig=None)
    lost = run("stop")
    assert lost.exit_code == 2
    assert "no hub is set" in lost.stderr


def test_scores_that_are_taken_back_end_together_before_they_go(
    run: Run, configure: Callable[..., Path], hub: FakeHub
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    run("publish")
    seen: list[set[str]] = []

    def watch(request: Any) -> None:
        if request.method == "DELETE" and not seen:
            seen.append({hub.status(namespace)["validUntil"] for namespace in hub.values()})

    hub.fault = watch
    run("stop")
    assert seen == [{"2026-11-30T12:00:00Z"}]


def test_a_refused_namespace_is_named_and_the_exit_code_is_1(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    configure("publish")
    run("mode", "set", "publish")
    hub.forbidden = {min(clusters)}
    result = run("publish")
    assert result.exit_code == 1
    assert f"namespace {min(clusters)}" in result.stderr
    assert scored(hub) == set()


def test_a_cluster_has_the_name_that_the_hub_knows(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    first = min(clusters)
    hub.namespaces = {"managed-1"} | clusters - {first}
    configure("publish", managed_clusters={first: "managed-1"})
    run("mode", "set", "publish")
    run("publish")
    assert scored(hub) == hub.namespaces


def test_a_mode_above_recommend_needs_a_hub(run: Run, configure: Callable[..., Path]) -> None:
    path = configure("shadow")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    del document["emit"]["hub"]["kubeconfig"]
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    result = run("mode", "show")
    assert result.exit_code == 2
    assert "emit.hub names no hub" in result.stderr


def test_a_word_that_is_no_mode_is_an_error_of_usage(run: Run, configure: Callable[..., Path]) -> None:
    configure("recommend")
    result = run("mode", "set", "auto")
    assert result.exit_code == 2
    assert "'auto' is not a mode" in result.stderr


def test_the_rights_of_a_mode_are_printed_for_kubectl(run: Run, configure: Callable[..., Path]) -> None:
    configure("pilot", pilot_namespaces=["eks-lon"])
    objects = list(yaml.safe_load_all(run("mode", "rbac", "pilot").stdout))
    assert [one["kind"] for one in objects] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    ]
    assert objects[3]["metadata"]["namespace"] == "eks-lon"


def test_the_service_publishes_after_its_evaluation_and_tells_how_it_went(
    run: Run, configure: Callable[..., Path], hub: FakeHub, clusters: set[str]
) -> None:
    settings = load_settings(configure("publish"))
    service = RecommenderService(settings, load=lambda: settings)
    assert service.publish(), "there is nothing to publish yet"
    approve(settings, Mode.PUBLISH, at=NOON, author="ann", reason="")
    assert service.evaluate()
    assert service.publish()
    assert scored(hub) == clusters
    state = service.app().last.state
    assert (state.publication_succeeded, state.objects_written) == (True, len(clusters))
    hub.fault = lambda _: Fault(cut=True)
    assert not service.publish()
    assert service.app().last.state.publication_succeeded is False


LABEL = "tuppence.internal/jurisdiction"


def test_the_fleet_is_set_beside_what_the_hub_says_of_it(
    run: Run, configure: Callable[..., Path], hub: FakeHub
) -> None:
    """The cluster in Dublin calls itself British: a Placement for British data would choose it by that label."""
    configure("recommend", managed_clusters={"eks-eu-west-1": "dublin"})
    hub.put("managedclusters", "aks-uksouth", metadata={"labels": {LABEL: "GB"}})
    hub.put("managedclusters", "dublin", metadata={"labels": {LABEL: "GB"}})
    hub.put("managedclusters", "eks-eu-west-2")
    hub.put("managedclusters", "stranger")
    hub.put(
        "clusterprofiles",
        "aks-uksouth",
        "fleet-system",
        status={"properties": [{"name": LABEL, "value": "GB"}]},
    )
    result = run("mode", "fleet", "-o", "json")
    found = {one["cluster"] or one["on_hub"]: one for one in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert (found["aks-uksouth"]["problem"], found["aks-uksouth"]["profile"]) == ("", "GB")
    assert found["eks-eu-west-1"]["problem"] == "they disagree on where it is: settings EEA, label GB"
    assert found["eks-eu-west-2"]["problem"].startswith("it has no label of its jurisdiction")
    assert found["onprem-lon-1"]["problem"].startswith("it is no managed cluster")
    assert found["stranger"]["problem"].startswith("the settings do not have it")


def test_a_cluster_that_contradicts_its_label_is_found_without_the_right_to_read_profiles(
    run: Run, configure: Callable[..., Path], hub: FakeHub
) -> None:
    configure("recommend")
    claims = [{"name": "jurisdiction.tuppence.internal", "value": "EEA"}]
    hub.put("managedclusters", "aks-uksouth", metadata={"labels": {LABEL: "GB"}}, status={"clusterClaims": claims})
    hub.fault = lambda request: Fault(403, "no") if request.path.endswith("clusterprofiles") else None
    result = run("mode", "fleet", "-o", "json")
    assert result.exit_code == 1
    assert "settings GB, label GB, claim EEA" in result.stdout


def test_decisions_are_read_back_from_the_hub(run: Run, configure: Callable[..., Path], hub: FakeHub) -> None:
    configure("recommend", managed_clusters={"eks-eu-west-2": "london"})
    hub.put("placements", "web", "shop")
    labels = {"cluster.open-cluster-management.io/placement": "web"}
    decided = {"decisions": [{"clusterName": "london", "reason": ""}]}
    hub.put("placementdecisions", "web-decision-1", "shop", metadata={"labels": labels}, status=decided)
    result = run("feedback", "--dry-run", "-o", "json")
    assert result.exit_code == 0, result.stderr
    assert row(result)["source"] == "Placement shop/web"
    assert "eks-eu-west-2" in result.stdout
