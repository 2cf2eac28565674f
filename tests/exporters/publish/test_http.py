"""The exporter's address space, over a real socket."""

from __future__ import annotations

import http.client
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporters.core.clock import FixedClock
from exporters.core.errors import SettingsError, StoreError
from exporters.core.web.serving import serving
from exporters.fetch.stated import StatedCommitment, commitments_of
from exporters.publish.health import Health
from exporters.publish.http import Exporter, create_app
from exporters.publish.published import PublishedPrices
from exporters.store.costs import read_costs
from exporters.store.read import current_prices
from exporters.store.shelf import Shelf, open_readable, open_shelf
from exporters.store.standing import read_standing
from exporters.store.standing_write import write_statement
from exporters.store.write import write_snapshot
from tests.builders import NOON, fx_table, offer, snapshot
from tests.exporters.focus_exports import days_of_september, importer, write_csv
from tests.exporters.publish.sample import prices
from tests.servers.prometheus import program, promtool

OPENMETRICS = {"accept": "application/openmetrics-text; version=1.0.0"}


@dataclass
class Running:
    """A served exporter and its parts."""

    url: str
    published: PublishedPrices
    health: Health
    shelf: Shelf
    reloads: list[str] = field(default_factory=list)
    reload_error: SettingsError | None = None

    def reload(self) -> None:
        self.reloads.append("asked")
        if self.reload_error is not None:
            raise self.reload_error

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return httpx2.get(f"{self.url}{path}", headers={"accept-encoding": "identity"} | headers)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An exporter that serves the sample and has one snapshot on its shelf."""
    yield from _running(tmp_path_factory.mktemp("ready"), publish=True)


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Running]:
    """An exporter that has no prices yet."""
    yield from _running(tmp_path, publish=False)


def _running(folder: Path, *, publish: bool) -> Iterator[Running]:
    clock = FixedClock(NOON)
    health = Health(clock)
    running = Running(url="", published=PublishedPrices(health), health=health, shelf=open_shelf(str(folder)))
    if publish:
        running.published.publish(prices())
        write_snapshot(running.shelf, snapshot(offers=offer()))
        write_snapshot(running.shelf, snapshot("fx", fx=fx_table()))
    app = create_app(
        Exporter(
            published=running.published,
            health=health,
            shelf=running.shelf,
            clock=clock,
            reload=running.reload,
            settings_text=lambda: "exporter_web:\n  port: 10210\n",
        )
    )
    with serving(app) as address:
        running.url = address.url
        yield running


def names(families: Any) -> set[str]:
    """The names of all samples that a parser read."""
    return {sample.name for family in families for sample in family.samples}


def test_a_scrape_returns_prices_and_health_in_the_text_format(ready: Running) -> None:
    answer = ready.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert int(answer.headers["content-length"]) == len(answer.content)
    found = names(parse_text(answer.text))
    assert {"tuppence_price_gbp_per_vcpu_hour", "tuppence_build_info", "process_resident_memory_bytes"} <= found


def test_a_scrape_in_openmetrics_ends_with_one_eof(ready: Running) -> None:
    answer = ready.get("/metrics", **OPENMETRICS)
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer.text.count("# EOF") == 1
    assert answer.text.endswith("# EOF\n")
    assert {"tuppence_price_gbp_per_vcpu_hour", "tuppence_build_info"} <= names(parse_openmetrics(answer.text))


def test_caches_are_told_that_the_answer_depends_on_what_was_accepted(ready: Running) -> None:
    assert ready.get("/metrics").headers["vary"] == "accept, accept-encoding"


@pytest.mark.parametrize("headers", [{}, OPENMETRICS], ids=["text", "openmetrics"])
def test_a_gzipped_scrape_holds_the_same_prices(ready: Running, headers: dict[str, str]) -> None:
    plain = ready.get("/metrics", **headers)
    zipped = ready.get("/metrics", **headers | {"accept-encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert int(zipped.headers["content-length"]) < len(plain.content) / 2

    def of_prices(text: str) -> list[str]:
        return [line for line in text.splitlines() if "_gbp_per_" in line]

    assert of_prices(zipped.text) == of_prices(plain.text) != []


def test_curl_reads_the_gzipped_scrape_to_its_end(ready: Running) -> None:
    said = subprocess.run(
        [
            *(program("curl"), "--silent", "--show-error", "--compressed"),
            *("-H", f"accept: {OPENMETRICS['accept']}", f"{ready.url}/metrics"),
        ],
        capture_output=True,
        check=True,
        timeout=20,
    )
    assert said.stdout.endswith(b"# EOF\n")


def test_promtool_finds_nothing_to_say_about_a_whole_scrape(ready: Running) -> None:
    verdict = promtool("check", "metrics", stdin=ready.get("/metrics").content)
    assert (verdict.returncode, verdict.stderr) == (0, b"")


def test_a_head_request_says_how_long_the_answer_would_be_and_sends_none(ready: Running) -> None:
    answer = httpx2.head(f"{ready.url}/metrics", headers={"accept-encoding": "identity"})
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) > 1000
    assert answer.content == b""


def test_scrapes_over_one_connection_follow_one_another(ready: Running) -> None:
    with httpx2.Client(base_url=ready.url) as session:
        assert [session.get("/metrics").status_code for _ in range(3)] == [200, 200, 200]


def test_before_the_first_prices_the_exporter_is_healthy_but_not_ready(starting: Running) -> None:
    assert starting.get("/-/healthy").status_code == 200
    assert starting.get("/-/ready").status_code == 503
    assert "first refresh" in starting.get("/-/ready").text
    starting.published.publish(prices())
    assert starting.get("/-/ready").status_code == 200


def test_before_the_first_prices_a_scrape_returns_the_health_metrics(starting: Running) -> None:
    answer = starting.get("/metrics", **OPENMETRICS)
    found = names(parse_openmetrics(answer.text))
    assert "tuppence_build_info" in found
    assert "tuppence_price_gbp_per_vcpu_hour" not in found


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_reload_is_asked_for_by_post_or_put(starting: Running, method: str) -> None:
    assert httpx2.request(method, f"{starting.url}/-/reload").status_code == 200
    assert starting.reloads == ["asked"]


def test_a_reload_is_not_a_get(starting: Running) -> None:
    assert starting.get("/-/reload").status_code == 405
    assert starting.reloads == []


def test_a_reload_of_wrong_settings_says_what_is_wrong(starting: Running) -> None:
    starting.reload_error = SettingsError("this key is not known", where="tuppence.yaml", next_step="Mend it.")
    answer = httpx2.post(f"{starting.url}/-/reload")
    assert answer.status_code == 500
    assert answer.text == "tuppence.yaml: this key is not known. Mend it.\n"


def test_another_machine_reads_the_same_prices_through_the_exporter(ready: Running) -> None:
    there = current_prices(open_readable(f"{ready.url}/snapshots"), now=NOON)
    here = current_prices(ready.shelf, now=NOON)
    assert there.offers.equals(here.offers)
    assert there.offers.height == 1
    assert there.used == here.used


def test_keys_can_be_asked_for_by_source(ready: Running) -> None:
    keys = ready.get("/snapshots/?prefix=fx").json()["keys"]
    assert [key.split("/")[0] for key in keys] == ["fx"] * 6


def test_another_machine_reads_the_same_costs_and_statements_through_the_exporter(
    ready: Running, tmp_path: Path
) -> None:
    one = importer(tmp_path)
    one.run([str(write_csv(tmp_path / "export.csv", days_of_september(1, 3)))])
    plan = {"id": "sp-1", "provider": "aws", "kind": "savings-plan", "unit": "money", "quantity": 2.0}
    term = {"starts_at": "2026-01-01", "ends_at": "2027-01-01"}
    frames = {"commitments": commitments_of([StatedCommitment.model_validate(plan | term)])}
    write_statement(one.shelf, "settings", frames, now=NOON)
    for key in one.shelf.keys(""):
        ready.shelf.put(key, one.shelf.get(key))
    there = open_readable(f"{ready.url}/snapshots")
    assert read_costs(there).days.equals(read_costs(one.shelf).days)
    assert read_costs(there).days.height == 3
    assert read_standing(there).commitments["commitment_id"].to_list() == ["sp-1"]
    ready.shelf.put("costs/2024-09/20241005T120000.000000Z/secret", b"for nobody")
    assert ready.get("/snapshots/costs/2024-09/20241005T120000.000000Z/secret").status_code == 404


def test_a_snapshot_without_its_manifest_is_not_shown(ready: Running) -> None:
    key = "aws/20261201T120000.000000Z/offers.parquet"
    ready.shelf.put(key, b"half a snapshot")
    assert key not in ready.get("/snapshots/").json()["keys"]
    assert ready.get(f"/snapshots/{key}").status_code == 404
    ready.shelf.delete(key)


@pytest.mark.parametrize(
    "path",
    [
        "/snapshots/../secret",
        "/snapshots/..%2f..%2fsecret",
        "/snapshots/%2e%2e/secret",
        "/snapshots//etc/passwd",
        "/snapshots/aws/../../secret",
        "/snapshots/aws/20261130T120000.000000Z/../../../secret",
        "/snapshots/aws/20261130T120000.000000Z/secret",
    ],
)
def test_nothing_but_snapshot_files_can_be_read(ready: Running, path: str) -> None:
    ready.shelf.put("secret", b"for nobody")
    connection = http.client.HTTPConnection(ready.url.removeprefix("http://"))
    connection.request("GET", path)  # a client that does not tidy paths up
    answer = connection.getresponse()
    assert answer.status == 404
    assert b"for nobody" not in answer.read()
    connection.close()


@pytest.mark.parametrize("prefix", ["..", "../..", "/etc", "secret", "%00"])
def test_a_prefix_outside_of_the_snapshots_lists_nothing(ready: Running, prefix: str) -> None:
    ready.shelf.put("secret", b"for nobody")
    assert ready.get(f"/snapshots/?prefix={prefix}").json() == {"keys": []}


def test_the_settings_in_use_are_shown_as_text(ready: Running) -> None:
    answer = ready.get("/config")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "port: 10210" in answer.text


def test_the_status_page_is_served_with_a_strict_policy_and_its_style(ready: Running) -> None:
    answer = ready.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")
    assert "onprem" in answer.text
    assert ready.get("/tuppence.css").headers["content-type"].startswith("text/css")


def test_an_unknown_path_is_a_small_404(ready: Running) -> None:
    answer = ready.get("/nowhere")
    assert answer.status_code == 404
    assert len(answer.content) < 100


class Unplugged:
    """A shelf behind a network that is down."""

    def keys(self, prefix: str) -> list[str]:
        raise StoreError("it cannot be listed (timed out)", where="s3://prices", next_step="Check the network.")

    def get(self, key: str) -> bytes:
        raise StoreError("it cannot be read (timed out)", where="s3://prices", next_step="Check the network.")


def test_a_shelf_that_cannot_be_read_is_explained() -> None:
    health, clock = Health(), FixedClock(NOON)
    app = create_app(
        Exporter(published=PublishedPrices(health), health=health, shelf=Unplugged(), clock=clock, reload=list)
    )
    with serving(app) as address:
        answer = httpx2.get(f"{address.url}/snapshots/")
    assert answer.status_code == 500
    assert answer.json() == {"error": "s3://prices: it cannot be listed (timed out). Check the network."}
