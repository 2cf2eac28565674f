"""Attributes: who is heard first, what a label may not do, and which values are refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from recommender.frames import StatedAttribute
from recommender.observe.attributes import attributes_of
from recommender.settings import Policy

KEY = ("c1", "shop", "Deployment", "web")
CLASSES = {
    "uk": {"residency": ("GB",)},
    "europe": {"residency": ("GB", "EEA")},
    "anywhere": {},
}


def attributed(
    *said: tuple[str, ...], rules: tuple[dict[str, Any], ...] = (), keys: tuple[tuple[str, ...], ...] = (KEY,)
):
    names = ("cluster", "namespace", "workload_kind", "workload")
    workloads = pl.DataFrame(list(keys), schema=dict.fromkeys(names, pl.String), orient="row")
    stated = pl.DataFrame(list(said), schema=StatedAttribute.create_empty().schema, orient="row")
    policy = Policy.model_validate({"classes": CLASSES, "rules": rules})
    return attributes_of(workloads, StatedAttribute.validate(stated), policy)


def only(*said: tuple[str, ...], rules: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return attributed(*said, rules=rules).attributes.row(0, named=True)


OF_WORKLOAD = (*KEY, "owner", "its label")
OF_NAMESPACE = ("c1", "shop", "", "", "owner", "its namespace")
BY_RULE = {"match": {"namespace": "shop"}, "set": {"owner": "the rule"}}


@pytest.mark.parametrize(
    ("said", "rules", "owner"),
    [
        ((OF_WORKLOAD, OF_NAMESPACE), (BY_RULE,), "its label"),
        ((OF_NAMESPACE,), (BY_RULE,), "its namespace"),
        ((), (BY_RULE,), "the rule"),
        ((), (), ""),
    ],
)
def test_the_nearest_voice_is_heard(said: Any, rules: Any, owner: str):
    assert only(*said, rules=rules)["owner"] == owner


def test_a_namespace_of_the_same_name_in_another_cluster_says_nothing():
    assert only(("c2", "shop", "", "", "owner", "others"))["owner"] == ""


def test_the_first_matching_rule_wins_and_a_later_one_adds_nothing():
    rules = (
        {"match": {"namespace": "other"}, "set": {"owner": "not me"}},
        {"match": {"workload": "w*"}, "set": {"owner": "first"}},
        {"match": {"namespace": "shop"}, "set": {"owner": "second", "gang_size": 8}},
    )
    row = only(rules=rules)
    assert (row["owner"], row["gang_size"]) == ("first", 1)


@pytest.mark.parametrize(
    ("glob", "matches"),
    [("*", True), ("we?", True), ("w*b", True), ("w", False), ("*eb*", True), ("web.", False), ("WEB", False)],
)
def test_globs(glob: str, matches: bool):
    rule = {"match": {"workload": glob}, "set": {"owner": "x"}}
    assert (only(rules=(rule,))["owner"] == "x") is matches


def test_what_nobody_says_has_the_safe_default():
    row = only()
    assert (row["criticality"], row["interruption_tolerance"], row["gang_size"]) == ("medium", "none", 1)
    assert (row["residency_class"], row["architecture"], row["local_volume"], row["state_gib"]) == ("", "", False, 0.0)


@pytest.mark.parametrize(
    ("rule", "label", "stands"),
    [
        ("uk", "europe", "uk"),
        ("uk", "anywhere", "uk"),
        ("europe", "anywhere", "europe"),
        ("europe", "uk", "uk"),
        ("anywhere", "uk", "uk"),
        ("uk", "uk", "uk"),
    ],
)
def test_a_label_may_narrow_residency_but_not_widen_it(rule: str, label: str, stands: str):
    rules = ({"set": {"residency_class": rule}},)
    assert only((*KEY, "residency_class", label), rules=rules)["residency_class"] == stands
    by_namespace = ("c1", "shop", "", "", "residency_class", label)
    assert only(by_namespace, rules=rules)["residency_class"] == stands


def test_a_label_stands_where_no_rule_gives_a_class():
    assert only((*KEY, "residency_class", "anywhere"))["residency_class"] == "anywhere"


def test_a_class_that_the_policy_does_not_have_is_passed_on_rather_than_replaced_by_a_wider_one():
    rules = ({"set": {"residency_class": "anywhere"}},)
    assert only((*KEY, "residency_class", "nhs"), rules=rules)["residency_class"] == "nhs"


def test_labels_are_text_and_become_numbers_and_truths():
    row = only(
        (*KEY, "gang_size", "8"),
        (*KEY, "state_gib", "40.5"),
        (*KEY, "local_volume", "true"),
        (*KEY, "interruption_tolerance", "spot"),
    )
    assert (row["gang_size"], row["state_gib"], row["local_volume"]) == (8, 40.5, True)
    assert row["interruption_tolerance"] == "spot"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("gang_size", "0", "gang_size is '0'"),
        ("gang_size", "eight", "gang_size is 'eight'"),
        ("state_gib", "-1", "state_gib is '-1'"),
        ("state_gib", "inf", "state_gib is 'inf': this is not a finite number"),
        ("state_gib", "nan", "state_gib is 'nan'"),
        ("architecture", "sparc", "architecture is 'sparc'"),
        ("local_volume", "perhaps", "local_volume is 'perhaps'"),
        ("flows", "{", "flows is '{'"),
        ("flows", '[{"to": "the moon", "gib_per_hour": 1}]', "flows is"),
    ],
)
def test_a_value_that_cannot_be_right_is_a_mistake_and_is_not_used(name: str, value: str, why: str):
    result = attributed((*KEY, name, value))
    assert result.mistakes.height == 1
    assert why in result.mistakes["why"][0]
    assert result.flows.is_empty()


def test_a_mistake_of_a_namespace_is_one_of_each_of_its_workloads():
    keys = (KEY, ("c1", "shop", "Deployment", "api"), ("c1", "other", "Deployment", "web"))
    result = attributed(("c1", "shop", "", "", "criticality", "urgent"), keys=keys)
    assert result.mistakes["workload"].to_list() == ["api", "web"]


def test_flows_come_from_rules_or_columns_and_equal_ones_add_up():
    flows = [
        {"to": "internet", "gib_per_hour": 1.5, "direction": "out"},
        {"to": "internet", "gib_per_hour": 0.5, "direction": "out"},
        {"to": "aws/eu-west-2", "gib_per_hour": 12.5, "direction": "in"},
    ]
    rows = attributed(rules=({"set": {"flows": flows}},)).flows
    assert rows.select("to", "direction", "gib_per_hour").rows() == [
        ("aws/eu-west-2", "in", 12.5),
        ("internet", "out", 2.0),
    ]
    column = attributed((*KEY, "flows", '[{"to": "internet", "gib_per_hour": 3}]'), rules=({"set": {"flows": flows}},))
    assert column.flows.select("to", "direction", "gib_per_hour").rows() == [("internet", "out", 3.0)]
