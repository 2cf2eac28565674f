"""The client beside an API server: what it writes, what it finds again, and what it says when it is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from exporters.core.errors import SettingsError
from recommender.emit.live.connect import config_of
from recommender.emit.live.hub import Hub
from recommender.emit.live.refusals import HubAwayError, HubError, NamespaceRefusedError
from recommender.emit.score_status import Freshness
from recommender.emit_settings import EmitSettings, HubSettings
from tests.fakes.api_server import FakeHub, Fault, Request, write_kubeconfig

UNTIL = datetime(2026, 12, 1, 12, tzinfo=UTC)
SCORES = {"cost-uk-any": 61, "cost-uk-spot": -100}


def published(hub: Hub, namespace: str = "eks-lon", **scores: int) -> None:
    hub.create("finops", namespace)
    hub.write("finops", namespace, scores or SCORES, UNTIL)


def test_what_is_written_is_found_again_with_its_end(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    (found,) = hub.find("finops")
    assert (found.namespace, dict(found.scores), found.valid_until, found.shared) == ("eks-lon", SCORES, UNTIL, False)
    assert fake.status("eks-lon")["validUntil"] == "2026-12-01T12:00:00Z"


def test_a_hub_is_told_how_fresh_the_inputs_are_and_it_is_read_back(hub: Hub, fake: FakeHub) -> None:
    stale = Freshness(False, "prices of 2026-11-30T09:00:00Z", UNTIL - timedelta(hours=3))
    hub.create("finops", "eks-lon")
    hub.write("finops", "eks-lon", SCORES, UNTIL, stale)
    assert fake.status("eks-lon")["conditions"] == [
        {
            "type": "InputsFresh",
            "status": "False",
            "reason": "HeldUntilTheyLapse",
            "message": "prices of 2026-11-30T09:00:00Z",
            "lastTransitionTime": "2026-12-01T09:00:00Z",
        }
    ]
    (found,) = hub.find("finops")
    assert (found.freshness, found.shared) == (stale, False)


def test_a_condition_of_another_manager_stays_theirs(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    theirs = {"type": "Ready", "status": "True", "reason": "Yes", "message": "", "lastTransitionTime": "x"}
    key = ("addonplacementscores", "eks-lon", "finops")
    fake.objects[key] = fake.apply("eks-lon", "finops", "other", {"conditions": [theirs]})
    hub.write("finops", "eks-lon", SCORES, UNTIL, Freshness(True, "", UNTIL))
    assert [one["type"] for one in fake.status("eks-lon")["conditions"]] == ["Ready", "InputsFresh"]
    (found,) = hub.find("finops")
    hub.withdraw(found)
    assert fake.status("eks-lon") == {"conditions": [theirs]}


def test_an_object_is_made_before_its_status_is_applied(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    assert [(one.method, one.path.rsplit("/", 1)[-1]) for one in fake.changes()] == [
        ("POST", "addonplacementscores"),
        ("PATCH", "status"),
    ]
    assert fake.changes()[1].query["fieldManager"] == "tuppence"


def test_a_write_that_is_only_tried_changes_nothing(hub: Hub, fake: FakeHub) -> None:
    hub.create("finops", "eks-lon")
    tried = hub.write("finops", "eks-lon", SCORES, UNTIL, dry_run=True)
    assert fake.values() == {"eks-lon": {}}
    assert tried.at is not None


def test_a_score_that_is_no_longer_applied_goes(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    hub.write("finops", "eks-lon", {"cost-uk-any": 60}, UNTIL)
    assert fake.values() == {"eks-lon": {"cost-uk-any": 60}}


def test_one_value_out_of_bounds_refuses_the_whole_status(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    with pytest.raises(NamespaceRefusedError, match=r"namespace eks-lon: .*101") as refusal:
        hub.write("finops", "eks-lon", SCORES | {"cost-uk-any": 101}, UNTIL)
    assert refusal.value.code == 422
    assert fake.values() == {"eks-lon": SCORES}


def test_scores_of_another_manager_in_the_same_object_stay_theirs(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    theirs = {"scores": [{"name": "headroom", "value": 7}]}
    key = ("addonplacementscores", "eks-lon", "finops")
    fake.objects[key] = fake.apply("eks-lon", "finops", "other", theirs)
    (found,) = hub.find("finops")
    assert (dict(found.scores), found.shared) == (SCORES, True)
    hub.withdraw(found)
    assert fake.values() == {"eks-lon": {"headroom": 7}}


def test_a_score_that_another_manager_owns_is_reported_and_not_taken(hub: Hub, fake: FakeHub) -> None:
    hub.create("finops", "eks-lon")
    key = ("addonplacementscores", "eks-lon", "finops")
    fake.objects[key] = fake.apply("eks-lon", "finops", "other", {"scores": [{"name": "cost-uk-any", "value": 1}]})
    with pytest.raises(NamespaceRefusedError, match=r'conflict with "other".*take_over') as refusal:
        hub.write("finops", "eks-lon", SCORES, UNTIL)
    assert refusal.value.is_conflict
    assert fake.values() == {"eks-lon": {"cost-uk-any": 1}}


def test_it_is_taken_where_the_settings_say_so(settings: EmitSettings, fake: FakeHub) -> None:
    forceful = settings.model_copy(update={"hub": settings.hub.model_copy(update={"take_over": True})})
    with Hub(forceful) as hub:
        hub.create("finops", "eks-lon")
        key = ("addonplacementscores", "eks-lon", "finops")
        fake.objects[key] = fake.apply("eks-lon", "finops", "other", {"scores": [{"name": "cost-uk-any", "value": 1}]})
        hub.write("finops", "eks-lon", SCORES, UNTIL)
    assert fake.values() == {"eks-lon": SCORES}


def test_an_object_of_somebody_else_is_neither_found_nor_taken(hub: Hub, fake: FakeHub) -> None:
    fake.put("addonplacementscores", "finops", "eks-lon", metadata={"labels": {"by": "hand"}})
    assert hub.find("finops") == []
    assert hub.look("finops", "eks-lon") is None
    with pytest.raises(NamespaceRefusedError, match="already exists"):
        hub.create("finops", "eks-lon")


def test_a_create_whose_answer_was_lost_is_not_refused_the_second_time(hub: Hub, fake: FakeHub) -> None:
    def lost(request: Request) -> Fault | None:
        if request.method == "POST" and not fake.values():
            fake.put(
                "addonplacementscores",
                "finops",
                "eks-lon",
                metadata={"labels": {"tuppence.internal/managed-by": "tuppence"}},
            )
            return Fault(cut=True)
        return None

    fake.fault = lost
    hub.create("finops", "eks-lon")
    assert fake.values() == {"eks-lon": {}}


def test_a_token_that_expired_is_read_again_from_its_file(hub: Hub, fake: FakeHub) -> None:
    assert hub.find("finops") == []
    fake.tokens = {"second"}
    fake.token_file.write_text("second", encoding="utf-8")
    assert hub.find("finops") == []


def test_a_token_that_is_not_renewed_is_an_error_of_the_whole_hub(hub: Hub, fake: FakeHub) -> None:
    fake.tokens = set()
    with pytest.raises(HubError, match=r"does not accept the credentials.*Renew") as refusal:
        hub.find("finops")
    assert refusal.value.code == 401
    assert len(fake.asked) == 2, "once with the token it had, once with the one in the file"


def test_a_forbidden_namespace_is_named_with_what_to_do(hub: Hub, fake: FakeHub) -> None:
    fake.forbidden = {"gke-bel"}
    with pytest.raises(NamespaceRefusedError, match=r"namespace gke-bel: .*forbidden.*tuppence mode rbac"):
        hub.create("finops", "gke-bel")


def test_a_cluster_that_is_not_on_the_hub_is_told_from_a_hub_without_the_definition(hub: Hub, fake: FakeHub) -> None:
    with pytest.raises(NamespaceRefusedError, match="managed_clusters") as refusal:
        hub.create("finops", "nowhere")
    assert refusal.value.is_missing
    fake.installed = False
    with pytest.raises(HubError, match=r"does not know AddOnPlacementScore.*Install Open Cluster Management"):
        hub.create("finops", "eks-lon")


def test_a_throttled_request_is_made_again(hub: Hub, fake: FakeHub) -> None:
    answers = [Fault(429, "slow down", {"retry-after": "1"}), Fault(503, "starting"), None]
    fake.fault = lambda _: answers.pop(0)
    assert hub.find("finops") == []
    assert len(fake.asked) == 3


def test_a_server_that_stays_busy_is_given_up_after_four_tries(hub: Hub, fake: FakeHub) -> None:
    fake.fault = lambda _: Fault(429, "slow down", {"retry-after": "1"})
    with pytest.raises(HubAwayError, match=r"asks for patience.*slow down"):
        hub.find("finops")
    assert len(fake.asked) == 4


def test_a_server_that_asks_for_a_long_pause_is_left_alone_until_the_next_round(hub: Hub, fake: FakeHub) -> None:
    fake.fault = lambda _: Fault(429, "come back", {"retry-after": "600"})
    with pytest.raises(HubAwayError):
        hub.find("finops")
    assert len(fake.asked) == 1


def test_a_connection_that_is_cut_is_made_again(hub: Hub, fake: FakeHub) -> None:
    answers: list[Fault | None] = [Fault(cut=True), None]
    fake.fault = lambda _: answers.pop(0)
    assert hub.find("finops") == []


def test_a_hub_that_is_away_is_named(hub: Hub, fake: FakeHub) -> None:
    fake.fault = lambda _: Fault(cut=True)
    with pytest.raises(HubAwayError, match=r"127\.0\.0\.1.*does not answer"):
        hub.find("finops")


def test_an_answer_of_a_proxy_in_between_is_no_answer_of_the_hub(hub: Hub, fake: FakeHub) -> None:
    fake.fault = lambda _: Fault(403, "<html>", content_type=None)
    with pytest.raises(HubError, match="not of a Kubernetes API server"):
        hub.find("finops")


def test_a_long_list_is_read_page_by_page(hub: Hub, fake: FakeHub) -> None:
    for namespace in ("eks-lon", "gke-bel", "onprem-lon"):
        published(hub, namespace)
    fake.page = 2
    assert [one.namespace for one in hub.find("finops")] == ["eks-lon", "gke-bel", "onprem-lon"]


def test_a_list_whose_pages_expired_is_begun_again(hub: Hub, fake: FakeHub) -> None:
    for namespace in ("eks-lon", "gke-bel", "onprem-lon"):
        published(hub, namespace)
    fake.page, fake.expired_pages = 2, 1
    assert len(hub.find("finops")) == 3
    fake.expired_pages = 9
    with pytest.raises(HubError, match="expired 3 times"):
        hub.find("finops")


def test_a_pilot_looks_only_where_it_may(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    fake.may_list_everywhere = False
    with pytest.raises(HubError, match="refuses to list AddOnPlacementScores"):
        hub.find("finops")
    assert [one.namespace for one in hub.find("finops", {"eks-lon", "gke-bel"})] == ["eks-lon"]


def test_what_is_withdrawn_twice_is_gone(hub: Hub, fake: FakeHub) -> None:
    published(hub)
    (found,) = hub.find("finops")
    hub.withdraw(found)
    hub.withdraw(found)
    assert fake.values() == {}


def test_the_fleet_is_read(hub: Hub, fake: FakeHub) -> None:
    fake.put("managedclusters", "eks-lon", metadata={"labels": {"region": "eu-west-2"}})
    fake.put("clusterprofiles", "eks-lon", "fleet", status={"properties": []})
    fake.put("placementdecisions", "batch-decision-1", "shop", status={"decisions": [{"clusterName": "eks-lon"}]})
    fake.put("placementdecisions", "web-decision-1", "web", status={"decisions": []})
    assert [one["metadata"]["labels"]["region"] for one in hub.managed_clusters()] == ["eu-west-2"]
    assert [one["metadata"]["namespace"] for one in hub.cluster_profiles()] == ["fleet"]
    assert [one["metadata"]["namespace"] for one in hub.placement_decisions()] == ["shop", "web"]
    assert hub.placements() == []


def test_requests_are_paced(settings: EmitSettings, fake: FakeHub) -> None:
    waits: list[float] = []
    slow = settings.model_copy(update={"hub": settings.hub.model_copy(update={"requests_per_second": 0.1})})
    with Hub(slow, sleep=waits.append) as hub:
        for _ in range(3):
            hub.look("finops", "eks-lon")
    assert waits == pytest.approx([10, 20], abs=2), "nobody slept, so the third waits for both before it"


@pytest.mark.parametrize(
    ("hub", "message"),
    [
        (HubSettings(), "no hub is set"),
        (HubSettings(kubeconfig="/nowhere/kubeconfig"), "cannot be read"),
        (HubSettings(in_cluster=True), "cannot be read"),
    ],
)
def test_a_hub_that_is_not_described_is_an_error_of_the_settings(hub: HubSettings, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        config_of(hub)


def test_a_context_that_is_not_there_or_a_plain_address_is_an_error_of_the_settings(fake: FakeHub) -> None:
    with pytest.raises(SettingsError, match="no such context"):
        config_of(HubSettings(kubeconfig=fake.kubeconfig, context="other"))
    write_kubeconfig(fake.kubeconfig, "http://hub.example.org", {}, {"token": "x"})
    with pytest.raises(SettingsError, match="not an https"):
        config_of(HubSettings(kubeconfig=fake.kubeconfig))


def test_credentials_that_name_missing_files_are_an_error_of_the_settings(fake: FakeHub) -> None:
    write_kubeconfig(fake.kubeconfig, fake.url, {"certificate-authority": "gone.pem"}, {"token": "x"})
    settings = EmitSettings(hub=HubSettings(kubeconfig=fake.kubeconfig))
    with pytest.raises(SettingsError, match="cannot be used"):
        Hub(settings)
    write_kubeconfig(fake.kubeconfig, fake.url, {"certificate-authority": "ca.pem"}, {"tokenFile": "/gone/token"})
    with Hub(settings) as hub, pytest.raises(SettingsError, match="cannot be used"):
        hub.find("finops")
