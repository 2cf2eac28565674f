"""What becomes of Azure's throttles, failures and unbelievable answers: an error that says what to do, and no rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from exporters.core.errors import (
    IntegrityError,
    MissingExtraError,
    SettingsError,
    TerminalSourceError,
    TransientSourceError,
)
from exporters.fetch.azure import AzureSettings
from exporters.fetch.azure_costs import AzureCostSettings, fetch
from exporters.fetch.azure_costs_throttle import asked_seconds
from tests.exporters.azure_charges import DAY, NEXT, SUB_SCOPE, ask, request, rows, totals
from tests.fakes.azure import Answer
from tests.fakes.azure_costs import CostCall, Entry, FakeCosts, cost_cloud, fake_costs, refusal


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCosts]:
    with fake_costs(tmp_path) as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


class TestLimitsOfRequests:
    def throttle(self, azure: FakeCosts, times: int, **headers: str) -> None:
        left = [times]

        def fault(call: CostCall) -> Answer | None:
            if left[0] <= 0:
                return None
            left[0] -= 1
            return refusal(429, "TooManyRequests", {name.replace("_", "-"): text for name, text in headers.items()})

        azure.fault = fault

    @pytest.mark.parametrize("limit", ["qpu", "entity", "tenant", "client", "clienttype"])
    def test_the_wait_that_a_limit_names_is_waited_and_then_all_arrives(self, azure, limit):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        self.throttle(azure, 2, **{f"x-ms-ratelimit-microsoft.costmanagement-{limit}-retry-after": "0.05"})
        started = datetime.now(UTC)
        assert totals(ask(azure)) == (Decimal(1), Decimal(1))
        assert datetime.now(UTC) - started > timedelta(seconds=0.1)

    def test_of_several_waits_the_longest_counts(self):
        name = "x-ms-ratelimit-microsoft.costmanagement-{}-retry-after"
        assert asked_seconds({name.format("entity"): "3", name.format("tenant"): "11", "retry-after": "5"}) == 11
        assert asked_seconds({"retry-after-ms": "1500"}) == 1.5
        assert asked_seconds({name.format("qpu"): "soon"}) is None

    def test_a_throttle_that_names_no_wait_is_waited_out_too(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        self.throttle(azure, 3)
        assert totals(ask(azure)) == (Decimal(1), Decimal(1))

    def test_a_wait_past_the_deadline_is_refused_at_once(self, azure):
        self.throttle(azure, 1_000, **{"x-ms-ratelimit-microsoft.costmanagement-qpu-retry-after": "3600"})
        with pytest.raises(TransientSourceError, match=r"asks for 3,600 s.*costs\.azure\.split_by"):
            ask(azure)
        assert len(azure.calls) == 1

    def test_a_storm_ends_in_an_error(self, azure):
        self.throttle(azure, 1_000, **{"x-ms-ratelimit-microsoft.costmanagement-qpu-retry-after": "0.001"})
        with pytest.raises(TransientSourceError, match="30 answers in a row said 429"):
            ask(azure)

    def test_the_program_has_its_own_bucket(self, azure):
        azure.ledger[SUB_SCOPE] = []
        ask(azure, client_type="acme-finops")
        assert {call.headers["clienttype"] for call in azure.queries()} == {"acme-finops"}


class TestFailuresOfTheOtherSide:
    def test_a_server_error_is_tried_again(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        azure.fault = lambda _: refusal(503, "Busy") if len(azure.calls) < 3 else None
        assert totals(ask(azure)) == (Decimal(1), Decimal(1))

    @pytest.mark.parametrize(
        ("answer", "kind", "words"),
        [
            (refusal(500, "InternalError"), TransientSourceError, "InternalError"),
            (refusal(401, "ExpiredAuthenticationToken"), TerminalSourceError, "signing in"),
            (refusal(403, "AuthorizationFailed"), TerminalSourceError, "Cost Management Reader on /subscriptions"),
            (refusal(400, "BadRequest"), TerminalSourceError, "BadRequest"),
            (Answer(body='{"properties": {"rows": [[1'), TransientSourceError, "cut off"),
            (Answer(body="<html>", headers={"content-type": "text/html"}), TransientSourceError, "not the expected"),
            (Answer(body={"value": []}), TransientSourceError, "not the expected JSON"),
        ],
        ids=["500", "expired token", "forbidden", "bad request", "cut off", "html", "other json"],
    )
    def test_an_answer_that_is_none_fails_the_refresh(self, azure, answer, kind, words):
        azure.fault = lambda _: answer
        with pytest.raises(kind, match=words):
            ask(azure)

    @pytest.mark.parametrize(
        ("columns", "row", "words"),
        [
            (("UsageDate", "ServiceName", "Currency"), [20261128, "A", "GBP"], "0 columns Cost or PreTaxCost"),
            (("Cost", "UsageDate", "ServiceName"), [1, 20261128, "A"], "0 columns Currency"),
            (("Cost", "PreTaxCost", "UsageDate", "ServiceName", "Currency"), [1, 1, 20261128, "A", "GBP"], "2 columns"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), ["1.0", 20261128, "A", "GBP"], "a cost is '1.0'"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [None, 20261128, "A", "GBP"], "a cost is None"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [True, 20261128, "A", "GBP"], "a cost is True"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [1, 20261328, "A", "GBP"], "UsageDate is 20261328"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [1, 20261028, "A", "GBP"], "not asked for"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [1, 20261128, "A", "pounds"], "Currency is 'pounds'"),
            (("Cost", "UsageDate", "ServiceName", "Currency"), [1, 20261128, "A"], "more or fewer values"),
        ],
    )
    def test_an_unbelievable_answer_is_refused_and_named(self, azure, columns, row, words):
        properties = {"columns": [{"name": name} for name in columns], "rows": [row]}
        azure.fault = lambda _: Answer(body={"properties": properties})
        with pytest.raises(IntegrityError, match=words):
            ask(azure, split_by=())

    def test_a_day_may_be_written_as_an_iso_time(self, azure):
        columns = [{"name": name} for name in ("Cost", "UsageDate", "ServiceName", "Currency")]
        body = {"properties": {"columns": columns, "rows": [[1, "2026-11-28T00:00:00", "A", "GBP"]]}}
        azure.fault = lambda _: Answer(body=body)
        assert rows(ask(azure, split_by=()), "charge_start") == [(datetime(2026, 11, 28, tzinfo=UTC),)]

    def test_a_number_that_is_none_is_refused(self, azure):
        text = '{"properties": {"columns": [{"name": "Cost"}], "rows": [[NaN]]}}'
        azure.fault = lambda _: Answer(body=text)
        with pytest.raises(TransientSourceError, match="not the expected JSON"):
            ask(azure)

    def test_pages_with_other_columns_are_refused(self, azure):
        azure.page_rows = 1
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1"), Entry(NEXT, "1", "1")]

        def rename(call: CostCall) -> None:
            azure.columns_renamed = {"Cost": "CostUSD"} if "$skiptoken" in call.query else {}

        azure.fault = rename
        with pytest.raises(IntegrityError, match="different columns"):
            ask(azure)

    def test_an_untrusted_certificate_is_refused(self, azure):
        told = AzureCostSettings(enabled=True, scopes=(SUB_SCOPE,))
        with pytest.raises(TransientSourceError, match="ca_file"):
            fetch(told, AzureSettings(management_endpoint=azure.url, throttle_wait_seconds=0.01), request())

    def test_no_credentials_are_a_clear_error(self, azure, monkeypatch):
        monkeypatch.setenv("IDENTITY_HEADER", "wrong")
        with pytest.raises(TerminalSourceError, match="AZURE_CLIENT_ID"):
            ask(azure)

    def test_a_passed_deadline_is_named(self, azure):
        with pytest.raises(TransientSourceError, match=r"costs\.azure\.deadline_seconds"):
            ask(azure, asked=request(seconds=-1))

    def test_a_token_is_never_sent_over_plain_http(self, azure):
        told = AzureCostSettings(enabled=True, scopes=(SUB_SCOPE,))
        with pytest.raises(SettingsError, match="management_endpoint"):
            fetch(told, cost_cloud(azure, management_endpoint=azure.identity_url), request())

    def test_without_the_sdk_the_extra_is_named(self, azure, monkeypatch):
        for module in [name for name in sys.modules if name.startswith("exporters.fetch.azure_costs_")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.delattr("exporters.fetch.azure_costs_client", raising=False)
        monkeypatch.setitem(sys.modules, "azure.mgmt.costmanagement", None)
        with pytest.raises(MissingExtraError, match=r"tuppence\[azure\]"):
            ask(azure)
