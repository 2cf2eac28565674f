"""Scores by hand: the same workloads in every cluster, a logarithmic scale, one end for a class; no gap moves anything.

The fleet is that of tests/recommender/world.py: web (class uk) costs £0.184 an hour in eks-lon, £0.04 in onprem-lon
(4 of 32 vCPU of a node of £0.32); Belgium is forbidden to it. K = (100 · 3 / 10) / −ln(0.85) = 184.6.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import dataframely as dy
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.core.errors import SettingsError
from recommender.cycle import Evaluation
from recommender.emit.score import Scores, class_scores
from recommender.emit.score_inputs import InputAge
from recommender.emit.score_scale import Scale, predicted
from recommender.frames import ClassScore, ClusterCost, Workload
from tests.builders import NOON
from tests.recommender import world

FLEET = ("eks-lon", "gke-bel", "onprem-lon")
USAGE = InputAge("usage", NOON, timedelta(hours=3))
PRICES = InputAge("aws/20261130T110000Z", NOON - timedelta(hours=1), timedelta(hours=48))


def scores(evaluation: Evaluation, **changes: Any) -> Scores:
    given: dict[str, Any] = {"clusters": FLEET, "policy": world.policy(), "inputs": (PRICES, USAGE), "at": NOON}
    return class_scores(evaluation.costs, evaluation.workloads, **(given | changes))


def values(made: Scores, score: str) -> dict[str, int]:
    rows = made.scores.filter(pl.col("score") == score)
    return dict(zip(rows["cluster"], rows["value"], strict=True))


def one(made: Scores, score: str, cluster: str) -> dict[str, Any]:
    return made.scores.row(by_predicate=(pl.col("score") == score) & (pl.col("cluster") == cluster), named=True)


def without_prices(costs: dy.DataFrame[ClusterCost], cluster: str) -> dy.DataFrame[ClusterCost]:
    """The costs when the prices of one cluster are lost."""
    lost = pl.col("to_cluster") == cluster
    return ClusterCost.validate(
        costs.with_columns(
            allowed=pl.col("allowed") & ~lost,
            gbp_per_hour=pl.when(~lost).then("gbp_per_hour"),
            rules=pl.when(lost).then(pl.lit(["price_unknown"])).otherwise("rules"),
        )
    )


def with_gpu(workloads: dy.DataFrame[Workload], model: str) -> dy.DataFrame[Workload]:
    """The workloads, web asking for a GPU."""
    web = pl.col("workload") == "web"
    return Workload.validate(
        workloads.with_columns(
            gpu_request_peak=pl.when(web).then(1.0).otherwise("gpu_request_peak"),
            gpu_model=pl.when(web).then(pl.lit(model)).otherwise("gpu_model"),
        )
    )


def test_points_are_a_logarithm_of_the_price_and_the_gap_of_two_clusters_depends_on_their_ratio() -> None:
    scale = Scale.of(world.policy())
    assert scale.points_per_log == pytest.approx(184.594, abs=1e-3)
    frame = pl.DataFrame({"e": [1.0, 0.85, 1.25, 0.5, 2.0, 0.0], "ref": 1.0})
    points = frame.select(scale.points(pl.col("e"), pl.col("ref"))).to_series().to_list()
    # 50 + 184.6·ln(1/E): ln(1/0.85) = 0.16252 → 80; ln(0.8) = −0.22314 → 8.8; beyond 1.31 x both ends are reached.
    assert points == [50, 80, 9, 100, 1, 100]


def test_a_saving_of_exactly_the_threshold_is_the_margin_that_steady_asks() -> None:
    scale = Scale.of(world.policy(steady={"min_saving_ratio": 0.3}, score={"steady_weight": 1, "cost_weight": 10}))
    assert scale.margin_points == 10
    assert scale.points_per_log * -math.log(1 - 0.3) == pytest.approx(10)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_a_threshold_without_a_scale_is_refused_with_what_to_set(ratio: float) -> None:
    with pytest.raises(SettingsError, match=r"policy\.steady\.min_saving_ratio"):
        Scale.of(world.policy(steady={"min_saving_ratio": ratio}))


def test_a_cluster_has_the_price_of_all_workloads_of_the_class_and_a_forbidden_one_is_out() -> None:
    made = scores(world.appraisal(world.workload("web"), world.workload("api")))
    # Twice 0.184, and twice 4/32 of 0.32. The anchor is the grid's step next to what the class costs where it runs.
    assert one(made, "cost-uk-any", "eks-lon")["gbp_per_hour"] == pytest.approx(0.368)
    assert one(made, "cost-uk-any", "onprem-lon")["gbp_per_hour"] == pytest.approx(0.08)
    assert 45 <= values(made, "cost-uk-any")["eks-lon"] <= 55
    assert values(made, "cost-uk-any")["onprem-lon"] == 100
    assert values(made, "cost-uk-any")["gke-bel"] == -100
    assert one(made, "cost-uk-any", "gke-bel")["reason"] == "workloads that may not be there: 2 of 2 (residency)"


def test_a_cluster_that_only_some_of_the_class_may_enter_is_out_and_not_half_as_dear() -> None:
    evaluation = world.appraisal(
        world.workload("web", residency_class="anywhere"), world.workload("arm", residency_class="anywhere")
    )
    belgium = (pl.col("to_cluster") == "gke-bel") & (pl.col("workload") == "arm")
    costs = ClusterCost.validate(
        evaluation.costs.with_columns(
            allowed=pl.col("allowed") & ~belgium,
            gbp_per_hour=pl.when(~belgium).then("gbp_per_hour"),
            rules=pl.when(belgium).then(pl.lit(["architecture"])).otherwise("rules"),
        )
    )
    made = class_scores(
        costs, evaluation.workloads, clusters=FLEET, policy=world.policy(), inputs=(PRICES, USAGE), at=NOON
    )
    assert values(made, "cost-anywhere-any")["gke-bel"] == -100
    assert one(made, "cost-anywhere-any", "gke-bel")["reason"] == (
        "workloads that may not be there: 1 of 2 (architecture)"
    )


def test_a_capacity_type_is_scored_for_the_workloads_that_may_use_it_and_a_cluster_without_it_is_out() -> None:
    tolerant = world.workload("batch", residency_class="anywhere", interruption_tolerance="spot")
    made = scores(world.appraisal(tolerant, world.workload("web", residency_class="anywhere")))
    assert one(made, "cost-anywhere-spot", "eks-lon")["workloads"] == 1
    assert values(made, "cost-anywhere-spot")["gke-bel"] == -100
    assert one(made, "cost-anywhere-spot", "gke-bel")["state"] == "no-capacity"
    assert set(made.scores["score"]) == {f"cost-anywhere-{ct}" for ct in ("any", "ondemand", "spot", "owned")}


def test_workloads_that_do_not_move_or_have_no_class_or_are_system_pods_are_in_no_score() -> None:
    pinned = world.workload("db", local_volume=True)
    made = scores(world.appraisal(world.workload("web"), pinned, world.workload("stray", residency_class="")))
    assert one(made, "cost-uk-any", "eks-lon")["workloads"] == 1
    assert set(made.scores["residency_class"]) == {"uk"}


def test_gpu_workloads_of_a_class_have_scores_of_their_own() -> None:
    evaluation = world.appraisal(world.workload("web"))
    as_gpu = with_gpu(evaluation.workloads, "H100 80GB")
    made = class_scores(
        evaluation.costs, as_gpu, clusters=FLEET, policy=world.policy(), inputs=(USAGE,), at=NOON
    )  # fmt: skip
    assert "cost-uk-gpu-h100-80gb-any" in set(made.scores["score"])


def test_two_classes_never_share_a_score_even_if_their_names_look_alike() -> None:
    classes: dict[str, Any] = {"uk": {}, "uk-gpu-a10": {}}
    evaluation = world.appraisal(
        world.workload("web", residency_class="uk"),
        world.workload("api", residency_class="uk-gpu-a10"),
        policy=world.policy(classes=classes),
    )
    as_gpu = with_gpu(evaluation.workloads, "A10")
    made = class_scores(
        evaluation.costs, as_gpu, clusters=FLEET, policy=world.policy(classes=classes), inputs=(USAGE,), at=NOON
    )  # fmt: skip
    named = made.scores.group_by("score").agg(pl.col("residency_class").n_unique())
    assert named["residency_class"].max() == 1
    assert made.scores.filter(pl.col("capacity_type") == "any")["score"].n_unique() == 2


def test_all_scores_of_an_evaluation_end_when_the_first_of_their_inputs_does() -> None:
    made = scores(world.appraisal(world.workload("web"), world.workload("api", residency_class="anywhere")))
    assert set(made.scores["valid_until"]) == {NOON + timedelta(hours=3)}
    sooner = InputAge("gcp/x", NOON - timedelta(hours=47, minutes=30), timedelta(hours=48))
    made = scores(world.appraisal(world.workload("web")), inputs=(USAGE, sooner))
    assert set(made.scores["valid_until"]) == {NOON + timedelta(minutes=30)}


@pytest.mark.parametrize(
    "broken",
    [
        InputAge("gcp/x", NOON - timedelta(hours=49), timedelta(hours=48)),
        InputAge("gcp/x", None, timedelta(hours=48)),
        InputAge("gcp/x", NOON - timedelta(hours=48), timedelta(hours=48)),
    ],
    ids=["stale", "missing", "ends-now"],
)
def test_one_stale_or_missing_input_lapses_every_class_or_holds_what_was_before(broken: InputAge) -> None:
    evaluation = world.appraisal(world.workload("web"))
    lapsed = scores(evaluation, inputs=(USAGE, broken))
    assert lapsed.scores.is_empty()
    assert [(one.residency_class, one.held_until) for one in lapsed.lapsed] == [("uk", None)]
    assert "gcp/x" in lapsed.lapsed[0].why
    before = scores(evaluation).scores
    later = NOON + timedelta(hours=1)
    held = scores(evaluation, inputs=(USAGE, broken), at=later, previous=before)
    assert held.scores.drop("is_held").equals(before.drop("is_held"))
    assert held.scores["is_held"].all()
    assert held.lapsed[0].held_until == NOON + timedelta(hours=3)
    over = scores(evaluation, inputs=(USAGE, broken), at=NOON + timedelta(hours=3), previous=before)
    assert over.scores.is_empty()


def test_without_any_input_nothing_is_scored() -> None:
    assert scores(world.appraisal(world.workload("web")), inputs=()).scores.is_empty()


def test_prices_lost_where_the_class_runs_change_no_placement() -> None:
    evaluation = world.appraisal(world.workload("web"), world.workload("api", residency_class="anywhere"))
    costs = without_prices(evaluation.costs, "eks-lon")
    before = scores(evaluation).scores
    made = class_scores(
        costs, evaluation.workloads, clusters=FLEET, policy=world.policy(), inputs=(USAGE,), at=NOON, previous=before
    )
    assert made.scores.drop("is_held").equals(before.drop("is_held"))
    first = class_scores(costs, evaluation.workloads, clusters=FLEET, policy=world.policy(), inputs=(USAGE,), at=NOON)
    assert first.scores.is_empty()
    assert "eks-lon cannot be priced" in first.lapsed[0].why


def test_prices_lost_of_a_cluster_that_was_scored_hold_the_class_and_of_one_that_never_was_put_it_last() -> None:
    evaluation = world.appraisal(world.workload("web"))
    costs = without_prices(evaluation.costs, "onprem-lon")
    common: dict[str, Any] = {"clusters": FLEET, "policy": world.policy(), "inputs": (USAGE,), "at": NOON}
    held = class_scores(costs, evaluation.workloads, previous=scores(evaluation).scores, **common)
    assert values(held, "cost-uk-any")["onprem-lon"] == 100
    fresh = class_scores(costs, evaluation.workloads, **common)
    assert values(fresh, "cost-uk-any") == values(held, "cost-uk-any") | {"onprem-lon": -100}
    assert one(fresh, "cost-uk-any", "onprem-lon")["state"] == "unpriced"


def test_a_cluster_with_a_limit_that_nobody_observed_is_not_scored_as_if_it_were_known() -> None:
    unseen = world.appraisal(world.workload("web"), workloads=world.workloads(world.workload("web")))
    assert values(scores(unseen), "cost-uk-any")["onprem-lon"] == -100


def test_the_anchor_stays_while_prices_move_by_less_than_a_step_and_scores_move_with_the_prices_alone() -> None:
    evaluation = world.appraisal(world.workload("web"))
    before = scores(evaluation)
    dearer = ClusterCost.validate(evaluation.costs.with_columns(gbp_per_hour=pl.col("gbp_per_hour") * 1.03))
    after = class_scores(
        dearer,
        evaluation.workloads,
        clusters=FLEET,
        policy=world.policy(),
        inputs=(PRICES, USAGE),
        at=NOON,
        previous=before.scores,
    )
    column = "reference_gbp_per_hour"
    assert one(after, "cost-uk-any", "eks-lon")[column] == one(before, "cost-uk-any", "eks-lon")[column]
    # 184.6 · ln(1.03) = 5.46 points.
    assert values(before, "cost-uk-any")["eks-lon"] - values(after, "cost-uk-any")["eks-lon"] in (5, 6)


@given(
    now=st.floats(min_value=0.01, max_value=100.0),
    there=st.floats(min_value=0.01, max_value=100.0),
)
def test_a_prediction_never_moves_for_less_than_the_threshold_nor_stays_for_much_more(now: float, there: float) -> None:
    scale = Scale.of(world.policy())
    frame = pl.DataFrame({"e": [now, there], "ref": scale.on_grid(now)})
    stay, move = frame.select(scale.points(pl.col("e"), pl.col("ref"))).to_series()
    found = predicted({"here": stay, "there": move}, incumbent="here", challenger="there", scale=scale)
    saving = 1 - there / now
    # Each score is rounded to a point, which is 0.46 % of a saving here.
    if saving < 0.145:
        assert not found.will_move
    if saving > 0.16:
        assert found.will_move
    assert found.will_move == (10 * (move - stay) > 300)


def test_a_prediction_says_by_what_margin_and_a_third_cluster_may_win() -> None:
    scale = Scale.of(world.policy())
    stays = predicted({"a": 50, "b": 80}, incumbent="a", challenger="b", scale=scale)
    assert (stays.will_move, stays.over_margin_points) == (False, 0)
    assert stays.sentence(scale).startswith("will not move: b leads a by 30 points")
    moves = predicted({"a": 50, "b": 81}, incumbent="a", challenger="b", scale=scale)
    assert (moves.will_move, moves.over_margin_points) == (True, 1)
    third = predicted({"a": 50, "b": 81, "c": 90}, incumbent="a", challenger="b", scale=scale)
    assert (third.will_move, third.winner) == (False, "c")
    assert third.sentence(scale).startswith("will move elsewhere: to c")
    equal = predicted({"a": 50, "b": 90, "c": 90}, incumbent="a", challenger="b", scale=scale)
    assert equal.winner == "b"


def test_with_weights_of_three_and_three_nothing_can_ever_move() -> None:
    scale = Scale.of(world.policy(score={"steady_weight": 3, "cost_weight": 3}))
    assert not scale.can_move
    assert not predicted({"a": 1, "b": 100}, incumbent="a", challenger="b", scale=scale).will_move
    assert Scale.of(world.policy()).can_move


def test_scores_are_integers_of_the_range_and_the_order_of_inputs_changes_nothing() -> None:
    evaluation = world.appraisal(world.workload("web"), world.workload("api", residency_class="europe"))
    made = scores(evaluation)
    assert made.scores.schema["value"] == pl.Int32
    assert made.scores.filter(pl.col("value").is_in([*range(1, 101), -100])).height == made.scores.height
    turned = Evaluation(
        plan=evaluation.plan,
        costs=ClusterCost.cast(evaluation.costs.reverse()),
        workloads=evaluation.workloads,
        flows=evaluation.flows,
    )
    assert scores(turned, clusters=tuple(reversed(FLEET))).scores.equals(made.scores)
    assert isinstance(ClassScore.validate(made.scores), pl.DataFrame)


def test_a_cluster_that_was_not_tried_for_a_workload_is_not_called_unpriced_by_a_source() -> None:
    evaluation = world.appraisal(world.workload("web"), world.workload("api"))
    left_out = (pl.col("workload") == "api") & (pl.col("to_cluster") == "eks-lon")
    made = class_scores(
        ClusterCost.validate(evaluation.costs.filter(~left_out)),
        evaluation.workloads,
        clusters=FLEET,
        policy=world.policy(),
        inputs=(USAGE,),
        at=NOON,
    )
    assert made.scores.is_empty()
    assert "too large to try all" in made.lapsed[0].why


CELL = st.one_of(st.none(), st.floats(min_value=0.0, max_value=50.0))


@given(cells=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=3, max_size=3))
def test_a_cluster_has_points_only_if_every_workload_is_allowed_there_and_a_cheaper_one_never_has_fewer(
    cells: list[list[float | None]],
) -> None:
    """cells: the price of each of three workloads in each of three clusters; None: forbidden."""
    names = ("a", "b", "c")
    rows = world.workloads(*(world.workload(name, cluster=FLEET[0]) for name in names))
    costs = [
        {
            **dict(zip(("cluster", "namespace", "workload_kind"), (FLEET[0], "shop", "Deployment"), strict=True)),
            "workload": name,
            "to_cluster": cluster,
            "to_capacity_type": "on-demand",
            "to_pool": "general",
            "to_instance_type": "m5.xlarge",
            "allowed": price is not None,
            "has_room": price is not None,
            "rules": [] if price is not None else ["residency"],
            "gbp_per_hour": price,
            "is_current": cluster == FLEET[0],
        }
        for name, line in zip(names, cells, strict=True)
        for cluster, price in zip(FLEET, line, strict=True)
    ]
    frame = ClusterCost.validate(pl.DataFrame(costs, schema=ClusterCost.create_empty().schema))
    made = class_scores(frame, rows, clusters=FLEET, policy=world.policy(), inputs=(USAGE,), at=NOON)
    basis = [line for line in cells if any(price is not None for price in line)]
    found = values(made, "cost-uk-any")
    assert found.keys() == (set(FLEET) if basis else set())
    totals: dict[str, float] = {}
    for place, cluster in enumerate(FLEET if basis else ()):
        prices = [line[place] for line in basis]
        whole = [price for price in prices if price is not None]
        assert (found[cluster] > 0) == (len(whole) == len(prices))
        if len(whole) == len(prices):
            totals[cluster] = sum(whole)
    for one_cluster, cost in totals.items():
        for other, dearer in totals.items():
            assert found[one_cluster] >= found[other] or cost >= dearer * (1 - 1e-9)
