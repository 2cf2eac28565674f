"""Decisions by form: who may, what is written down, what a second person is told, and what another site cannot do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from recommender.advise.record import State
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import Event, EventKind
from recommender.ledger.standing import after
from recommender.ledger.store import Ledger
from recommender.serve.app import Recommender, create_app
from recommender.serve.deciding import allowed
from recommender.serve.last_plan import LastPlan
from recommender.settings import RecommenderSettings, RecommenderWebSettings
from tests.builders import NOON
from tests.recommender.report.example import example_plan
from tests.recommender.serve import forms
from tests.recommender.serve.conftest import Served, propose

WEB = next(one.id for one in example_plan().recommendations if one.target.workload == "web")


def kinds(served: Served, advice_id: str = WEB) -> list[str]:
    with served.ledger.reading() as reader:
        return [one.kind.value for one in reader.history(advice_id)]


def test_a_dismissal_with_a_reason_and_a_day_is_written_down_and_shown(proposed: Served) -> None:
    answer = forms.decide(proposed.client, WEB, decision="dismissed", reason="licence is bound", until="2027-07-01")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/recommendations/{WEB}")
    with proposed.ledger.reading() as reader:
        event = reader.history(WEB)[-1]
    assert (event.kind, event.reason, event.author) == (
        EventKind.DISMISSED,
        "licence is bound",
        "somebody without login",
    )
    # The day begins at midnight in London, in summer time.
    assert event.until == datetime(2027, 6, 30, 23, tzinfo=UTC)
    page = proposed.client.get(f"/recommendations/{WEB}").text
    assert "licence is bound" in page
    assert "dismissed until 1 July 2027" in page
    assert WEB not in proposed.client.get("/recommendations").text
    assert WEB in proposed.client.get("/recommendations?state=dismissed").text


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"decision": "accepted"}, "accepted"),
        ({"decision": "snoozed", "until": "2027-01-04"}, "snoozed"),
        ({"decision": "implemented", "applied_by": "https://git.example.org/pull/7"}, "implemented"),
    ],
)
def test_each_decision_leads_to_its_state_and_can_be_taken_back(
    proposed: Served, fields: dict[str, str], state: str
) -> None:
    assert forms.decide(proposed.client, WEB, **fields).status_code == 303
    assert proposed.client.get(f"/api/v1/recommendations/{WEB}").json()["state"] == state
    assert forms.decide(proposed.client, WEB, decision="reopened").status_code == 303
    assert kinds(proposed) == ["proposed", state, "reopened"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"decision": "dismissed", "reason": "  "}, "A dismissal needs a reason."),
        ({"decision": "snoozed", "reason": "after Christmas"}, "A snooze needs an end."),
        ({"decision": "snoozed", "until": "2026-11-01"}, "which is not in the future"),
        ({"decision": "snoozed", "until": "tomorrow"}, "is no day."),
        ({"decision": "burned"}, "decision"),
        ({}, "decision"),
    ],
)
def test_a_decision_that_lacks_something_is_refused_and_what_was_typed_stays(
    proposed: Served, fields: dict[str, str], said: str
) -> None:
    answer = forms.decide(proposed.client, WEB, **fields)
    assert answer.status_code == 422
    assert "Nothing was written down." in answer.text
    assert said in answer.text
    assert fields.get("reason", "") in answer.text
    assert kinds(proposed) == ["proposed"]


def test_who_is_overtaken_is_told_by_whom_and_nothing_is_written(proposed: Served) -> None:
    form = forms.filled(proposed.client.get(f"/recommendations/{WEB}").text, decision="accepted")
    decide(proposed.ledger, WEB, Decision(EventKind.DISMISSED, "ann", "audit season"), at=NOON)
    answer = forms.send(proposed.client, WEB, form)
    assert answer.status_code == 409
    assert "ann dismissed it on 30 November 2026: audit season" in answer.text
    assert kinds(proposed) == ["proposed", "dismissed"]
    assert proposed.last.state.served is not None
    found = proposed.last.state.served.index.get(WEB)
    assert found is not None
    assert found.state is State.DISMISSED


def test_a_locked_ledger_is_named_and_nothing_typed_is_lost(proposed: Served, settings: RecommenderSettings) -> None:
    form = forms.filled(proposed.client.get(f"/recommendations/{WEB}").text, decision="dismissed", reason="too risky")
    holder = sqlite3.connect(settings.ledger.url, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        answer = forms.send(proposed.client, WEB, form)
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "database is locked" in answer.text
    assert "too risky" in answer.text
    assert kinds(proposed) == ["proposed"]
    assert forms.send(proposed.client, WEB, form).status_code == 303


def test_advice_that_the_ledger_does_not_know_cannot_be_decided(with_plan: Served) -> None:
    page = with_plan.client.get(f"/recommendations/{WEB}").text
    assert "The ledger has not written this advice down" in page
    assert "<form" not in page


def test_a_form_without_its_token_or_with_that_of_another_session_is_refused(proposed: Served) -> None:
    form = forms.filled(proposed.client.get(f"/recommendations/{WEB}").text, decision="accepted")
    assert forms.send(proposed.client, WEB, {**form, "token": ""}).status_code == 403
    assert forms.send(proposed.client, WEB, {**form, "token": "9" + form["token"]}).status_code == 403
    with httpx2.Client(base_url=str(proposed.client.base_url)) as other:
        assert forms.send(other, WEB, form).status_code == 403
        other.get(f"/recommendations/{WEB}")
        assert forms.send(other, WEB, form).status_code == 403
    assert kinds(proposed) == ["proposed"]


@pytest.mark.parametrize(
    "headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_sent_from_another_site_is_refused_even_with_its_token(
    proposed: Served, headers: dict[str, str]
) -> None:
    form = forms.filled(proposed.client.get(f"/recommendations/{WEB}").text, decision="accepted")
    assert forms.send(proposed.client, WEB, form, headers).status_code == 403
    assert kinds(proposed) == ["proposed"]
    own = {"origin": str(proposed.client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    assert forms.send(proposed.client, WEB, form, own).status_code == 303


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(proposed: Served) -> None:
    cookie = proposed.client.get(f"/recommendations/{WEB}").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_a_form_that_is_too_large_or_none_is_refused(proposed: Served) -> None:
    path = f"/recommendations/{WEB}/decisions"
    assert proposed.client.post(path, json={"decision": "accepted"}).status_code == 415
    assert proposed.client.post(path, data={"reason": "x" * 70_000}).status_code == 413


def test_a_name_that_an_attacker_lets_resolve_to_loopback_may_not_decide(proposed: Served) -> None:
    rebound = proposed.client.get(f"/recommendations/{WEB}", headers={"host": "evil.example"})
    assert "so nobody may decide" in rebound.text
    form = forms.filled(proposed.client.get(f"/recommendations/{WEB}").text, decision="accepted")
    assert forms.send(proposed.client, WEB, form, {"host": "evil.example"}).status_code == 403


@pytest.fixture
def open_address(settings: RecommenderSettings) -> Iterator[Served]:
    """Listening, so it believes, on every address, without a login."""
    yield from _served(settings, host="0.0.0.0")


def _served(settings: RecommenderSettings, *, host: str) -> Iterator[Served]:
    last, ledger = LastPlan(), Ledger.at(settings.ledger)
    propose(ledger)
    last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    app = create_app(
        Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None, settings=lambda: settings, host=host)
    )
    with serving(app) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        yield Served(client, last, ledger)


def test_without_a_login_nobody_decides_on_an_address_that_others_reach(open_address: Served) -> None:
    assert "so nobody may decide" in open_address.client.get(f"/recommendations/{WEB}").text
    assert forms.decide(open_address.client, WEB, decision="accepted").status_code == 403


def test_unless_the_settings_say_that_another_door_checks(settings: RecommenderSettings) -> None:
    web = RecommenderWebSettings(decide_without_login=True)
    for served in _served(settings.model_copy(update={"recommender_web": web}), host="0.0.0.0"):
        assert forms.decide(served.client, WEB, decision="accepted").status_code == 303


@pytest.mark.parametrize("state", list(State))
def test_what_a_form_offers_is_what_the_ledger_takes(state: State) -> None:
    proposal = Event("a1", 1, EventKind.PROPOSED, NOON, "tuppence", expires_at=NOON + timedelta(days=7))
    opened = after(None, proposal)
    for kind in allowed(state):
        event = Event("a1", 2, kind, NOON, "ann", reason="because", until=None)
        assert after(replace(opened, state=state), event).state.value in {kind.value, "open"}
