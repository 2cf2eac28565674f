"""All advice on what to buy ahead and what not to renew, of one evaluation, less what somebody decided against."""

from __future__ import annotations

from collections.abc import Iterator

from recommender.advise.capacity import NOTHING_HELD, Held
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.commit import CommitQuestion, commit_advice
from recommender.advise.plan import NotEnoughData
from recommender.advise.renew import renewal_advice


def commitment_advice(
    question: CommitQuestion, held: Held = NOTHING_HELD
) -> tuple[tuple[CapacityRecommendation, ...], tuple[NotEnoughData, ...]]:
    """This will return advice, and of what there are not enough data for it.

    Args:
        question: the evaluation.
        held: decisions of people.
    """
    found = list(_all(question))
    advice = [one for one in found if isinstance(one, CapacityRecommendation)]
    kept = [one for one in advice if one.id not in held.dismissed and one.group not in held.snoozed]
    gaps = [one for one in found if isinstance(one, NotEnoughData)]
    return (
        tuple(sorted(kept, key=lambda one: (one.group, one.id))),
        tuple(sorted(gaps, key=lambda one: (one.cluster, one.reason, one.why))),
    )


def _all(question: CommitQuestion) -> Iterator[CapacityRecommendation | NotEnoughData]:
    yield from commit_advice(question)
    yield from renewal_advice(question)
