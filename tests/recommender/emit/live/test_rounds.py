"""Rounds against an API server: all clusters are scored or none, whatever goes wrong in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pytest

from recommender.emit.live.hub import Hub
from recommender.emit.live.publisher import Wanted
from recommender.emit.live.refusals import HubAwayError
from recommender.emit.live.rounds import Outcome, Terms, carry_out
from tests.builders import NOON
from tests.fakes.api_server import FakeHub, Fault, Request

HOUR = timedelta(hours=1)
FIRST = {"eks-lon": 60, "gke-bel": 40, "onprem-lon": 100}
SECOND = {"eks-lon": 50, "gke-bel": 45, "onprem-lon": 90}
Publish = Callable[..., Outcome]


def as_scores(values: dict[str, int]) -> dict[str, dict[str, int]]:
    return {namespace: {"cost-uk-any": value} for namespace, value in values.items()}


@pytest.fixture
def recorded() -> list[Sequence[str]]:
    return []


@pytest.fixture
def publish(hub: Hub, fake: FakeHub, recorded: list[Sequence[str]]) -> Publish:
    """A round at some hours after noon, of scores that stand four hours."""

    def run(
        values: dict[str, int], *, hours: float = 0, life_hours: float = 4, allowed: Callable[[], bool] = lambda: True
    ) -> Outcome:
        now = NOON + hours * HOUR
        fake.now = lambda: now
        terms = Terms(lambda: now, timedelta(days=1), timedelta(minutes=2), allowed, recorded.append)
        wanted = Wanted(as_scores(values), now + life_hours * HOUR)
        return carry_out(hub, "finops", wanted, hub.find("finops"), terms)

    return run


def ends(fake: FakeHub) -> set[str]:
    return {fake.status(namespace).get("validUntil", "") for namespace in fake.values()}


def test_a_round_scores_every_cluster(publish: Publish, fake: FakeHub) -> None:
    made = publish(FIRST)
    assert (made.written, made.is_whole) == (3, True)
    assert fake.values() == as_scores(FIRST)
    assert ends(fake) == {"2026-11-30T16:00:00Z"}


def test_a_second_round_with_nothing_new_changes_nothing(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    fake.asked.clear()
    made = publish(FIRST, hours=0.5)
    assert (made.written, made.unchanged) == (0, 3)
    assert [one.method for one in fake.asked] == ["GET"]


def test_only_what_changed_is_written(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    fake.asked.clear()
    publish(FIRST | {"gke-bel": 44}, hours=0.5)
    assert [one.namespace for one in fake.changes()] == ["gke-bel"]
    assert ends(fake) == {"2026-11-30T16:00:00Z"}


def test_where_scores_may_be_found_is_told_before_anything_is_made(
    publish: Publish, fake: FakeHub, recorded: list[Sequence[str]]
) -> None:
    fake.fault = lambda request: Fault(cut=True) if request.method != "GET" else None
    with pytest.raises(HubAwayError):
        publish(FIRST)
    assert [sorted(one) for one in recorded] == [["eks-lon", "gke-bel", "onprem-lon"]]


def test_a_cluster_that_is_not_on_the_hub_is_left_out_and_named(publish: Publish, fake: FakeHub) -> None:
    made = publish(FIRST | {"laptop": 80})
    assert (made.not_on_hub, made.written, made.is_whole) == (("laptop",), 3, True)
    assert fake.values() == as_scores(FIRST)
    fake.asked.clear()
    assert publish(FIRST | {"laptop": 80}).written == 0


def test_a_forbidden_namespace_is_named_and_no_cluster_is_scored(publish: Publish, fake: FakeHub) -> None:
    """The others' scores beside its 0 would drive its workloads out."""
    fake.forbidden = {"gke-bel"}
    made = publish(FIRST)
    assert made.refused.keys() == {"gke-bel"}
    assert "no cluster is scored anew" in made.held
    assert all(values == {} for values in fake.values().values())


def test_a_namespace_that_is_forbidden_later_leaves_all_as_they_were(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    fake.forbidden = {"onprem-lon"}
    made = publish(SECOND, hours=3)
    assert made.refused.keys() == {"onprem-lon"}
    assert fake.values() == as_scores(FIRST)
    assert ends(fake) == {"2026-11-30T16:00:00Z"}


def test_a_score_of_another_manager_is_found_before_anything_is_written(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    key = ("addonplacementscores", "gke-bel", "finops")
    theirs = {"scores": [{"name": "cost-uk-any", "value": 1}]}
    fake.objects[key] = fake.apply("gke-bel", "finops", "other", theirs, force=True)
    made = publish(SECOND, hours=3)
    assert "already" in made.refused["gke-bel"] or "conflict" in made.refused["gke-bel"]
    assert fake.values()["eks-lon"] == {"cost-uk-any": 60}


def from_the_write(number: int, fault: Fault) -> Callable[[Request], Fault | None]:
    """Let writes pass until the given one, and then nothing."""
    writes: list[Request] = []

    def manner(request: Request) -> Fault | None:
        if request.method == "PATCH" and request.changes:
            writes.append(request)
        return fault if len(writes) >= number else None

    return manner


def refuse_the_write(number: int, fault: Fault) -> Callable[[Request], Fault | None]:
    """Refuse one write."""
    writes: list[Request] = []

    def manner(request: Request) -> Fault | None:
        if request.method == "PATCH" and request.changes:
            writes.append(request)
        return fault if len(writes) == number and request.method == "PATCH" and request.changes else None

    return manner


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_write_that_is_refused_in_the_middle_puts_the_others_back(
    publish: Publish, fake: FakeHub, number: int
) -> None:
    publish(FIRST)
    fake.fault = refuse_the_write(number, Fault(403, "no more"))
    made = publish(SECOND, hours=3)
    assert len(made.refused) == 1
    assert made.written == 0
    assert fake.values() == as_scores(FIRST)
    assert ends(fake) == {"2026-11-30T16:00:00Z"}


def test_a_first_round_that_is_refused_in_the_middle_leaves_no_score(publish: Publish, fake: FakeHub) -> None:
    fake.fault = refuse_the_write(3, Fault(403, "no more"))
    made = publish(FIRST)
    assert made.written == 0
    assert all(values == {} for values in fake.values().values())


def test_a_hub_that_goes_away_in_the_middle_is_finished_by_the_next_round(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    fake.fault = from_the_write(2, Fault(cut=True))
    made = publish(SECOND, hours=3)
    assert (made.written, made.is_whole) == (1, False)
    assert "cut off after 1 of 3 objects" in made.held
    fake.fault = lambda _: None
    assert publish(SECOND, hours=3.1).is_whole
    assert fake.values() == as_scores(SECOND)
    assert len(ends(fake)) == 1


def test_a_token_that_ends_in_the_middle_is_reported(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    fake.fault = from_the_write(2, Fault(401, "Unauthorized"))
    made = publish(SECOND, hours=3)
    assert "cut off after 1 of 3 objects" in made.held
    assert "does not accept the credentials" in made.held


def test_a_mode_that_is_lowered_meanwhile_stops_the_round(publish: Publish, fake: FakeHub) -> None:
    made = publish(FIRST, allowed=lambda: False)
    assert made.held == "the mode no longer allows it"
    assert all(values == {} for values in fake.values().values())


@pytest.mark.parametrize("hours", [-1.0, 1.0])
def test_clocks_that_are_apart_stop_the_round_before_the_first_score(hub: Hub, fake: FakeHub, hours: float) -> None:
    """A machine whose clock is an hour behind would take prices for an hour fresher than they are."""
    fake.now = lambda: NOON + hours * HOUR
    terms = Terms(lambda: NOON, timedelta(days=1), timedelta(minutes=2), lambda: True, lambda _: None)
    made = carry_out(hub, "finops", Wanted(as_scores(FIRST), NOON + 4 * HOUR), [], terms)
    assert made.held == f"the hub's clock and this machine's are {hours * 3600:.0f} s apart; set them right"
    assert all(values == {} for values in fake.values().values())


def test_a_stale_class_is_held_and_nothing_is_made(hub: Hub, fake: FakeHub) -> None:
    terms = Terms(lambda: NOON, timedelta(days=1), timedelta(minutes=2), lambda: True, lambda _: None)
    made = carry_out(hub, "finops", Wanted({}, NOON, stale="class uk: usage is missing"), [], terms)
    assert made.held == "class uk: usage is missing"
    assert fake.changes() == []


def test_a_cluster_that_left_the_fleet_loses_its_score(publish: Publish, fake: FakeHub) -> None:
    publish(FIRST)
    made = publish({"eks-lon": 60, "onprem-lon": 100}, hours=0.5)
    assert made.withdrawn == 1
    assert fake.values() == as_scores({"eks-lon": 60, "onprem-lon": 100})


def reads_of(fake: FakeHub, at: datetime) -> dict[str, int]:
    """What a scheduler reads at a moment: 0 for what is missing or has lapsed."""
    return {
        namespace: values.get("cost-uk-any", 0)
        if datetime.fromisoformat(fake.status(namespace).get("validUntil", "1970-01-01T00:00:00+00:00")) > at
        else 0
        for namespace, values in fake.values().items()
    }


def test_scores_of_a_recommender_that_died_lapse_together(publish: Publish, fake: FakeHub) -> None:
    """Then only the scheduler's own steadiness counts, and nothing moves."""
    publish(FIRST)
    assert reads_of(fake, NOON + 3.99 * HOUR) == FIRST
    assert reads_of(fake, NOON + 4 * HOUR) == dict.fromkeys(FIRST, 0)


def test_scores_of_a_dead_exporter_end_before_its_prices_are_too_old(publish: Publish, fake: FakeHub) -> None:
    """Prices may be used until 16:00; every later round has less of that left, and never writes past it."""
    for hours in (0, 1, 2, 3, 3.5):
        publish(FIRST, hours=hours, life_hours=4 - hours)
    assert ends(fake) == {"2026-11-30T16:00:00Z"}
    assert publish(FIRST, hours=4.5, life_hours=-0.5).held == "the inputs are stale since 2026-11-30 16:00 UTC"
    assert reads_of(fake, NOON + 4.5 * HOUR) == dict.fromkeys(FIRST, 0)


def test_a_hub_that_is_away_for_an_hour_has_its_scores_until_then_and_the_new_ones_after(
    publish: Publish, fake: FakeHub
) -> None:
    """Renewed when half of their life is over, scores that stand four hours last through it."""
    publish(FIRST)
    fake.fault = lambda _: Fault(cut=True)
    for hours in (2.1, 2.5, 3.0):
        with pytest.raises(HubAwayError):
            publish(SECOND, hours=hours)
        assert reads_of(fake, NOON + hours * HOUR) == FIRST
    fake.fault = lambda _: None
    assert publish(SECOND, hours=3.1).is_whole
    assert reads_of(fake, NOON + 3.1 * HOUR) == SECOND


def test_a_clock_that_jumped_ahead_leaves_no_score_that_stands_for_days(publish: Publish, fake: FakeHub) -> None:
    """Both clocks were three days ahead; when they are right again, the next round shortens what was written."""
    publish(FIRST, hours=72)
    assert ends(fake) == {"2026-12-03T16:00:00Z"}
    publish(FIRST, hours=0.1, life_hours=3.9)
    assert ends(fake) == {"2026-11-30T16:00:00Z"}
