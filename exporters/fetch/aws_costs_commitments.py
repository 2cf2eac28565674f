"""Fetch, AWS costs: Savings Plans and reserved instances that were bought. Listing them costs nothing.

Promises that every commitment that runs or is to run is there, each under the id that AWS's bills give it, or an
exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final

import dataframely as dy
import polars as pl

from exporters.core.clock import parse_utc
from exporters.core.standing_frames import Commitment, CommitmentKind, CommitmentUnit
from exporters.fetch.aws_clients import SavingsPlansClient
from exporters.fetch.aws_costs_calls import billing_errors, exact, pages, stated_whole, whole_error

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import ReservedInstancesTypeDef

STATES: Final = ("active", "queued")
PLANS: Final = "savingsplans:DescribeSavingsPlans"
LINUX: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
HOUR_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose statement a row is: the source, the account of the credentials, its partition."""

    source: str
    account: str
    partition: str


def savings_plans(client: SavingsPlansClient, owner: Owner) -> list[dict[str, object]]:
    """This will return the Savings Plans that run or are to run, as rows of Commitment.

    An hour costs what is committed an hour, whatever was paid upfront (AWS, Savings Plans: the commitment is in money
    an hour, and the upfront payment is part of it).
    """
    answers = pages(
        client.describe_savings_plans,
        {"states": list(STATES), "maxResults": 1000},
        items="savingsPlans",
        next_page="nextToken",
        action=PLANS,
    )
    with stated_whole(PLANS):
        return [_plan_row(plan, owner) for page in answers for plan in page["savingsPlans"]]


def reservations(client: EC2Client, region: str, owner: Owner) -> list[dict[str, object]]:
    """This will return the reserved instances of a region that run or are to run, as rows of Commitment.

    A modification retires a reservation and makes others, so what is active is what holds. The call has no pages.
    """
    action = "ec2:DescribeReservedInstances"
    with billing_errors(f"{action} in {region}", action=action):
        answer = client.describe_reserved_instances(Filters=[{"Name": "state", "Values": list(STATES)}])
        if "ReservedInstances" not in answer:
            raise whole_error("an answer came without ReservedInstances", f"{action} in {region}")
    with stated_whole(f"{action} in {region}"):
        return [_reservation_row(one, region, owner) for one in answer["ReservedInstances"]]


def commitment_frame(rows: Sequence[Mapping[str, object]]) -> dy.DataFrame[Commitment]:
    """This will return rows as a frame that holds to its schema."""
    with stated_whole("commitments"):
        return Commitment.validate(pl.DataFrame(rows, schema=Commitment.create_empty().schema), cast=True)


def _plan_row(plan: Mapping[str, Any], owner: Owner) -> dict[str, object]:
    arn = str(plan["savingsPlanArn"])
    committed = exact(plan.get("commitment"), where=arn)
    return {
        "source": owner.source,
        "provider": "aws",
        "account": arn.split(":")[4] or owner.account,
        "commitment_id": arn,
        "unit": CommitmentUnit.MONEY.value,
        "kind": CommitmentKind.SAVINGS_PLAN.value,
        "plan_type": plan["savingsPlanType"],
        "region": plan.get("region") or "",
        "instance_family": plan.get("ec2InstanceFamily") or "",
        "instance_type": "",
        "gpu_model": "",
        "quantity": float(committed),
        "currency": plan["currency"],
        "cost_per_hour": float(committed),
        "starts_at": parse_utc(str(plan["start"])),
        "ends_at": parse_utc(str(plan["end"])),
        "renews": False,
    }


def _reservation_row(one: ReservedInstancesTypeDef, region: str, owner: Owner) -> dict[str, object]:
    """Fees are for one machine: the upfront one for the whole term, the others by the hour."""
    hours = one["Duration"] / HOUR_SECONDS
    recurring = sum(charge.get("Amount", 0.0) for charge in one.get("RecurringCharges", []))
    an_hour = one.get("FixedPrice", 0.0) / hours + one.get("UsagePrice", 0.0) + recurring
    count = one["InstanceCount"]
    starts = one["Start"].astimezone(UTC)
    return {
        "source": owner.source,
        "provider": "aws",
        "account": owner.account,
        "commitment_id": f"arn:{owner.partition}:ec2:{region}:{owner.account}:reserved-instances/"
        + one["ReservedInstancesId"],
        "unit": CommitmentUnit.INSTANCE.value,
        "kind": CommitmentKind.RESERVATION.value,
        "plan_type": _reservation_type(one),
        "region": region,
        "instance_family": one["InstanceType"].partition(".")[0],
        "instance_type": one["InstanceType"],
        "gpu_model": "",
        "quantity": float(count),
        "currency": one.get("CurrencyCode", "USD"),
        "cost_per_hour": an_hour * count,
        "starts_at": starts,
        "ends_at": one["End"].astimezone(UTC) if "End" in one else starts + timedelta(seconds=one["Duration"]),
        "renews": False,
    }


def _reservation_type(one: ReservedInstancesTypeDef) -> str:
    """The class, and what narrows it: a zone, another system than Linux, a tenancy."""
    narrowed = [
        one.get("AvailabilityZone", "") if one.get("Scope") == "Availability Zone" else "",
        "" if one["ProductDescription"] in LINUX else one["ProductDescription"],
        "" if one.get("InstanceTenancy", "default") == "default" else one["InstanceTenancy"],
    ]
    return ", ".join([one.get("OfferingClass", "standard"), *(text for text in narrowed if text)])
