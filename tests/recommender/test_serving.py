"""The recommender as a service: a plan soon after the start, kept through failures and wrong settings."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.config_file import read_document, validate
from exporters.core.errors import SettingsError, SourceError
from exporters.core.sections import ALL_SECTIONS
from exporters.core.web.serving import serving
from recommender.serve.app import create_app
from recommender.serving import RecommenderService
from recommender.settings import RecommenderSettings
from tests.builders import NOON
from tests.servers.prometheus import wait_until


@pytest.fixture
def settings(company: Path) -> RecommenderSettings:
    return validate(read_document(company, {}), RecommenderSettings, known=ALL_SECTIONS)


@contextmanager
def running(
    settings: RecommenderSettings, load: Callable[[], RecommenderSettings] | None = None
) -> Iterator[tuple[RecommenderService, httpx2.Client]]:
    """The service on a free port, its clock standing at noon, so that its job never runs by itself; see evaluate."""
    service = RecommenderService(settings, load=load or (lambda: settings), clock=FixedClock(NOON))
    with serving(create_app(service.app())) as address, httpx2.Client(base_url=address.url, timeout=10) as client:
        yield service, client


def test_a_plan_is_served_soon_after_the_start(settings: RecommenderSettings) -> None:
    service = RecommenderService(settings, load=lambda: settings)
    app = service.app()
    service.start()
    try:
        wait_until(lambda: app.last.state.succeeded is not None, seconds=30, otherwise=lambda: "no evaluation ended")
        assert app.next_run() is not None
    finally:
        service.stop()


def test_an_evaluation_gives_a_plan_and_a_failure_keeps_it(
    settings: RecommenderSettings, company: Path, tmp_path: Path
) -> None:
    usage = tmp_path / "usage.parquet"
    shutil.copy(company.with_name("usage.parquet"), usage)
    document = settings.model_dump(mode="json") | {"usage": {"file": {"path": str(usage)}}}
    with running(RecommenderSettings.model_validate(document)) as (service, client):
        service.evaluate()
        plan = client.get("/api/v1/plan").json()
        assert plan["recommendations"]
        usage.write_bytes(b"half a file")
        service.evaluate()
        assert client.get("/api/v1/plan").json() == plan
        assert "this is not a whole parquet file" in client.get("/").text
        assert "tuppence_recommender_evaluation_success 0.0" in client.get("/metrics").text


def test_the_demonstration_has_scores_of_every_cluster_among_its_metrics(settings: RecommenderSettings) -> None:
    with running(settings) as (service, client):
        assert "tuppence_placement_score{" not in client.get("/metrics").text
        service.evaluate()
        text = client.get("/metrics").text
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("recommender.serving.all_scores", _refuse)
            assert service.evaluate(), "the plan stands"
            assert "tuppence_placement_score{" in client.get("/metrics").text, "scores last to their end"
    pattern = r'^tuppence_placement_score\{cluster="([^"]+)",score="([^"]+)"\} (\S+)$'
    samples = re.findall(pattern, text, re.MULTILINE)
    names = {score for _, score, _ in samples}
    assert {(cluster, score) for cluster, score, _ in samples} == {
        (one.name, score) for one in settings.clusters for score in names
    }
    assert {"headroom-1h", "cost-general-any"} <= names
    assert all(-100 <= float(value) <= 100 for _, _, value in samples)


def _refuse(*_: object, **__: object) -> None:
    raise SourceError("no answer", where="prometheus", next_step="Wait.")


def test_an_error_nobody_foresaw_is_noted_too(settings: RecommenderSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("recommender.serving.recorded", fail)
    with running(settings) as (service, client):
        service.evaluate()
        assert "a mistake of ours" in client.get("/").text
        assert client.get("/-/ready").status_code == 503


def test_wrong_settings_at_a_reload_change_nothing_and_show(settings: RecommenderSettings) -> None:
    def broken() -> RecommenderSettings:
        raise SettingsError("line 3: colour: this key is not known", where="tuppence.yaml", next_step="Mend it.")

    with running(settings, load=broken) as (_service, client):
        answer = client.post("/-/reload")
        assert (answer.status_code, "line 3" in answer.text) == (500, True)
        assert "tuppence_recommender_config_last_reload_successful 0.0" in client.get("/metrics").text
        assert "The settings on disk are wrong" in client.get("/").text


def test_a_reload_evaluates_by_the_new_settings(settings: RecommenderSettings) -> None:
    empty = RecommenderSettings()
    with running(settings, load=lambda: empty) as (service, client):
        service.evaluate()
        assert client.post("/-/reload").status_code == 200
        try:
            wait_until(
                lambda: "the fleet has no cluster" in client.get("/").text,
                seconds=20,
                otherwise=lambda: client.get("/").text,
            )
        finally:
            service.stop()


def test_the_command_serves_until_it_is_told_to_stop(company: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "tuppence", "serve", "--config", str(company), "--port", "0"]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            found = wait_until(
                lambda: re.search(r"Serving recommendations at (http://\S+)/;", log.read_text("utf-8")),
                seconds=60,
                otherwise=lambda: log.read_text("utf-8"),
            )
            ready = f"{found.group(1)}/-/ready"
            wait_until(
                lambda: httpx2.get(ready, timeout=5).status_code == 200,
                seconds=30,
                otherwise=lambda: log.read_text("utf-8"),
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
