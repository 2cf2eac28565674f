"""The least rights that the enabled sources and the store need, as documents to hand to a cloud. Pure.

RIGHTS is the one table: an action, what it is for, and the settings under which it is needed. From it come the policies
that `tuppence check --permissions` prints and the page docs/how-to/permissions.md. Nothing here is a wildcard over
actions. AWS, "Service Authorization Reference": none of the price and description actions can be narrowed to a
resource. Google Cloud, "Cloud Billing Catalog API": public SKUs need an API key or any signed-in caller, and no role.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from exporters.core.words import CapacityType
from exporters.settings import ExporterSettings

STORE = "store"

Applies = Callable[[ExporterSettings], bool]


@dataclass(frozen=True, slots=True)
class Right:
    """A row of the table.

    Args:
        source: a source's name, or `store`.
        holder: who needs it, as the title of its document.
        action: in the cloud's own words.
        needed_for: what does not work without it.
        when: the settings under which it is needed, in words.
        applies: the same as a test.
    """

    source: str
    holder: str
    action: str
    needed_for: str
    when: str
    applies: Applies


@dataclass(frozen=True, slots=True)
class Document:
    """What is handed to a cloud.

    Args:
        source: a source's name, or `store`.
        holder: who is to have these rights.
        kind: what the cloud calls the document.
        body: the document.
    """

    source: str
    holder: str
    kind: str
    body: dict[str, Any]


def _by_api(settings: ExporterSettings) -> bool:
    return settings.sources.aws.mode == "api"


def _spot_by_api(settings: ExporterSettings) -> bool:
    return _by_api(settings) and CapacityType.SPOT in settings.filters.capacity_types


def _assumes_a_role(settings: ExporterSettings) -> bool:
    return (_by_api(settings) or settings.costs.aws.enabled) and settings.sources.aws.role_arn is not None


def _azure_costs(wanted: str) -> Applies:
    """Whether costs of Azure are asked for, and the named one of their settings is on."""
    return lambda settings: settings.costs.azure.enabled and bool(getattr(settings.costs.azure, wanted))


def _costs(wanted: str | None = None) -> Applies:
    """Whether costs of AWS are asked for, and the named one of their settings is on."""
    return lambda settings: settings.costs.aws.enabled and (wanted is None or bool(getattr(settings.costs.aws, wanted)))


def _gcp_costs(wanted: str) -> Applies:
    """Whether costs of Google Cloud are asked for, and the named one of their settings names something."""
    return lambda settings: settings.costs.gcp.enabled and bool(getattr(settings.costs.gcp, wanted))


def _store_is(scheme: str) -> Applies:
    return lambda settings: urlsplit(settings.store.url).scheme == scheme


_READER = "the role that reads prices"
_COST_READER = "the role that reads costs"
_CALLER = "the identity that Tuppence runs as"
_WRITER = "the exporter"
_ONLY_READS = "the recommender"
_API = "`sources.aws.mode: api`"
_COSTS = "`costs.aws.enabled`"
_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"

RIGHTS: tuple[Right, ...] = (
    Right("aws", _READER, "pricing:GetProducts", "list prices, data transfer", _API, _by_api),
    Right("aws", _READER, "ec2:DescribeInstanceTypes", "what a machine type consists of", _API, _by_api),
    Right(
        "aws",
        _READER,
        "ec2:DescribeSpotPriceHistory",
        "spot prices",
        f"{_API} and `spot` among `filters.capacity_types`",
        _spot_by_api,
    ),
    Right(
        "aws",
        _CALLER,
        "sts:AssumeRole",
        "taking on the role that reads prices and costs",
        f"{_API} or {_COSTS}, and `sources.aws.role_arn`",
        _assumes_a_role,
    ),
    Right("aws", _COST_READER, "ce:GetCostAndUsage", "charges by day", _COSTS, _costs()),
    Right(
        "aws",
        _COST_READER,
        "ce:GetDimensionValues",
        "the accounts that have charges",
        f"{_COSTS} and `costs.aws.breakdown: region`",
        lambda settings: settings.costs.aws.enabled and settings.costs.aws.breakdown == "region",
    ),
    *(
        Right("aws", _COST_READER, action, needed_for, f"{_COSTS} and `costs.aws.{wanted}`", _costs(wanted))
        for action, needed_for, wanted in (
            ("ce:GetCostForecast", "the month's forecast", "forecast"),
            ("ce:GetSavingsPlansUtilizationDetails", "how far Savings Plans are used", "commitment_use"),
            ("ce:GetSavingsPlansCoverage", "what Savings Plans cover", "commitment_use"),
            ("ce:GetReservationUtilization", "how far reserved instances are used", "commitment_use"),
            ("ce:GetReservationCoverage", "what reserved instances cover", "commitment_use"),
            ("savingsplans:DescribeSavingsPlans", "Savings Plans that were bought", "commitments"),
            ("ec2:DescribeReservedInstances", "reserved instances that were bought", "commitments"),
            ("budgets:ViewBudget", "budgets", "budgets"),
        )
    ),
    Right(
        "aws",
        _COST_READER,
        "savingsplans:DescribeSavingsPlansOfferingRates",
        "what machines would cost under a Savings Plan",
        f"{_COSTS} and `costs.aws.savings_plan_rates.families`",
        lambda settings: settings.costs.aws.enabled and bool(settings.costs.aws.savings_plan_rates.families),
    ),
    Right(
        "gcp",
        _CALLER,
        "compute.machineTypes.list",
        "machine types as the project sees them",
        "`sources.gcp.project`",
        lambda settings: settings.sources.gcp.project is not None,
    ),
    *(
        Right("gcp", _CALLER, action, needed_for, f"`costs.gcp.{wanted}`", _gcp_costs(wanted))
        for action, needed_for, wanted in (
            ("bigquery.tables.get", "the columns of billing exports", "tables"),
            ("bigquery.tables.getData", "charges", "tables"),
            ("bigquery.jobs.create", "charges, in the project that pays for queries", "tables"),
            ("billing.accounts.list", "`tuppence check`: accounts whose export is not read", "enabled"),
            ("billing.resourceAssociations.list", "`tuppence check`: projects of an account", "enabled"),
            ("compute.commitments.list", "commitments that were bought", "commitment_projects"),
            ("billing.budgets.list", "budgets", "budget_accounts"),
        )
    ),
    Right(
        "azure",
        _CALLER,
        "Microsoft.Compute/skus/read",
        "sizes as the subscription sees them",
        "`sources.azure.subscription_id`",
        lambda settings: settings.sources.azure.subscription_id is not None,
    ),
    *(
        Right(
            "azure",
            _CALLER,
            f"Microsoft.CostManagement/{action}",
            needed_for,
            f"`costs.azure.{wanted}`",
            _azure_costs(wanted),
        )
        for action, needed_for, wanted in (
            ("query/action", "costs by day", "enabled"),
            ("query/read", "costs by day", "enabled"),
            ("forecast/action", "the month's forecast", "forecast"),
            ("forecast/read", "the month's forecast", "forecast"),
            ("budgets/read", "budgets", "budgets"),
        )
    ),
    Right(
        "azure",
        _CALLER,
        "Microsoft.CostManagement/generateCostDetailsReport/action",
        "each charge, from reports",
        "`costs.azure.report: details`",
        lambda settings: settings.costs.azure.enabled and settings.costs.azure.report == "details",
    ),
    *(
        Right(STORE, holder, action, needed_for, f"`store.url: {scheme}://…`", _store_is(scheme))
        for scheme, holder, action, needed_for in (
            ("s3", _WRITER, "s3:ListBucket", "finding snapshots"),
            ("s3", _WRITER, "s3:GetObject", "the last good prices after a restart"),
            ("s3", _WRITER, "s3:PutObject", "keeping a snapshot"),
            ("s3", _WRITER, "s3:DeleteObject", "`store.retention_days`"),
            ("s3", _ONLY_READS, "s3:ListBucket", "finding snapshots"),
            ("s3", _ONLY_READS, "s3:GetObject", "reading prices"),
            ("gs", _WRITER, "storage.objects.list", "finding snapshots"),
            ("gs", _WRITER, "storage.objects.get", "the last good prices after a restart"),
            ("gs", _WRITER, "storage.objects.create", "keeping a snapshot"),
            ("gs", _WRITER, "storage.objects.delete", "`store.retention_days`, and replacing an object"),
            ("gs", _ONLY_READS, "storage.objects.list", "finding snapshots"),
            ("gs", _ONLY_READS, "storage.objects.get", "reading prices"),
            ("az", _WRITER, f"{_BLOBS}/read", "finding and reading snapshots"),
            ("az", _WRITER, f"{_BLOBS}/write", "keeping a snapshot"),
            ("az", _WRITER, f"{_BLOBS}/delete", "`store.retention_days`"),
            ("az", _ONLY_READS, f"{_BLOBS}/read", "reading prices"),
        )
    ),
)
"""Every right that any setting asks for."""

WITHOUT_RIGHTS: dict[str, str] = {
    "aws": "mode bulk reads the public offer files and needs no account",
    "gcp": "public SKUs need no role: an API key restricted to the Cloud Billing API, or any signed-in identity of a "
    "project in which cloudbilling.googleapis.com is enabled",
    "azure": "the Retail Prices API is open; without a subscription the packaged sizes serve",
    "onprem": "rate cards stand in the settings file",
    "book": "read access to the files named in sources.book",
    "fx": "the sources of rates are open, or files",
    STORE: "a folder, which the exporter must be able to write",
}
"""What a source can do with no right at all."""


def rights_of(settings: ExporterSettings, sources: Sequence[str]) -> tuple[Right, ...]:
    """This will return the rights that the settings ask for, of the named sources."""
    return tuple(right for right in RIGHTS if right.source in sources and right.applies(settings))


def documents(settings: ExporterSettings, sources: Sequence[str]) -> tuple[Document, ...]:
    """This will return a document per holder of rights, in the order of the table; none where nothing is needed."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for right in rights_of(settings, sources):
        grouped.setdefault((right.source, right.holder), []).append(right.action)
    return tuple(_document(settings, *key, actions) for key, actions in grouped.items())


def _document(settings: ExporterSettings, source: str, holder: str, actions: list[str]) -> Document:
    cloud = source if source != STORE else {"s3": "aws", "gs": "gcp", "az": "azure"}[_scheme(settings)]
    if cloud == "aws":
        statements = _bucket(settings, actions) if source == STORE else [_aws_statement(settings, holder, actions)]
        return Document(source, holder, "IAM policy", {"Version": "2012-10-17", "Statement": statements})
    title = f"Tuppence snapshots, {holder}" if source == STORE else "Tuppence prices"
    if cloud == "gcp":
        role = {"title": title, "stage": "GA", "includedPermissions": actions}
        return Document(source, holder, "custom role (gcloud iam roles create --file)", role)
    return Document(source, holder, "custom role (az role definition create)", _azure_role(settings, title, actions))


def _aws_statement(settings: ExporterSettings, holder: str, actions: list[str]) -> dict[str, Any]:
    if holder == _CALLER:
        return _allow("TuppenceAssumesReader", actions, settings.sources.aws.role_arn)
    return _allow("TuppenceCosts" if holder == _COST_READER else "TuppencePrices", actions, "*")


def _allow(sid: str, actions: list[str], resource: str | None) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}


def _bucket(settings: ExporterSettings, actions: list[str]) -> list[dict[str, Any]]:
    parts = urlsplit(settings.store.url)
    bucket, prefix = f"arn:aws:s3:::{parts.netloc}", parts.path.strip("/")
    listing = _allow("TuppenceFindsSnapshots", ["s3:ListBucket"], bucket)
    if prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": [prefix, f"{prefix}/*"]}}
    objects = [action for action in actions if action != "s3:ListBucket"]
    inside = f"{bucket}/{prefix}/*" if prefix else f"{bucket}/*"
    return [listing, _allow("TuppenceSnapshots", objects, inside)]


def _azure_role(settings: ExporterSettings, title: str, actions: list[str]) -> dict[str, Any]:
    """Azure, "Azure custom roles": rights on data stand apart; a scope is a subscription."""
    data = [action for action in actions if action.startswith(_BLOBS)]
    subscription = settings.sources.azure.subscription_id or "SUBSCRIPTION_ID"
    return {
        "Name": title,
        "IsCustom": True,
        "Description": "What Tuppence reads and writes, and no more.",
        "Actions": [action for action in actions if action not in data],
        "NotActions": [],
        "DataActions": data,
        "NotDataActions": [],
        "AssignableScopes": [f"/subscriptions/{subscription}"],
    }


def _scheme(settings: ExporterSettings) -> str:
    return urlsplit(settings.store.url).scheme
