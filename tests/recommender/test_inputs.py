"""What an evaluation reads: the prices, usage and policy of its time, and errors that say what is missing."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from exporters.core.config_file import read_document, validate
from exporters.core.errors import PricesUnavailableError, SettingsError, TransientSourceError
from exporters.core.sections import ALL_SECTIONS
from exporters.store.shelf import open_shelf
from exporters.store.write import write_snapshot
from recommender.inputs import evaluation, policy_of, prices_at, usage_at
from recommender.observe.coverage import Window
from recommender.settings import RecommenderSettings
from tests.builders import NOON, offer, snapshot
from tests.recommender.conftest import MONDAY
from tests.servers.prometheus import free_port


@pytest.fixture
def settings(company: Path) -> RecommenderSettings:
    return validate(read_document(company, {}), RecommenderSettings, known=ALL_SECTIONS)


def changed(settings: RecommenderSettings, **sections: Any) -> RecommenderSettings:
    return RecommenderSettings.model_validate(settings.model_dump(mode="json") | sections)


def test_the_same_time_gives_the_same_bytes(settings: RecommenderSettings) -> None:
    first, second = evaluation(settings, at=NOON), evaluation(settings, at=NOON)
    assert first.to_json() == second.to_json()
    assert first.recommendations
    assert first.generated_at == NOON


def test_a_replay_does_not_see_prices_that_came_later(settings: RecommenderSettings, tmp_path: Path) -> None:
    store = changed(settings, prices={"url": str(tmp_path)})
    for hours, price in ((0, "0.111"), (2, "0.222")):
        taken = NOON + timedelta(hours=hours)
        write_snapshot(open_shelf(str(tmp_path)), snapshot(taken_at=taken, offers=offer(price_per_hour=price)))

    def price_at(at: datetime) -> float:
        return float(prices_at(store, at=at).offers["price_per_hour"][0])

    assert price_at(NOON + timedelta(hours=1)) == 0.111
    assert price_at(NOON + timedelta(hours=2)) == 0.222
    with pytest.raises(PricesUnavailableError, match="no prices of that time"):
        prices_at(store, at=NOON - timedelta(hours=1))
    with pytest.raises(PricesUnavailableError, match="older than its source allows"):
        prices_at(store, at=NOON + timedelta(days=30))


def test_usage_ends_with_the_file_and_never_after_the_evaluation(settings: RecommenderSettings) -> None:
    assert usage_at(settings, at=NOON, window=None)[1] == Window.ending(MONDAY, hours=168)
    earlier = MONDAY - timedelta(hours=30, minutes=20)
    assert usage_at(settings, at=earlier, window=None)[1].end == MONDAY - timedelta(hours=31)
    asked = Window.ending(MONDAY - timedelta(days=1), hours=24)
    assert usage_at(settings, at=NOON, window=asked)[1] == asked


def test_a_fleet_without_clusters_is_an_error_with_a_next_step() -> None:
    with pytest.raises(SettingsError, match=r"clusters: the fleet has no cluster.*tuppence demo"):
        evaluation(RecommenderSettings(), at=NOON)


def test_no_source_of_usage_is_an_error_that_names_both(settings: RecommenderSettings) -> None:
    with pytest.raises(SettingsError, match=r"usage\.file\.path or usage\.prometheus\.url"):
        evaluation(changed(settings, usage={}), at=NOON)


def test_a_prometheus_that_is_down_is_an_error_and_never_no_usage(settings: RecommenderSettings) -> None:
    there = {"prometheus": {"url": f"http://127.0.0.1:{free_port()}", "timeout_seconds": 1}}
    with pytest.raises(TransientSourceError, match=r"127\.0\.0\.1"):
        evaluation(changed(settings, usage=there), at=NOON)


def test_a_mistake_in_the_policy_file_is_named_with_its_line(
    settings: RecommenderSettings, company: Path, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    shutil.copy(company.with_name("policy.yaml"), path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("min_saving_ratio: 0.15", "min_saving_ratio: 1.5"), encoding="utf-8")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "min_saving_ratio" in row)
    with pytest.raises(SettingsError, match=rf"policy.yaml: line {line}: steady.min_saving_ratio"):
        policy_of(changed(settings, policy=str(path)))


def test_a_policy_file_that_is_not_there_is_named(settings: RecommenderSettings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml"):
        policy_of(changed(settings, policy=str(tmp_path / "nowhere.yaml")))


def test_a_policy_may_stand_in_the_settings(settings: RecommenderSettings) -> None:
    assert policy_of(changed(settings, policy={"classes": {"uk": {"residency": ["GB"]}}})).classes["uk"].residency == (
        "GB",
    )


def test_rules_that_contradict_or_match_nothing_are_named_and_the_first_that_matches_holds(
    settings: RecommenderSettings,
) -> None:
    rules = [
        {"match": {"namespace": "nobdoy"}, "set": {"owner": "gone"}},
        {"match": {}, "set": {"owner": "all", "residency_class": "here"}},
        {"match": {}, "set": {"owner": "none"}},
    ]
    policy = {"classes": {"here": {"residency": ["GB"]}}, "rules": rules}
    with capture_logs() as logs:
        made = evaluation(changed(settings, policy=policy), at=NOON)
    assert not {"gone", "none"} & {one.owner for one in made.placements}
    assert [one["why"] for one in logs if one["event"] == "rule_without_effect"] == [
        "rules[0] matches no workload",
        "rules[2] decides nothing: rules[1] stands before it for every workload it matches",
    ]
