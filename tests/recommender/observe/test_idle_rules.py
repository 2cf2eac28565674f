"""Rules that decide nothing are named: those that match nobody, and those that contradict an earlier one everywhere."""

from __future__ import annotations

import polars as pl
import pytest

from recommender.frames import WORKLOAD_KEY
from recommender.observe.idle_rules import idle_rules
from recommender.settings import Policy

WORKLOADS = pl.DataFrame(
    [("c1", "shop", "Deployment", "web"), ("c1", "shop", "Deployment", "api"), ("c2", "lab", "Job", "train")],
    schema=dict.fromkeys(WORKLOAD_KEY, pl.String),
    orient="row",
)


def named(*matches: dict[str, str], workloads: pl.DataFrame = WORKLOADS) -> tuple[str, ...]:
    rules = [{"match": match, "set": {"owner": f"owner {number}"}} for number, match in enumerate(matches)]
    return idle_rules(Policy.model_validate({"rules": rules}), workloads)


def test_rules_that_each_decide_something_are_not_spoken_of() -> None:
    assert named({"workload": "web"}, {"namespace": "shop"}, {"cluster": "c?"}) == ()


def test_a_rule_that_matches_nothing_is_named_by_its_place_in_the_file() -> None:
    assert named({"namespace": "shpo"}, {}) == ("rules[0] matches no workload",)


def test_of_two_rules_that_contradict_everywhere_the_later_one_is_named_with_the_one_that_stands() -> None:
    assert named({"namespace": "shop"}, {"namespace": "shop"}) == (
        "rules[1] decides nothing: rules[0] stands before it for every workload it matches",
    )


def test_a_rule_that_several_earlier_ones_take_everything_from_names_them_all() -> None:
    [said] = named({"workload": "web"}, {"workload": "api"}, {"namespace": "shop"}, {"namespace": "lab"})
    assert "rules[2] decides nothing: rules[0], rules[1] stands before it" in said


@pytest.mark.parametrize("workloads", [WORKLOADS.clear()])
def test_of_no_workloads_nothing_is_said(workloads: pl.DataFrame) -> None:
    assert named({"namespace": "shop"}, workloads=workloads) == ()
