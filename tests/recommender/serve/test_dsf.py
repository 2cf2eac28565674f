"""The scorer on a real port, driven by an agent that is written from the contract; each trap is a test.

The agent does what pkg/dynamic_scoring_agent does: it posts `{"data": […]}` or `{"data": null}`, decodes the answer as
Go does (string labels, finite numbers, the whole answer or nothing), truncates to an int32 and refuses a value outside
of −100..100 as the API server would.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.web.serving import serving
from recommender.emit.dsf import score_name
from recommender.emit_settings import DsfSettings
from recommender.serve.app import Recommender, create_app
from recommender.serve.dsf import Scorer
from recommender.serve.last_plan import LastPlan
from recommender.settings import ForecastSettings
from tests.builders import NOON

TOKEN = "of-the-agents"
Point = list[Any]


@dataclass(slots=True)
class Agent:
    """An agent, and the settings that the scorer goes by."""

    client: httpx2.Client
    dsf: DsfSettings
    token: str = TOKEN

    def config(self) -> dict[str, Any]:
        answer = self.client.get(f"/dsf/{score_name(self.dsf)}/config")
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return found

    def post(self, body: bytes) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        return self.client.post(self.config()["scoring"]["path"], content=body, headers=headers)

    def scores(self, *series: dict[str, Any] | None) -> dict[str, int]:
        """What an AddOnPlacementScore would hold after one interval: value by rendered dimension."""
        data = None if series == (None,) else list(series)
        answer = self.post(json.dumps({"data": data}).encode())
        assert answer.status_code == 200
        # encoding/json knows no NaN and no Infinity: one of them loses the whole answer.
        document = json.loads(answer.content, parse_constant=pytest.fail)
        found: dict[str, int] = {}
        for one in document["results"]:
            assert all(isinstance(value, str) for value in one["metric"].values())
            assert math.isfinite(one["score"])
            value = int(one["score"])
            assert value == one["score"], "the agent would cut it off"
            assert -100 <= value <= 100, "the API server would refuse the whole status"
            dimension = self.config()["name"]
            assert dimension not in found, "two results of one dimension: one of them is lost"
            found[dimension] = value
        return found


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("dsf") / "token"
    file.write_text(TOKEN + "\n")
    return file


@pytest.fixture(scope="module")
def agent(token_file: Path) -> Iterator[Agent]:
    dsf = DsfSettings(token_file=token_file, max_body_mib=2)
    recommender = Recommender(
        last=LastPlan(),
        clock=FixedClock(NOON),
        reload=lambda: None,
        scorer=lambda: Scorer(dsf, ForecastSettings()),
    )
    with serving(create_app(recommender)) as address, httpx2.Client(base_url=address.url, timeout=30) as client:
        yield Agent(client, dsf)


def points(share: float = 0.6, *, hours: float = 72, step: int = 300, until: timedelta = timedelta(0)) -> list[Point]:
    """Samples as Prometheus writes them: seconds, and text."""
    last = int((NOON - until).timestamp()) // step * step
    return [[last - step * back, f"{share:g}"] for back in reversed(range(int(hours * 3600 / step)))]


def series(values: list[Point], **labels: Any) -> dict[str, Any]:
    return {"metric": labels or {"resource": "cpu"}, "values": values}


def test_health_and_configuration_need_no_token_because_the_hub_sends_none(agent: Agent) -> None:
    assert agent.client.get("/healthz").status_code == 200
    assert agent.config()["name"] == score_name(agent.dsf)


def test_the_configuration_names_prometheus_exactly_and_no_host_to_score_at(agent: Agent) -> None:
    # "prometheus" would mean no query at all; a host would be replaced by that of the source.
    config = agent.config()
    assert config["source"]["type"] == "Prometheus"
    assert "host" not in config["scoring"]
    assert config["scoring"]["params"] == {"name": config["name"], "interval": 300}


def test_the_query_stays_whole_where_agents_split_it_and_within_what_prometheus_answers(agent: Agent) -> None:
    asked = agent.config()["source"]["params"]
    assert asked["query"].split(";") == list(agent.dsf.queries)
    assert asked["range"] / asked["step"] <= 11_000
    with pytest.raises(ValueError, match="';'"):
        DsfSettings(queries=('up{job="a;b"}',))
    with pytest.raises(ValueError, match="11,000"):
        DsfSettings(range_hours=744, step_seconds=60)


def test_the_name_changes_with_the_query_because_a_running_agent_keeps_the_old_one(agent: Agent) -> None:
    changed = agent.dsf.model_copy(update={"queries": ("share",)})
    assert score_name(changed) != score_name(agent.dsf)
    answer = agent.client.get(f"/dsf/{score_name(changed)}/config")
    assert answer.status_code == 404
    assert score_name(agent.dsf) in answer.json()["error"]


def test_a_steady_share_of_sixty_per_cent_leaves_forty_points(agent: Agent) -> None:
    assert agent.scores(series(points(0.6))) == {score_name(agent.dsf): 40}


def test_the_scarcest_of_several_series_decides_and_there_is_one_result(agent: Agent) -> None:
    both = series(points(0.6)), series(points(0.9), resource="memory")
    assert agent.scores(*both) == {score_name(agent.dsf): 10}


def test_more_requested_than_there_is_leaves_one_point_and_nothing_requested_all(agent: Agent) -> None:
    assert agent.scores(series(points(1.4))) == {score_name(agent.dsf): 1}
    assert agent.scores(series(points(0.0))) == {score_name(agent.dsf): 100}


def test_no_data_is_no_score_and_no_error(agent: Agent) -> None:
    assert agent.scores(None) == {}
    assert agent.scores() == {}
    assert agent.scores(series([])) == {}
    assert agent.post(b"{}").json() == {"results": []}


@pytest.mark.parametrize("odd", ["NaN", "+Inf", "-Inf", "-0.5"])
def test_a_value_that_is_no_share_leaves_the_cluster_without_a_score_and_never_comes_back(
    agent: Agent, odd: str
) -> None:
    values = points(0.6)
    values[100][1] = odd
    assert agent.scores(series(values)) == {}
    # What is free of the others is not the cluster's headroom.
    assert agent.scores(series(points(0.1), resource="memory"), series(values)) == {}


def test_a_short_gap_is_bridged_and_a_long_one_at_the_end_is_not(agent: Agent) -> None:
    values = points(0.6)
    assert agent.scores(series(values[:200] + values[202:])) == {score_name(agent.dsf): 40}
    assert agent.scores(series(points(0.6, until=timedelta(hours=2)))) == {}


def test_too_little_history_is_no_score(agent: Agent) -> None:
    assert agent.scores(series(points(0.6, hours=5))) == {}


def test_a_window_as_long_as_prometheus_answers_is_scored_within_the_agents_patience(agent: Agent) -> None:
    values = points(0.6, hours=11_000 / 12)
    assert len(values) == 11_000
    assert agent.scores(series(values)) == {score_name(agent.dsf): 40}


def test_a_sample_that_comes_twice_counts_once(agent: Agent) -> None:
    values = points(0.6)
    assert agent.scores(series(values + values[-3:])) == {score_name(agent.dsf): 40}


def test_labels_of_any_sort_come_back_as_text_only(agent: Agent) -> None:
    odd = series(points(0.6), resource=7, namespace="n", nested={"a": 1})
    assert agent.scores(odd) == {score_name(agent.dsf): 40}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"data": 7}',
        b'{"data": [{"values": [[1, 2]]}]}',
        b'{"data": [{"values": [["x", "1"]]}]}',
        b'{"data": [{"values": [[1e300, "1"]]}]}',
        b'{"data": [{"values": [[NaN, "1"]]}]}',
        b'{"data": [{"values": [[1, "one"]]}]}',
        b"\xff\xfe",
    ],
)
def test_what_no_agent_sends_is_refused_with_the_place_and_breaks_nothing(agent: Agent, body: bytes) -> None:
    answer = agent.post(body)
    assert answer.status_code == 400
    assert "not that of an agent" in answer.json()["error"]
    assert agent.client.get("/healthz").status_code == 200


def test_more_series_than_a_cluster_has_resources_are_refused(agent: Agent) -> None:
    body = json.dumps({"data": [series(points(0.6, hours=0.5))] * 33}).encode()
    assert agent.post(body).status_code == 400


def test_a_body_beyond_the_limit_is_not_read_to_its_end(agent: Agent) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * 65_536

    path = agent.config()["scoring"]["path"]
    answer = agent.client.post(path, content=endless(), headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 413


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_a_missing_or_wrong_token_is_refused(agent: Agent, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    answer = agent.client.post(agent.config()["scoring"]["path"], content=b'{"data":null}', headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_is_read_anew_so_that_it_can_be_changed_and_a_lost_file_is_no_open_door(
    agent: Agent, token_file: Path
) -> None:
    body = b'{"data":null}'
    try:
        token_file.write_text("another")
        assert agent.post(body).status_code == 401
        token_file.write_text("")
        assert agent.post(body).status_code == 503
    finally:
        token_file.write_text(TOKEN)
    assert agent.post(body).status_code == 200


def test_nothing_is_served_until_a_token_file_is_set() -> None:
    app = create_app(
        Recommender(
            last=LastPlan(),
            clock=FixedClock(NOON),
            reload=lambda: None,
            scorer=lambda: Scorer(DsfSettings(), ForecastSettings()),
        )
    )
    name = score_name(DsfSettings())
    with serving(app) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        for path in ("/healthz", f"/dsf/{name}/config"):
            assert client.get(path).status_code == 404
        assert client.post(f"/dsf/{name}/score", content=b'{"data":null}').status_code == 404
