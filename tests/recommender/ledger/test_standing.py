"""Events become a state: what may follow what, what time alone does, and that nothing else happens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.advise.record import State
from recommender.ledger.events import Event, EventKind
from recommender.ledger.standing import IllegalTransitionError, after, standing
from tests.builders import NOON
from tests.recommender.ledger.happened import DAY, WEEK, event, story

SOON = NOON + timedelta(hours=20)


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        ("proposed", "open"),
        ("proposed proposed", "open"),
        ("proposed accepted", "accepted"),
        ("proposed accepted proposed", "accepted"),
        ("proposed accepted implemented", "implemented"),
        ("proposed implemented", "implemented"),
        ("proposed accepted implemented verified", "verified"),
        ("proposed implemented proposed", "open"),
        ("proposed dismissed", "dismissed"),
        ("proposed accepted dismissed reopened", "open"),
        ("proposed snoozed snoozed", "snoozed"),
        ("proposed snoozed dismissed", "dismissed"),
        ("proposed implemented reopened", "open"),
        ("proposed expired", "expired"),
        ("proposed expired proposed", "open"),
        ("proposed expired implemented", "implemented"),
        ("proposed superseded", "superseded"),
        ("proposed superseded proposed accepted", "accepted"),
    ],
)
def test_a_life_leads_to_its_state(kinds: str, state: str) -> None:
    found = standing(story(*kinds.split()), at=SOON)
    assert found is not None
    assert found.state == state


@pytest.mark.parametrize(
    "kinds",
    [
        "accepted",
        "proposed verified",
        "proposed accepted accepted",
        "proposed dismissed accepted",
        "proposed dismissed implemented",
        "proposed dismissed proposed",
        "proposed snoozed proposed",
        "proposed snoozed expired",
        "proposed reopened",
        "proposed expired accepted",
        "proposed superseded reopened",
        "proposed implemented dismissed",
        "proposed implemented implemented",
        "proposed implemented verified reopened",
        "proposed implemented verified verified",
    ],
)
def test_what_does_not_fit_is_refused_with_the_state_it_is_in(kinds: str) -> None:
    with pytest.raises(IllegalTransitionError, match=r"recommendation abc123: it (is|was)"):
        standing(story(*kinds.split()), at=SOON)


@pytest.mark.parametrize("kind", ["snoozed", "dismissed"])
def test_a_snooze_and_a_dismissal_end_at_their_time_and_not_before(kind: str) -> None:
    events = story("proposed", kind)
    end = events[1].until
    assert end is not None
    before, then = standing(events, at=end - timedelta(seconds=1)), standing(events, at=end)
    assert before is not None
    assert then is not None
    assert (before.state, then.state, then.since) == (State(kind), State.OPEN, end)
    assert after(then, event("accepted", 3, hours=30)).state is State.ACCEPTED


def test_a_dismissal_without_an_end_holds_for_good() -> None:
    found = standing([event("proposed"), event("dismissed", 2, hours=1)], at=NOON + timedelta(days=3650))
    assert found is not None
    assert found.state is State.DISMISSED


def test_advice_that_nobody_renews_expires_and_a_renewal_gives_it_another_week() -> None:
    once = [event("proposed")]
    renewed = [*once, event("proposed", 2, hours=96)]
    late = NOON + timedelta(days=8)
    found, kept = standing(once, at=late), standing(renewed, at=late)
    assert found is not None
    assert kept is not None
    assert (found.state, found.since) == (State.EXPIRED, NOON + WEEK)
    assert (kept.state, kept.opened_at) == (State.OPEN, NOON)


def test_a_dismissal_that_ends_after_the_advice_has_expired_leaves_it_expired() -> None:
    events = [event("proposed"), event("dismissed", 2, hours=1, until=NOON + 9 * DAY)]
    found = standing(events, at=NOON + 10 * DAY)
    assert found is not None
    assert (found.state, found.since) == (State.EXPIRED, NOON + 9 * DAY)


def test_the_past_is_read_as_it_was() -> None:
    events = story("proposed", "accepted", "implemented")
    assert standing(events, at=NOON - timedelta(seconds=1)) is None
    states = [getattr(standing(events, at=NOON + timedelta(hours=h)), "state", None) for h in (0, 1, 2)]
    assert states == [State.OPEN, State.ACCEPTED, State.IMPLEMENTED]


def test_an_implementation_keeps_the_time_of_the_move_and_a_reopening_forgets_it() -> None:
    moved = event("implemented", 2, hours=10, happened_at=NOON + timedelta(hours=4))
    found = standing([event("proposed"), moved], at=SOON)
    assert found is not None
    assert found.implemented_at == NOON + timedelta(hours=4)
    assert after(found, event("reopened", 3, hours=11)).implemented_at is None


@given(st.lists(st.sampled_from(list(EventKind)), max_size=12), st.integers(0, 12))
def test_whatever_happens_the_state_is_one_that_its_last_event_explains(kinds: list[EventKind], steps: int) -> None:
    """Refused events leave no trace: the story of the accepted ones alone leads to the same state."""
    kept: list[Event] = []
    current = None
    for kind in kinds:
        one = event(kind, len(kept) + 1, hours=float(len(kept)))
        try:
            current = after(current, one)
        except IllegalTransitionError:
            continue
        kept.append(one)
    assert standing(kept, at=SOON) == current
    early = NOON + timedelta(hours=steps)
    assert standing(kept, at=early) == standing(kept[: steps + 1], at=early)
    if current is not None:
        named = {"proposed": {"open", "accepted"}, "reopened": {"open"}}
        assert current.state.value in named.get(kept[-1].kind.value, {kept[-1].kind.value})
        assert (current.implemented_at is None) == (current.state not in {State.IMPLEMENTED, State.VERIFIED})
