"""Schedulers' decisions meet the advice of a real ledger: only what was decided as advised is written down, once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recommender.advise.record import Recommendation, State
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.feedback import Evidence, Known, Link, Outcome, by_person, linked
from recommender.ledger.memory import standings_at
from recommender.ledger.store import Ledger, Reader
from recommender.observe.decisions import Decided, OwnedBy
from recommender.settings import LedgerSettings
from tests.builders import NOON
from tests.recommender.ledger.remembering import evaluated, only, standing_of
from tests.recommender.world import GENERAL, SPOT, pools, workload

CLUSTERS = ("eks-lon", "gke-bel", "onprem-lon")
HOUR = timedelta(hours=1)
WEB = OwnedBy("shop", "Deployment", "web")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.at(LedgerSettings(url=str(tmp_path / "ledger.sqlite")))


@pytest.fixture
def advice(ledger: Ledger) -> Recommendation:
    """To move from eks-lon to onprem-lon."""
    return only(evaluated(ledger, workload()))


def read_back(ledger: Ledger, *decisions: Decided, at: datetime = NOON + HOUR) -> Sequence[Link]:
    """Links decisions and writes down what comes of them."""
    made: list[Link] = []

    def events(reader: Reader) -> list[object]:
        standings = standings_at(reader.histories(), at=at)
        texts = reader.documents(one.proposal for one in standings.values())
        advice = {key: Recommendation.model_validate_json(text) for (key, _), text in texts.items()}
        made[:] = linked(decisions, Known(standings, advice), clusters=CLUSTERS, at=at)
        return [link.event for link in made if link.event]

    ledger.add(events)  # type: ignore[arg-type]
    return made


def ocm(*clusters: str, ids: tuple[str, ...] = (), source: str = "Placement pilot/web") -> Decided:
    return Decided("ocm", source, clusters, advice_ids=ids)


def test_the_advised_cluster_is_written_down_with_the_evidence(ledger: Ledger, advice: Recommendation) -> None:
    [link] = read_back(ledger, ocm("onprem-lon", ids=(advice.id,)))
    assert (link.outcome, link.advice) == (Outcome.AS_ADVISED, advice)
    now = standing_of(ledger, advice.id, at=NOON + HOUR)
    assert (now.state, now.author, now.implemented_at) == (State.IMPLEMENTED, "scheduler", NOON + HOUR)
    assert now.reason == "Placement pilot/web chose onprem-lon"
    with ledger.reading() as reader:
        [text] = reader.documents([now.last]).values()
    assert Evidence.model_validate_json(text) == Evidence(
        by="scheduler", reference="Placement pilot/web", system="ocm", cluster="onprem-lon"
    )


def test_a_workload_of_kueue_is_found_by_its_owner_and_keeps_its_time(ledger: Ledger, advice: Recommendation) -> None:
    admitted = NOON + HOUR / 2
    [link] = read_back(ledger, Decided("kueue", "Workload shop/w", ("onprem-lon",), owner=WEB, decided_at=admitted))
    assert link.outcome is Outcome.AS_ADVISED
    assert standing_of(ledger, advice.id, at=NOON + HOUR).implemented_at == admitted


def test_read_again_it_is_already_carried_out(ledger: Ledger, advice: Recommendation) -> None:
    decision = ocm("onprem-lon", ids=(advice.id,))
    read_back(ledger, decision)
    [again] = read_back(ledger, decision, at=NOON + 2 * HOUR)
    assert (again.outcome, again.event) == (Outcome.ALREADY, None)
    assert again.why == "it is implemented since 30 November 2026"


@pytest.mark.parametrize(
    ("clusters", "outcome", "why"),
    [
        (("eks-lon",), Outcome.STAYS, "it stays in eks-lon; onprem-lon is advised"),
        (("gke-bel",), Outcome.ELSEWHERE, "gke-bel was chosen; onprem-lon is advised"),
        (("gke-bel", "onprem-lon"), Outcome.AMBIGUOUS, "several clusters were chosen: gke-bel, onprem-lon"),
        (("moon",), Outcome.UNKNOWN_CLUSTER, "moon is no cluster of the settings"),
        (("moon", "onprem-lon"), Outcome.UNKNOWN_CLUSTER, "moon is no cluster of the settings"),
        ((), Outcome.UNDECIDED, "it names no cluster yet"),
    ],
)
def test_any_other_cluster_changes_nothing_and_is_told(
    ledger: Ledger, advice: Recommendation, clusters: tuple[str, ...], outcome: Outcome, why: str
) -> None:
    [link] = read_back(ledger, ocm(*clusters, ids=(advice.id,)))
    assert (link.outcome, link.why, link.event) == (outcome, why, None)
    assert standing_of(ledger, advice.id, at=NOON + HOUR).state is State.OPEN


def test_two_decisions_that_disagree_change_nothing(ledger: Ledger, advice: Recommendation) -> None:
    links = read_back(
        ledger, ocm("onprem-lon", ids=(advice.id,)), ocm("gke-bel", ids=(advice.id,), source="Placement pilot/other")
    )
    assert [link.outcome for link in links] == [Outcome.AMBIGUOUS, Outcome.ELSEWHERE]
    assert links[0].why == "Placement pilot/other says otherwise: gke-bel"
    assert standing_of(ledger, advice.id, at=NOON + HOUR).state is State.OPEN


def test_two_decisions_that_agree_are_written_down_once(ledger: Ledger, advice: Recommendation) -> None:
    owned = Decided("kueue", "Workload shop/w", ("onprem-lon",), owner=WEB)
    links = read_back(ledger, ocm("onprem-lon", ids=(advice.id,)), owned)
    assert [link.outcome for link in links] == [Outcome.AS_ADVISED, Outcome.ALREADY]
    assert [link.event is not None for link in links] == [True, False]


def test_a_decision_against_what_a_person_decided_changes_nothing(ledger: Ledger, advice: Recommendation) -> None:
    decide(ledger, advice.id, Decision(EventKind.DISMISSED, "ann", reason="audit"), at=NOON + HOUR / 2)
    [link] = read_back(ledger, ocm("onprem-lon", ids=(advice.id,)))
    assert (link.outcome, link.why) == (Outcome.AGAINST_A_DECISION, "ann dismissed it")
    assert standing_of(ledger, advice.id, at=NOON + HOUR).state is State.DISMISSED


def test_a_decision_from_before_the_advice_is_not_its_doing(ledger: Ledger, advice: Recommendation) -> None:
    [link] = read_back(ledger, Decided("kueue", "Workload shop/w", ("onprem-lon",), owner=WEB, decided_at=NOON - HOUR))
    assert (link.outcome, link.advice, link.event) == (Outcome.BEFORE_THE_ADVICE, advice, None)


def test_advice_that_nobody_knows_and_a_workload_that_is_not_advised_have_no_link(ledger: Ledger) -> None:
    links = read_back(ledger, ocm("onprem-lon", ids=("0000",)), ocm("onprem-lon", source="Placement pilot/else"))
    assert [(link.outcome, link.why) for link in links] == [
        (Outcome.NO_ADVICE, "nothing is known of 0000"),
        (Outcome.NO_ADVICE, "it carries no id, and its workload is not advised"),
    ]


def test_a_cluster_says_nothing_about_a_pool_of_the_same_cluster(ledger: Ledger) -> None:
    row = workload(interruption_tolerance="spot", checkpoint_minutes=30.0)
    one = only(evaluated(ledger, row, pools=pools(GENERAL, SPOT)))
    assert one.recommended.cluster == one.current.cluster
    [link] = read_back(ledger, ocm("eks-lon", ids=(one.id,)))
    assert (link.outcome, link.event) == (Outcome.SAME_CLUSTER, None)


@pytest.mark.parametrize(
    ("text", "by"), [("https://git.example.org/pull/7", "pull-request"), ("kubectl, in change 1234", "hand")]
)
def test_what_a_person_names_is_a_pull_request_where_it_is_an_address(text: str, by: str) -> None:
    assert by_person(text).model_dump(exclude_none=True) == {"by": by, "reference": text}
