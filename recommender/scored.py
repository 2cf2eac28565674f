"""The edge of scores: one evaluation and its next hour → the scores of the fleet, with those of before beside them."""

from __future__ import annotations

from datetime import datetime, timedelta

import dataframely as dy

from recommender.cycle import Evaluation
from recommender.emit.contract import Subject
from recommender.emit.headroom import headroom_scores, held_headroom, together
from recommender.emit.score import Scores, scores_of
from recommender.frames import ClassScore
from recommender.inputs import policy_of
from recommender.recorded import Recorded
from recommender.settings import RecommenderSettings


def subject_of(settings: RecommenderSettings, made: Evaluation, *, at: datetime) -> Subject:
    """This will return what there is to hand over of an evaluation.

    Raises:
        SettingsError: the policy's file is wrong.
    """
    return Subject(
        plan=made.plan,
        costs=made.costs,
        workloads=made.workloads,
        flows=made.flows,
        clusters=settings.clusters,
        policy=policy_of(settings),
        settings=settings.emit,
        at=at,
    )


def all_scores(
    settings: RecommenderSettings, made: Recorded, *, at: datetime, previous: dy.DataFrame[ClassScore] | None
) -> Scores:
    """This will score the fleet by cost and by headroom.

    Args:
        settings: checked settings.
        made: the evaluation; without a next hour the headroom of before stands until its end.
        at: its time (UTC).
        previous: the scores before; None: there are none.

    Raises:
        SettingsError: the policy gives no scale, or its file is wrong.
    """
    costs = scores_of(subject_of(settings, made.evaluation, at=at), previous)
    if made.ahead is None:
        return together(costs, held_headroom(previous, "the next hour could not be foretold", at=at))
    free = headroom_scores(
        made.ahead.forecasts,
        made.ahead.bursts.capacity,
        clusters=settings.clusters,
        usage_max_age=timedelta(hours=settings.emit.score.usage_max_age_hours),
        at=at,
        previous=previous,
    )
    return together(costs, free)
