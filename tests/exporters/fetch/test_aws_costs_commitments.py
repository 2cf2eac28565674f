"""Commitments, their use, and what plans would cost: real boto3 against a local AWS."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exporters.core.errors import IntegrityError, TerminalSourceError
from exporters.fetch.aws_clients import Clients, SavingsPlansClient
from exporters.fetch.aws_costs import AwsCostSettings, fetch
from exporters.fetch.aws_costs_commitments import Owner, savings_plans
from exporters.fetch.cost_contract import CostFetched
from exporters.fetch.deadline import Deadline
from tests.fakes.aws import Failure
from tests.fakes.aws_account import use_dummy_credentials
from tests.fakes.aws_costs import BillingServer
from tests.fakes.aws_payer import LONDON, PAYER, QUIET, SHOP, cloud_at, request_in
from tests.fakes.aws_rows import Json

PLAN = {
    "savingsPlanId": "sp-1",
    "savingsPlanArn": f"arn:aws:savingsplans::{SHOP}:savingsplan/sp-1",
    "start": "2025-09-01T00:00:00.000Z",
    "end": "2026-08-31T23:59:59.000Z",
    "state": "active",
    "savingsPlanType": "Compute",
    "paymentOption": "Partial Upfront",
    "productTypes": ["EC2", "Fargate", "Lambda"],
    "currency": "USD",
    "commitment": "1.25000000",
    "upfrontPaymentAmount": "5475",
    "recurringPaymentAmount": "0.625",
    "termDurationInSeconds": 31536000,
}
QUEUED = PLAN | {
    "savingsPlanArn": f"arn:aws:savingsplans::{SHOP}:savingsplan/sp-2",
    "state": "queued",
    "savingsPlanType": "EC2Instance",
    "region": LONDON,
    "ec2InstanceFamily": "m7i",
    "start": "2026-09-01T00:00:00Z",
    "end": "2029-08-31T23:59:59Z",
}
RESERVED = {
    "reservedInstancesId": "ri-1",
    "instanceType": "m5.xlarge",
    "instanceCount": 3,
    "state": "active",
    "start": "2025-08-01T00:00:00.000Z",
    "end": "2026-08-01T00:00:00.000Z",
    "duration": 31536000,
    "fixedPrice": "876.0",
    "usagePrice": "0.0",
    "recurringCharges": [{"frequency": "Hourly", "amount": "0.05"}],
    "currencyCode": "USD",
    "offeringClass": "standard",
    "offeringType": "Partial Upfront",
    "productDescription": "Linux/UNIX",
    "instanceTenancy": "default",
    "scope": "Region",
}

OWNER = Owner(source="aws", account=PAYER, partition="aws")


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_dummy_credentials(monkeypatch, tmp_path)


@pytest.fixture
def aws() -> Iterator[BillingServer]:
    with BillingServer() as server:
        yield server


def client_of(aws: BillingServer) -> SavingsPlansClient:
    return Clients(cloud_at(aws.url), Deadline(60, source="aws", of_costs=True), "us-east-1").savings_plans()


def asked(aws: BillingServer, scratch: Path, *, regions: tuple[str, ...] = (LONDON,), **changes: Any) -> CostFetched:
    settings = AwsCostSettings.model_validate(QUIET | {"breakdown": "account"} | changes)
    return fetch(settings, cloud_at(aws.url, regions=regions), request_in(scratch))


def commitments(aws: BillingServer, scratch: Path) -> list[Json]:
    found = asked(aws, scratch, commitments=True).commitments
    assert found is not None
    return found.sort("commitment_id").to_dicts()


def test_savings_plans_that_run_or_are_to_run_are_money_an_hour(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["DescribeSavingsPlans"] = [PLAN, QUEUED]
    aws.page_size = 1

    compute, machine = commitments(aws, tmp_path)

    assert compute == {
        "source": "aws",
        "provider": "aws",
        "account": SHOP,
        "commitment_id": f"arn:aws:savingsplans::{SHOP}:savingsplan/sp-1",
        "unit": "money",
        "kind": "savings-plan",
        "plan_type": "Compute",
        "region": "",
        "instance_family": "",
        "instance_type": "",
        "gpu_model": "",
        "quantity": 1.25,
        "currency": "USD",
        "cost_per_hour": 1.25,
        "starts_at": datetime(2025, 9, 1, tzinfo=UTC),
        "ends_at": datetime(2026, 8, 31, 23, 59, 59, tzinfo=UTC),
        "renews": False,
    }
    assert (machine["plan_type"], machine["region"], machine["instance_family"]) == ("EC2Instance", LONDON, "m7i")
    assert {tuple(one["states"]) for one in aws.asked("DescribeSavingsPlans")} == {("active", "queued")}
    assert not aws.refused


def test_a_reservation_costs_its_upfront_fee_by_the_hour_and_its_hourly_fee(aws: BillingServer, tmp_path: Path) -> None:
    """876 over 8,760 hours are 0.10 an hour; with 0.05 and three machines, 0.45."""
    aws.reservations[LONDON] = [RESERVED, RESERVED | {"reservedInstancesId": "ri-0", "state": "retired"}]

    (found,) = commitments(aws, tmp_path)

    assert found["commitment_id"] == f"arn:aws:ec2:{LONDON}:{PAYER}:reserved-instances/ri-1"
    assert (found["unit"], found["quantity"], found["instance_family"]) == ("instance", 3.0, "m5")
    assert found["cost_per_hour"] == pytest.approx(0.45, abs=1e-12)
    assert (found["plan_type"], found["instance_type"], found["region"]) == ("standard", "m5.xlarge", LONDON)
    assert found["ends_at"] == datetime(2026, 8, 1, tzinfo=UTC)


def test_what_narrows_a_reservation_stands_with_its_class(aws: BillingServer, tmp_path: Path) -> None:
    narrowed = {
        "offeringClass": "convertible",
        "scope": "Availability Zone",
        "availabilityZone": "eu-west-2b",
        "productDescription": "Windows",
        "instanceTenancy": "dedicated",
    }
    aws.reservations[LONDON] = [RESERVED | narrowed]

    (found,) = commitments(aws, tmp_path)

    assert found["plan_type"] == "convertible, eu-west-2b, Windows, dedicated"


def test_a_region_that_is_not_opted_in_is_named_and_left_out(aws: BillingServer, tmp_path: Path) -> None:
    aws.reservations[LONDON] = [RESERVED]
    aws.fail("DescribeReservedInstances", Failure(401, "AuthFailure"), region="eu-south-1")

    fetched = asked(aws, tmp_path, commitments=True, regions=(LONDON, "eu-south-1"))

    assert fetched.commitments is not None
    assert fetched.commitments["region"].to_list() == [LONDON]
    assert [one.region for one in fetched.skipped] == ["eu-south-1"]


def test_no_region_whose_reservations_may_be_listed_is_an_error(aws: BillingServer, tmp_path: Path) -> None:
    aws.fail("DescribeReservedInstances", Failure(403, "UnauthorizedOperation"))

    with pytest.raises(TerminalSourceError, match="Allow ec2:DescribeReservedInstances"):
        asked(aws, tmp_path, commitments=True)


def test_no_commitments_are_none_and_not_unknown(aws: BillingServer, tmp_path: Path) -> None:
    assert commitments(aws, tmp_path) == []
    assert asked(aws, tmp_path).commitments is None


def test_savings_plans_whose_pages_do_not_end_are_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["DescribeSavingsPlans"] = [PLAN, QUEUED]
    aws.page_size, aws.same_token = 1, True

    with pytest.raises(IntegrityError, match="token came twice"):
        savings_plans(client_of(aws), OWNER)


@pytest.mark.parametrize(
    ("failure", "error", "match"),
    [
        (Failure(403, "AccessDeniedException"), TerminalSourceError, "Allow savingsplans:DescribeSavingsPlans"),
        (Failure(200, body=b"{}"), IntegrityError, "without savingsPlans"),
    ],
)
def test_commitments_that_do_not_arrive_are_an_error(
    aws: BillingServer, tmp_path: Path, failure: Failure, error: type[Exception], match: str
) -> None:
    aws.fail("DescribeSavingsPlans", failure)

    with pytest.raises(error, match=match):
        commitments(aws, tmp_path)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"commitment": ""}, "no number"),
        ({"commitment": "-1.25"}, "not what it should be"),
        ({"end": "some day"}, "not what it should be"),
        ({"currency": None}, "without currency"),
    ],
)
def test_a_plan_that_is_not_what_it_should_be_is_refused(
    aws: BillingServer, tmp_path: Path, changes: dict[str, str | None], match: str
) -> None:
    plan = {name: value for name, value in (PLAN | changes).items() if value is not None}
    aws.lists["DescribeSavingsPlans"] = [plan]

    with pytest.raises(IntegrityError, match=match):
        commitments(aws, tmp_path)


def test_a_reservation_without_a_term_is_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.reservations[LONDON] = [RESERVED | {"duration": 0}]

    with pytest.raises(IntegrityError, match="not what it should be"):
        commitments(aws, tmp_path)


def use_of(plan: str, total: str, unused: str) -> Json:
    return {
        "SavingsPlanArn": f"arn:aws:savingsplans::{SHOP}:savingsplan/{plan}",
        "Utilization": {"TotalCommitment": total, "UsedCommitment": "0", "UnusedCommitment": unused},
    }


def covered(spend: str, total: str) -> Json:
    return {"Coverage": {"SpendCoveredBySavingsPlans": spend, "OnDemandCost": "0", "TotalCost": total}}


def furnish_use(aws: BillingServer) -> None:
    """Plans of 900 and 100 of which 90 and 60 were not used; 300 of 600 covered; 450 of 600 reserved hours used."""
    period = {"Start": "2026-06-20", "End": "2026-07-20"}
    aws.lists["GetSavingsPlansUtilizationDetails"] = [use_of("sp-1", "900", "90"), use_of("sp-2", "100", "60")]
    aws.more["GetSavingsPlansUtilizationDetails"] = {"TimePeriod": period}
    aws.lists["GetSavingsPlansCoverage"] = [covered("100", "150"), covered("200", "450")]
    hours = {"PurchasedHours": "600", "TotalActualHours": "450", "RICostForUnusedHours": "7.5"}
    aws.more["GetReservationUtilization"] = {"Total": hours}
    running = {"ReservedHours": "450", "TotalRunningHours": "1800", "OnDemandHours": "1350"}
    aws.more["GetReservationCoverage"] = {"Total": {"CoverageHours": running}}


def test_use_is_a_ratio_of_sums_and_never_a_mean_of_ratios(aws: BillingServer, tmp_path: Path) -> None:
    furnish_use(aws)
    aws.page_size = 1

    fetched = asked(aws, tmp_path, commitment_use=True)

    assert fetched.commitment_use is not None
    rows = {row["scope"]: row for row in fetched.commitment_use.to_dicts()}
    assert {scope: (row["used_ratio"], row["coverage_ratio"], row["unused_cost"]) for scope, row in rows.items()} == {
        f"arn:aws:savingsplans::{SHOP}:savingsplan/sp-1": (0.9, None, Decimal(90)),
        f"arn:aws:savingsplans::{SHOP}:savingsplan/sp-2": (0.4, None, Decimal(60)),
        "savings-plans": (0.85, 0.5, Decimal(150)),
        "ec2-reservations": (0.75, 0.25, Decimal("7.5")),
    }
    assert (rows["savings-plans"]["first_day"], rows["savings-plans"]["last_day"]) == (
        date(2026, 6, 20),
        date(2026, 7, 19),
    )
    assert {row["currency"] for row in rows.values()} == {"USD"}
    assert not aws.refused


def test_use_is_four_paid_requests(aws: BillingServer, tmp_path: Path) -> None:
    furnish_use(aws)

    assert asked(aws, tmp_path, commitment_use=True).paid_requests == 2 + 4


def test_an_account_without_commitments_has_no_use(aws: BillingServer, tmp_path: Path) -> None:
    furnish_use(aws)
    for call in (
        "GetSavingsPlansUtilizationDetails",
        "GetSavingsPlansCoverage",
        "GetReservationUtilization",
        "GetReservationCoverage",
    ):
        aws.fail(call, Failure(400, "DataUnavailableException"))

    fetched = asked(aws, tmp_path, commitment_use=True)

    assert fetched.commitment_use is not None
    assert fetched.commitment_use.is_empty()


def rate(machine: str, price: str, *, years: int = 1, **changes: Any) -> Json:
    properties = {
        "region": LONDON,
        "instanceFamily": machine.partition(".")[0],
        "instanceType": machine,
        "productDescription": "Linux/UNIX",
        "tenancy": "shared",
    } | changes.pop("properties", {})
    return {
        "savingsPlanOffering": {
            "offeringId": "o-1",
            "paymentOption": "No Upfront",
            "planType": "Compute",
            "durationSeconds": years * 31536000,
            "currency": "USD",
        },
        "rate": price,
        "unit": "Hrs",
        "productType": "EC2",
        "serviceCode": "AmazonEC2",
        "usageType": f"EUW2-BoxUsage:{machine}",
        "operation": "RunInstances",
        "properties": [{"name": name, "value": value} for name, value in properties.items()],
        **changes,
    }


def rates(aws: BillingServer, scratch: Path) -> dict[tuple[str, int], float]:
    fetched = asked(aws, scratch, savings_plan_rates={"families": ["m7i"]})
    assert fetched.commitment_rates is not None
    return {
        (row["instance_type"], row["term_years"]): row["rate_per_hour"] for row in fetched.commitment_rates.to_dicts()
    }


def test_rates_of_plans_are_one_for_each_machine_and_term(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["DescribeSavingsPlansOfferingRates"] = [
        rate("m7i.large", "0.0812"),
        rate("m7i.large", "0.0561", years=3),
        rate("m7i.large", "0.0812", usageType="EUW2-UnusedBox:m7i.large"),
        rate("m7i.large", "0.0900", operation="RunInstances:SV00"),
        rate("m7i.large", "0.0999", properties={"tenancy": "dedicated"}),
    ]
    aws.page_size = 2

    assert rates(aws, tmp_path) == {("m7i.large", 1): 0.0812, ("m7i.large", 3): 0.0561}
    asked_for = {one["name"]: one["values"] for one in aws.asked("DescribeSavingsPlansOfferingRates")[0]["filters"]}
    assert (asked_for["instanceFamily"], asked_for["region"]) == (["m7i"], [LONDON])
    assert not aws.refused


def test_two_rates_for_one_machine_are_refused(aws: BillingServer, tmp_path: Path) -> None:
    aws.lists["DescribeSavingsPlansOfferingRates"] = [rate("m7i.large", "0.0812"), rate("m7i.large", "0.0813")]

    with pytest.raises(IntegrityError, match="two rates for"):
        rates(aws, tmp_path)


@pytest.mark.parametrize("price", ["0", "-0.01", "", "free"])
def test_a_rate_that_is_no_price_is_refused(aws: BillingServer, tmp_path: Path, price: str) -> None:
    aws.lists["DescribeSavingsPlansOfferingRates"] = [rate("m7i.large", price)]

    with pytest.raises(IntegrityError):
        rates(aws, tmp_path)


def test_rates_are_not_asked_for_when_no_family_is_named(aws: BillingServer, tmp_path: Path) -> None:
    assert asked(aws, tmp_path).commitment_rates is None
    assert not aws.asked("DescribeSavingsPlansOfferingRates")
