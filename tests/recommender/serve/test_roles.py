"""Who may decide where people log in and machines have tokens: a real web-config file, a real file of tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.errors import SettingsError
from exporters.core.web.serving import serving
from recommender.ledger.store import Ledger
from recommender.serve.access import TokenFile
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan
from recommender.settings import RecommenderSettings, RecommenderWebSettings
from tests.builders import NOON
from tests.recommender.report.example import example_plan
from tests.recommender.serve import forms
from tests.recommender.serve.conftest import Served, propose

WEB = next(one.id for one in example_plan().recommendations if one.target.workload == "web")
DETAIL = f"/api/v1/recommendations/{WEB}"
DECISIONS = f"{DETAIL}/decisions"
ANN, BOB = httpx2.BasicAuth("ann", "correct horse"), httpx2.BasicAuth("bob", "battery staple")
CI, DASHBOARD = {"authorization": "Bearer ci-secret"}, {"authorization": "Bearer dashboard-secret"}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """Two machines: one that may decide, one that may look."""
    path = tmp_path / "tokens.yaml"
    path.write_text(
        f"tokens:\n  ci: {{role: approver, sha256: {sha256('ci-secret')}}}\n"
        f"  dashboard: {{role: viewer, sha256: {sha256('dashboard-secret')}}}\n"
    )
    return path


@pytest.fixture
def guarded(settings: RecommenderSettings, tokens: Path, tmp_path: Path) -> Iterator[Served]:
    """Ann approves, Bob looks."""
    users = {"ann": "correct horse", "bob": "battery staple"}
    web_file = tmp_path / "web.yaml"
    web_file.write_text(
        json.dumps(
            {
                "basic_auth_users": {
                    name: bcrypt.hashpw(one.encode(), bcrypt.gensalt(4)).decode() for name, one in users.items()
                }
            }
        )
    )
    web = RecommenderWebSettings(approvers=("ann",), tokens_file=tokens, config_file=web_file)
    settings = settings.model_copy(update={"recommender_web": web})
    last, ledger = LastPlan(), Ledger.at(settings.ledger)
    propose(ledger)
    last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    app = create_app(Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None, settings=lambda: settings))
    with (
        serving(app, web_config=web_file, bearer=TokenFile(tokens).caller) as address,
        httpx2.Client(base_url=address.url, timeout=10) as client,
    ):
        yield Served(client, last, ledger)


def author(served: Served) -> str:
    with served.ledger.reading() as reader:
        return reader.history(WEB)[-1].author


def test_without_a_password_or_token_nothing_is_shown(guarded: Served) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic nonsense"}):
        assert guarded.client.get("/recommendations", headers=headers).status_code == 401


def test_an_approver_decides_under_their_own_name(guarded: Served) -> None:
    guarded.client.auth = ANN
    assert forms.decide(guarded.client, WEB, decision="accepted").status_code == 303
    assert author(guarded) == "ann"
    assert "<bdi>ann</bdi>" in guarded.client.get(f"/recommendations/{WEB}").text


def test_a_viewer_looks_and_is_told_why_they_cannot_decide(guarded: Served) -> None:
    guarded.client.auth = BOB
    page = guarded.client.get(f"/recommendations/{WEB}").text
    assert "bob is not among recommender_web.approvers" in page
    assert 'name="decision"' not in page
    assert forms.decide(guarded.client, WEB, decision="accepted").status_code == 403
    assert author(guarded) == "tuppence"


def test_the_form_of_one_user_does_not_count_for_another(guarded: Served) -> None:
    guarded.client.auth = BOB
    form = forms.filled(guarded.client.get(f"/recommendations/{WEB}").text, decision="accepted")
    guarded.client.auth = ANN
    assert forms.send(guarded.client, WEB, form).status_code == 403


def test_a_machine_decides_of_what_it_has_read(guarded: Served) -> None:
    tag = guarded.client.get(DETAIL, headers=CI).headers["etag"]
    body = {"decision": "dismissed", "reason": "frozen for audit", "until": "2027-01-31T00:00:00Z"}
    answer = guarded.client.post(DECISIONS, json=body, headers={**CI, "if-match": tag})
    assert answer.status_code == 201
    assert answer.json() == {
        "recommendation_id": WEB,
        "state": "dismissed",
        "since": "2026-11-30T12:00:00Z",
        "author": "token ci",
        "reason": "frozen for audit",
        "until": "2027-01-31T00:00:00Z",
        "sequence": 2,
    }
    events = guarded.client.get(f"{DETAIL}/events", headers=DASHBOARD).json()["items"]
    assert [(one["kind"], one["author"]) for one in events] == [("proposed", "tuppence"), ("dismissed", "token ci")]


def test_a_machine_that_may_look_may_not_decide(guarded: Served) -> None:
    tag = guarded.client.get(DETAIL, headers=DASHBOARD).headers["etag"]
    answer = guarded.client.post(DECISIONS, json={"decision": "accepted"}, headers={**DASHBOARD, "if-match": tag})
    assert (answer.status_code, "role viewer" in answer.json()["error"]) == (403, True)


def test_a_machine_must_name_what_it_read_and_is_told_when_that_has_changed(guarded: Served) -> None:
    tag = guarded.client.get(DETAIL, headers=CI).headers["etag"]
    without = guarded.client.post(DECISIONS, json={"decision": "accepted"}, headers=CI)
    assert (without.status_code, without.json()["where"]) == (428, "If-Match")
    first = guarded.client.post(DECISIONS, json={"decision": "accepted"}, headers={**CI, "if-match": tag})
    assert first.status_code == 201
    second = guarded.client.post(DECISIONS, json={"decision": "accepted"}, headers={**CI, "if-match": tag})
    assert (second.status_code, second.json()["now"]["state"]) == (412, "accepted")
    fresh = guarded.client.get(DETAIL, headers=CI).headers["etag"]
    third = guarded.client.post(DECISIONS, json={"decision": "accepted"}, headers={**CI, "if-match": fresh})
    assert (third.status_code, third.json()["now"]["state"]) == (409, "accepted")
    assert "only advice that is open can be accepted" in third.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        {"decision": "dismissed"},
        {"decision": "dismissed", "reason": " "},
        {"decision": "snoozed"},
        {"decision": "snoozed", "until": "2020-05-01T00:00:00Z"},
        {"decision": "accepted", "raeson": "x"},
        {"decision": "verified"},
        [],
    ],
)
def test_a_decision_that_is_not_understood_is_refused_in_one_form(guarded: Served, body: object) -> None:
    tag = guarded.client.get(DETAIL, headers=CI).headers["etag"]
    answer = guarded.client.post(DECISIONS, json=body, headers={**CI, "if-match": tag})
    assert answer.status_code == 422
    assert set(answer.json()) == {"error", "where", "next_step"}


def test_a_new_file_of_tokens_holds_at_once_and_a_wrong_one_lets_nobody_in(tokens: Path) -> None:
    file = TokenFile(tokens)
    found = file.caller("ci-secret")
    assert found is not None
    assert (found.name, found.role) == ("token ci", "approver")
    assert file.caller("another") is None
    tokens.write_text(f"tokens:\n  new: {{role: viewer, sha256: {sha256('new-secret')}}}\n")
    assert file.caller("ci-secret") is None
    assert file.caller("new-secret") is not None
    tokens.write_text("tokens: [")
    assert file.caller("new-secret") is None


def test_a_token_in_the_clear_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text("tokens:\n  ci: {role: approver, sha256: ci-secret}\n")
    with pytest.raises(SettingsError, match="sha256"):
        TokenFile(path)


def test_all_replicas_that_share_a_key_know_each_others_forms(settings: RecommenderSettings, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a long random text\n")
    settings = settings.model_copy(update={"recommender_web": RecommenderWebSettings(session_key_file=key)})
    propose(Ledger.at(settings.ledger))
    last = LastPlan()
    last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    made = Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None, settings=lambda: settings)
    with serving(create_app(made)) as one, serving(create_app(made)) as other, httpx2.Client(timeout=10) as client:
        page = client.get(f"{one.url}/recommendations/{WEB}").text
        form = forms.filled(page, decision="accepted")
        assert client.post(f"{other.url}/recommendations/{WEB}/decisions", data=form).status_code == 303
