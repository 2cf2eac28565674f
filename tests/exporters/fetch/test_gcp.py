"""Google Cloud's source: the whole catalogue in two currencies, or an error that says what to do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from google.api_core.exceptions import NotFound
from google.auth.exceptions import RefreshError, TransportError

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.fetch import gcp_machines
from exporters.fetch.contract import Fetched, FetchRequest
from exporters.fetch.gcp import SOURCE, GcpSettings, check, fetch
from exporters.fetch.gcp_session import as_source_errors
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.gcp import choose
from tests.fakes.gcp import Failure, GrpcServer, RestServer, sku
from tests.fakes.gcp_skus import catalogue

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HTML = b"<!DOCTYPE html><html><body>Please sign in</body></html>"

Server = RestServer | GrpcServer


@pytest.fixture
def rest() -> Iterator[RestServer]:
    with RestServer(catalogue()) as server:
        yield server


@pytest.fixture(params=["rest", "grpc"])
def either(request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    server: AbstractContextManager[Server] = (
        RestServer(catalogue()) if request.param == "rest" else GrpcServer(catalogue())
    )
    with server as running:
        yield running, request.param


@pytest.fixture
def refresh(tmp_path: Path) -> Callable[..., FetchRequest]:
    def make(seconds: float = 20.0, **more: Any) -> FetchRequest:
        return FetchRequest(now=NOW, scratch=tmp_path, deadline=NOW + timedelta(seconds=seconds), **more)

    return make


def settings(url: str, **more: Any) -> GcpSettings:
    return GcpSettings(
        **{
            "endpoint": url,
            "regions": ("europe-west2", "us-central1"),
            "page_size": 8,
            "retry_wait_seconds": 0.01,
            **more,
        }
    )


def skus(fetched: Fetched) -> pl.DataFrame:
    return fetched.frames["skus"].collect()


def test_every_page_arrives_in_dollars_and_in_pounds_over_rest_and_grpc(either, refresh):
    server, transport = either
    got = skus(fetch(settings(server.url, transport=transport), refresh()))
    assert got["sku_id"].n_unique() == len(catalogue())
    dollar_pages, pound_pages = -(-len(catalogue()) // 8), -(-len(catalogue()) // 7)
    assert [query["currencyCode"] for query in server.pages.asked] == ["USD"] * dollar_pages + ["GBP"] * pound_pages
    a100 = got.row(by_predicate=pl.col("sku_id") == "A100", named=True)
    assert a100["price"] == "2.933908000"
    assert a100["gbp_price"] == "2.347126400"
    assert (a100["currency"], a100["gbp_currency"]) == ("USD", "GBP")
    assert a100["currency_conversion_rate"] == 0.8
    assert a100["service_regions"] == ["us-central1", "us-east1", "us-west1"]
    assert a100["effective_time"] == datetime(2026, 11, 28, 10, 52, 50, 681000, tzinfo=UTC)


def test_from_the_api_to_the_last_digit_of_a_price(either, refresh):
    server, transport = either
    chosen = choose(fetch(settings(server.url, transport=transport), refresh()), Filters())
    on_demand = chosen.prices.filter(pl.col("capacity_type") == "on-demand")
    prices = {(row["region"], row["instance_type"]): row["price_per_hour"] for row in on_demand.to_dicts()}
    assert prices["europe-west2", "n2-standard-4"] == Decimal("0.250248")
    assert prices["us-central1", "a2-highgpu-1g"] == Decimal("3.673385")


def test_every_tier_is_a_row_with_its_start_in_the_unit_of_the_sku(rest, refresh):
    got = skus(fetch(settings(rest.url), refresh())).filter(pl.col("sku_id") == "NET-LON-EMEA")
    assert got.select("tier_start", "price", "usage_unit").rows() == [
        (0.0, "0.000000000", "GiBy"),
        (1.0, "0.120000000", "GiBy"),
        (1024.0, "0.110000000", "GiBy"),
        (10240.0, "0.080000000", "GiBy"),
    ]


def test_a_negative_amount_keeps_its_sign_and_its_whole_units(refresh):
    with RestServer([sku("CREDIT", "A credit", "-1.25")]) as server:
        assert skus(fetch(settings(server.url), refresh()))["price"].to_list() == ["-1.250000000"]


def test_a_sku_without_a_price_stays_with_an_absent_one(refresh):
    with RestServer([sku("N2", "N2 Instance Core running in London")]) as server:
        assert skus(fetch(settings(server.url), refresh()))["price"].to_list() == [None]


def test_a_sku_that_only_the_dollar_list_has_gets_no_pounds(refresh):
    rows = [*[sku(f"S{i}", "Something", "1") for i in range(200)], sku("NEW", "Something new", "1", gbp=False)]
    with RestServer(rows) as server:
        got = skus(fetch(settings(server.url, page_size=500), refresh()))
    assert got.filter(pl.col("gbp_price").is_null())["sku_id"].to_list() == ["NEW"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_second_page_that_fails_once_is_asked_again_and_nothing_is_lost(either, refresh, status):
    server, transport = either
    server.pages.failures[2] = Failure(status)
    got = skus(fetch(settings(server.url, transport=transport), refresh()))
    assert got["sku_id"].n_unique() == len(catalogue())
    assert server.pages.asked[1]["pageToken"] == server.pages.asked[2]["pageToken"] == "8"


def test_throttling_that_never_ends_is_a_transient_error_within_the_deadline(either, refresh):
    server, transport = either
    server.pages.fail_always = Failure(429)
    started = time.monotonic()
    with pytest.raises(TransientSourceError, match="no answer within the retries"):
        fetch(settings(server.url, transport=transport), refresh(seconds=0.5))
    assert time.monotonic() - started < 5
    assert len(server.pages.asked) > 1


def test_the_pause_that_the_server_names_is_waited_for(rest, refresh):
    rest.pages.failures[1] = Failure(429, headers={"Retry-After": "0.4"})
    started = time.monotonic()
    fetch(settings(rest.url), refresh())
    assert time.monotonic() - started >= 0.4


def test_the_pause_in_the_error_details_is_waited_for(either, refresh):
    server, transport = either
    server.pages.failures[1] = Failure(429, retry_seconds=0.4)
    started = time.monotonic()
    fetch(settings(server.url, transport=transport), refresh())
    assert time.monotonic() - started >= 0.4


def test_a_named_pause_longer_than_the_refresh_ends_it_at_once(rest, refresh):
    rest.pages.failures[1] = Failure(429, headers={"Retry-After": "3600"})
    with pytest.raises(TransientSourceError, match="asks to wait 3600 s"):
        fetch(settings(rest.url), refresh(seconds=30))
    assert len(rest.pages.asked) == 1


def test_a_connection_cut_in_the_middle_of_a_page_is_tried_again(rest, refresh):
    rest.pages.failures[2] = Failure(200, b'{"skus": [{"skuId": "HALF"', {"Content-Length": "9999"})
    got = skus(fetch(settings(rest.url), refresh()))
    assert "HALF" not in got["sku_id"]
    assert got["sku_id"].n_unique() == len(catalogue())


def test_connections_that_are_always_cut_are_a_transient_error(rest, refresh):
    rest.pages.fail_always = Failure(200, b'{"skus": [', {"Content-Length": "9999"})
    with pytest.raises(TransientSourceError):
        fetch(settings(rest.url), refresh(seconds=0.5))


def test_a_server_that_hangs_does_not_hold_the_refresh_beyond_its_deadline(rest, refresh):
    rest.pages.fail_always = Failure(200, b"{}", delay_seconds=1.0)
    started = time.monotonic()
    with pytest.raises(TransientSourceError):
        fetch(settings(rest.url), refresh(seconds=0.3))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("body", [HTML, b'{"skus": [{"skuId": "N2-LO', b"\xff\xfe\x00"])
def test_a_page_that_is_not_whole_json_is_an_integrity_error(rest, refresh, body):
    rest.pages.failures[3] = Failure(200, body)
    with pytest.raises(IntegrityError, match="not the API's JSON"):
        fetch(settings(rest.url), refresh())


def test_a_next_page_that_is_lost_in_one_currency_is_an_integrity_error(rest, refresh):
    rest.pages.drop_token_after_page = 2
    with pytest.raises(IntegrityError, match="only one of the USD and GBP listings"):
        fetch(settings(rest.url), refresh())


def test_a_catalogue_that_fills_its_last_page_is_whole_if_both_listings_hold_the_same(refresh):
    with RestServer([sku(f"S{i}", "Something", "1") for i in range(14)]) as server:
        assert skus(fetch(settings(server.url, page_size=7), refresh())).height == 14


@pytest.mark.parametrize("body", [b"{}", b"[]"])
def test_an_empty_answer_in_the_middle_is_not_the_end_of_the_catalogue(rest, refresh, body):
    rest.pages.failures[3] = Failure(200, body)
    with pytest.raises(IntegrityError, match="only one of the USD and GBP listings"):
        fetch(settings(rest.url), refresh())


def test_empty_answers_in_both_currencies_are_an_integrity_error(refresh):
    rows = [sku(f"S{i}", "Something", "1") for i in range(20)]
    with RestServer(rows) as server:
        server.pages.failures.update({2: Failure(200, b"{}"), 4: Failure(200, b"{}")})
        with pytest.raises(IntegrityError, match="stand in only one"):
            fetch(settings(server.url, page_size=8), refresh())


def test_two_listings_that_both_end_on_a_full_page_are_an_integrity_error(refresh):
    rows = [sku(f"S{i}", "Something", "1") for i in range(42)]
    with RestServer(rows) as server, pytest.raises(IntegrityError, match="names no next page"):
        fetch(settings(server.url, page_size=7), refresh())


def test_an_empty_catalogue_is_an_integrity_error(refresh):
    with RestServer([]) as server, pytest.raises(IntegrityError, match="it is empty"):
        fetch(settings(server.url), refresh())


def test_pages_that_shift_while_they_are_read_are_an_integrity_error(refresh):
    twice = sku("TWICE", "N2 Instance Core running in London", "1")
    others = [sku(f"S{i}", "Something", "1") for i in range(8)]
    with RestServer([twice, *others, twice]) as server, pytest.raises(IntegrityError, match="TWICE stands in it twice"):
        fetch(settings(server.url), refresh())


def test_a_pound_list_that_lacks_half_of_the_dollar_list_is_an_integrity_error(rest, refresh):
    rest.pages.drop_last_in = "GBP"
    with pytest.raises(IntegrityError, match="only one of the USD and GBP listings"):
        fetch(settings(rest.url, page_size=100), refresh())


@pytest.mark.parametrize(
    ("status", "word"), [(400, "INVALID_ARGUMENT"), (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED")]
)
def test_refused_credentials_are_a_terminal_error_and_not_retried(rest, refresh, tmp_path, status, word):
    key = tmp_path / "key"
    key.write_text("expired-key\n")
    body = f'{{"error": {{"code": {status}, "message": "API key expired.", "status": "{word}"}}}}'.encode()
    rest.pages.fail_always = Failure(status, body)
    with pytest.raises(TerminalSourceError, match="API key expired") as caught:
        fetch(settings(rest.url, api_key_file=key), refresh())
    assert "expired-key" not in str(caught.value)
    assert len({query.get("pageToken") for query in rest.pages.asked}) == 1


def test_a_refused_token_over_grpc_is_a_terminal_error(refresh):
    with GrpcServer(catalogue()) as server:
        server.pages.fail_always = Failure(401)
        with pytest.raises(TerminalSourceError):
            fetch(settings(server.url, transport="grpc"), refresh())


def test_the_api_key_travels_in_its_header_and_not_in_the_address(rest, refresh, tmp_path):
    key = tmp_path / "key"
    key.write_text("a-key\n")
    fetch(settings(rest.url, api_key_file=key), refresh())
    assert {headers["x-goog-api-key"] for headers in rest.headers} == {"a-key"}
    assert all("a-key" not in str(query) for query in rest.pages.asked)


def test_without_credentials_the_error_names_both_ways_to_give_some(refresh, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    with pytest.raises(TerminalSourceError, match=r"api_key_file.*gcloud auth application-default login"):
        fetch(settings("https://cloudbilling.invalid"), refresh())


def test_plain_http_to_another_machine_is_refused(refresh):
    with pytest.raises(SettingsError, match=r"sources\.gcp\.endpoint"):
        fetch(settings("http://cloudbilling.example"), refresh())


def test_a_deadline_in_the_past_asks_nobody(rest, refresh):
    with pytest.raises(TransientSourceError, match="deadline"):
        fetch(settings(rest.url), refresh(seconds=-1))
    assert rest.pages.asked == []


def test_windows_is_refused_with_a_reason_and_linux_still_comes(rest, refresh):
    fetched = fetch(settings(rest.url), refresh(operating_systems=("linux", "windows")))
    assert ["no row rule" in item.why for item in fetched.skipped] == [True]
    assert skus(fetched).height > 0


def test_a_region_without_known_machine_types_is_skipped_with_the_way_to_read_them(rest, refresh, monkeypatch):
    older = gcp_machines.packaged_offerings().filter(pl.col("region") != "europe-north2")
    monkeypatch.setattr(gcp_machines, "packaged_offerings", lambda: older)
    fetched = fetch(settings(rest.url, regions=("europe-west2", "europe-north2")), refresh())
    assert fetched.frames["regions"].collect()["region"].to_list() == ["europe-west2"]
    assert [(item.region, "sources.gcp.project" in item.why) for item in fetched.skipped] == [("europe-north2", True)]


def test_a_misspelt_region_is_refused_with_the_nearest_name(rest, refresh):
    wrong = settings(rest.url, regions=("europe-west2", "eurpe-west1"))
    with pytest.raises(SettingsError, match=r"sources\.gcp\.regions: 'eurpe-west1'.*Did you mean 'europe-west1'"):
        fetch(wrong, refresh())
    assert [(item.subject, item.state) for item in check(wrong, refresh())] == [("regions", "failed")]
    assert not rest.pages.asked


def test_with_a_project_shapes_and_availability_are_read_live(rest, refresh):
    a4 = {
        "name": "a4-highgpu-8g",
        "guestCpus": 224,
        "memoryMb": 4063232,
        "accelerators": [{"guestAcceleratorType": "nvidia-b200", "guestAcceleratorCount": 8}],
        "bundledLocalSsds": {"partitionCount": 32},
    }
    rest.machine_pages = [{"items": {"zones/us-central1-b": {"machineTypes": [a4]}}}]
    fetched = fetch(settings(rest.url, compute_endpoint=rest.url, project="a-project"), refresh())
    assert fetched.frames["offerings"].collect().rows() == [("us-central1", "a4-highgpu-8g")]
    shape = fetched.frames["shapes"].collect().row(0, named=True)
    assert (shape["gpu_model"], shape["gpus"], shape["shape_source"]) == ("B200", 8.0, "api")
    assert [(item.region, item.why.startswith("the API lists no")) for item in fetched.skipped] == [
        ("europe-west2", True)
    ]


def test_check_says_that_all_is_well_but_shapes_are_packaged(rest, refresh):
    findings = {item.subject: item for item in check(settings(rest.url), refresh())}
    assert findings["credentials"].state == "ok"
    assert findings["cloudbilling.services.skus.list"].state == "ok"
    assert rest.pages.asked[0]["pageSize"] == "1"
    assert findings["compute.machineTypes.list"].state == "warning"


def test_check_tells_a_disabled_api_with_the_next_step(rest, refresh):
    rest.pages.fail_always = Failure(
        403, b'{"error": {"code": 403, "message": "API has not been used", "status": "x"}}'
    )
    last = check(settings(rest.url), refresh())[-1]
    assert (last.subject, last.state) == ("cloudbilling.services.skus.list", "failed")
    assert "API has not been used" in last.detail
    assert "enabled" in last.next_step


def test_check_tells_missing_credentials(refresh, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    (only,) = check(settings("https://cloudbilling.invalid"), refresh())
    assert (only.subject, only.state) == ("credentials", "failed")


@pytest.mark.parametrize(
    ("raised", "error", "step"),
    [
        (RefreshError("invalid_grant: Token has been expired or revoked"), TerminalSourceError, "gcloud auth"),
        (TransportError("cannot reach the token server"), TransientSourceError, "tried again"),
        (NotFound("no such service"), TerminalSourceError, "sources.gcp settings"),
    ],
)
def test_what_the_sdk_raises_becomes_an_error_with_a_next_step(raised, error, step):
    with pytest.raises(error, match="somewhere") as caught, as_source_errors("somewhere"):
        raise raised
    assert step in caught.value.next_step
    assert str(raised).split(":")[0] in str(caught.value)


def test_without_the_sdk_the_module_imports_and_names_the_extra():
    program = """
import sys
class NoGoogle:
    def find_spec(self, name, path=None, target=None):
        if name == "google" or name.startswith("google."):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoGoogle())
from pathlib import Path
from datetime import UTC, datetime, timedelta
from exporters.fetch import gcp
from exporters.fetch.contract import FetchRequest
now = datetime(2026, 11, 30, tzinfo=UTC)
request = FetchRequest(now=now, scratch=Path("."), deadline=now + timedelta(seconds=5))
print(gcp.check(gcp.GcpSettings(), request)[0].next_step)
gcp.fetch(gcp.GcpSettings(), request)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "Install them with: pip install 'tuppence[gcp]'"
    assert "MissingExtraError" in done.stderr


def test_the_registry_row_names_the_extra():
    assert (SOURCE.name, SOURCE.extra, SOURCE.packaged) == ("gcp", "gcp", True)
