"""What every dashboard keeps to beside the linter's rules: committed as built, British time and money, links."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from dashboards import build
from exporters.publish.catalogue import CATALOGUE
from tests.dashboards.reading import Query, committed, panels, queries, recommender_metrics, variables

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


def test_money_is_in_pounds_with_the_decimals_stated(board: dict[str, Any]) -> None:
    for panel in panels(board):
        reads_money = any("_gbp_per_" in target["expr"] for target in panel["targets"])
        shown = panel["fieldConfig"]["defaults"]
        if reads_money and shown["unit"] != "percentunit":
            assert shown["unit"] == "currencyGBP", panel["title"]
            assert shown["decimals"] >= 2, panel["title"]


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


def test_each_dashboard_leads_to_the_others_with_the_time_and_the_choice_made(board: dict[str, Any]) -> None:
    [others] = [link for link in board["links"] if link["type"] == "dashboards"]
    assert (others["keepTime"], others["includeVars"]) == (True, True)
    assert all(set(others["tags"]) <= set(one["tags"]) for one in BOARDS.values())
    assert len({one["uid"] for one in BOARDS.values()}) == len(BOARDS) == 6


def test_links_lead_to_the_services_by_addresses_that_nobody_can_change_in_the_browser(board: dict[str, Any]) -> None:
    urls = {link["url"] for link in board["links"] if link["type"] == "link"}
    assert urls == {"${exporter_url}/", "${recommender_url}/", "${recommender_url}/report"}
    for url in urls:
        variable = variables(board)[url.removeprefix("${").split("}")[0]]
        assert variable["type"] == "constant"
        assert re.fullmatch(r"http://127\.0\.0\.1:1021[01]", variable["query"])


def test_addresses_of_the_services_are_given_when_dashboards_are_written(tmp_path: Path) -> None:
    given = ["--out", str(tmp_path), "--recommender-url", "https://advice.example.org/", "--exporter-url", "http://e:1"]
    assert build.main(given) == 0
    for path in tmp_path.glob("*.json"):
        found = variables(json.loads(path.read_text(encoding="utf-8")))
        assert found["recommender_url"]["query"] == "https://advice.example.org"
        assert found["exporter_url"]["query"] == "http://e:1"


def test_an_address_that_no_browser_opens_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        build.main(["--out", str(tmp_path), "--recommender-url", "javascript:alert(1)"])
    assert ended.value.code == 2
    assert "does not begin with http" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_documents_that_a_panel_names_exist(board: dict[str, Any]) -> None:
    words = " ".join(str(panel.get(key, "")) for panel in board["panels"] for key in ("description", "options"))
    named = set(re.findall(r"docs/[\w/-]+\.md", words))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_query_reads_metrics_that_the_services_have(query: Query) -> None:
    known = {metric.name for metric in (*CATALOGUE, *recommender_metrics())}
    read = set(re.findall(r"\btuppence_\w+", query.expression))
    assert read
    assert read <= known


@pytest.mark.parametrize("query", queries(), ids=str)
def test_every_variable_that_a_query_uses_exists_and_is_matched_as_a_pattern(query: Query) -> None:
    used = set(re.findall(r"\$(\w+)", query.expression)) - {"__rate_interval"}
    known = variables(BOARDS[query.dashboard])
    assert used <= known.keys()
    for name in used:
        assert known[name]["multi"]
        assert f'=~"${name}"' in query.expression
