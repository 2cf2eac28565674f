"""The query client: whole answers or errors that name the query."""

from __future__ import annotations

import base64
import json
import math
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import bcrypt
import httpx2
import polars as pl
import pytest
import trustme
import yaml

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from recommender.observe.prometheus import Prometheus, Query, Stored
from recommender.settings import PrometheusSettings
from tests.fakes.prometheus import Answer, FakePrometheus, fake_prometheus, vector
from tests.recommender.observe.recorded import lay_blocks
from tests.servers.prometheus import PrometheusServer, running_prometheus

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
UP = Query("liveness", "up")
DAY_BEFORE = NOW - timedelta(days=1)


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


@pytest.fixture(scope="module")
def real() -> Iterator[PrometheusServer]:
    with running_prometheus({}) as server:
        yield server


def ask(url: str, query: Query = UP, **settings: Any) -> list[dict[str, Any]]:
    with Prometheus(PrometheusSettings(url=url, **settings)) as server:
        return server.instant(query, at=NOW, labels=("job",)).to_dicts()


def test_labels_become_columns_and_a_missing_one_is_empty(fake: FakePrometheus):
    fake.answers = [Answer(vector("1.5", instance="a"))]
    assert ask(fake.url) == [{"job": "", "value": 1.5}]


def test_a_real_server_answers_an_instant_query(real: PrometheusServer):
    with Prometheus(PrometheusSettings(url=real.url)) as server:
        assert server.instant(Query("one", "vector(1)"), at=NOW, labels=()).to_dicts() == [{"value": 1.0}]


def test_stored_samples_come_once_with_their_own_time_and_without_the_one_at_the_start():
    hours = [DAY_BEFORE + timedelta(hours=hour, seconds=0.25) for hour in range(3)]
    text = "".join(
        f'seen{{job="{job}"}} {number}.5 {moment.timestamp()}\n'
        for job in "ab"
        for number, moment in enumerate([DAY_BEFORE, *hours, NOW])
    )
    ever = ("--storage.tsdb.retention.time=20y",)
    fill = partial(lay_blocks, f"# TYPE seen gauge\n{text}# EOF\n")
    with (
        running_prometheus({}, fill=fill, flags=ever) as running,
        Prometheus(PrometheusSettings(url=running.url)) as server,
    ):
        found = server.stored("seen", start=DAY_BEFORE, end=NOW, labels=("job", "zone"), expected_points=8)
    assert found.labels.sort("job").drop("series").rows() == [("a", ""), ("b", "")]
    of_a = found.labels.filter(pl.col("job") == "a")["series"].item()
    points = found.points.filter(pl.col("series") == of_a)
    assert points["timestamp"].to_list() == [*hours, NOW]
    assert points["value"].to_list() == [1.5, 2.5, 3.5, 4.5]


def test_a_real_server_refuses_a_wrong_query_by_name(real: PrometheusServer):
    with pytest.raises(TerminalSourceError, match=r"the query 'typo' failed: the server answered 400.*parse error"):
        ask(real.url, Query("typo", "sum(("))


def test_a_real_server_refuses_a_join_that_is_ambiguous(real: PrometheusServer):
    left = 'label_replace(vector(1), "a", "1", "", "") or label_replace(vector(1), "a", "2", "", "")'
    with pytest.raises(TerminalSourceError, match=r"the query 'join' failed: the server answered 422"):
        ask(real.url, Query("join", f"({left}) * on (b) ({left})"))


def test_an_error_status_is_an_error(fake: FakePrometheus):
    fake.answers = [Answer(json.dumps({"status": "error", "errorType": "execution", "error": "too many samples"}))]
    with pytest.raises(TerminalSourceError, match="the query 'liveness' was refused: execution: too many samples"):
        ask(fake.url)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [("<html>Sign in</html>", "text/html"), ("", "text/plain"), ('{"status"', "application/json"), ("[]", "x/y")],
)
def test_an_answer_that_is_not_the_api_s_is_an_error(fake: FakePrometheus, body: str, content_type: str):
    fake.answers = [Answer(body, content_type=content_type)]
    with pytest.raises(TerminalSourceError, match=f"query 'liveness' got an answer that is not .*{content_type}"):
        ask(fake.url)


def test_another_kind_of_result_is_an_error(fake: FakePrometheus):
    fake.answers = [Answer(json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [0, "1"]}}))]
    with pytest.raises(TerminalSourceError, match="got a 'scalar' where a vector was expected"):
        ask(fake.url)


def test_a_partial_answer_is_an_error_and_not_a_smaller_result(fake: FakePrometheus):
    body = json.loads(vector("1")) | {"warnings": ["store eks-eu-west-2 did not answer"]}
    fake.answers = [Answer(json.dumps(body))]
    with pytest.raises(IntegrityError, match="'liveness' may be incomplete: store eks-eu-west-2 did not answer"):
        ask(fake.url)


def test_an_answer_that_a_victoria_metrics_cluster_calls_partial_is_an_error(fake: FakePrometheus):
    fake.answers = [Answer(json.dumps(json.loads(vector("1")) | {"isPartial": True}))]
    with pytest.raises(IntegrityError, match="'liveness' may be incomplete: isPartial"):
        ask(fake.url)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_values_that_are_not_finite_are_an_error(fake: FakePrometheus, value: str):
    fake.answers = [Answer(vector(value, job="a"))]
    with pytest.raises(IntegrityError, match="the query 'liveness' gave 1 values that are not finite numbers"):
        ask(fake.url)


def test_a_throttled_query_is_asked_again(fake: FakePrometheus):
    fake.answers = [Answer(status=429, headers={"retry-after": "0"}), Answer(vector("1", job="a"))]
    assert ask(fake.url) == [{"job": "a", "value": 1.0}]
    assert len(fake.asked) == 2


def test_an_answer_cut_off_again_and_again_is_an_error(fake: FakePrometheus):
    fake.answers = [Answer(vector("1", job="a"), cut_to=20)]
    with pytest.raises(TransientSourceError, match="the query 'liveness' failed: the connection failed"):
        ask(fake.url)
    assert len(fake.asked) == 3


def test_a_server_that_never_answers_is_given_up(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("recommender.observe.prometheus.ANSWER_SECONDS", 0.05)
    fake.answers = [Answer(after_seconds=1)]
    with pytest.raises(TransientSourceError, match=r"the query 'liveness' failed: the connection failed .*Timeout"):
        ask(fake.url, timeout_seconds=0.05)


def test_a_server_that_is_not_there_is_an_error():
    with fake_prometheus() as gone:
        url = gone.url
    with pytest.raises(TransientSourceError, match="the query 'liveness' failed"):
        ask(url)


def test_bearer_token_tenant_and_thanos_go_along(fake: FakePrometheus, tmp_path: Path):
    (tmp_path / "token").write_text("s3cret\n")
    ask(fake.url, bearer_token_file=tmp_path / "token", tenant="team-a|team-b", thanos=True)
    assert fake.headers[0]["authorization"] == "Bearer s3cret"
    assert fake.headers[0]["x-scope-orgid"] == "team-a|team-b"
    assert (fake.asked[0]["partial_response"], fake.asked[0]["timeout"]) == ("false", "60s")
    assert fake.asked[0]["max_source_resolution"] == "0s"


def test_basic_auth_goes_along(fake: FakePrometheus, tmp_path: Path):
    (tmp_path / "password").write_text("pa:ss")
    ask(fake.url, username="reader", password_file=tmp_path / "password")
    assert base64.b64decode(fake.headers[0]["authorization"].removeprefix("Basic ")) == b"reader:pa:ss"


def test_a_real_server_behind_tls_and_basic_auth_is_asked(tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued = authority.issue_cert("127.0.0.1")
    hashed = bcrypt.hashpw("pa:ss £".encode(), bcrypt.gensalt(4)).decode()
    web = {
        "tls_server_config": {"cert_file": "server.pem", "key_file": "server.key"},
        "basic_auth_users": {"reader": hashed},
    }
    files = {
        "web.yaml": yaml.safe_dump(web),
        "server.pem": issued.cert_chain_pems[0].bytes().decode(),
        "server.key": issued.private_key_pem.bytes().decode(),
    }
    (tmp_path / "right").write_text("pa:ss £\n", encoding="utf-8")
    (tmp_path / "wrong").write_text("guess", encoding="utf-8")
    flags = ("--web.config.file=web.yaml",)
    with (
        client_of(tmp_path / "ca.pem") as client,
        running_prometheus({}, files=files, flags=flags, client=client) as server,
    ):
        known = {"username": "reader", "password_file": tmp_path / "right", "ca_file": tmp_path / "ca.pem"}
        assert ask(server.url, Query("one", "vector(1)"), **known) == [{"job": "", "value": 1.0}]
        with pytest.raises(TerminalSourceError, match=r"the query 'liveness' failed: the server answered 401"):
            ask(server.url, **(known | {"password_file": tmp_path / "wrong"}))
        with pytest.raises(TransientSourceError, match=r"CERTIFICATE_VERIFY_FAILED"):
            ask(server.url, **(known | {"ca_file": None}))


def client_of(ca_file: Path) -> httpx2.Client:
    context = ssl.create_default_context(cafile=str(ca_file))
    return httpx2.Client(verify=context, auth=("reader", "pa:ss £"), timeout=2)


def test_credentials_never_travel_in_the_clear(tmp_path: Path):
    (tmp_path / "token").write_text("s3cret")
    with pytest.raises(SettingsError, match=r"usage.prometheus.url: .*not an https:// URL"):
        Prometheus(PrometheusSettings(url="http://prometheus:9090", bearer_token_file=tmp_path / "token"))


def test_plain_http_inside_a_cluster_is_allowed_without_credentials():
    with Prometheus(PrometheusSettings(url="http://prometheus.monitoring.svc:9090/")):
        pass


def test_a_url_of_another_scheme_is_refused():
    with pytest.raises(SettingsError, match=r"usage\.prometheus\.url"):
        Prometheus(PrometheusSettings(url="ftp://prometheus"))


def test_a_query_over_the_points_budget_is_not_sent(fake: FakePrometheus):
    with (
        Prometheus(PrometheusSettings(url=fake.url, max_points=1_000)) as server,
        pytest.raises(SettingsError, match=r"the query 'up' would return 1008 points, more than 1000; it was not sent"),
    ):
        server.stored("up", start=DAY_BEFORE, end=NOW, labels=(), expected_points=1_008)
    assert fake.asked == []


def stored_from(answer: Answer, fake: FakePrometheus) -> Stored:
    fake.answers = [answer]
    with Prometheus(PrometheusSettings(url=fake.url)) as server:
        return server.stored("up", start=DAY_BEFORE, end=NOW, labels=("job",), expected_points=2)


def matrix(*values: str, **more: Any) -> Answer:
    series = {"metric": {"job": "a"}, "values": [[NOW.timestamp(), value] for value in values]}
    body = {"status": "success", "data": {"resultType": "matrix", "result": [series]}} | more
    return Answer(json.dumps(body))


def test_stored_values_come_as_they_are_for_others_to_judge(fake: FakePrometheus):
    found = stored_from(matrix("1", "NaN", "+Inf", "-Inf", "-1e-3"), fake).points["value"].to_list()
    assert found[0] == 1
    assert math.isnan(found[1])
    assert found[2:] == [math.inf, -math.inf, -0.001]


def test_a_partial_answer_with_stored_samples_is_an_error(fake: FakePrometheus):
    with pytest.raises(IntegrityError, match="the query 'up' may be incomplete: store eks-eu-west-2 did not answer"):
        stored_from(matrix("1", warnings=["store eks-eu-west-2 did not answer"]), fake)
    with pytest.raises(IntegrityError, match="the query 'up' may be incomplete: isPartial"):
        stored_from(matrix("1", isPartial=True), fake)


@pytest.mark.parametrize("body", ["<html>Sign in</html>", "", '{"status"', "[]", "null", "{}"])
def test_stored_samples_that_are_not_the_api_s_are_an_error(fake: FakePrometheus, body: str):
    with pytest.raises(TerminalSourceError, match=r"query 'up' got an answer that is not .*text/html"):
        stored_from(Answer(body, content_type="text/html"), fake)


def test_stored_samples_of_another_kind_are_an_error(fake: FakePrometheus):
    with pytest.raises(TerminalSourceError, match="the query 'up' got a 'vector' where a matrix was expected"):
        stored_from(Answer(vector("1")), fake)


def test_no_stored_samples_are_no_error(fake: FakePrometheus):
    body = {"status": "success", "data": {"resultType": "matrix", "result": []}}
    found = stored_from(Answer(json.dumps(body)), fake)
    assert found.labels.rows() == []
    assert found.points.rows() == []
