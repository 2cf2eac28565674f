"""Fetch, AWS: what `tuppence check` looks at in mode api: credentials, and each permission in each region."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from exporters.core.errors import TuppenceError
from exporters.core.words import CapacityType
from exporters.fetch.aws_api import NOT_FOR_THIS_ACCOUNT
from exporters.fetch.aws_clients import Clients, error_code, plain_errors, pricing_home
from exporters.fetch.contract import FetchRequest, Finding
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

    from exporters.fetch.aws import AwsSettings


def check_api(settings: AwsSettings, request: FetchRequest, regions: tuple[str, ...]) -> tuple[Finding, ...]:
    """This will make the smallest call of each kind; without credentials nothing further is tried.

    Raises:
        SettingsError: an endpoint without TLS.
        TerminalSourceError: an unknown profile, a role that cannot be assumed, a partition without price list.
    """
    clients = Clients(settings, Deadline.of(request, source="aws"), pricing_home(settings.partition, regions))
    who = _look("credentials", "sts:GetCallerIdentity", lambda: _identity(clients))
    if who.state == "failed":
        return (who,)
    findings = [who, _look("pricing:GetProducts", "pricing:GetProducts", lambda: _one_price(clients))]
    for region in regions:
        findings += _check_region(clients.ec2(region), region, request)
    return tuple(findings)


def _identity(clients: Clients) -> str:
    answer = clients.sts().get_caller_identity()
    return f"account {answer['Account']}, {answer['Arn']}"


def _one_price(clients: Clients) -> str:
    answer = clients.pricing().get_products(ServiceCode="AmazonEC2", FormatVersion="aws_v1", MaxResults=1)
    return f"{len(answer['PriceList'])} item read"


def _check_region(ec2: EC2Client, region: str, request: FetchRequest) -> list[Finding]:
    types = _look(
        f"ec2:DescribeInstanceTypes in {region}",
        "ec2:DescribeInstanceTypes",
        lambda: f"{len(ec2.describe_instance_types(MaxResults=5)['InstanceTypes'])} types read",
    )
    if CapacityType.SPOT.value not in request.capacity_types or types.state != "ok":
        return [types]
    spot = _look(
        f"ec2:DescribeSpotPriceHistory in {region}",
        "ec2:DescribeSpotPriceHistory",
        lambda: f"{len(ec2.describe_spot_price_history(StartTime=request.now, MaxResults=5)['SpotPriceHistory'])} read",
    )
    return [types, spot]


def _look(subject: str, action: str, call: Callable[[], str]) -> Finding:
    """A region that the account may not use is a warning: a refresh skips it."""
    try:
        with plain_errors(subject, action=action):
            return Finding(subject, "ok", call())
    except TuppenceError as error:
        if error_code(error.__cause__) in NOT_FOR_THIS_ACCOUNT:
            step = f"Opt in to the region, allow {action} there, or leave the region out; until then it is skipped."
            return Finding(subject, "warning", error.what, step)
        return Finding(subject, "failed", error.what, error.next_step)
