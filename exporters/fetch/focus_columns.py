"""One column map a version: where our columns stand in FOCUS 1.0-preview to 1.4, and in AWS's CUR.

Columns are found by name, never by place. What a version does not know is absent from its map and null in the rows.

Sources: FOCUS specification, changelog and column history (https://focus.finops.org/focus-specification/changelog/):
1.0 renames Region to RegionId and UsageQuantity to ConsumedQuantity and adds CommitmentDiscountStatus and
ContractedCost; 1.1 adds SkuPriceDetails; 1.3 (ratified 5 December 2025) adds ServiceProviderName and deprecates
ProviderName; 1.4 removes it. AWS, Cost and Usage Report data dictionary: CUR 2.0 writes lineItem/UnblendedCost as
line_item_unblended_cost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from exporters.core.errors import IntegrityError

REQUIRED: Final = (
    "provider",
    "billing_account",
    "billing_period",
    "charge_start",
    "charge_end",
    "currency",
    "billed_cost",
    "effective_cost",
    "line_item_type",
)
"""Without these nothing can be said of a charge."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Where our columns stand in one version of an export.

    Args:
        version: as a person calls it.
        columns: our name to the export's.
        marks: columns by any of which the version is told from older ones.
        lacks: columns that it no longer has.
    """

    version: str
    columns: Mapping[str, str]
    marks: tuple[str, ...]
    lacks: tuple[str, ...] = ()

    def fits(self, names: Collection[str]) -> bool:
        """This will tell whether a header can be of this version."""
        return any(name in names for name in self.marks) and not any(name in names for name in self.lacks)

    def missing(self, names: Collection[str]) -> list[str]:
        """This will return the columns that a header must have and has not."""
        return [self.columns[ours] for ours in REQUIRED if ours in self.columns and self.columns[ours] not in names]


_PREVIEW: Final[Mapping[str, str]] = {
    "provider": "ProviderName",
    "billing_account": "BillingAccountId",
    "sub_account": "SubAccountId",
    "billing_period": "BillingPeriodStart",
    "charge_start": "ChargePeriodStart",
    "charge_end": "ChargePeriodEnd",
    "service": "ServiceName",
    "region": "Region",
    "sku_id": "SkuId",
    "resource_id": "ResourceId",
    "charge_category": "ChargeCategory",
    "pricing_category": "PricingCategory",
    "commitment_discount_id": "CommitmentDiscountId",
    "tags": "Tags",
    "currency": "BillingCurrency",
    "billed_cost": "BilledCost",
    "effective_cost": "EffectiveCost",
    "list_cost": "ListCost",
    "consumed_quantity": "UsageQuantity",
    "consumed_unit": "UsageUnit",
    "details": "x_SkuDetails",
    "usage_type": "x_UsageType",
    "description": "ChargeDescription",
}
_1_0: Final[Mapping[str, str]] = {
    **_PREVIEW,
    "region": "RegionId",
    "commitment_status": "CommitmentDiscountStatus",
    "contracted_cost": "ContractedCost",
    "consumed_quantity": "ConsumedQuantity",
    "consumed_unit": "ConsumedUnit",
}
_1_1: Final[Mapping[str, str]] = {**_1_0, "details": "SkuPriceDetails"}
_1_2: Final[Mapping[str, str]] = {**_1_1}
_1_3: Final[Mapping[str, str]] = {**_1_2, "provider": "ServiceProviderName"}
_1_4: Final[Mapping[str, str]] = {**_1_3}

FOCUS: Final = (
    ColumnMap("FOCUS 1.0-preview", _PREVIEW, marks=("BilledCost",)),
    ColumnMap("FOCUS 1.0", _1_0, marks=("RegionId", "ConsumedQuantity", "ContractedCost", "ChargeClass")),
    ColumnMap(
        "FOCUS 1.1",
        _1_1,
        marks=("SkuPriceDetails", "SkuMeter", "ServiceSubcategory", "CapacityReservationId", "CommitmentDiscountUnit"),
    ),
    ColumnMap("FOCUS 1.2", _1_2, marks=("InvoiceId", "PricingCurrency", "BillingAccountType", "SubAccountType")),
    ColumnMap("FOCUS 1.3", _1_3, marks=("ServiceProviderName",)),
    ColumnMap("FOCUS 1.4", _1_4, marks=("ServiceProviderName",), lacks=("ProviderName", "PublisherName")),
)
"""Oldest first; a header is of the newest version that it fits."""

CUR: Final = ColumnMap(
    "AWS CUR 2.0",
    {
        "billing_account": "bill_payer_account_id",
        "sub_account": "line_item_usage_account_id",
        "billing_period": "bill_billing_period_start_date",
        "charge_start": "line_item_usage_start_date",
        "charge_end": "line_item_usage_end_date",
        "service": "product_product_name",
        "service_code": "line_item_product_code",
        "region": "product_region_code",
        "sku_id": "product_sku",
        "resource_id": "line_item_resource_id",
        "line_item_type": "line_item_line_item_type",
        "reservation_id": "reservation_reservation_a_r_n",
        "savings_plan_id": "savings_plan_savings_plan_a_r_n",
        "tags": "resource_tags",
        "currency": "line_item_currency_code",
        "billed_cost": "line_item_unblended_cost",
        "list_cost": "pricing_public_on_demand_cost",
        "consumed_quantity": "line_item_usage_amount",
        "consumed_unit": "pricing_unit",
        "pricing_term": "pricing_term",
        "vcpu": "product_vcpu",
        "product": "product",
        "machine": "product_instance_type",
        "usage_type": "line_item_usage_type",
    },
    marks=("line_item_unblended_cost",),
)

DETAILS: Final = ColumnMap(
    "Azure cost details",
    {
        "billing_account": "BillingAccountId",
        "charge_start": "Date",
        "currency": "BillingCurrency",
        "billed_cost": "CostInBillingCurrency",
        "line_item_type": "ChargeType",
    },
    marks=("CostInBillingCurrency",),
)
"""Only what a file cannot be without; azure_details_rows has every column, by the names that they are given there."""

_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


def cur2_name(name: str) -> str:
    """This will return the CUR 2.0 name of a column of the older report: lineItem/UsageAmount, line_item_usage_amount.

    Others come back as they are.
    """
    if "/" not in name:
        return name
    group, _, rest = name.partition("/")
    tag = ":" in rest
    return f"{_WORD.sub('_', group)}_{rest if tag else _WORD.sub('_', rest)}".lower()


def map_for(names: Collection[str], *, where: str) -> ColumnMap:
    """This will return the newest map that a header fits; of CUR or of Azure's cost details, when it is one.

    Args:
        names: the columns of the file, those of an older CUR by their CUR 2.0 names,
            those of Azure's cost details by theirs.
        where: the file, for messages.

    Raises:
        IntegrityError: it is neither, or a column is missing without which no charge can be read.
    """
    own = next((one for one in (CUR, DETAILS) if one.fits(names)), None)
    found = own or next((one for one in reversed(FOCUS) if one.fits(names)), None)
    if found is None:
        raise IntegrityError(
            "this is neither a FOCUS export nor an AWS Cost and Usage Report nor Azure's cost details: it has no column"
            " BilledCost"
            f" (its columns: {', '.join(sorted(names)[:8])} …)",
            where=where,
            next_step="Export FOCUS 1.0 or later, or CUR 2.0; see docs/how-to/costs.md.",
        )
    missing = found.missing(names)
    if missing:
        raise IntegrityError(
            f"the {found.version} export lacks {', '.join(missing)}",
            where=where,
            next_step="Export all columns of the cost and usage data; nothing of this import was taken.",
        )
    return found
