"""The rules of grafana/dashboard-linter, one test a rule (its docs/rules and lint/rules.go), over the committed JSON.

The ones that do not fit stand in ``.lint`` with the reason, and only those; what is promised instead is tested here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from dashboards import build
from tests.dashboards.reading import (
    Query,
    committed,
    label_variables,
    panels,
    queries,
    substituted,
    values_query,
    variables,
)

BOARDS = committed()
OVER_A_RANGE = re.compile(r"\b(?:rate|irate|increase|delta|idelta|deriv)\([^\[]*\[([^\]]*)\]")
ON_TIME_RANGE_CHANGED = 2


@pytest.fixture(params=BOARDS, ids=str)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each committed dashboard."""
    return BOARDS[request.param]


def test_template_datasource_and_panel_datasource(board: dict[str, Any]) -> None:
    variable = variables(board)["datasource"]
    assert (variable["type"], variable["query"], variable["label"]) == ("datasource", "prometheus", "Data source")
    sources = [panel["datasource"] for panel in panels(board)]
    sources += [target["datasource"] for panel in panels(board) for target in panel["targets"]]
    sources += [one["datasource"] for one in label_variables(board)]
    assert {(source["type"], source["uid"]) for source in sources} == {("prometheus", "${datasource}")}


def test_template_label_promql(board: dict[str, Any]) -> None:
    for one in label_variables(board):
        selector, _ = values_query(one)
        assert isinstance(promql_parser.parse(substituted(selector)), promql_parser.VectorSelector)
        assert (one["includeAll"], one["allValue"], one["multi"]) == (True, ".*", True)


def test_template_on_time_change_reload(board: dict[str, Any]) -> None:
    assert {one["refresh"] for one in label_variables(board)} == {ON_TIME_RANGE_CHANGED}


def test_panel_title_description(board: dict[str, Any]) -> None:
    for panel in board["panels"]:
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]
    titles = [panel["title"] for panel in board["panels"]]
    assert len(set(titles)) == len(titles)


def test_panel_units(board: dict[str, Any]) -> None:
    assert [panel["title"] for panel in panels(board) if not panel["fieldConfig"]["defaults"].get("unit")] == []


def test_panel_no_targets(board: dict[str, Any]) -> None:
    assert [panel["title"] for panel in panels(board) if not panel["targets"]] == []


@pytest.mark.parametrize("query", queries(), ids=str)
def test_target_promql(query: Query) -> None:
    assert promql_parser.parse(substituted(query.expression))


def test_target_promql_finds_what_is_no_promql() -> None:
    with pytest.raises(ValueError, match=r"unexpected|invalid"):
        promql_parser.parse(substituted('sum by (cluster) (tuppence_demand{cluster=~"$cluster"'))


@pytest.mark.parametrize("query", queries(), ids=str)
def test_target_rate_interval(query: Query) -> None:
    assert set(OVER_A_RANGE.findall(query.expression)) <= {"$__rate_interval"}


def test_target_rate_interval_has_something_to_say() -> None:
    assert sum(bool(OVER_A_RANGE.search(query.expression)) for query in queries()) > 1


@pytest.mark.parametrize("query", queries(), ids=str)
def test_target_counter_agg(query: Query) -> None:
    """A counter is shown as what it grew by, or, where every replica says the same of a ledger, folded with max."""
    for name in re.findall(r"\btuppence_\w+_total\b", query.expression):
        grown = re.search(rf"\bsum\b.*\((?:rate|increase)\({name}\b", query.expression)
        same_in_all = name.startswith("tuppence_report_") and f"max by (channel) ({name})" in query.expression
        assert grown or same_in_all


def test_uneditable(board: dict[str, Any]) -> None:
    assert board["editable"] is False
    assert re.fullmatch(r"tuppence-[a-z-]+", board["uid"])
    assert "id" not in board


def test_what_the_linter_is_told_to_overlook_has_a_reason() -> None:
    told = yaml.safe_load((build.FOLDER / ".lint").read_text(encoding="utf-8"))
    assert set(told) == {"exclusions"}
    assert set(told["exclusions"]) == {
        "template-job-rule",
        "template-instance-rule",
        "target-job-rule",
        "target-instance-rule",
        "target-counter-agg-rule",
    }
    assert all(one["reason"].endswith(".") for one in told["exclusions"].values())
    [entry] = told["exclusions"]["target-counter-agg-rule"]["entries"]
    [board] = [one for one in BOARDS.values() if one["title"] == entry["dashboard"]]
    assert entry["panel"] in {panel["title"] for panel in panels(board)}


@pytest.mark.parametrize("query", queries(), ids=str)
def test_replicas_are_folded_in_place_of_an_instance_variable(query: Query) -> None:
    """What .lint promises: no series comes back once for each replica."""
    for metric in re.findall(r"\btuppence_\w+", query.expression):
        folded = rf"\b(?:max|min|sum|group|count)\b[^{{}}]*\b{metric}\b"
        only_matched = rf"and on \([^()]*\) {metric}\b"
        assert re.search(folded, query.expression) or re.search(only_matched, query.expression)


def test_the_reader_s_words_are_those_of_the_pages_and_not_of_a_machine() -> None:
    """Every committed file is text in UTF-8 that a person can read in a review."""
    for path in Path(build.FOLDER).glob("*.json"):
        assert "\\u" not in path.read_text(encoding="utf-8")
