"""What every dashboard keeps to: grafana/dashboard-linter's rules, British time and money, no change in the browser.

The rules are those of the linter's docs/rules; the ones that do not fit stand in ``.lint`` with the reason, and only
those.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from dashboards import build
from exporters.publish.catalogue import CATALOGUE
from recommender.serve.catalogue import ADVICE, HEALTH
from tests.dashboards.reading import Query, committed, panels, queries, substituted, values_query, variables

ROOT = Path(__file__).parents[2]
BOARDS = committed()
PROVISIONING = ROOT / "dashboards/grafana/provisioning"
OVER_A_RANGE = re.compile(r"\b(?:rate|irate|increase|delta|idelta|deriv)\([^\[]*\[([^\]]*)\]")


@pytest.fixture(params=BOARDS, ids=str)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each committed dashboard."""
    return BOARDS[request.param]


def test_what_is_committed_is_what_the_code_builds() -> None:
    assert build.outdated() == []


def test_a_dashboard_that_was_changed_by_hand_is_named(copied_dashboards: Path) -> None:
    changed = copied_dashboards / "tuppence-prices.json"
    changed.write_text(changed.read_text(encoding="utf-8").replace("Europe/London", "browser"), encoding="utf-8")
    (copied_dashboards / "forgotten.json").write_text("{}", encoding="utf-8")
    assert build.outdated(copied_dashboards) == ["forgotten.json", "tuppence-prices.json"]


def test_writing_into_an_empty_folder_gives_every_dashboard(tmp_path: Path) -> None:
    build.write(tmp_path / "new")
    assert build.outdated(tmp_path / "new") == []


def test_the_check_runs_as_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "dashboards", "--check"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_data_source_is_a_variable_and_nothing_names_another(board: dict[str, Any]) -> None:
    variable = variables(board)["datasource"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    sources = [panel["datasource"] for panel in panels(board)]
    sources += [target["datasource"] for panel in panels(board) for target in panel["targets"]]
    sources += [one["datasource"] for one in variables(board).values() if one["type"] == "query"]
    assert {(source["type"], source["uid"]) for source in sources} == {("prometheus", "${datasource}")}


def test_every_panel_has_a_title_a_description_and_a_unit(board: dict[str, Any]) -> None:
    for panel in board["panels"]:
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["description"].endswith("."), panel["title"]
    assert [panel["title"] for panel in panels(board) if not panel["fieldConfig"]["defaults"].get("unit")] == []
    titles = [panel["title"] for panel in board["panels"]]
    assert len(set(titles)) == len(titles)


def test_money_is_in_pounds_with_the_decimals_stated(board: dict[str, Any]) -> None:
    for panel in panels(board):
        reads_money = any("_gbp_per_" in target["expr"] for target in panel["targets"])
        shown = panel["fieldConfig"]["defaults"]
        if reads_money and shown["unit"] != "percentunit":
            assert shown["unit"] == "currencyGBP", panel["title"]
            assert shown["decimals"] >= 2, panel["title"]


def test_nobody_can_change_it_in_the_browser(board: dict[str, Any]) -> None:
    assert board["editable"] is False
    assert re.fullmatch(r"tuppence-[a-z-]+", board["uid"])
    assert "id" not in board


def test_time_is_british(board: dict[str, Any]) -> None:
    assert (board["timezone"], board["weekStart"]) == ("Europe/London", "monday")


def test_panels_have_their_own_number_and_place(board: dict[str, Any]) -> None:
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)
    places = [panel["gridPos"] for panel in board["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    overlapping = [
        (one, other)
        for one, other in combinations(places, 2)
        if one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    ]
    assert overlapping == []


def test_links_lead_to_the_services_by_variable(board: dict[str, Any]) -> None:
    urls = {link["url"] for link in board["links"]}
    assert urls == {"${exporter_url}/", "${recommender_url}/"}
    for url in urls:
        assert url.removeprefix("${").split("}")[0] in variables(board)


def test_documents_that_a_panel_names_exist(board: dict[str, Any]) -> None:
    words = " ".join(str(panel.get(key, "")) for panel in board["panels"] for key in ("description", "options"))
    named = set(re.findall(r"docs/[\w/-]+\.md", words))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_query_is_promql(query: Query) -> None:
    assert promql_parser.parse(substituted(query.expression))


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_query_reads_metrics_that_the_services_have(query: Query) -> None:
    known = {metric.name for metric in CATALOGUE} | {metric.name for metric in (*ADVICE, *HEALTH)}
    read = set(re.findall(r"\btuppence_\w+", query.expression))
    assert read
    assert read <= known


@pytest.mark.parametrize("query", queries(), ids=str)
def test_a_rate_is_over_the_rate_interval(query: Query) -> None:
    assert set(OVER_A_RANGE.findall(query.expression)) <= {"$__rate_interval"}


def test_some_query_is_over_a_range_so_that_the_rule_above_says_something() -> None:
    assert any(OVER_A_RANGE.search(query.expression) for query in queries())


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_variable_that_a_query_uses_exists_and_is_matched_as_a_pattern(query: Query) -> None:
    used = set(re.findall(r"\$(\w+)", query.expression)) - {"__rate_interval"}
    known = variables(BOARDS[query.dashboard])
    assert used <= known.keys()
    for name in used:
        assert known[name]["multi"]
        assert f'=~"${name}"' in query.expression


def test_variables_ask_for_values_with_promql(board: dict[str, Any]) -> None:
    asked = [one for one in variables(board).values() if one["type"] == "query"]
    assert {one["name"] for one in asked} == {"provider", "region", "capacity_type", "gpu_model"}
    for one in asked:
        selector, _ = values_query(one)
        assert isinstance(promql_parser.parse(substituted(selector)), promql_parser.VectorSelector)
        assert one["includeAll"]
        assert one["allValue"] == ".*"


def test_what_the_linter_is_told_to_overlook_has_a_reason() -> None:
    told = yaml.safe_load((build.FOLDER / ".lint").read_text(encoding="utf-8"))
    assert set(told) == {"exclusions"}
    assert set(told["exclusions"]) == {
        "template-job-rule",
        "template-instance-rule",
        "target-job-rule",
        "target-instance-rule",
    }
    assert all(one["reason"].endswith(".") for one in told["exclusions"].values())


def test_a_panel_that_looks_for_replicas_folds_them() -> None:
    """What .lint promises instead of an instance variable: no series comes back once for each replica."""
    for query in queries():
        for metric in re.findall(r"\btuppence_\w+", query.expression):
            assert re.search(rf"\b(?:max|min|sum|group)\b[^{{}}]*\b{metric}\b|{metric}\{{origin=", query.expression)


def test_provisioned_files_are_read_only_and_the_data_source_keeps_its_uid() -> None:
    providers = yaml.safe_load((PROVISIONING / "dashboards/tuppence.yaml").read_text(encoding="utf-8"))
    assert providers["apiVersion"] == 1
    (provider,) = providers["providers"]
    assert (provider["allowUiUpdates"], provider["disableDeletion"]) == (False, True)
    sources = yaml.safe_load((PROVISIONING / "datasources/prometheus.yaml").read_text(encoding="utf-8"))
    assert sources["apiVersion"] == 1
    (source,) = sources["datasources"]
    assert (source["type"], source["uid"], source["editable"]) == ("prometheus", "tuppence-prometheus", False)
