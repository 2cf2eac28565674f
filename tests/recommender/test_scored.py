"""Scores of an evaluation over the demonstration's company, with its next hour, and held when usage is late."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from exporters.core.config_file import read_document, validate
from exporters.core.sections import ALL_SECTIONS
from recommender.recorded import Recorded, recorded
from recommender.scored import all_scores
from recommender.settings import LedgerSettings, RecommenderSettings
from tests.builders import NOON
from tests.recommender.conftest import MONDAY


@pytest.fixture(scope="module")
def settings(company: Path, tmp_path_factory: pytest.TempPathFactory) -> RecommenderSettings:
    read = validate(read_document(company), RecommenderSettings, known=ALL_SECTIONS)
    strict = read.emit.model_copy(update={"score": read.emit.score.model_copy(update={"usage_max_age_hours": 13.0})})
    ledger = LedgerSettings(url=str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"))
    return read.model_copy(update={"ledger": ledger, "emit": strict})


@pytest.fixture(scope="module")
def made(settings: RecommenderSettings) -> Recorded:
    return recorded(settings, at=NOON, now=NOON)


def test_every_cluster_has_every_score_and_all_of_a_class_end_together(
    settings: RecommenderSettings, made: Recorded
) -> None:
    found = all_scores(settings, made, at=NOON, previous=None)
    assert found.lapsed == ()
    names = found.scores.group_by("cluster").agg(pl.col("score").sort())
    assert set(names["cluster"]) == {one.name for one in settings.clusters}
    assert names["score"].n_unique() == 1
    cost = found.scores.filter(pl.col("score") != "headroom-1h")
    assert set(cost["valid_until"]) == {MONDAY + timedelta(hours=13)}
    headroom = dict(found.scores.filter(pl.col("score") == "headroom-1h").select("cluster", "value").iter_rows())
    assert 1 <= headroom["onprem-lon-1"] <= 100


def test_late_usage_holds_the_scores_to_their_end_and_then_there_are_none(
    settings: RecommenderSettings, made: Recorded
) -> None:
    first = all_scores(settings, made, at=NOON, previous=None).scores
    an_hour = NOON + timedelta(hours=1)
    assert all_scores(settings, made, at=an_hour, previous=first).scores.is_empty()
    longer = settings.emit.model_copy(
        update={"score": settings.emit.score.model_copy(update={"usage_max_age_hours": 24.0})}
    )
    before = all_scores(settings.model_copy(update={"emit": longer}), made, at=NOON, previous=None).scores
    held = all_scores(settings, made, at=an_hour, previous=before)
    assert held.scores["is_held"].all()
    assert held.scores.drop("is_held").equals(before.drop("is_held"))
    assert all(one.held_until == MONDAY + timedelta(hours=24) for one in held.lapsed if one.residency_class)


def test_a_forecast_that_fails_once_holds_the_headroom_to_its_end(
    settings: RecommenderSettings, made: Recorded
) -> None:
    """A score that goes while its end is ahead keeps a publisher from writing any (emit.live.publisher)."""
    first = all_scores(settings, made, at=NOON, previous=None).scores
    blind = replace(made, ahead=None)
    later = NOON + timedelta(minutes=30)
    found = all_scores(settings, blind, at=later, previous=first)
    headroom = found.scores.filter(pl.col("score") == "headroom-1h")
    assert headroom.drop("is_held").equals(first.filter(pl.col("score") == "headroom-1h").drop("is_held"))
    assert headroom["is_held"].all()
    assert not found.scores.filter(pl.col("score") != "headroom-1h")["is_held"].any()
    assert [(one.residency_class, one.held_until) for one in found.lapsed] == [("", headroom["valid_until"][0])]


def test_without_a_forecast_and_without_scores_before_there_is_no_headroom(
    settings: RecommenderSettings, made: Recorded
) -> None:
    found = all_scores(settings, replace(made, ahead=None), at=NOON, previous=None)
    assert "headroom-1h" not in set(found.scores["score"])
    assert [(one.why, one.held_until) for one in found.lapsed] == [("the next hour could not be foretold", None)]
