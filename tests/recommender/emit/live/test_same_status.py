"""What is handed over as a file and what is written to the hub is the same status."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl

from recommender.emit.live.hub import Hub
from recommender.emit.live.publisher import Found, Wanted, next_round
from recommender.emit.live.rounds import Terms, carry_out
from recommender.emit.live.wanted import wanted_of
from recommender.emit.ocm_cluster import score_documents
from recommender.emit.score import scores_of
from recommender.emit.score_status import Freshness, freshness_of
from recommender.emit_settings import HubSettings
from recommender.frames import ClassScore
from tests.builders import NOON
from tests.fakes.api_server import FakeHub
from tests.recommender.emit.subjects import subject
from tests.recommender.world import workload

DAY = timedelta(days=1)
HERE = {one: one for one in ("eks-lon", "gke-bel", "onprem-lon")}


def test_the_file_and_the_hub_say_the_same(hub: Hub, fake: FakeHub) -> None:
    made = subject(workload("web"))
    found = scores_of(made)
    files = {one.patches["namespace"]: one.objects[0]["status"] for one in score_documents(made, found, HERE)[1:]}
    wanted = wanted_of(found.scores, HubSettings(), namespaces=None, running=(), why_none="", at=NOON)
    fake.now = lambda: NOON
    terms = Terms(lambda: NOON, DAY, timedelta(minutes=2), lambda: True, lambda _: None)
    assert carry_out(hub, "finops", wanted, [], terms).written == 3
    assert {one: sorted(fake.status(one).items()) for one in HERE} == {
        one: sorted(status.items()) for one, status in files.items()
    }


def test_it_tells_the_ages_of_the_oldest_inputs_and_the_price_of_fifty_points() -> None:
    scores = scores_of(subject(workload("web"))).scores
    told = freshness_of(scores, at=NOON)
    assert told.says.startswith("prices of 2026-11-30T12:00:00Z; usage until 2026-11-30T12:00:00Z; cost-")
    assert "cost-uk-any is 50 at £0.18" in told.says
    assert (told.is_fresh, told.since) == (True, NOON)
    held = ClassScore.validate(scores.with_columns(is_held=pl.col("score") == "cost-uk-any"))
    assert not freshness_of(held, at=NOON).is_fresh


def test_a_condition_keeps_its_time_until_it_turns() -> None:
    before = Found("a", "finops", {"x": 1}, NOON, freshness=Freshness(True, "old", NOON - DAY))
    fresh = Wanted({"a": {"x": 9}}, NOON + DAY, freshness=Freshness(True, "new", NOON))
    (write,) = next_round(fresh, [before], now=NOON, most=DAY).writes
    assert write.freshness == Freshness(True, "new", NOON - DAY)
    held = replace(fresh, freshness=Freshness(False, "new", NOON))
    (write,) = next_round(held, [before], now=NOON, most=DAY).writes
    assert write.freshness == Freshness(False, "new", NOON)


def test_a_newer_message_alone_is_not_worth_a_schedule_of_every_placement() -> None:
    before = Found("a", "finops", {"x": 1}, NOON + DAY, freshness=Freshness(True, "old", NOON - DAY))
    wanted = Wanted({"a": {"x": 1}}, NOON + DAY, freshness=Freshness(True, "new", NOON))
    assert next_round(wanted, [before], now=NOON, most=DAY).writes == ()
