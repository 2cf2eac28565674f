"""The edge of verification: what was carried out is measured by today's usage and written down."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from exporters.core.errors import SettingsError
from recommender.advise.capacity_record import advice_of
from recommender.advise.decision import Question
from recommender.advise.record import Recommendation, State
from recommender.inputs import policy_of, prices_at, usage_at
from recommender.ledger.events import TUPPENCE, Event, EventKind
from recommender.ledger.measurement import Outcome, Realised
from recommender.ledger.memory import standings_at, verified
from recommender.ledger.realised import CarriedOut, not_yet, realised
from recommender.ledger.standing import Standing
from recommender.ledger.store import Histories, Ledger, Reader
from recommender.observe.fleet import pools
from recommender.observe.workloads import observe
from recommender.settings import RecommenderSettings


def verify(settings: RecommenderSettings, *, at: datetime) -> tuple[Realised, ...]:
    """This will measure every move that was carried out and not verified yet, and write down what was measured.

    Returns:
        All measurements of the ledger, oldest first, then the moves of which nothing can be said yet.

    Raises:
        TuppenceError: usage, prices or the ledger cannot be read; nothing is written. Usage is not read while every
            move is younger than what it would be measured by.
    """
    ledger = Ledger.at(settings.ledger)
    with ledger.reading() as reader:
        histories = reader.histories()
        waiting = _waiting(histories, at)
        before = verified(reader, histories, at=at)
        carried = _carried_out(reader, waiting)
    found = _measured(settings, carried, at) if carried else ()
    measured = {one.recommendation_id: one for one in found if one.outcome is Outcome.MEASURED}
    if measured:
        ledger.add(lambda now: _events(now, waiting, measured, at))
    rest = (one for one in found if one.outcome is not Outcome.MEASURED)
    return (*before, *measured.values(), *rest)


def _waiting(histories: Histories, at: datetime) -> list[Standing]:
    """Carried out, not verified, and nothing newer than the verification is known of it."""
    standings = standings_at(histories, at=at)
    return [
        now
        for identifier, now in standings.items()
        if now.state is State.IMPLEMENTED and histories[identifier][-1].at <= at
    ]


def _carried_out(reader: Reader, waiting: Sequence[Standing]) -> list[CarriedOut]:
    texts = reader.documents(one.proposal for one in waiting)
    carried = []
    for one in waiting:
        advice = advice_of(texts[one.recommendation_id, one.proposal.sequence])
        assert one.implemented_at is not None, "it is implemented"
        # Bursts and bought nodes are no savings.
        if isinstance(advice, Recommendation):
            carried.append(CarriedOut(advice, one.implemented_at))
    return carried


def _measured(settings: RecommenderSettings, carried: Sequence[CarriedOut], at: datetime) -> tuple[Realised, ...]:
    if not settings.clusters:
        raise SettingsError("the fleet has no cluster", where="clusters", next_step="Describe the clusters.")
    longest = _latest_window(settings, at)
    if all(one.at > longest[0] for one in carried):
        return not_yet(carried, longest)
    longer = settings.usage.model_copy(update={"window_hours": settings.recommend.verify_after_days * 24})
    usage, period = usage_at(settings.model_copy(update={"usage": longer}), at=at, window=None)
    policy = policy_of(settings)
    seen = observe(usage, policy, clusters=settings.clusters, window=period)
    fleet = pools(settings.clusters)
    question = Question(
        prices=prices_at(settings, at=at),
        workloads=seen.workloads,
        pools=fleet,
        policy=policy,
        at=at,
        usage_window=(period.start, period.end),
        expires_after_hours=settings.recommend.expires_after_hours,
        min_coverage_ratio=settings.usage.min_coverage_ratio,
        unfit=seen.not_enough_data,
    )
    return realised(carried, question, seen.flows, fleet)


def _latest_window(settings: RecommenderSettings, at: datetime) -> tuple[datetime, datetime]:
    """The usage that a verification reads, if there is any up to the last whole hour."""
    end = at.replace(minute=0, second=0, microsecond=0)
    return end - timedelta(days=settings.recommend.verify_after_days), end


def _events(reader: Reader, waiting: Sequence[Standing], measured: dict[str, Realised], at: datetime) -> list[Event]:
    """What was measured, but for advice that somebody has changed meanwhile."""
    histories = reader.histories()
    return [
        Event(
            recommendation_id=one.recommendation_id,
            sequence=one.last.sequence + 1,
            kind=EventKind.VERIFIED,
            at=at,
            author=TUPPENCE,
            reason=measured[one.recommendation_id].why,
            measured=measured[one.recommendation_id].model_dump_json(exclude_none=True),
        )
        for one in waiting
        if one.recommendation_id in measured and histories[one.recommendation_id][-1] == one.last
    ]
