"""The metrics: figures of the plan by hand, health through success and failure, a clean bill from promtool."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporters.core.metrics import Kind
from recommender.calibrating import Learnt
from recommender.emit.score import Scores, scores_of
from recommender.frames import ClassScore
from recommender.ledger.calibrate import Evidence, calibration
from recommender.ledger.measurement import Savings
from recommender.serve.catalogue import ADVICE, AHEAD, DELIVERY, HEALTH, OVERVIEW, SCORES
from recommender.serve.reference import page
from recommender.settings import Policy
from tests.builders import NOON
from tests.recommender.emit.subjects import example
from tests.recommender.serve.conftest import Served
from tests.recommender.serve.test_app import FAILURE
from tests.recommender.world import plan, policy, workload
from tests.servers.prometheus import promtool

Labels = tuple[tuple[str, str], ...]


def samples(served: Served, name: str) -> dict[Labels, float]:
    families = text_string_to_metric_families(served.client.get("/metrics").text)
    found = (sample for family in families for sample in family.samples if sample.name == name)
    return {tuple(sorted(sample.labels.items())): sample.value for sample in found}


def value(served: Served, name: str) -> float | None:
    return samples(served, name).get(())


def labels(kind: str, confidence: str) -> Labels:
    return (("confidence", confidence), ("kind", kind), ("state", "open"))


def test_recommendations_and_savings_by_kind_and_confidence(with_plan: Served) -> None:
    assert samples(with_plan, "tuppence_recommendations") == {
        labels("compliance", "high"): 1,
        labels("placement", "high"): 3,
        labels("purchase-option", "medium"): 1,
        labels("burst", "medium"): 1,
        labels("extend", "medium"): 1,
    }
    # web 105.12 + the hostile one 105.12 + api 161.36; compliance has no saving.
    assert samples(with_plan, "tuppence_recommendation_saving_gbp_per_month") == {
        labels("placement", "high"): 371.60,
        labels("purchase-option", "medium"): 89.10,
    }
    assert samples(with_plan, "tuppence_recommender_not_enough_data") == {(("reason", "unknown-pool"),): 1}
    assert value(with_plan, "tuppence_recommender_breaches") == 1


def test_realised_savings_stand_beside_what_was_predicted_and_only_where_there_is_a_ledger(with_plan: Served) -> None:
    assert value(with_plan, "tuppence_saving_realised_gbp") is None
    state = with_plan.last.state
    assert state.served is not None
    savings = Savings(realised_gbp=Decimal("-12.34"), predicted_gbp=Decimal("50.00"))
    with_plan.last.succeeded(state.served.plan, at=NOON, duration_seconds=1.0, savings=savings)
    assert value(with_plan, "tuppence_saving_realised_gbp") == -12.34
    assert value(with_plan, "tuppence_saving_predicted_gbp") == 50.0


def test_savings_are_expected_as_moves_of_their_kind_have_really_saved(with_plan: Served) -> None:
    state = with_plan.last.state
    assert state.served is not None
    policy = Policy.model_validate({"predictions": {"placement": 0.9}})
    nothing = Savings(realised_gbp=Decimal(0), predicted_gbp=Decimal(0))
    learnt = Learnt(calibration(Evidence(), policy), nothing)
    with_plan.last.succeeded(state.served.plan, at=NOON, duration_seconds=1.0, learnt=learnt)
    assert samples(with_plan, "tuppence_recommendation_saving_expected_gbp_per_month") == {
        (("kind", "placement"),): pytest.approx(0.9 * 371.60),
        (("kind", "purchase-option"),): pytest.approx(89.10),
    }


def test_guards_tell_what_they_keep_back_and_owned_pools_what_more_of_them_is_worth(served: Served) -> None:
    """At a least saving of £200, the £105.12 that web would save on the racks are kept back."""
    made = plan(workload("web"), policy=policy(steady={"min_saving_gbp_per_month": 200}))
    served.last.succeeded(made, at=NOON, duration_seconds=1.0)
    withheld = samples(served, "tuppence_saving_withheld_gbp_per_month")
    assert withheld[("rule", "min_saving"),] == pytest.approx(105.12)
    [owned] = made.owned_capacity
    name = (("cluster", owned.cluster), ("instance_type", owned.instance_type), ("pool", owned.pool))
    for unit in ("vcpu", "gib", "gpu"):
        found = samples(served, f"tuppence_owned_shadow_price_gbp_per_{unit}_hour")
        assert found == {name: getattr(owned, f"shadow_gbp_per_{unit}_hour")}
    used = samples(served, "tuppence_owned_used_ratio")
    assert {dict(labels)["plan"]: value for labels, value in used.items()} == {
        "now": owned.used_ratio,
        "planned": owned.planned_used_ratio,
    }


def test_a_verification_shows_when_and_whether_it_went_through(served: Served) -> None:
    assert value(served, "tuppence_recommender_verification_success") is None
    served.last.verified(at=NOON, succeeded=False)
    assert value(served, "tuppence_recommender_verification_success") == 0
    assert value(served, "tuppence_recommender_verification_timestamp_seconds") == NOON.timestamp()


def test_without_a_plan_there_are_no_figures_and_no_success(served: Served) -> None:
    assert samples(served, "tuppence_recommendations") == {}
    assert value(served, "tuppence_recommender_current_gbp_per_hour") is None
    assert value(served, "tuppence_recommender_evaluation_success") is None
    assert value(served, "tuppence_recommender_evaluations_total") == 0


def test_a_failure_shows_and_leaves_the_figures_and_their_age(with_plan: Served) -> None:
    before = samples(with_plan, "tuppence_recommendations")
    with_plan.last.failed(FAILURE, at=NOON, duration_seconds=2.0)
    assert value(with_plan, "tuppence_recommender_evaluation_success") == 0
    assert value(with_plan, "tuppence_recommender_evaluations_total") == 2
    assert value(with_plan, "tuppence_recommender_evaluation_failures_total") == 1
    assert value(with_plan, "tuppence_recommender_evaluation_timestamp_seconds") == NOON.timestamp()
    assert samples(with_plan, "tuppence_recommendations") == before


def test_scores_are_shown_with_their_end_and_vanish_when_they_have_lapsed(with_plan: Served) -> None:
    state = with_plan.last.state
    assert state.served is not None
    subject = example()
    lapsing = scores_of(subject)
    half = lapsing.scores.with_columns(
        valid_until=pl.when(pl.col("residency_class") == "uk").then(pl.lit(NOON)).otherwise("valid_until")
    )
    made = Scores(ClassScore.validate(half), ())
    with_plan.last.succeeded(state.served.plan, at=NOON, duration_seconds=1.0, scores=made)
    shown = samples(with_plan, "tuppence_placement_score")
    ends = samples(with_plan, "tuppence_placement_score_valid_until_timestamp_seconds")
    belgium: Labels = (("cluster", "gke-bel"), ("score", "cost-europe-any"))
    wanted = (pl.col("cluster") == "gke-bel") & (pl.col("score") == "cost-europe-any")
    assert shown[belgium] == lapsing.scores.filter(wanted)["value"].item()
    # Usage ends at noon and may be used for three hours.
    assert ends[belgium] == NOON.timestamp() + 3 * 3600
    assert shown.keys() == ends.keys()
    assert not any("uk" in dict(one)["score"] for one in shown)


def test_promtool_finds_nothing_to_complain_of(with_plan: Served) -> None:
    checked = promtool("check", "metrics", stdin=with_plan.client.get("/metrics").content)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_openmetrics_is_spoken_when_asked_for(with_plan: Served) -> None:
    answer = with_plan.client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    assert "# UNIT tuppence_recommendation_saving_gbp_per_month gbp_per_month" in answer.text


def test_every_metric_of_the_catalogue_is_exposed(with_plan: Served) -> None:
    body = with_plan.client.get("/metrics").text
    every = (*ADVICE, *OVERVIEW, *AHEAD, *SCORES, *DELIVERY, *HEALTH)
    missing = [one.name for one in every if f"# HELP {one.name} " not in body]
    assert missing == []


def test_names_follow_prometheus_naming_practice() -> None:
    for one in (*ADVICE, *AHEAD, *SCORES, *DELIVERY, *HEALTH):
        assert one.name.startswith("tuppence_")
        assert one.name.endswith(one.unit)
        assert one.name.endswith("_total") == (one.kind is Kind.COUNTER)
        assert one.name.endswith("_info") == (one.kind is Kind.INFO)


def test_the_reference_page_is_the_catalogue() -> None:
    written = Path(__file__).parents[3] / "docs" / "reference" / "recommender-metrics.md"
    assert written.read_text(encoding="utf-8") == page(), "python -m recommender.serve.reference writes it anew"
