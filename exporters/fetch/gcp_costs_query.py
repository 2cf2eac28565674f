"""The one question that is put to a billing export in BigQuery, and the shape of its answer. Pure.

The server adds up, so that a table of gigabytes is never downloaded: one row a day (UTC), invoice month, project,
service, region, SKU of Compute Engine or of a commitment, machine, owner, currency and kind of charge. Every value is a
parameter; only the table's name and the columns that it has stand in the text. Floats of the export are added as
BIGNUMERIC and the sums rounded to twelve places, which takes off what binary fractions leave and nothing that is money.
Source: Google Cloud, "Structure of Standard data export" and "Structure of Detailed data export" (Cloud Billing).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, Final

COMPUTE_ENGINE: Final = "6F81-5844-456A"

REQUIRED: Final = (
    "billing_account_id",
    "service",
    "sku",
    "usage_start_time",
    "project",
    "labels",
    "location",
    "cost",
    "currency",
    "usage",
    "credits",
    "invoice",
    "cost_type",
)
"""Columns without which a bill cannot be read; the others came later and are left out where a table lacks them."""

FOCUS_REQUIRED: Final = (
    "BilledCost",
    "EffectiveCost",
    "BillingAccountId",
    "BillingCurrency",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargePeriodStart",
    "ServiceName",
)

RESOURCE_CREDIT: Final = "COMMITTED_USAGE_DISCOUNT"
SPEND_CREDIT: Final = "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE"
FEE_OFFSET: Final = "FEE_UTILIZATION_OFFSET"
"""Of the newer spend-based commitments: takes off the fee what was used of it; the rest of the fee was not used."""

PROMOTION: Final = "PROMOTION"
DEFAULT_MODEL: Final = "Default"
"""The consumption model of usage at list price; every other one is that of a commitment."""

INGESTION: Final = "_PARTITIONTIME"


def is_focus(columns: Collection[str]) -> bool:
    """This will tell whether a table or view is Google's FOCUS view."""
    return "BilledCost" in columns and "ChargePeriodStart" in columns


def absent(columns: Collection[str]) -> list[str]:
    """This will return the columns that are needed and not there."""
    return [name for name in (FOCUS_REQUIRED if is_focus(columns) else REQUIRED) if name not in columns]


def statement(table: str, columns: Collection[str], *, partitioned_by: str) -> str:
    """This will return the query for a table.

    Args:
        table: project.dataset.table, already checked.
        columns: the names of its columns.
        partitioned_by: `_PARTITIONTIME`, or the column by which it is partitioned; empty: it is not.
    """
    if is_focus(columns):
        return _FOCUS.format(table=table, pruned=_pruned(partitioned_by), **_focus_columns(columns))
    return _USAGE.format(
        table=table,
        pruned=_pruned(partitioned_by),
        list_cost="CAST(cost_at_list AS BIGNUMERIC)" if "cost_at_list" in columns else "CAST(NULL AS BIGNUMERIC)",
        commitment="subscription.instance_id" if "subscription" in columns else "CAST(NULL AS STRING)",
        model="consumption_model.description" if "consumption_model" in columns else "CAST(NULL AS STRING)",
        machine=_MACHINE if "system_labels" in columns else "CAST(NULL AS STRING)",
    )


def parameters(first_day: date, last_day: date, owner_tags: Sequence[str]) -> dict[str, Any]:
    """This will return the values that the query names; the last day is one of them."""
    return {
        "first_day": first_day,
        "last_day": last_day,
        "resource_credit": RESOURCE_CREDIT,
        "spend_credit": SPEND_CREDIT,
        "fee_offset": FEE_OFFSET,
        "promotion": PROMOTION,
        "compute_engine": COMPUTE_ENGINE,
        "default_model": DEFAULT_MODEL,
        "owner_tags": [plain_key(tag) for tag in owner_tags],
    }


def plain_key(tag: str) -> str:
    """This will return a tag's key as it is compared: any case, with or without a joint."""
    return "".join(letter for letter in tag.casefold() if letter not in "-_ ")


def _pruned(partitioned_by: str) -> str:
    """Usage is never exported before it happens, so the partitions before its first day hold none of it."""
    if partitioned_by in {"", "usage_start_time", "ChargePeriodStart"}:
        return ""
    if partitioned_by == INGESTION:
        return f"AND ({INGESTION} >= TIMESTAMP(@first_day) OR {INGESTION} IS NULL)"
    return f"AND {partitioned_by} >= TIMESTAMP(@first_day)"


_OWNER: Final = """(
      SELECT label.value
      FROM UNNEST({labels}) AS label
      JOIN UNNEST(@owner_tags) AS tag WITH OFFSET AS place
        ON REGEXP_REPLACE(LOWER(label.key), r'[-_ ]', '') = tag
      WHERE label.value != ''
      ORDER BY place
      LIMIT 1
    )"""

_MACHINE: Final = """(
      SELECT label.value FROM UNNEST(system_labels) AS label
      WHERE label.key = 'compute.googleapis.com/machine_spec' LIMIT 1
    )"""

_CREDIT: Final = """IFNULL((
      SELECT SUM(CAST(credit.amount AS BIGNUMERIC)) FROM UNNEST(credits) AS credit WHERE {which}
    ), 0)"""

_USAGE: Final = (
    """
WITH line AS (
  SELECT
    DATE(usage_start_time) AS day,
    billing_account_id AS billing_account,
    invoice.month AS invoice_month,
    IFNULL(project.id, '') AS project,
    IFNULL(service.description, '') AS service,
    COALESCE(location.region, '') AS region,
    IF(service.id = @compute_engine OR STARTS_WITH(sku.description, 'Commitment'), sku.description, '') AS sku,
    currency,
    cost_type,
    IFNULL({machine}, '') AS machine,
    COALESCE("""
    + _OWNER.format(labels="labels")
    + """, """
    + _OWNER.format(labels="project.labels")
    + """, '') AS owner,
    IFNULL({commitment}, '') AS commitment,
    IFNULL({model}, @default_model) != @default_model AS has_model,
    IFNULL(usage.pricing_unit, '') AS unit,
    usage.amount_in_pricing_units AS quantity,
    CAST(cost AS BIGNUMERIC) AS cost,
    {list_cost} AS list_cost,
    """
    + _CREDIT.format(which="credit.type = @resource_credit")
    + """ AS resource_credit,
    """
    + _CREDIT.format(which="credit.type = @spend_credit")
    + """ AS spend_credit,
    """
    + _CREDIT.format(which="credit.type = @fee_offset")
    + """ AS fee_offset,
    """
    + _CREDIT.format(which="credit.type = @promotion")
    + """ AS promotion,
    """
    + _CREDIT.format(which="TRUE")
    + """ AS all_credits
  FROM `{table}`
  WHERE usage_start_time >= TIMESTAMP(@first_day)
    AND usage_start_time < TIMESTAMP(DATE_ADD(@last_day, INTERVAL 1 DAY))
    {pruned}
)
SELECT
  day, billing_account, invoice_month, project, service, region, sku, currency, cost_type, machine, owner, commitment,
  has_model OR resource_credit != 0 OR spend_credit != 0 AS is_covered,
  unit,
  SUM(quantity) AS quantity,
  SUM(IF(cost != 0, quantity * CAST(-resource_credit / cost AS FLOAT64), 0)) AS covered_quantity,
  ROUND(SUM(cost), 12) AS cost,
  IF(COUNTIF(list_cost IS NULL) = 0, ROUND(SUM(list_cost), 12), NULL) AS list_cost,
  ROUND(SUM(resource_credit), 12) AS resource_credit,
  ROUND(SUM(spend_credit), 12) AS spend_credit,
  ROUND(SUM(fee_offset), 12) AS fee_offset,
  ROUND(SUM(promotion), 12) AS promotion,
  ROUND(SUM(all_credits), 12) AS all_credits,
  COUNTIF(cost IS NULL) AS without_cost,
  COUNT(*) AS line_count
FROM line
GROUP BY day, billing_account, invoice_month, project, service, region, sku, currency, cost_type, machine, owner,
  commitment, is_covered, unit
"""
)

_FOCUS: Final = """
WITH line AS (
  SELECT
    DATE(ChargePeriodStart) AS day,
    BillingAccountId AS billing_account,
    DATE(BillingPeriodStart) AS billing_period,
    IFNULL({SubAccountId}, '') AS project,
    ServiceName AS service,
    IFNULL({RegionId}, '') AS region,
    ChargeCategory AS charge_category,
    IFNULL({PricingCategory}, '') AS pricing_category,
    IFNULL({CommitmentDiscountId}, '') AS commitment,
    IFNULL({CommitmentDiscountStatus}, '') AS commitment_status,
    IFNULL({owner}, '') AS owner,
    BillingCurrency AS currency,
    CAST(BilledCost AS BIGNUMERIC) AS billed_cost,
    CAST(EffectiveCost AS BIGNUMERIC) AS effective_cost,
    CAST({ListCost} AS BIGNUMERIC) AS list_cost,
    CAST({ContractedCost} AS BIGNUMERIC) AS contracted_cost
  FROM `{table}`
  WHERE ChargePeriodStart >= TIMESTAMP(@first_day)
    AND ChargePeriodStart < TIMESTAMP(DATE_ADD(@last_day, INTERVAL 1 DAY))
    {pruned}
)
SELECT
  day, billing_account, billing_period, project, service, region, charge_category, pricing_category, commitment,
  commitment_status, owner, currency,
  ROUND(SUM(billed_cost), 12) AS billed_cost,
  ROUND(SUM(effective_cost), 12) AS effective_cost,
  IF(COUNTIF(list_cost IS NULL) = 0, ROUND(SUM(list_cost), 12), NULL) AS list_cost,
  IF(COUNTIF(contracted_cost IS NULL) = 0, ROUND(SUM(contracted_cost), 12), NULL) AS contracted_cost,
  COUNTIF(billed_cost IS NULL OR effective_cost IS NULL) AS without_cost,
  COUNT(*) AS line_count
FROM line
GROUP BY day, billing_account, billing_period, project, service, region, charge_category, pricing_category, commitment,
  commitment_status, owner, currency
"""


def _focus_columns(columns: Collection[str]) -> dict[str, str]:
    texts = ("SubAccountId", "RegionId", "PricingCategory", "CommitmentDiscountId", "CommitmentDiscountStatus")
    chosen = {name: name if name in columns else "CAST(NULL AS STRING)" for name in texts}
    chosen |= {name: name if name in columns else "NULL" for name in ("ListCost", "ContractedCost")}
    return chosen | {"owner": _OWNER.format(labels="Tags") if "Tags" in columns else "CAST(NULL AS STRING)"}
