"""What Azure charged, through the real SDK over TLS against a local Cost Management."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from exporters.core.errors import (
    IntegrityError,
)
from exporters.fetch.azure_costs import AzureCostSettings, check
from exporters.fetch.azure_costs_rows import region_of
from tests.exporters.azure_charges import (
    ACCOUNT_SCOPE,
    DAY,
    GROUP_SCOPE,
    NEXT,
    OTHER,
    SUB,
    SUB_SCOPE,
    ask,
    request,
    rows,
    totals,
)
from tests.fakes.azure import Answer
from tests.fakes.azure_costs import CostCall, Entry, FakeCosts, cost_cloud, fake_costs


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCosts]:
    with fake_costs(tmp_path) as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.fixture(scope="module")
def shared_azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeCosts]:
    with fake_costs(tmp_path_factory.mktemp("azure")) as fake, pytest.MonkeyPatch.context() as patch:
        for name, value in fake.environment().items():
            patch.setenv(name, value)
        yield fake


class TestAmounts:
    def test_actual_cost_is_billed_and_amortised_cost_is_effective(self, azure):
        azure.ledger[SUB_SCOPE] = [
            Entry(DAY, "1.5", "1.5"),
            Entry(DAY, "730", "0", service="Reservations", location="", charge_type="Purchase"),
            Entry(DAY, "0", "1", service="Virtual Machines", location="EU West"),
        ]
        found = ask(azure, split_by=("region",))
        assert rows(found, "service", "region", "billed_cost", "effective_cost") == [
            ("Reservations", None, Decimal(730), Decimal(0)),
            ("Virtual Machines", "uksouth", Decimal("1.5"), Decimal("1.5")),
            ("Virtual Machines", "westeurope", Decimal(0), Decimal(1)),
        ]

    def test_a_group_that_only_amortised_cost_has_was_not_billed(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "0", "2.25")]
        azure.fault = lambda call: Answer(204) if call.body["type"] == "ActualCost" else None
        found = ask(azure, split_by=("region",))
        assert rows(found, "billed_cost", "effective_cost") == [(Decimal(0), Decimal("2.25"))]

    def test_every_digit_arrives_and_a_tiny_negative_credit_counts(self, azure):
        azure.ledger[SUB_SCOPE] = [
            Entry(DAY, "0.123456789012345678", "0.1"),
            Entry(DAY, "-0.000000009100000001", "0", service="Credits"),
        ]
        assert totals(ask(azure)) == (Decimal("0.123456779912345677"), Decimal("0.1"))

    def test_a_charge_lies_on_its_day_and_on_the_bill_of_its_month(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        assert rows(ask(azure), "charge_start", "charge_end", "billing_period", "provider", "sub_account") == [
            (datetime(2026, 11, 28, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC), date(2026, 11, 1), "azure", SUB)
        ]

    def test_the_currency_of_each_row_stands_even_when_it_changes_in_mid_month(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1", currency="USD"), Entry(NEXT, "2", "2", currency="GBP")]
        assert rows(ask(azure), "currency", "billed_cost") == [("GBP", Decimal(2)), ("USD", Decimal(1))]

    def test_no_charges_are_no_rows(self, azure):
        azure.ledger[SUB_SCOPE] = []
        assert rows(ask(azure), "service") == []

    def test_columns_are_found_by_name_wherever_they_stand(self, azure):
        names = ("Currency", "resourcelocation", "New", "ServiceName", "UsageDate", "PreTaxCost")
        row = ["GBP", "uksouth", None, "Storage", 20261128, 4]
        shuffled = {"properties": {"columns": [{"name": name} for name in names], "rows": [row]}}
        azure.fault = lambda _: Answer(body=shuffled)
        assert rows(ask(azure, split_by=("region",)), "service", "region", "billed_cost") == [
            ("Storage", "uksouth", Decimal(4))
        ]

    def test_a_span_is_cut_at_the_ends_of_months(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(date(2026, 9, 30), "1", "1"), Entry(date(2026, 11, 1), "2", "2")]
        found = ask(azure, asked=request(date(2026, 9, 30), date(2026, 11, 1)), split_by=())
        assert totals(found) == (Decimal(3), Decimal(3))
        spans = [call.body["timePeriod"] for call in azure.queries() if call.body["type"] == "ActualCost"]
        assert [(span["from"][:10], span["to"][:10]) for span in spans] == [
            ("2026-09-30", "2026-09-30"),
            ("2026-10-01", "2026-10-31"),
            ("2026-11-01", "2026-11-01"),
        ]


class TestPages:
    def test_every_page_is_read_by_posting_the_same_body_to_the_link(self, azure):
        azure.page_rows = 2
        azure.ledger[SUB_SCOPE] = [Entry(DAY, str(n), "0", service=f"Service {n}") for n in range(1, 6)]
        assert totals(ask(azure, split_by=("region",)))[0] == Decimal(15)
        actual = [call for call in azure.queries() if call.body["type"] == "ActualCost"]
        assert [call.query.get("$skiptoken") for call in actual] == [None, "2", "4"]
        assert actual[0].body == actual[1].body == actual[2].body

    def test_a_link_to_another_host_never_gets_the_token(self, azure, tmp_path):
        azure.page_rows = 1
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1"), Entry(NEXT, "1", "1")]
        (tmp_path / "stranger").mkdir()
        with fake_costs(tmp_path / "stranger") as stranger:
            azure.next_host = stranger.url
            with pytest.raises(IntegrityError, match="lies elsewhere"):
                ask(azure)
            assert stranger.calls == []

    def test_links_in_a_circle_end(self, azure):
        circle = {
            "properties": {
                "nextLink": f"{azure.url}{SUB_SCOPE}/providers/Microsoft.CostManagement/query?api-version=2025-03-01",
                "columns": [{"name": name} for name in ("Cost", "UsageDate", "ServiceName", "Currency")],
                "rows": [],
            }
        }
        azure.fault = lambda _: Answer(body=circle)
        with pytest.raises(IntegrityError, match="circle"):
            ask(azure, split_by=())


class TestDivision:
    LEDGER = (
        Entry(DAY, "1", "10", subscription=SUB, tags={"owner": "radiology"}),
        Entry(DAY, "2", "20", subscription=SUB),
        Entry(DAY, "4", "40", subscription=OTHER, location="EU West", tags={"owner": "studio"}),
        Entry(DAY, "8", "80", subscription=OTHER, service="Storage", tags={"owner": "studio"}),
        Entry(DAY, "16", "0", service="Marketplace", location=""),
        Entry(DAY, "32", "0", subscription=SUB, service="Reservations", location="", charge_type="Purchase"),
    )

    def test_a_management_group_is_told_apart_by_subscription_service_region_and_owner(self, azure):
        azure.ledger[GROUP_SCOPE] = list(self.LEDGER)
        found = ask(azure, GROUP_SCOPE)
        assert rows(found, "billed_cost", "sub_account", "service", "region", "owner") == [
            (Decimal(1), SUB, "Virtual Machines", "uksouth", "radiology"),
            (Decimal(16), None, "Marketplace", None, None),
            (Decimal(2), SUB, "Virtual Machines", "uksouth", None),
            (Decimal(32), SUB, "Reservations", None, None),
            (Decimal(4), OTHER, "Virtual Machines", "westeurope", "studio"),
            (Decimal(8), OTHER, "Storage", "uksouth", "studio"),
        ]
        assert totals(found) == (Decimal(63), Decimal(150))

    def test_no_query_groups_by_more_than_two_and_filters_the_rest(self, azure):
        azure.ledger[GROUP_SCOPE] = list(self.LEDGER)
        ask(azure, GROUP_SCOPE)
        actual = [call.groups for call in azure.queries() if call.body["type"] == "ActualCost"]
        assert actual[0] == ["ResourceLocation", "SubscriptionId"]
        assert actual[1:] == [["ServiceName", "owner"]] * 5

    def test_without_owners_a_subscription_takes_one_query_of_each_cost(self, azure):
        azure.ledger[SUB_SCOPE] = list(self.LEDGER)
        ask(azure, split_by=("region",))
        assert [call.groups for call in azure.queries()] == [["ResourceLocation", "ServiceName"]] * 2

    def test_the_owner_is_asked_by_the_tag_of_the_settings_else_by_the_first_owner_tag(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1", tags={"team": "atlas", "owner": "ann"})]
        assert rows(ask(azure, owner_tag="team"), "owner") == [("atlas",)]
        assert rows(ask(azure), "owner") == [("ann",)]
        assert rows(ask(azure, asked=request(tags=())), "owner") == [(None,)]

    def test_a_tag_with_quotes_stands_as_it_is(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1", tags={"owner": 'the "blue" team, Ltd.'})]
        assert rows(ask(azure), "owner") == [('the "blue" team, Ltd.',)]

    def test_types_of_charge_become_categories(self, azure):
        azure.ledger[SUB_SCOPE] = [
            Entry(DAY, str(number), "1", charge_type=kind)
            for number, kind in enumerate(("Usage", "Purchase", "Tax", "Refund", "UnusedReservation"), start=1)
        ]
        found = ask(azure, split_by=("charge-type",))
        assert rows(found, "billed_cost", "charge_category", "commitment_status") == [
            (Decimal(1), "Usage", None),
            (Decimal(2), "Purchase", None),
            (Decimal(3), "Tax", None),
            (Decimal(4), "Adjustment", None),
            (Decimal(5), "Usage", "Unused"),
        ]

    def test_without_them_no_category_is_claimed(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        assert rows(ask(azure), "charge_category") == [(None,)]

    def test_what_has_no_region_stays_whole_where_the_api_cannot_filter_it(self, azure):
        azure.ledger[SUB_SCOPE] = list(self.LEDGER)
        azure.blank_filters_hold = False
        found = ask(azure)
        assert totals(found) == (Decimal(63), Decimal(150))
        assert (Decimal(48), None, None) in rows(found, "billed_cost", "service", "region")
        assert "charges of region none stand without a service" in found.skipped[0].why

    def test_figures_that_change_between_two_queries_are_asked_again(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]

        def late_charge(_: CostCall) -> None:
            if len(azure.queries()) == 2:
                azure.ledger[SUB_SCOPE].append(Entry(DAY, "5", "5"))

        azure.fault = late_charge
        assert totals(ask(azure)) == (Decimal(6), Decimal(6))

    def test_parts_that_never_add_up_are_an_error_and_no_rows(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]

        def growing(call: CostCall) -> None:
            if call.body["dataset"].get("filter"):
                azure.ledger[SUB_SCOPE].append(Entry(DAY, "5", "5"))

        azure.fault = growing
        with pytest.raises(IntegrityError, match="its parts to"):
            ask(azure)

    @settings(max_examples=15)
    @given(
        st.lists(
            st.builds(
                Entry,
                st.sampled_from((DAY, NEXT)),
                st.decimals(-1000, 1000, places=12).map(str),
                st.decimals(-1000, 1000, places=12).map(str),
                service=st.sampled_from(("Storage", "Virtual Machines")),
                location=st.sampled_from(("UK South", "EU West", "")),
                subscription=st.sampled_from((SUB, OTHER, "")),
                tags=st.sampled_from(({}, {"owner": "ann"}, {"owner": 'b"ob'})),
                currency=st.sampled_from(("GBP", "USD")),
            ),
            max_size=8,
        )
    )
    def test_whatever_was_charged_the_rows_add_up_to_it(self, shared_azure, ledger):
        shared_azure.ledger[GROUP_SCOPE] = ledger
        found = totals(ask(shared_azure, GROUP_SCOPE))
        assert found == (sum(Decimal(one.actual) for one in ledger), sum(Decimal(one.amortised) for one in ledger))


class TestScopes:
    @pytest.mark.parametrize(
        ("scope", "account"),
        [
            (SUB_SCOPE, SUB),
            (f"{SUB_SCOPE}/", SUB),
            (f"{SUB_SCOPE.upper()}/resourceGroups/rg-1", f"{SUB}/rg-1"),
            (GROUP_SCOPE, "acme"),
            (ACCOUNT_SCOPE, "8611537"),
            (f"{ACCOUNT_SCOPE}/departments/42", "8611537/departments/42"),
            (
                f"{ACCOUNT_SCOPE}/billingProfiles/A-1/invoiceSections/B-2",
                "8611537/billingProfiles/A-1/invoiceSections/B-2",
            ),
        ],
    )
    def test_a_scope_names_the_account_of_its_charges(self, azure, scope, account):
        path = scope.rstrip("/")
        azure.ledger[path] = [Entry(DAY, "1", "1", subscription=SUB)]
        assert rows(ask(azure, scope, split_by=()), "billing_account", "sub_account") == [(account, SUB)]

    @pytest.mark.parametrize(
        ("scopes", "words"),
        [
            ((), "at least one scope"),
            (("/subscriptions/my-subscription",), "is no scope of costs"),
            (("https://management.azure.com" + SUB_SCOPE,), "is no scope of costs"),
            ((f"{SUB_SCOPE}?x=1",), "is no scope of costs"),
            ((SUB_SCOPE, SUB_SCOPE.replace("a", "A")), "is no scope of costs|count twice"),
            ((SUB_SCOPE, f"{SUB_SCOPE}/resourceGroups/one"), "count twice"),
            ((ACCOUNT_SCOPE, f"{ACCOUNT_SCOPE}/billingProfiles/x"), "count twice"),
        ],
    )
    def test_what_is_no_scope_or_counts_twice_is_refused(self, scopes, words):
        with pytest.raises(ValidationError, match=words):
            AzureCostSettings(enabled=True, scopes=scopes)

    def test_a_subscription_that_a_management_group_holds_too_is_refused(self, azure):
        azure.ledger[GROUP_SCOPE] = [Entry(DAY, "1", "1", subscription=SUB)]
        azure.ledger[SUB_SCOPE] = [Entry(DAY, "1", "1")]
        with pytest.raises(IntegrityError, match="would count twice"):
            ask(azure, GROUP_SCOPE, SUB_SCOPE)

    def test_resource_groups_of_one_subscription_stand_side_by_side(self, azure):
        groups = (f"{SUB_SCOPE}/resourceGroups/one", f"{SUB_SCOPE}/resourceGroups/two")
        azure.ledger |= {group: [Entry(DAY, "1", "1")] for group in groups}
        assert totals(ask(azure, *groups)) == (Decimal(2), Decimal(2))

    @pytest.mark.parametrize(
        ("spelling", "code"),
        [("UK South", "uksouth"), ("EU West", "westeurope"), ("EastUS2", "eastus2"), ("Unassigned", ""), ("", "")],
    )
    def test_regions_have_their_codes_however_a_bill_spells_them(self, spelling, code):
        assert region_of(spelling) == code


class TestChecking:
    def test_each_scope_is_looked_at(self, azure):
        azure.ledger[SUB_SCOPE] = [Entry(NEXT, "1", "1"), Entry(NEXT, "1", "1", service="Storage")]
        told = AzureCostSettings(enabled=True, scopes=(SUB_SCOPE, GROUP_SCOPE))
        good, bad = check(told, cost_cloud(azure), request())
        assert (good.state, good.detail) == ("ok", "2 services have charges on 2026-11-29")
        assert bad.state == "failed"
        assert "Cost Management Reader" in bad.next_step

    def test_what_cannot_be_reached_is_a_failure(self, azure):
        told = AzureCostSettings(enabled=True, scopes=(SUB_SCOPE,))
        finding = check(told, cost_cloud(azure, management_endpoint="http://127.0.0.1:1"), request())[0]
        assert (finding.subject, finding.state) == ("credentials", "failed")
