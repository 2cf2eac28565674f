"""Charges from Cost Explorer: real boto3 against a local AWS that keeps books, and against Moto."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from exporters.core.clock import FixedClock
from exporters.core.cost_frames import Charge
from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.cost_refresh import CostRefresher
from exporters.fetch.aws_costs import SOURCE, AwsCostSettings, check, fetch, price_of
from exporters.fetch.cost_contract import CostFetched
from exporters.settings import ExporterSettings
from exporters.store.shelf import open_shelf
from tests.fakes.aws import Failure
from tests.fakes.aws_account import use_dummy_credentials
from tests.fakes.aws_costs import BillingServer, Entry, Renewed
from tests.fakes.aws_payer import BOOKS, D19, D20, EC2, LAB, LONDON, NOW, PAYER, QUIET, S3, SHOP, cloud_at, request_in


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_dummy_credentials(monkeypatch, tmp_path)


@pytest.fixture
def aws() -> Iterator[BillingServer]:
    with BillingServer() as server:
        server.ledger = list(BOOKS)
        yield server


def asked(aws: BillingServer, scratch: Path, *, cloud: dict[str, Any] | None = None, **changes: Any) -> CostFetched:
    """What is fetched of charges alone, unless changed."""
    section = AwsCostSettings.model_validate(QUIET | changes)
    return fetch(section, cloud_at(aws.url, **cloud or {}), request_in(scratch))


def charges(fetched: CostFetched) -> pl.DataFrame:
    assert fetched.charges is not None
    return Charge.validate(fetched.charges.collect())


def sums(fetched: CostFetched, *by: str) -> dict[Any, tuple[Decimal, Decimal]]:
    """Billed and effective cost by columns."""
    costs = (pl.col("billed_cost").sum(), pl.col("effective_cost").sum())
    grouped = charges(fetched).group_by(by).agg(*costs)
    return {row[:-2] if len(by) > 1 else row[0]: row[-2:] for row in grouped.iter_rows()}


def test_charges_arrive_to_the_last_digit_with_their_category(aws: BillingServer, tmp_path: Path) -> None:
    found = sums(asked(aws, tmp_path), "sub_account", "charge_category", "pricing_category")

    assert found == {
        (SHOP, "Usage", None): (Decimal("13.1234567891"), Decimal("21.1234567891")),
        (SHOP, "Usage", "Committed"): (Decimal(8), Decimal("8.5")),
        (LAB, "Usage", None): (Decimal("0.0000000001"), Decimal("0.0000000001")),
        (PAYER, "Purchase", None): (Decimal("107.2"), Decimal("101.2")),
        (SHOP, "Tax", None): (Decimal("2.2"), Decimal("2.2")),
        (SHOP, "Credit", None): (Decimal(-20), Decimal(-20)),
        (SHOP, "Adjustment", None): (Decimal("-1.6"), Decimal("-1.6")),
    }
    assert not aws.refused


def test_a_row_says_whose_charge_it_is_and_when(aws: BillingServer, tmp_path: Path) -> None:
    rows = charges(asked(aws, tmp_path)).filter(pl.col("sub_account") == LAB)

    assert rows.select(
        "charge_start", "charge_end", "billing_period", "provider", "billing_account", "service", "region", "currency"
    ).rows() == [
        (
            datetime(2026, 7, 19, tzinfo=UTC),
            datetime(2026, 7, 20, tzinfo=UTC),
            date(2026, 7, 1),
            "aws",
            PAYER,
            S3,
            None,
            "USD",
        )
    ]
    told = {"list_cost", "consumed_quantity", "vcpu_hours", "owner", "reject"}
    assert all(rows[name].null_count() == 1 for name in told)


def test_a_region_is_known_when_it_is_paid_for(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["GetDimensionValues"] = [{"Value": one, "Attributes": {}} for one in (PAYER, SHOP, LAB)]

    fetched = asked(aws, tmp_path, breakdown="region")

    assert sums(fetched, "region", "charge_category") == {
        (LONDON, "Usage"): (Decimal("21.1234567891"), Decimal("29.6234567891")),
        ("us-east-1", "Usage"): (Decimal("0.0000000001"), Decimal("0.0000000001")),
        (None, "Purchase"): (Decimal("107.2"), Decimal("101.2")),
        (None, "Tax"): (Decimal("2.2"), Decimal("2.2")),
        (None, "Credit"): (Decimal(-20), Decimal(-20)),
        (None, "Adjustment"): (Decimal("-1.6"), Decimal("-1.6")),
    }
    assert fetched.paid_requests == 1 + 1 + 4 + 2 * 3


def test_the_cheapest_breakdown_is_two_requests(aws: BillingServer, tmp_path: Path) -> None:
    fetched = asked(aws, tmp_path, breakdown="account")

    assert fetched.paid_requests == 2
    assert sums(fetched, "charge_category")["Purchase"] == (Decimal("107.2"), Decimal("101.2"))
    assert charges(fetched)["service"].null_count() == charges(fetched).height


@pytest.mark.parametrize("breakdown", ["service", "account"])
def test_what_is_asked_is_what_the_plan_says(aws: BillingServer, tmp_path: Path, breakdown: str) -> None:
    section = AwsCostSettings.model_validate(QUIET | {"breakdown": breakdown})

    assert asked(aws, tmp_path, breakdown=breakdown).paid_requests == section.planned_requests()
    assert len(aws.asked("GetCostAndUsage")) == section.planned_requests()


@pytest.mark.parametrize("breakdown", ["service", "account"])
def test_named_accounts_are_the_only_ones_asked_for(aws: BillingServer, tmp_path: Path, breakdown: str) -> None:
    fetched = asked(aws, tmp_path, accounts=[LAB], breakdown=breakdown)

    assert sums(fetched, "sub_account") == {LAB: (Decimal("0.0000000001"), Decimal("0.0000000001"))}


def test_a_day_may_go_on_over_a_page(aws: BillingServer, tmp_path: Path) -> None:
    aws.page_size = 1

    fetched = asked(aws, tmp_path)

    assert sums(fetched, "charge_category")["Usage"] == (Decimal("21.1234567892"), Decimal("29.6234567892"))
    assert fetched.paid_requests == len(aws.asked("GetCostAndUsage")) > 7


def test_an_account_without_charges_gives_no_rows(aws: BillingServer, tmp_path: Path) -> None:
    aws.ledger = []

    assert charges(asked(aws, tmp_path)).is_empty()


def test_the_bill_may_belong_to_another_account_than_the_credentials(aws: BillingServer, tmp_path: Path) -> None:
    fetched = asked(aws, tmp_path, billing_account="999999999999")

    assert charges(fetched)["billing_account"].unique().to_list() == ["999999999999"]


def test_net_costs_are_other_metrics_of_the_same_requests(aws: BillingServer, tmp_path: Path) -> None:
    asked(aws, tmp_path, net=True)

    assert {tuple(one["Metrics"]) for one in aws.asked("GetCostAndUsage")} == {("NetUnblendedCost", "NetAmortizedCost")}


def test_data_that_aws_renews_in_between_is_refused(aws: BillingServer, tmp_path: Path) -> None:
    later = Entry(D20, SHOP, EC2, LONDON, "Tax", "0.01", "0.01")
    aws.renewed = Renewed(after=1, ledger=(*BOOKS, later))

    with pytest.raises(IntegrityError, match=r"charges of 2026-07-20 come to .*AWS renewed its data"):
        asked(aws, tmp_path)


def test_a_rounding_of_sums_is_no_difference(aws: BillingServer, tmp_path: Path) -> None:
    aws.ledger = [Entry(D19, SHOP, EC2, LONDON, kind, "0.00000000005", "0") for kind in ("Usage", "Tax", "Credit")]

    assert charges(asked(aws, tmp_path)).is_empty()


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("unblended", "NaN", "no number"),
        ("unit", "N/A", "no currency"),
        ("unit", "", "no currency"),
    ],
)
def test_an_amount_that_is_none_is_refused(
    aws: BillingServer, tmp_path: Path, name: str, value: str, match: str
) -> None:
    given = {"day": D19, "account": SHOP, "service": EC2, "region": LONDON, "record_type": "Usage"}
    aws.ledger = [Entry(**given | {"unblended": "1", "amortized": "1"} | {name: value})]  # type: ignore[arg-type]

    with pytest.raises(IntegrityError, match=match):
        asked(aws, tmp_path)


def test_a_currency_that_changes_within_a_day_is_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.ledger = [
        Entry(D19, SHOP, EC2, LONDON, "Usage", "1", "1"),
        Entry(D19, SHOP, EC2, LONDON, "Tax", "1", "1", unit="EUR"),
    ]

    with pytest.raises(IntegrityError, match="charges in EUR and is stated in USD"):
        asked(aws, tmp_path)


def test_an_answer_without_its_list_is_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.forget = "ResultsByTime"

    with pytest.raises(IntegrityError, match="without ResultsByTime"):
        asked(aws, tmp_path)


def test_pages_that_do_not_end_are_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.page_size, aws.same_token = 1, True

    with pytest.raises(IntegrityError, match="came twice"):
        asked(aws, tmp_path)


@pytest.mark.parametrize(
    ("failure", "error", "match"),
    [
        (Failure(400, "DataUnavailableException"), TerminalSourceError, "Enable Cost Explorer"),
        (Failure(400, "BillExpirationException"), TerminalSourceError, "history_days"),
        (Failure(400, "LimitExceededException"), TransientSourceError, "LimitExceededException"),
        (Failure(400, "ThrottlingException"), TransientSourceError, "Throttling"),
        (Failure(400, "RequestChangedException"), TransientSourceError, "next time of asking"),
        (Failure(400, "ExpiredTokenException"), TerminalSourceError, "Renew the credentials"),
        (Failure(400, "AccessDeniedException"), TerminalSourceError, "Allow ce:GetCostAndUsage"),
        (Failure(500, "InternalFailure"), TransientSourceError, "InternalFailure"),
        (Failure(200, body=b"<html>"), IntegrityError, "without ResultsByTime"),
        (Failure(200, body=b"{}"), IntegrityError, "without ResultsByTime"),
        (Failure(cut_after=20), IntegrityError, "without ResultsByTime"),
    ],
)
def test_a_failure_in_the_middle_is_the_failure_of_it_all(
    aws: BillingServer, tmp_path: Path, failure: Failure, error: type[Exception], match: str
) -> None:
    aws.fail("GetCostAndUsage", None, None, failure)

    with pytest.raises(error, match=match):
        asked(aws, tmp_path)


def test_a_throttled_request_is_sent_again_and_counted(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("GetCostAndUsage", Failure(400, "ThrottlingException"))

    fetched = asked(aws, tmp_path, cloud={"max_attempts": 3}, breakdown="account")

    assert fetched.paid_requests == 3
    assert sums(fetched, "charge_category")["Tax"] == (Decimal("2.2"), Decimal("2.2"))


def test_a_storm_of_throttles_cannot_spend_more_than_the_budget(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("GetCostAndUsage", *[Failure(400, "ThrottlingException")] * 9)

    with pytest.raises(TerminalSourceError, match=r"2 paid requests .* used up"):
        asked(aws, tmp_path, cloud={"max_attempts": 9}, breakdown="account", max_requests_per_day=2)

    assert len(aws.asked("GetCostAndUsage")) == 2


def test_pages_past_the_budget_are_not_asked_for(aws: BillingServer, tmp_path: Path) -> None:
    aws.page_size = 1

    with pytest.raises(TerminalSourceError, match="max_requests_per_day"):
        asked(aws, tmp_path, max_requests_per_day=8)

    assert len(aws.asked("GetCostAndUsage")) == 8


def test_a_days_budget_is_shared_by_its_times_of_asking() -> None:
    section = AwsCostSettings(refresh_minutes=360, max_requests_per_day=50)

    assert (section.times_per_day, section.requests_per_time) == (4, 12)


def test_settings_that_plan_more_than_they_allow_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(ValidationError, match=r"12 paid requests .* 48 a day \(USD 0\.48\).* max_requests_per_day: 40"):
        AwsCostSettings(enabled=True, refresh_minutes=360, max_requests_per_day=40)


def test_more_accounts_than_the_budget_has_requests_for_are_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["GetDimensionValues"] = [{"Value": f"{one:012d}", "Attributes": {}} for one in range(30)]

    with pytest.raises(SettingsError, match="66 paid requests a time") as caught:
        asked(aws, tmp_path, breakdown="region")

    assert "Raise it to 66 or more" in caught.value.next_step
    assert not aws.asked("GetCostAndUsage")


def test_the_price_is_told_in_words() -> None:
    assert price_of(AwsCostSettings()) == (
        "12 paid requests a time (more where an answer has several pages), 1 times a day: USD 0.12 a day, "
        "USD 3.65 a month; never more than USD 0.50 a day"
    )


def test_check_states_the_price_and_looks_at_each_permission(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("DescribeBudgets", Failure(400, "AccessDeniedException"))

    findings = check(AwsCostSettings(), cloud_at(aws.url), request_in(tmp_path))

    assert [(one.subject, one.state) for one in findings] == [
        ("aws costs credentials", "ok"),
        ("aws costs price", "ok"),
        ("ce:GetCostAndUsage", "ok"),
        ("savingsplans:DescribeSavingsPlans", "ok"),
        ("ec2:DescribeReservedInstances", "ok"),
        ("budgets:ViewBudget", "failed"),
    ]
    assert "USD 3.65 a month" in findings[1].detail
    assert len(aws.asked("GetCostAndUsage")) == 1


def test_check_without_credentials_is_one_finding(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("GetCallerIdentity", Failure(403, "InvalidClientTokenId"))

    (finding,) = check(AwsCostSettings(), cloud_at(aws.url), request_in(tmp_path))

    assert (finding.state, finding.subject) == ("failed", "aws costs")


def test_govcloud_has_no_bill_of_its_own(aws: BillingServer, tmp_path: Path) -> None:
    with pytest.raises(TerminalSourceError, match="commercial account"):
        asked(aws, tmp_path, cloud={"partition": "aws-us-gov"})


def test_a_deadline_that_has_passed_ends_it(aws: BillingServer, tmp_path: Path) -> None:
    with pytest.raises(TransientSourceError, match="deadline"):
        fetch(AwsCostSettings.model_validate(QUIET), cloud_at(aws.url), request_in(tmp_path, deadline=NOW))


def test_moto_answers_as_aws_does(moto_url: str, tmp_path: Path) -> None:
    """Moto gives what it is told, through its own reading of the protocol."""
    cost = {name: {"Amount": "1.5", "Unit": "USD"} for name in ("UnblendedCost", "AmortizedCost")}
    period = {"Start": "2026-07-19", "End": "2026-07-20"}
    whole = {"ResultsByTime": [{"TimePeriod": period, "Total": cost, "Groups": [], "Estimated": True}]}
    group = {"Keys": [SHOP, "Usage"], "Metrics": cost}
    parts = {"ResultsByTime": [{"TimePeriod": period, "Total": {}, "Groups": [group], "Estimated": True}]}
    told = httpx2.post(
        f"{moto_url}/moto-api/static/ce/cost-and-usage-results", json={"results": [whole, parts]}, timeout=10
    )
    assert told.status_code == 201
    section = AwsCostSettings.model_validate(QUIET | {"breakdown": "account"})

    fetched = fetch(section, cloud_at(moto_url), request_in(tmp_path, last_day=D19))

    assert sums(fetched, "sub_account", "charge_category") == {(SHOP, "Usage"): (Decimal("1.5"), Decimal("1.5"))}


def test_amounts_of_ten_places_are_kept_to_the_last(aws: BillingServer, tmp_path: Path) -> None:
    @settings(max_examples=5, deadline=None)
    @given(st.lists(st.decimals(-(10**9), 10**9, places=10, allow_nan=False), min_size=1, max_size=20))
    def holds(amounts: list[Decimal]) -> None:
        aws.ledger = [
            Entry(D19, f"{number:012d}", EC2, LONDON, "Usage", str(amount), str(-amount))
            for number, amount in enumerate(amounts)
        ]
        kept = charges(asked(aws, tmp_path, breakdown="account"))
        assert sum(kept["billed_cost"], Decimal(0)) == sum(amounts, Decimal(0))
        assert sum(kept["effective_cost"], Decimal(0)) == -sum(amounts, Decimal(0))

    holds()


def test_a_refresh_keeps_each_day_in_pounds(aws: BillingServer, tmp_path: Path) -> None:
    """A dollar is 75 pence by contract: 17.3234567892 dollars on the 19th, 91.60 on the 20th."""
    endpoints = dict.fromkeys(("sts", "ce", "savingsplans", "budgets", "ec2"), aws.url)
    wanted = ExporterSettings.model_validate(
        {
            "store": {"url": str(tmp_path / "store")},
            "sources": {
                "aws": {"regions": [LONDON], "max_attempts": 1, "endpoints": endpoints},
                "fx": {"contract_rates": {"USD": "0.75"}},
            },
            "costs": {"aws": QUIET | {"enabled": True, "history_days": 5}},
        }
    )
    shelf = open_shelf(wanted.store.url)
    refresher = CostRefresher(settings=wanted, shelf=shelf, clock=FixedClock(NOW), scratch=tmp_path)

    outcome = refresher.refresh(SOURCE)

    assert outcome.error is None
    assert outcome.paid_requests == 7
    days = dict(outcome.days.group_by("charge_day").agg(pl.col("billed_gbp").sum()).iter_rows())
    assert {day: round(cost, 2) for day, cost in days.items()} == {D19: Decimal("12.99"), D20: Decimal("68.70")}


def test_the_source_names_its_cloud_and_its_extra() -> None:
    assert (SOURCE.name, SOURCE.cloud, SOURCE.extra) == ("aws", "aws", "aws")
