"""Cost details and price sheets: made on request, waited for, fetched whole through the real SDK over TLS."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from exporters.core.cost_frames import Charge
from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.standing_frames import NegotiatedPrice
from exporters.fetch.azure_costs import AzureCostSettings, fetch
from exporters.fetch.azure_price_sheet import negotiated_prices
from exporters.fetch.cost_contract import CostFetched
from tests.exporters.azure_charges import ACTUAL, AMORTISED, usage
from tests.fakes.azure import Answer
from tests.fakes.azure_costs import CostCall, FakeCosts, cost_cloud, cost_request, fake_costs, refusal

SUB = "00000000-0000-0000-0000-00000000000a"
SCOPE = f"/subscriptions/{SUB}"
ACCOUNT = "/providers/Microsoft.Billing/billingAccounts/8611537"
PROFILE = f"{ACCOUNT}/billingProfiles/AB-1"
FIRST, LAST = date(2026, 9, 1), date(2026, 9, 30)
SIGNATURE = "secret-signature"


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCosts]:
    with fake_costs(tmp_path) as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


def csv_of(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


class Reports:
    """Makes reports as Cost Management does: an operation to be polled, then a manifest of signed links."""

    def __init__(self, fake: FakeCosts, polls: int = 1, **files: list[bytes]) -> None:
        self.fake, self.files, self.polls = fake, files, polls
        self.manifest: dict[str, Any] = {}
        self.status = "Completed"
        self.link_host = fake.url
        fake.routes["/generateCostDetailsReport"] = self.begin
        fake.routes["/poll"] = self.poll
        fake.open_routes["/blob"] = self.blob
        self.asked: list[dict[str, Any]] = []
        self.left: dict[str, int] = {}

    def begin(self, call: CostCall) -> Answer:
        self.asked.append(call.body)
        metric = call.body["metric"]
        if not self.files.get(metric):
            return Answer(204)
        self.left[metric] = self.polls
        return self.wait(metric)

    def wait(self, metric: str) -> Answer:
        where = f"{self.fake.url}/poll?metric={metric}&api-version=2025-03-01"
        return Answer(202, headers={"location": where, "retry-after": "0.02"})

    def poll(self, call: CostCall) -> Answer:
        metric = call.query["metric"]
        self.left[metric] -= 1
        if self.left[metric] >= 0:
            return self.wait(metric)
        blobs = [
            {"blobLink": f"{self.link_host}/blob?of={metric}&part={part}&sig={SIGNATURE}", "byteCount": len(content)}
            for part, content in enumerate(self.files[metric])
        ]
        manifest = {"dataFormat": "Csv", "blobCount": len(blobs), "compressData": False, "blobs": blobs}
        return Answer(body={"status": self.status, "manifest": manifest | self.manifest})

    def blob(self, call: CostCall) -> Answer:
        assert "authorization" not in call.headers, "a token must not go to storage"
        return Answer(body=self.files[call.query["of"]][int(call.query["part"])], headers={"content-type": "text/csv"})


def ask(fake: FakeCosts, folder: Path, *scopes: str, seconds: float = 20, **changes: Any) -> CostFetched:
    switches = dict.fromkeys(("forecast", "budgets", "commitments"), False)
    told = {"enabled": True, "scopes": scopes or (SCOPE,), "report": "details", **switches, **changes}
    request = cost_request(FIRST, LAST, seconds=seconds, scratch=folder)
    return fetch(AzureCostSettings.model_validate(told), cost_cloud(fake), request)


def sums(fetched: CostFetched) -> tuple[object, ...]:
    assert fetched.charges is not None
    frame = fetched.charges.collect()
    Charge.validate(frame)
    return frame.select(pl.col("billed_cost", "effective_cost", "list_cost", "vcpu_hours").sum()).row(0)


class TestCostDetails:
    def test_actual_cost_is_billed_and_amortised_cost_effective_with_hours_counted_once(self, azure, tmp_path):
        Reports(azure, ActualCost=[csv_of(ACTUAL)], AmortizedCost=[csv_of(AMORTISED)])
        assert sums(ask(azure, tmp_path)) == (Decimal("876.2"), Decimal("0.4"), Decimal("0.5"), 20.0)

    def test_the_kind_is_known_even_where_nothing_was_bought_in_advance(self, azure, tmp_path):
        Reports(azure, ActualCost=[csv_of([usage()])], AmortizedCost=[csv_of([usage()])])
        assert sums(ask(azure, tmp_path)) == (Decimal("0.2"), Decimal("0.2"), Decimal("0.25"), 10.0)

    def test_a_report_is_asked_for_each_cost_and_month(self, azure, tmp_path):
        reports = Reports(azure)
        ask(azure, tmp_path)
        assert [(body["metric"], body["timePeriod"]) for body in reports.asked] == [
            ("ActualCost", {"start": "2026-09-01", "end": "2026-09-30"}),
            ("AmortizedCost", {"start": "2026-09-01", "end": "2026-09-30"}),
        ]

    def test_no_data_is_no_rows(self, azure, tmp_path):
        Reports(azure)
        assert sums(ask(azure, tmp_path))[0] == 0
        reports = Reports(azure, ActualCost=[b""], AmortizedCost=[b""])
        reports.status, reports.manifest = "NoDataFound", {"blobs": []}
        assert sums(ask(azure, tmp_path))[0] == 0

    def test_a_report_of_several_files_is_read_whole(self, azure, tmp_path):
        parts = [csv_of([usage()]), csv_of([usage(CostInBillingCurrency="1.8")])]
        Reports(azure, ActualCost=parts, AmortizedCost=parts, polls=3)
        assert sums(ask(azure, tmp_path))[:2] == (Decimal(2), Decimal(2))

    def test_a_packed_report_is_unpacked(self, azure, tmp_path):
        packed = [gzip.compress(csv_of([usage()]))]
        Reports(azure, ActualCost=packed, AmortizedCost=packed).manifest = {"compressData": True}
        assert sums(ask(azure, tmp_path))[:2] == (Decimal("0.2"), Decimal("0.2"))

    def test_owners_are_named_by_any_of_the_tags(self, azure, tmp_path):
        rows = [usage(Tags='"team": "atlas"'), usage(Tags='"owner": "ann"')]
        Reports(azure, ActualCost=[csv_of(rows)])
        charges = ask(azure, tmp_path).charges
        assert charges is not None
        assert charges.collect()["owner"].to_list() == ["atlas", "ann"]

    @pytest.mark.parametrize(
        ("manifest", "status", "words"),
        [
            ({"blobs": []}, "Completed", "with 0 files"),
            ({"blobCount": 2}, "Completed", "with 1 files"),
            ({}, "Failed", "ended as failed"),
        ],
    )
    def test_a_report_that_is_not_whole_is_refused(self, azure, tmp_path, manifest, status, words):
        reports = Reports(azure, ActualCost=[csv_of(ACTUAL)])
        reports.manifest, reports.status = manifest, status
        with pytest.raises((IntegrityError, TerminalSourceError), match=words):
            ask(azure, tmp_path)

    def test_a_file_of_another_size_is_refused_and_its_signature_not_shown(self, azure, tmp_path):
        content = csv_of(ACTUAL)
        reports = Reports(azure, ActualCost=[content])
        azure.open_routes["/blob"] = lambda _: Answer(body=content[:-9])
        with pytest.raises(IntegrityError, match="its manifest says") as raised:
            ask(azure, tmp_path)
        assert reports.asked
        assert SIGNATURE not in str(raised.value)

    def test_a_link_in_the_clear_is_refused(self, azure, tmp_path):
        Reports(azure, ActualCost=[csv_of(ACTUAL)]).link_host = azure.identity_url
        with pytest.raises(IntegrityError, match="not https"):
            ask(azure, tmp_path)

    def test_a_link_that_has_lapsed_is_an_error_without_its_signature(self, azure, tmp_path):
        Reports(azure, ActualCost=[csv_of(ACTUAL)])
        azure.open_routes["/blob"] = lambda _: refusal(403, "AuthenticationFailed")
        with pytest.raises(TerminalSourceError, match="403") as raised:
            ask(azure, tmp_path)
        assert SIGNATURE not in str(raised.value)

    def test_another_file_than_details_is_refused(self, azure, tmp_path):
        Reports(azure, ActualCost=[b"<html>\nno,such,thing\n"])
        with pytest.raises(IntegrityError, match="neither"):
            ask(azure, tmp_path)

    def test_a_report_that_is_never_made_ends_with_the_deadline(self, azure, tmp_path):
        Reports(azure, polls=1_000_000, ActualCost=[csv_of(ACTUAL)])
        with pytest.raises(TransientSourceError, match="deadline_seconds"):
            ask(azure, tmp_path, seconds=0.5)

    def test_a_refusal_names_the_right(self, azure, tmp_path):
        azure.routes["/generateCostDetailsReport"] = lambda _: refusal(403, "RBACAccessDenied")
        with pytest.raises(TerminalSourceError, match="Cost Management Reader"):
            ask(azure, tmp_path)

    def test_a_management_group_has_no_reports(self):
        group = "/providers/Microsoft.Management/managementGroups/acme"
        with pytest.raises(ValidationError, match="report: query"):
            AzureCostSettings(enabled=True, scopes=(group,), report="details")


def price(**changes: Any) -> dict[str, Any]:
    return {
        "MeterId": "meter-1",
        "MeterName": "D4s v5",
        "Product": "Virtual Machines Dsv5 Series",
        "MeterRegion": "UK South",
        "UnitOfMeasure": "1 Hour",
        "UnitPrice": "0.1776",
        "MarketPrice": "0.222",
        "BasePrice": "0.23",
        "CurrencyCode": "USD",
        "EffectiveStartDate": "11/1/2026",
        "EffectiveEndDate": "11/30/2026",
        "PriceType": "Consumption",
        "TierMinimumUnits": "0",
    } | changes


def sheet(folder: Path, *rows: dict[str, Any]) -> list[Path]:
    path = folder / "prices.csv"
    path.write_bytes(csv_of(list(rows)))
    return [path]


class TestPriceSheets:
    def serve(self, azure: FakeCosts, content: bytes, finish: Callable[[str], dict[str, Any]]) -> None:
        azure.routes["/pricesheets/default/download"] = lambda _: Answer(
            202, headers={"location": f"{azure.url}/poll?api-version=2025-03-01", "retry-after": "0.02"}
        )
        azure.routes["/poll"] = lambda _: Answer(body=finish(f"{azure.url}/blob?sig={SIGNATURE}"))
        azure.open_routes["/blob"] = lambda _: Answer(body=content)
        azure.ledger |= {ACCOUNT: [], PROFILE: [], SCOPE: []}

    def fetched(self, azure: FakeCosts, folder: Path, *scopes: str) -> CostFetched:
        return ask(azure, folder, *scopes, report="query", split_by=[], price_sheets=True)

    def test_a_billing_accounts_sheet_has_what_is_paid_beside_the_list(self, azure, tmp_path):
        content = csv_of([price()])
        self.serve(azure, content, lambda link: {"status": "Completed", "properties": {"reportUrl": link}})
        found = self.fetched(azure, tmp_path, ACCOUNT).negotiated_prices
        assert found is not None
        NegotiatedPrice.validate(found)
        (one,) = found.to_dicts()
        assert (one["account"], one["region"], one["unit"]) == ("8611537", "uksouth", "1 Hour")
        assert (one["negotiated_price"], one["list_price"]) == (Decimal("0.1776"), Decimal("0.222"))
        assert (one["effective_from"], one["effective_to"]) == (date(2026, 11, 1), date(2026, 11, 30))

    def test_a_billing_profiles_sheet_comes_as_an_archive(self, azure, tmp_path):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("../../outside.csv", csv_of([price()]))
            archive.writestr("read-me.txt", "no prices")
        self.serve(azure, packed.getvalue(), lambda link: {"properties": {"downloadUrl": link}})
        found = self.fetched(azure, tmp_path, PROFILE).negotiated_prices
        assert found is not None
        assert found["account"].to_list() == ["8611537/billingProfiles/AB-1"]
        assert not (tmp_path.parent.parent / "outside.csv").exists()

    def test_a_subscription_has_none_and_says_so(self, azure, tmp_path):
        azure.ledger[SCOPE] = []
        found = self.fetched(azure, tmp_path, SCOPE)
        assert found.skipped[0].why == "a subscription has no price sheet"

    def test_without_a_link_it_is_an_error(self, azure, tmp_path):
        self.serve(azure, b"", lambda _: {"status": "Completed", "properties": {}})
        with pytest.raises(IntegrityError, match="no link"):
            self.fetched(azure, tmp_path, ACCOUNT)

    def test_only_the_first_tier_of_consumption_is_a_price(self, tmp_path):
        files = sheet(tmp_path, price(), price(TierMinimumUnits="100"), price(PriceType="Reservation", UnitPrice="900"))
        found, left_out = negotiated_prices(files, account="1", where="sheet")
        assert (found["negotiated_price"].to_list(), left_out) == ([Decimal("0.1776")], 0)

    def test_two_prices_of_one_meter_are_ambiguous_and_counted(self, tmp_path):
        files = sheet(tmp_path, price(), price(UnitPrice="0.15"), price(MeterId="meter-2"))
        found, left_out = negotiated_prices(files, account="1", where="sheet")
        assert (found["meter_id"].to_list(), left_out) == (["meter-2"], 2)

    def test_the_same_row_twice_is_one_price(self, tmp_path):
        found, left_out = negotiated_prices(sheet(tmp_path, price(), price()), account="1", where="sheet")
        assert (found.height, left_out) == (1, 0)

    @pytest.mark.parametrize("changes", [{"UnitPrice": ""}, {"UnitPrice": "-1"}, {"EffectiveStartDate": "soon"}])
    def test_what_has_no_price_or_day_is_left_out_and_counted(self, tmp_path, changes):
        found, left_out = negotiated_prices(sheet(tmp_path, price(**changes)), account="1", where="sheet")
        assert (found.height, left_out) == (0, 1)

    def test_without_a_market_price_that_of_the_signing_stands(self, tmp_path):
        found, _ = negotiated_prices(sheet(tmp_path, price(MarketPrice="")), account="1", where="sheet")
        assert found["list_price"].to_list() == [Decimal("0.23")]

    def test_a_missing_column_is_named(self, tmp_path):
        row = price()
        del row["UnitPrice"]
        with pytest.raises(IntegrityError, match="unitprice"):
            negotiated_prices(sheet(tmp_path, row), account="1", where="sheet")
