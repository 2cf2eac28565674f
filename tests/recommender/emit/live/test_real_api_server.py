"""The same against the real API server of custom resources, with Open Cluster Management's own definition."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from time import monotonic

import pytest
from lightkube import Client, KubeConfig
from lightkube.types import PatchType

from recommender.emit.live.hub import SCORE, Hub
from recommender.emit.live.publisher import Wanted
from recommender.emit.live.refusals import NamespaceRefusedError
from recommender.emit.live.rounds import Terms, carry_out
from recommender.emit.live.withdraw import withdraw
from recommender.emit.score_status import Freshness
from recommender.emit_settings import EmitSettings, HubSettings
from tests.servers.apiextensions import ApiServer, running_apiextensions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCORES = {"cost-uk-any": 61, "cost-uk-spot": -100}
HOUR = timedelta(hours=1)
_NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with running_apiextensions() as running:
        yield running


@pytest.fixture
def name() -> str:
    """Of objects that no other test has."""
    return f"finops-{next(_NUMBERS)}"


@pytest.fixture
def hub(server: ApiServer) -> Iterator[Hub]:
    with Hub(EmitSettings(hub=HubSettings(kubeconfig=server.kubeconfig, requests_per_second=1_000))) as client:
        yield client


@pytest.fixture
def until() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + 4 * HOUR


@pytest.fixture
def other(server: ApiServer) -> Iterator[Client]:
    """Another writer of scores."""
    with Client(KubeConfig.from_file(server.kubeconfig), field_manager="other") as client:
        yield client


def apply_as_other(other: Client, name: str, *, force: bool = False, **scores: int) -> None:
    body = {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": name, "namespace": "eks-lon"},
        "status": {"scores": [{"name": score.replace("_", "-"), "value": value} for score, value in scores.items()]},
    }
    other.patch(SCORE.Status, name, body, namespace="eks-lon", patch_type=PatchType.APPLY, force=force)


def test_what_is_written_is_found_again(hub: Hub, name: str, until: datetime) -> None:
    hub.create(name, "eks-lon")
    tried = hub.write(name, "eks-lon", SCORES, until, dry_run=True)
    assert [dict(one.scores) for one in hub.find(name)] == [{}], "a write that is only tried changes nothing"
    assert tried.at is not None
    assert abs(tried.at - datetime.now(UTC)) < timedelta(seconds=10), "it tells the server's time"
    hub.write(name, "eks-lon", SCORES, until)
    (found,) = hub.find(name)
    assert (dict(found.scores), found.valid_until, found.shared) == (SCORES, until, False)
    again = hub.write(name, "eks-lon", SCORES | {"cost-uk-any": 70}, until, dry_run=True)
    assert again.at is not None
    assert again.at >= tried.at


def test_how_fresh_the_inputs_are_is_read_back(hub: Hub, name: str, until: datetime) -> None:
    stale = Freshness(False, "prices of 2026-11-30T09:00:00Z", until - HOUR)
    hub.create(name, "eks-lon")
    hub.write(name, "eks-lon", SCORES, until, stale)
    (found,) = hub.find(name)
    assert (found.freshness, found.shared) == (stale, False)


def test_a_status_that_is_sent_with_a_create_is_dropped(hub: Hub, other: Client, name: str) -> None:
    made = SCORE.from_dict(
        {"metadata": {"name": name, "namespace": "eks-lon"}, "status": {"scores": [{"name": "x", "value": 1}]}}
    )
    other.create(made, namespace="eks-lon")
    assert "status" not in other.get(SCORE, name, namespace="eks-lon")


def test_a_score_that_is_no_longer_applied_goes(hub: Hub, name: str, until: datetime) -> None:
    hub.create(name, "eks-lon")
    hub.write(name, "eks-lon", SCORES, until)
    hub.write(name, "eks-lon", {"cost-uk-any": 60}, until)
    assert [dict(one.scores) for one in hub.find(name)] == [{"cost-uk-any": 60}]


def test_one_value_out_of_bounds_refuses_the_whole_status(hub: Hub, name: str, until: datetime) -> None:
    hub.create(name, "eks-lon")
    hub.write(name, "eks-lon", SCORES, until)
    with pytest.raises(NamespaceRefusedError, match="101") as refusal:
        hub.write(name, "eks-lon", SCORES | {"cost-uk-any": 101}, until)
    assert refusal.value.code == 422
    assert [dict(one.scores) for one in hub.find(name)] == [SCORES]


def test_an_object_that_is_there_is_a_conflict_unless_it_is_ours(hub: Hub, other: Client, name: str) -> None:
    other.create(SCORE.from_dict({"metadata": {"name": name, "namespace": "eks-lon"}}), namespace="eks-lon")
    with pytest.raises(NamespaceRefusedError, match="already exists") as refusal:
        hub.create(name, "eks-lon")
    assert refusal.value.is_conflict
    hub.create(name, "gke-bel")
    hub.create(name, "gke-bel")


def test_scores_of_another_manager_stay_theirs(hub: Hub, other: Client, name: str, until: datetime) -> None:
    hub.create(name, "eks-lon")
    hub.write(name, "eks-lon", SCORES, until)
    apply_as_other(other, name, headroom=7)
    (found,) = hub.find(name)
    assert (dict(found.scores), found.shared) == (SCORES, True)
    with pytest.raises(NamespaceRefusedError, match='conflict with "other"') as refusal:
        hub.write(name, "eks-lon", SCORES | {"headroom": 8}, until)
    assert refusal.value.is_conflict
    hub.withdraw(found)
    left = other.get(SCORE, name, namespace="eks-lon")
    assert left["status"] == {"scores": [{"name": "headroom", "value": 7}]}


def test_what_is_not_there_is_missing_and_not_an_error(hub: Hub, name: str, until: datetime) -> None:
    assert hub.look(name, "eks-lon") is None
    with pytest.raises(NamespaceRefusedError) as refusal:
        hub.write(name, "eks-lon", SCORES, until)
    assert refusal.value.is_missing


def test_a_round_a_round_with_nothing_new_and_a_withdrawal(hub: Hub, name: str, until: datetime) -> None:
    wanted = Wanted({one: {"cost-uk-any": 50} for one in ("eks-lon", "gke-bel", "onprem-lon")}, until)
    terms = Terms(lambda: datetime.now(UTC), timedelta(days=1), timedelta(minutes=2), lambda: True, lambda _: None)
    first = carry_out(hub, name, wanted, hub.find(name), terms)
    assert (first.written, first.is_whole) == (3, True)
    second = carry_out(hub, name, wanted, hub.find(name), terms)
    assert (second.written, second.unchanged) == (0, 3)
    waits: list[float] = []
    gone = withdraw(hub, hub.find(name), now=lambda: datetime.now(UTC), wait=waits.append, requests_per_second=1_000)
    assert (gone.gone, gone.left, len(waits)) == (3, {}, 1)
    assert hub.find(name) == []


def test_a_thousand_clusters_are_looked_at_in_seconds_and_only_what_changed_is_written(
    hub: Hub, name: str, until: datetime
) -> None:
    """Twelve scores each; in the third round one cluster in ten moved by three points."""
    terms = Terms(lambda: datetime.now(UTC), timedelta(days=1), timedelta(minutes=2), lambda: True, lambda _: None)

    def publish(moved: int) -> tuple[int, float]:
        scores = {
            f"cluster-{cluster:04}": {
                f"cost-{score}": (cluster * 7 + score * 13) % 90 + 3 * (cluster < moved) for score in range(12)
            }
            for cluster in range(1_000)
        }
        started = monotonic()
        made = carry_out(hub, name, Wanted(scores, until), hub.find(name), terms)
        assert made.is_whole
        return made.written, monotonic() - started

    assert publish(0)[0] == 1_000
    written, seconds = publish(0)
    assert written == 0
    assert seconds < 10
    assert publish(100)[0] == 100
