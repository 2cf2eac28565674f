"""Google Cloud's commitments, budgets and billing accounts, page by page, from local APIs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.fetch.contract import Finding
from exporters.fetch.cost_contract import CostFetched, CostRequest
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs import check, fetch
from exporters.fetch.gcp_costs_commitments import family_of_type
from exporters.fetch.gcp_costs_settings import GcpCostSettings
from tests.fakes.bigquery import fake_bigquery, usage_row
from tests.fakes.gcp_billing import FakeLists, fake_billing_grpc, fake_lists

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ACCOUNT, OTHER = "01AB23-45CD67-89EF01", "AAAAAA-BBBBBB-CCCCCC"
COMMITMENTS = "/compute/v1/projects/shop/aggregated/commitments"
BUDGETS = f"/v1/billingAccounts/{ACCOUNT}/budgets"


@pytest.fixture
def lists() -> Iterator[FakeLists]:
    with fake_lists() as running:
        yield running


def request(*, seconds: float = 20) -> CostRequest:
    day = date(2026, 11, 29)
    return CostRequest(now=NOW, first_day=day, last_day=day, scratch=Path(), deadline=NOW + timedelta(seconds=seconds))


def ask(lists: FakeLists, asked: CostRequest | None = None, **named: Any) -> CostFetched:
    cloud = GcpSettings(compute_endpoint=lists.url, retry_wait_seconds=0.01)
    return fetch(GcpCostSettings(budgets_endpoint=lists.url, **named), cloud, asked or request())


def commitment(name: str = "web", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "status": "ACTIVE",
        "plan": "TWELVE_MONTH",
        "type": "GENERAL_PURPOSE_N2",
        "category": "MACHINE",
        "startTimestamp": "2026-06-01T00:00:00.000-07:00",
        "endTimestamp": "2027-06-01T00:00:00.000-07:00",
        "resources": [{"type": "VCPU", "amount": "64"}, {"type": "MEMORY", "amount": "262144"}],
        **more,
    }


def in_region(*held: dict[str, Any]) -> dict[str, Any]:
    return {
        "items": {
            "regions/europe-west2": {"commitments": list(held)},
            "regions/us-east1": {"warning": {"code": "NO_RESULTS_ON_PAGE"}},
        }
    }


def test_a_commitment_has_a_row_for_its_vcpus_and_one_for_its_gib(lists):
    lists.pages[COMMITMENTS] = [in_region(commitment(autoRenew=True))]

    fetched = ask(lists, commitment_projects=("shop",))

    assert fetched.commitments is not None
    cores, memory = fetched.commitments.sort("unit", descending=True).to_dicts()
    assert (cores["unit"], cores["quantity"], memory["unit"], memory["quantity"]) == ("vcpu", 64.0, "gib", 256.0)
    assert cores == cores | {
        "provider": "gcp",
        "account": "shop",
        "commitment_id": "projects/shop/regions/europe-west2/commitments/web",
        "kind": "cud",
        "plan_type": "TWELVE_MONTH",
        "region": "europe-west2",
        "instance_family": "n2",
        "cost_per_hour": None,
        "starts_at": datetime(2026, 6, 1, 7, tzinfo=UTC),
        "ends_at": datetime(2027, 6, 1, 7, tzinfo=UTC),
        "renews": True,
    }
    assert (fetched.charges, fetched.budgets) == (None, None)


def test_every_page_of_commitments_is_read(lists):
    lists.pages[COMMITMENTS] = [in_region(commitment("a")), in_region(commitment("b")), in_region(commitment("c"))]

    found = ask(lists, commitment_projects=("shop",)).commitments

    assert found is not None
    assert found["commitment_id"].n_unique() == 3


@pytest.mark.parametrize(
    "more",
    [{"status": "EXPIRED"}, {"status": "CANCELLED"}, {"endTimestamp": "2026-11-30T12:00:00Z"}],
    ids=["expired", "cancelled", "over"],
)
def test_what_does_not_hold_any_more_is_left_out(lists, more):
    lists.pages[COMMITMENTS] = [in_region(commitment(**more))]

    found = ask(lists, commitment_projects=("shop",)).commitments

    assert found is not None
    assert found.height == 0


def test_gpus_are_counted_by_model_and_what_is_no_capacity_is_reported(lists):
    gpus = [
        {"type": "ACCELERATOR", "acceleratorType": "https://x/acceleratorTypes/nvidia-l4", "amount": "8"},
        {"type": "ACCELERATOR", "acceleratorType": "nvidia-l4", "amount": "4"},
        {"type": "ACCELERATOR", "acceleratorType": "nvidia-tesla-a100", "amount": "2"},
        {"type": "LOCAL_SSD", "amount": "375"},
    ]
    licence = commitment("suse", category="LICENSE", resources=[])
    lists.pages[COMMITMENTS] = [in_region(commitment(type="GRAPHICS_OPTIMIZED", resources=gpus), licence)]

    fetched = ask(lists, commitment_projects=("shop",))

    assert fetched.commitments is not None
    assert sorted(fetched.commitments.select("unit", "gpu_model", "quantity", "instance_family").rows()) == [
        ("gpu", "A100-40GB", 2.0, "g2"),
        ("gpu", "L4", 12.0, "g2"),
    ]
    assert [item.why for item in fetched.skipped] == [
        "commitment web has LOCAL_SSD, which is not counted",
        "commitment suse is to licences, which are no capacity",
    ]


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("GENERAL_PURPOSE", "n1"),
        ("GENERAL_PURPOSE_N2D", "n2d"),
        ("COMPUTE_OPTIMIZED_C3", "c3"),
        ("ACCELERATOR_OPTIMIZED_A3_MEGA", "a3"),
        ("MEMORY_OPTIMIZED_X4_480_6T", "x4"),
        ("TYPE_UNSPECIFIED", ""),
    ],
)
def test_a_commitments_type_names_its_machine_family(kind, family):
    assert family_of_type(kind) == family


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ({"unreachables": ["regions/europe-west1"]}, "regions did not answer: regions/europe-west1"),
        (in_region({"name": "web"}), "a commitment cannot be read .*endTimestamp"),
        (in_region(commitment(resources=[{"type": "VCPU", "amount": "many"}])), "cannot be read .*many"),
        (in_region(commitment(endTimestamp="soon")), "cannot be read .*soon"),
    ],
    ids=["region silent", "no end", "no number", "no time"],
)
def test_a_list_of_commitments_that_is_not_whole_is_refused(lists, page, said):
    lists.pages[COMMITMENTS] = [page]

    with pytest.raises(IntegrityError, match=said):
        ask(lists, commitment_projects=("shop",))


def budget(name: str = "Shop", **more: Any) -> dict[str, Any]:
    return {
        "name": f"billingAccounts/{ACCOUNT}/budgets/{more.pop('id', '1')}",
        "displayName": name,
        "budgetFilter": {"calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {"currencyCode": "GBP", "units": "1500", "nanos": 250_000_000}},
        **more,
    }


def test_budgets_are_exact_and_say_what_they_are_limited_to(lists):
    limited = {
        "calendarPeriod": "YEAR",
        "projects": ["projects/1", "projects/2"],
        "labels": {"team": ["shop"]},
        "creditTypesTreatment": "EXCLUDE_ALL_CREDITS",
    }
    lists.pages[BUDGETS] = [
        {"budgets": [budget()]},
        {"budgets": [budget("Projects", budgetFilter=limited), budget("Default", budgetFilter={})]},
    ]

    found = ask(lists, budget_accounts=(ACCOUNT,)).budgets

    assert found is not None
    assert found.select("account", "scope", "period", "amount", "currency", "filters").rows() == [
        (ACCOUNT, "Shop", "month", Decimal("1500.25"), "GBP", None),
        (
            ACCOUNT,
            "Projects",
            "year",
            Decimal("1500.25"),
            "GBP",
            "projects: projects/1, projects/2; labels: team=shop; before credits",
        ),
        (ACCOUNT, "Default", "month", Decimal("1500.25"), "GBP", None),
    ]


def test_budgets_of_one_name_are_told_apart_by_their_ids(lists):
    lists.pages[BUDGETS] = [{"budgets": [budget(id="1"), budget(id="2")]}]

    found = ask(lists, budget_accounts=(ACCOUNT,)).budgets

    assert found is not None
    assert found["scope"].to_list() == ["Shop (1)", "Shop (2)"]


def test_budgets_without_an_amount_or_a_period_are_reported_and_not_guessed(lists):
    lists.pages[BUDGETS] = [
        {
            "budgets": [
                budget("Last", amount={"lastPeriodAmount": {}}),
                budget("Own", budgetFilter={"customPeriod": {"startDate": {"year": 2026}}}),
            ]
        }
    ]

    fetched = ask(lists, budget_accounts=(ACCOUNT,))

    assert fetched.budgets is not None
    assert fetched.budgets.height == 0
    assert [item.why.split(" of ")[0] for item in fetched.skipped] == ["budget Last", "budget Own"]


@pytest.mark.parametrize(
    "broken",
    [
        {"amount": {"specifiedAmount": {"units": "1"}}},
        {"amount": {"specifiedAmount": {"currencyCode": "GBP", "units": "x"}}},
    ],
    ids=["no currency", "no number"],
)
def test_a_budget_that_cannot_be_read_is_refused(lists, broken):
    lists.pages[BUDGETS] = [{"budgets": [budget(**broken)]}]

    with pytest.raises(IntegrityError, match="a budget cannot be read"):
        ask(lists, budget_accounts=(ACCOUNT,))


def test_throttles_are_tried_again_and_refusals_say_what_to_do(lists):
    lists.pages[BUDGETS] = [{"budgets": [budget()]}]
    lists.failures = [(429, "{}"), (503, "{}")]
    assert ask(lists, budget_accounts=(ACCOUNT,)).budgets is not None

    lists.failures = [(403, '{"error": {"message": "billing.budgets.list denied"}}')]
    with pytest.raises(TerminalSourceError, match=r"billing\.budgets\.list denied"):
        ask(lists, budget_accounts=(ACCOUNT,))


def test_a_storm_of_throttles_ends_with_the_deadline(lists):
    lists.failures = [(429, "{}")] * 500

    with pytest.raises(TransientSourceError):
        ask(lists, request(seconds=0.5), budget_accounts=(ACCOUNT,))


@pytest.mark.parametrize("body", ["<html>", "[]", '{"budgets": ['], ids=["HTML", "a list", "cut"])
def test_an_answer_that_is_no_list_is_refused(lists, body):
    lists.failures = [(200, body)]

    with pytest.raises(IntegrityError):
        ask(lists, budget_accounts=(ACCOUNT,))


def test_a_page_token_that_repeats_itself_is_an_error_not_an_endless_list(lists):
    lists.pages[BUDGETS] = [{"budgets": []}, {"budgets": []}, {"budgets": []}]
    lists.repeat_token = True

    with pytest.raises(IntegrityError, match="the page token repeats itself"):
        ask(lists, budget_accounts=(ACCOUNT,))


def with_accounts(lists: FakeLists) -> None:
    lists.pages["/v1/billingAccounts"] = [
        {"billingAccounts": [{"name": f"billingAccounts/{ACCOUNT}", "open": True, "displayName": "Retail"}]},
        {
            "billingAccounts": [
                {"name": f"billingAccounts/{OTHER}", "open": True, "displayName": "Research"},
                {"name": "billingAccounts/000000-000000-000000", "displayName": "Old"},
            ]
        },
    ]
    paid = [{"projectId": "shop", "billingEnabled": True}, {"projectId": "gone", "billingEnabled": False}]
    lists.pages[f"/v1/billingAccounts/{ACCOUNT}/projects"] = [
        {"projectBillingInfo": paid},
        {"projectBillingInfo": [{"projectId": "bank", "billingEnabled": True}]},
    ]
    for account in (OTHER, "000000-000000-000000"):
        lists.pages[f"/v1/billingAccounts/{account}/projects"] = [{}]


def looked_at(lists: FakeLists, *, table: str, transport: str = "rest", endpoint: str = "") -> dict[str, Finding]:
    cloud = GcpSettings.model_validate(
        {"endpoint": endpoint or lists.url, "transport": transport, "retry_wait_seconds": 0.01}
    )
    with fake_bigquery() as bigquery:
        bigquery.add_table(table, [usage_row()])
        named = GcpCostSettings(tables=(table,), bigquery_endpoint=bigquery.url)
        return {finding.subject: finding for finding in check(named, cloud, request())}


@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_check_names_each_account_and_says_whose_export_is_not_read(lists, transport):
    with_accounts(lists)
    table = "billing-1.export.gcp_billing_export_resource_v1_01AB23_45CD67_89EF01"

    with fake_billing_grpc(lists) as url:
        found = looked_at(lists, table=table, transport=transport, endpoint=url if transport == "grpc" else "")

    said = {name: (finding.state, finding.detail) for name, finding in found.items() if name != table}
    assert said == {
        f"billing account {ACCOUNT}": ("ok", "Retail: open, pays for 2 projects; its export is read"),
        f"billing account {OTHER}": (
            "warning",
            "Research: open, pays for 0 projects; no table of costs.gcp.tables is its export",
        ),
        "billing account 000000-000000-000000": ("ok", "Old: closed, pays for 0 projects"),
    }


def test_check_does_not_claim_that_an_account_is_missing_when_a_view_may_hold_it(lists):
    with_accounts(lists)

    found = looked_at(lists, table="billing-1.export.all_accounts")

    assert found[f"billing account {OTHER}"].state == "ok"
    assert "do not tell whether it is read" in found[f"billing account {OTHER}"].detail


def test_check_goes_on_without_the_right_to_list_accounts(lists):
    lists.failures = [(403, '{"error": {"message": "billing.accounts.list denied"}}')]

    found = looked_at(lists, table="billing-1.export.all_accounts")

    assert found["billing.accounts.list"].state == "warning"
    assert found["billing-1.export.all_accounts"].state == "ok"


def test_check_counts_commitments_and_budgets_and_says_what_is_refused(lists):
    lists.pages |= {"/v1/billingAccounts": [{}], COMMITMENTS: [in_region(commitment())]}
    cloud = GcpSettings(endpoint=lists.url, compute_endpoint=lists.url, retry_wait_seconds=0.01)
    named = GcpCostSettings(budgets_endpoint=lists.url, commitment_projects=("shop",), budget_accounts=(ACCOUNT,))

    found = {finding.subject: finding for finding in check(named, cloud, request())}

    assert found["compute.commitments.list"].detail == "1 commitments hold"
    assert (found["billing.budgets.list"].state, found["billing.accounts.list"].state) == ("failed", "warning")
