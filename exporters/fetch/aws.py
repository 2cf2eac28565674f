"""Fetch, AWS: EC2 list prices, spot prices, machine types and data-transfer prices, as AWS states them.

The promise: every page of every region that was asked, or an exception; a region the account may not use is named
among the skipped. Two modes: `api` calls GetProducts, DescribeInstanceTypes and DescribeSpotPriceHistory with the
SDK's own credentials; `bulk` reads the public offer files and needs none, but they hold no spot prices. Rows are
chosen by normalise/row_rules/aws.py.

Raw frames: `products` and `transfers` (aws_price_list.py), `instance_types`, `devices` and `spot`
(aws_instance_types.py), `packaged_shapes` (bulk: the packaged table), and `regions` (region: those that answered).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from exporters.core.config_file import Section
from exporters.core.errors import MissingExtraError, SettingsError, TuppenceError
from exporters.core.geography import require_known, select_regions
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest, Finding, Skipped, Source

Partition = Literal["aws", "aws-us-gov", "aws-cn", "aws-eusc"]

_PARTITION_PREFIXES: dict[str, Partition] = {"us-gov-": "aws-us-gov", "cn-": "aws-cn", "eusc-": "aws-eusc"}


class AwsEndpoints(Section):
    """Other addresses than AWS's own, for private endpoints, proxies and test servers."""

    pricing: str | None = Field(default=None, description="Price List Query API.")
    ec2: str | None = Field(default=None, description="EC2 API; {region} in it is replaced by the region code.")
    sts: str | None = Field(default=None, description="Security Token Service; {region} is replaced.")
    bulk: str | None = Field(default=None, description="Host of the bulk offer files.")
    ce: str | None = Field(default=None, description="Cost Explorer.")
    savingsplans: str | None = Field(default=None, description="Savings Plans.")
    budgets: str | None = Field(default=None, description="AWS Budgets.")


class AwsSettings(CloudSettings):
    """The section `sources.aws`."""

    mode: Literal["api", "bulk"] = Field(
        default="api", description="api: with credentials; bulk: public offer files, no credentials, no spot prices."
    )
    partition: Partition = Field(
        default="aws", description="The AWS partition of the account; regions of another one are skipped."
    )
    profile: str | None = Field(default=None, description="Profile of the AWS configuration files.")
    role_arn: str | None = Field(default=None, description="Role to assume, for example in the payer account.")
    endpoints: AwsEndpoints = Field(default_factory=AwsEndpoints, description="Addresses to call instead of AWS's.")
    parallel_regions: int = Field(default=4, ge=1, le=16, description="Regions fetched at the same time.")
    max_attempts: int = Field(default=10, ge=1, le=20, description="Tries of one API call, the first one counted.")


def partition_of(region: str) -> Partition:
    """This will return the AWS partition that a region belongs to."""
    return next((name for prefix, name in _PARTITION_PREFIXES.items() if region.startswith(prefix)), "aws")


def chosen_regions(settings: AwsSettings) -> tuple[tuple[str, ...], tuple[Skipped, ...]]:
    """This will return the regions to ask, and those named that belong to another partition than the account's.

    A region of another partition that only the jurisdictions would select is left out: nobody asked for it.

    Raises:
        SettingsError: a region is not known, or none is left.
    """
    names = select_regions("aws", names=settings.regions, jurisdictions=settings.jurisdictions)
    require_known(names, providers=("aws",), setting="sources.aws.regions")
    asked = tuple(name for name in names if partition_of(name) == settings.partition)
    skipped = tuple(
        Skipped(
            region=name,
            why=f"it belongs to partition {partition_of(name)}, the account to {settings.partition} "
            "(setting sources.aws.partition)",
        )
        for name in settings.regions
        if name not in asked
    )
    if not asked:
        raise SettingsError(
            f"no region of partition {settings.partition} is chosen",
            where="sources.aws",
            next_step="Name regions in sources.aws.regions, or mend jurisdictions or partition.",
        )
    return asked, skipped


def fetch(settings: AwsSettings, request: FetchRequest) -> Fetched:
    """This will fetch every chosen region, whole.

    Raises:
        SettingsError: an unknown region, or an endpoint without TLS.
        MissingExtraError: mode api without boto3.
        TransientSourceError: throttled, cut off, or the deadline passed.
        TerminalSourceError: credentials, permissions, a malformed answer, or no region left.
        IntegrityError: an answer that is not whole.
    """
    regions, skipped = chosen_regions(settings)
    if settings.mode == "bulk":
        from exporters.fetch.aws_bulk import fetch_bulk  # noqa: PLC0415 - only the mode in use is loaded

        return fetch_bulk(settings, request, regions, skipped)
    try:
        from exporters.fetch.aws_api import fetch_api  # noqa: PLC0415 - the SDK is an optional extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("aws", "aws") from error
    return fetch_api(settings, request, regions, skipped)


def check(settings: AwsSettings, request: FetchRequest) -> tuple[Finding, ...]:
    """This will look at credentials, permissions and reachability; each finding names the IAM action it needs."""
    try:
        regions, skipped = chosen_regions(settings)
    except TuppenceError as error:
        return (_failed("regions", error),)
    notes = tuple(Finding(f"region {one.region}", "warning", one.why, "Leave it out, or fit it.") for one in skipped)
    try:
        if settings.mode == "bulk":
            from exporters.fetch.aws_bulk import check_bulk  # noqa: PLC0415

            return (*notes, *check_bulk(settings, request, regions))
        try:
            from exporters.fetch.aws_check import check_api  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingExtraError("aws", "aws") from error
        return (*notes, *check_api(settings, request, regions))
    except TuppenceError as error:
        return (*notes, _failed("aws", error))


def _failed(subject: str, error: TuppenceError) -> Finding:
    return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)


SOURCE = Source(
    name="aws",
    settings_model=AwsSettings,
    fetch=fetch,
    check=check,
    extra="aws",
    packaged=True,
)
