"""Google Cloud's billing exports, asked through the real client of a local BigQuery that really runs the query."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from exporters.core.errors import (
    IntegrityError,
    MissingExtraError,
    SettingsError,
    TerminalSourceError,
    TransientSourceError,
)
from exporters.fetch.cost_contract import CostFetched, CostRequest
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs import check, fetch
from exporters.fetch.gcp_costs_settings import GcpCostSettings
from tests.fakes.bigquery import FOCUS, USAGE, FakeBigQuery, error, fake_bigquery, pairs, usage_row

ACCOUNT = "01AB23-45CD67-89EF01"
TABLE = "billing-1.export.gcp_billing_export_v1_01AB23_45CD67_89EF01"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CLOUD = GcpSettings(retry_wait_seconds=0.01)


@pytest.fixture
def bigquery() -> Iterator[FakeBigQuery]:
    with fake_bigquery() as running:
        yield running


def settings(fake: FakeBigQuery, **changes: Any) -> GcpCostSettings:
    return GcpCostSettings(**{"tables": (TABLE,), "bigquery_endpoint": fake.url, "query_project": "payer", **changes})


def request(*, seconds: float = 20, first: date = date(2026, 11, 27), last: date = date(2026, 11, 29)) -> CostRequest:
    return CostRequest(
        now=NOW,
        first_day=first,
        last_day=last,
        scratch=Path(),
        deadline=NOW + timedelta(seconds=seconds),
        owner_tags=("owner", "cost-center"),
    )


def with_endpoint(fake: FakeBigQuery) -> GcpSettings:
    """Billing accounts cannot be listed here: BigQuery does not know them."""
    return GcpSettings(endpoint=fake.url, retry_wait_seconds=0.01)


def ask(fake: FakeBigQuery, **changes: Any) -> CostFetched:
    return fetch(settings(fake, **changes), CLOUD, request())


def charges(fetched: CostFetched) -> pl.DataFrame:
    assert fetched.charges is not None
    return fetched.charges.collect().sort("charge_start", "service", "sub_account", "charge_category", "billed_cost")


def test_lines_are_added_up_on_the_server_by_day_project_service_and_region(bigquery):
    sql = ("9662-B51E-5089", "Cloud SQL")
    bigquery.add_table(
        TABLE,
        [
            usage_row("2026-11-28T00:00:00Z", service=sql, sku="vCPU", cost=0.1),
            usage_row("2026-11-28T23:00:00Z", service=sql, sku="RAM", cost=0.2),
            usage_row("2026-11-29T00:00:00Z", service=sql, sku="RAM", cost=0.4),
            usage_row("2026-11-28T05:00:00Z", service=sql, sku="RAM", cost=0.8, project="bank", region=None),
        ],
    )

    found = charges(ask(bigquery)).select("charge_start", "sub_account", "region", "billed_cost").rows()

    assert [(start.day, *rest) for start, *rest in found] == [
        (28, "bank", None, Decimal("0.8")),
        (28, "shop", "europe-west2", Decimal("0.3")),
        (29, "shop", "europe-west2", Decimal("0.4")),
    ]


def test_a_charge_of_a_machine_names_machine_hours_owner_and_bill(bigquery):
    bigquery.add_table(
        TABLE,
        [
            usage_row(
                cost=2.5,
                cost_at_list=3.0,
                quantity=50.0,
                machine="n2-standard-4",
                labels={"team": "x", "Cost_Center": 'Ann\'s "A" team'},
                project_labels={"owner": "platform"},
                month="202612",
            )
        ],
    )

    (row,) = charges(ask(bigquery)).to_dicts()

    assert row["charge_start"] == datetime(2026, 11, 28, tzinfo=UTC)
    assert row["charge_end"] == datetime(2026, 11, 29, tzinfo=UTC)
    assert row["billing_period"] == date(2026, 12, 1)
    assert (row["provider"], row["billing_account"], row["currency"]) == ("gcp", ACCOUNT, "GBP")
    assert (row["machine"], row["vcpu_hours"], row["owner"]) == ("n2-standard-4", 50.0, 'Ann\'s "A" team')
    assert (row["billed_cost"], row["effective_cost"], row["list_cost"]) == (
        Decimal("2.5"),
        Decimal("2.5"),
        Decimal(3),
    )
    assert (row["charge_category"], row["pricing_category"], row["reject"]) == ("Usage", "Standard", None)


def test_the_projects_owner_counts_where_the_resource_has_none(bigquery):
    bigquery.add_table(TABLE, [usage_row(labels={"owner": ""}, project_labels={"owner": "platform"})])

    assert charges(ask(bigquery))["owner"].to_list() == ["platform"]


def test_without_owner_tags_nobody_bears_a_charge(bigquery):
    bigquery.add_table(TABLE, [usage_row(labels={"owner": "shop"})])

    fetched = fetch(settings(bigquery), CLOUD, replace(request(), owner_tags=()))

    assert charges(fetched)["owner"].to_list() == [None]


def test_binary_fractions_of_the_export_leave_nothing_behind(bigquery):
    bigquery.add_table(TABLE, [usage_row(cost=0.1)] * 10 + [usage_row(cost=0.0000000091)])

    assert charges(ask(bigquery))["billed_cost"].to_list() == [Decimal("1.0000000091")]


def test_what_was_exported_late_counts_on_its_own_day_and_what_was_exported_before_is_not_read(bigquery):
    bigquery.add_table(
        TABLE,
        [
            usage_row("2026-11-27T10:00:00Z", cost=1.0, exported="2026-11-30T00:00:00Z"),
            usage_row("2026-11-26T23:59:59Z", cost=2.0),
            usage_row("2026-11-30T00:00:00Z", cost=4.0),
        ],
    )

    assert charges(ask(bigquery))["billed_cost"].to_list() == [Decimal(1)]
    sql = next(body["query"] for kind, body in bigquery.asked if kind == "query")
    assert "_PARTITIONTIME >= TIMESTAMP(@first_day) OR _PARTITIONTIME IS NULL" in sql


@pytest.mark.parametrize(
    ("partitioning", "said"),
    [({"type": "DAY", "field": "export_time"}, "AND export_time >= TIMESTAMP(@first_day)"), (None, None)],
    ids=["by export time", "a view"],
)
def test_the_filter_on_partitions_is_that_of_the_table(bigquery, partitioning, said):
    columns = {"export_time": "TIMESTAMPTZ"} | {name: kind for name, kind in USAGE.items() if name != "_PARTITIONTIME"}
    row = usage_row(cost=1.0, export_time="2026-11-29T00:00:00Z")
    bigquery.add_table(TABLE, [row], columns=columns, partitioning=partitioning)

    assert charges(ask(bigquery))["billed_cost"].to_list() == [Decimal(1)]
    sql = next(body["query"] for kind, body in bigquery.asked if kind == "query")
    assert "_PARTITIONTIME" not in sql
    assert said is None or said in sql


def test_every_page_of_a_job_that_took_its_time_is_read(bigquery):
    bigquery.polls = 3
    bigquery.add_table(TABLE, [usage_row(project=f"p{number}", cost=1.0) for number in range(7)])

    assert charges(ask(bigquery)).height == 7
    assert [kind for kind, _ in bigquery.asked].count("results") >= 4


def test_a_query_that_is_done_at_once_needs_no_job(bigquery):
    bigquery.page = 100
    bigquery.add_table(TABLE, [usage_row()])

    assert charges(ask(bigquery)).height == 1
    assert [kind for kind, _ in bigquery.asked] == ["table", "insert", "query"]


def test_an_account_that_cost_nothing_gives_no_rows(bigquery):
    bigquery.add_table(TABLE, [])

    fetched = ask(bigquery)

    assert charges(fetched).height == 0
    assert fetched.paid_requests == 1


def test_an_older_table_without_the_later_columns_is_read(bigquery):
    later = {"cost_at_list", "system_labels", "subscription", "consumption_model"}
    bigquery.add_table(
        TABLE, [usage_row(cost=1.5)], columns={name: kind for name, kind in USAGE.items() if name not in later}
    )

    (row,) = charges(ask(bigquery)).to_dicts()

    assert (row["billed_cost"], row["list_cost"], row["machine"]) == (Decimal("1.5"), None, "N2")


def test_a_table_without_a_needed_column_is_refused_before_anything_is_paid(bigquery):
    bigquery.add_table(
        TABLE, [], columns={name: kind for name, kind in USAGE.items() if name not in {"credits", "invoice"}}
    )

    with pytest.raises(IntegrityError, match=r"lacks the columns credits, invoice"):
        ask(bigquery)
    assert [kind for kind, _ in bigquery.asked] == ["table"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"cost": None}, "have no cost"),
        ({"currency": None}, "have no currency"),
        ({"invoice": None}, "have no invoice_month"),
    ],
    ids=["cost", "currency", "invoice month"],
)
def test_a_charge_without_what_a_bill_needs_refuses_the_answer(bigquery, row, said):
    bigquery.add_table(TABLE, [usage_row(**row), usage_row(cost=1.0)])

    with pytest.raises(IntegrityError, match=said):
        ask(bigquery)


def test_a_query_beyond_the_budget_is_not_run_and_its_price_is_named(bigquery):
    bigquery.add_table(TABLE, [usage_row()])
    bigquery.scanned = 1_099_511_627_776

    with pytest.raises(TerminalSourceError, match=r"would read 1,024\.0 GiB, about 6\.25 USD; the budget is 50\.0 GiB"):
        ask(bigquery)
    assert "query" not in [kind for kind, _ in bigquery.asked]


def test_the_budget_goes_with_the_query_so_that_bigquery_keeps_it_too(bigquery):
    bigquery.add_table(TABLE, [usage_row()])
    ask(bigquery, max_bytes_per_query=2_147_483_648)

    assert [body["maximumBytesBilled"] for kind, body in bigquery.asked if kind == "query"] == ["2147483648"]


def test_two_tables_of_one_account_are_refused_because_their_charges_would_count_twice(bigquery):
    detailed = TABLE.replace("_v1_", "_resource_v1_")
    bigquery.add_table(TABLE, [usage_row()])
    bigquery.add_table(detailed, [usage_row()])

    with pytest.raises(IntegrityError, match=rf"states the billing account {ACCOUNT}, which .*_v1_.* states too"):
        ask(bigquery, tables=(TABLE, detailed))


def test_the_focus_view_is_read_as_it_is(bigquery):
    row = {
        "BillingAccountId": ACCOUNT,
        "SubAccountId": "shop",
        "ServiceName": "Compute Engine",
        "RegionId": "europe-west2",
        "ChargeCategory": "Usage",
        "PricingCategory": "Committed",
        "CommitmentDiscountId": "subscriptions/1",
        "CommitmentDiscountStatus": "Used",
        "BillingCurrency": "GBP",
        "BillingPeriodStart": "2026-11-01T00:00:00Z",
        "ChargePeriodStart": "2026-11-28T05:00:00Z",
        "BilledCost": Decimal("0.1"),
        "EffectiveCost": Decimal("0.2"),
        "ListCost": Decimal("0.5"),
        "Tags": pairs({"cost-center": "shop"}),
    }
    bigquery.add_table(TABLE, [row, row | {"ChargePeriodStart": "2026-11-28T06:00:00Z"}], columns=FOCUS)

    (found,) = charges(ask(bigquery)).to_dicts()

    assert (found["billed_cost"], found["effective_cost"], found["list_cost"], found["contracted_cost"]) == (
        Decimal("0.2"),
        Decimal("0.4"),
        Decimal(1),
        None,
    )
    assert (found["billing_period"], found["owner"]) == (date(2026, 11, 1), "shop")
    assert (found["commitment_discount_id"], found["commitment_status"]) == ("subscriptions/1", "Used")


@pytest.mark.parametrize("kind", ["table", "insert", "query", "results"])
def test_throttles_and_server_errors_are_tried_again(bigquery, kind):
    bigquery.add_table(TABLE, [usage_row()])
    bigquery.polls = 1
    bigquery.refusals[kind] = [error(429, "rateLimitExceeded", "slow down"), error(503, "backendError", "down")]

    assert charges(ask(bigquery)).height == 1


@pytest.mark.parametrize(
    ("kind", "refusal", "said"),
    [
        ("table", error(403, "accessDenied", "Access Denied"), r"Forbidden.*roles/bigquery\.dataViewer"),
        ("query", error(403, "accessDenied", "no bigquery.jobs.create"), r"Forbidden.*roles/bigquery\.jobUser"),
        ("insert", error(400, "invalidQuery", "Unrecognized name"), "BadRequest.*Unrecognized name"),
        ("query", error(400, "bytesBilledLimitExceeded", "limit for bytes"), "limit for bytes"),
        ("table", error(401, "authError", "Invalid Credentials"), "credentials were refused"),
    ],
    ids=["no dataset", "no jobs", "bad query", "beyond the budget", "expired"],
)
def test_what_another_try_cannot_mend_says_what_to_do(bigquery, kind, refusal, said):
    bigquery.add_table(TABLE, [usage_row()])
    bigquery.refusals[kind] = [refusal]

    with pytest.raises(TerminalSourceError, match=said):
        ask(bigquery)


def test_a_table_that_does_not_exist_says_which_name_to_check(bigquery):
    with pytest.raises(TerminalSourceError, match=r"NotFound.*Check the table's name"):
        ask(bigquery)


def test_an_answer_that_is_no_json_is_no_bill(bigquery):
    bigquery.add_table(TABLE, [usage_row()])
    bigquery.polls = 1
    bigquery.refusals["results"] = [(200, "<html>Sign in</html>")]

    with pytest.raises(IntegrityError, match="login page"):
        ask(bigquery)


def test_a_job_that_is_never_done_ends_with_the_deadline(bigquery):
    bigquery.polls = 10_000
    bigquery.add_table(TABLE, [usage_row()])

    with pytest.raises(TransientSourceError):
        fetch(settings(bigquery), CLOUD, request(seconds=1))
    assert "cancel" in [kind for kind, _ in bigquery.asked]


def test_check_says_what_the_days_would_read_and_runs_nothing(bigquery):
    bigquery.add_table(TABLE, [usage_row()])

    finding, accounts = check(settings(bigquery), with_endpoint(bigquery), request())

    assert accounts.state == "warning"
    assert (finding.state, finding.detail) == ("ok", "usage cost export; 3 days would read 2.0 GiB, about 0.01 USD")
    assert [kind for kind, _ in bigquery.asked] == ["table", "insert", "unknown"]


def test_check_says_what_is_too_dear_or_not_there(bigquery):
    bigquery.add_table(TABLE, [usage_row()])
    dear = settings(bigquery, max_bytes_per_query=1_073_741_824, tables=(TABLE, "billing-1.export.gone"))

    findings = check(dear, with_endpoint(bigquery), request())

    assert [finding.state for finding in findings] == ["failed", "failed", "warning"]
    assert "more than the budget" in findings[0].detail
    assert "Not found: Table billing-1.export.gone" in findings[1].detail


def test_without_the_clients_package_it_says_which_extra_is_missing(bigquery, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    monkeypatch.setattr("exporters.fetch.gcp_costs.find_spec", lambda _: None)

    with pytest.raises(MissingExtraError, match=r"costs\.gcp: .*pip install 'tuppence\[gcp-bigquery\]'"):
        ask(bigquery)
    assert [finding.subject for finding in check(settings(bigquery), CLOUD, request())] == ["sdk"]


def test_a_plain_endpoint_elsewhere_is_refused(bigquery):
    with pytest.raises(SettingsError, match=r"costs\.gcp\.bigquery_endpoint"):
        ask(bigquery, bigquery_endpoint="http://bigquery.example")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tables": ("export`; DROP TABLE x",)}, "not of the form project.dataset.table"),
        ({"tables": (TABLE, TABLE)}, "stands twice"),
        ({"budget_accounts": ("billingAccounts/1",)}, "XXXXXX-XXXXXX-XXXXXX"),
        ({"enabled": True}, "name at least one of tables"),
    ],
    ids=["no name", "twice", "no account", "nothing"],
)
def test_settings_that_cannot_be_meant_are_refused(changes, said):
    with pytest.raises(ValidationError, match=said):
        GcpCostSettings(**changes)
