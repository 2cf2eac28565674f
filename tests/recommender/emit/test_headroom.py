"""The score headroom-1h by hand: the scarcest resource of owned nodes, one end for all, silence is not headroom."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl

from recommender.burst.frames import CapacityFrame
from recommender.emit.headroom import headroom_scores, points_free, together
from recommender.emit.score import Scores
from recommender.forecast.forecast import Forecasts
from recommender.forecast.frames import Accuracy, ForecastFrame, NotForecast, RecentBound
from tests.builders import NOON
from tests.recommender.emit.subjects import CLUSTERS

UNTIL = NOON - timedelta(minutes=5)
THREE_HOURS = timedelta(hours=3)


def forecast(resource: str, p90: float, *, cluster: str = "onprem-lon") -> dict[str, Any]:
    return {
        "cluster": cluster,
        "resource": resource,
        "resource_class": "amd64",
        "at": NOON,
        "visible_until": UNTIL,
        "horizon_seconds": 3600,
        "demand": p90,
        "p50": p90,
        "p90": p90,
        "model": "persistence",
        "model_p50": "persistence",
        "origins": 100,
        "beats_both_naives": False,
        "coverage_p90_ratio": 0.9,
        "wape_ratio": 0.1,
        "verdict": "",
    }


def forecasts(*rows: dict[str, Any], idle: str = "", unknown: str = "") -> Forecasts:
    missing = [
        {
            "cluster": "onprem-lon",
            "resource": resource,
            "resource_class": "amd64",
            "reason": reason,
            "why": "",
            "next_step": "",
        }
        for resource, reason in ((idle, "all-zero"), (unknown, "too-short"))
        if resource
    ]
    return Forecasts(
        ForecastFrame.validate(pl.DataFrame(list(rows), schema=ForecastFrame.create_empty().schema)),
        Accuracy.create_empty(),
        RecentBound.create_empty(),
        NotForecast.validate(pl.DataFrame(missing, schema=NotForecast.create_empty().schema)),
    )


def made(given: Forecasts, **changes: Any) -> Scores:
    admits = [
        {"cluster": "onprem-lon", "resource": name, "resource_class": "amd64", "admissible": most, "nominal": most}
        for name, most in (("vcpu", 64.0), ("memory_gib", 256.0))
    ]
    arguments: dict[str, Any] = {"clusters": CLUSTERS, "usage_max_age": THREE_HOURS, "at": NOON} | changes
    return headroom_scores(
        given, CapacityFrame.validate(pl.DataFrame(admits, schema=CapacityFrame.create_empty().schema)), **arguments
    )


def values(scores: Scores) -> dict[str, int]:
    return dict(scores.scores.select("cluster", "value").iter_rows())


def test_the_scarcest_resource_of_the_owned_nodes_decides_and_elastic_clusters_have_all() -> None:
    # 48 of 64 vCPUs leave 25 %, 64 of 256 GiB leave 75 %.
    found = made(forecasts(forecast("vcpu", 48.0), forecast("memory_gib", 64.0)))
    assert values(found) == {"eks-lon": 100, "gke-bel": 100, "onprem-lon": 25}
    assert set(found.scores["valid_until"]) == {UNTIL + THREE_HOURS}


def test_more_wanted_than_there_is_leaves_one_point_because_zero_is_what_a_missing_score_counts() -> None:
    assert values(made(forecasts(forecast("vcpu", 80.0), forecast("memory_gib", 64.0))))["onprem-lon"] == 1
    assert (points_free(0.0), points_free(0.996), points_free(float(3))) == (100, 1, 1)


def test_a_resource_of_which_nothing_was_ever_requested_is_free() -> None:
    assert values(made(forecasts(forecast("vcpu", 48.0), idle="memory_gib")))["onprem-lon"] == 25


def test_one_unknown_resource_lapses_the_score_everywhere_or_holds_the_one_before() -> None:
    before = made(forecasts(forecast("vcpu", 48.0), forecast("memory_gib", 64.0))).scores
    broken = forecasts(forecast("vcpu", 32.0), unknown="memory_gib")
    assert made(broken).scores.is_empty()
    assert made(broken).lapsed[0].why == "the next hour of onprem-lon is not known"
    held = made(broken, previous=before)
    assert held.scores.drop("is_held").equals(before.drop("is_held"))
    assert held.scores["is_held"].all()
    assert made(broken, previous=before, at=UNTIL + THREE_HOURS).scores.is_empty()


def test_a_forecast_from_old_usage_is_no_forecast() -> None:
    old = forecasts(forecast("vcpu", 48.0), forecast("memory_gib", 64.0))
    assert made(old, at=UNTIL + THREE_HOURS).scores.is_empty()


def test_a_cloud_cluster_whose_nodes_are_limited_is_unknown() -> None:
    limited = CLUSTERS[0].model_copy(update={"quotas": CLUSTERS[0].quotas.model_copy(update={"nodes": 5})})
    found = made(forecasts(forecast("vcpu", 48.0), forecast("memory_gib", 64.0)), clusters=(limited, *CLUSTERS[1:]))
    assert values(found)["eks-lon"] == -100


def test_it_stands_beside_the_scores_of_cost() -> None:
    first = made(forecasts(forecast("vcpu", 48.0), forecast("memory_gib", 64.0)))
    renamed = Scores(first.scores.with_columns(score=pl.lit("cost-uk-any")), ())  # type: ignore[arg-type]
    assert together(first, renamed).scores.height == 6
