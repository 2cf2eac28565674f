"""Recommendations as rows for spreadsheets and data warehouses, under FOCUS names where FOCUS has the column.

FOCUS columns describe the charge that the advice is about, so they stand for the place where the workload is now; what
FOCUS does not know carries its prefix ``x_`` (FOCUS 1.2, "Custom columns"). Its recommendation dataset is a draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from exporters.core.focus import PRICING_CATEGORY
from exporters.core.money import GBP, pence
from recommender.advise.plan import Plan
from recommender.advise.record import PriceEvidence, Recommendation
from recommender.report.capacity import capacity_rows
from recommender.report.words import month_of

_PLACE = {
    "cluster": "Cluster",
    "pool": "Pool",
    "provider": "Provider",
    "region": "Region",
    "jurisdiction": "Jurisdiction",
    "instance_type": "InstanceType",
    "capacity_type": "CapacityType",
}
COLUMNS = (
    "ProviderName",
    "RegionId",
    "SkuId",
    "PricingCategory",
    "BillingCurrency",
    "ChargePeriodStart",
    "ChargePeriodEnd",
    "PricingCurrency",
    "ListUnitPrice",
    "PricingUnit",
    "x_GbpPerUnit",
    "x_FxDate",
    "x_FxSource",
    "x_RecommendationId",
    "x_Rank",
    "x_Kind",
    "x_State",
    "x_Title",
    "x_Owner",
    "x_Namespace",
    "x_WorkloadKind",
    "x_Workload",
    "x_ResidencyClass",
    *(f"x_Current{name}" for name in _PLACE.values()),
    *(f"x_Recommended{name}" for name in _PLACE.values()),
    "x_CurrentGbpPerMonth",
    "x_RecommendedGbpPerMonth",
    "x_RecommendedFullGbpPerMonth",
    "x_SavingGbpPerMonth",
    "x_SavingLowGbpPerMonth",
    "x_SavingHighGbpPerMonth",
    "x_CostDeltaGbpPerMonth",
    "x_OneOffGbp",
    "x_Confidence",
    "x_Effort",
    "x_LegalBasis",
    "x_ExpiresAt",
    "x_CostDeltaGbpPerHour",
    "x_Resource",
    "x_ResourceClass",
    "x_LatestUsefulStart",
    "x_EarliestReturn",
)
"""All columns of the rows, in their order; what a kind of advice does not have is None."""


def recommendation_rows(plan: Plan) -> Iterator[Mapping[str, Any]]:
    """This will yield one row a recommendation; what is not known is None."""
    for row in chain(map(_row, plan.recommendations), capacity_rows(plan)):
        yield {name: row.get(name) for name in COLUMNS}


def _row(one: Recommendation) -> Mapping[str, Any]:
    price = next((price for price in one.prices if price.used_for == "current"), None)
    saving = one.monthly.saving if one.monthly else None
    return {
        "ProviderName": one.current.provider,
        "RegionId": one.current.region,
        "SkuId": price.sku_id if price else None,
        "PricingCategory": PRICING_CATEGORY[one.current.capacity_type],
        "BillingCurrency": GBP,
        "ChargePeriodStart": one.evidence.window_start.isoformat(),
        "ChargePeriodEnd": one.evidence.window_end.isoformat(),
        **_pricing(price),
        "x_RecommendationId": one.id,
        "x_Rank": one.rank,
        "x_Kind": one.kind.value,
        "x_State": one.state,
        "x_Title": one.title,
        "x_Owner": one.target.owner,
        "x_Namespace": one.target.namespace,
        "x_WorkloadKind": one.target.workload_kind,
        "x_Workload": one.target.workload,
        "x_ResidencyClass": one.target.residency_class,
        **_place("x_Current", one.current.model_dump()),
        **_place("x_Recommended", one.recommended.model_dump()),
        "x_CurrentGbpPerMonth": month_of(one.current.gbp_per_hour),
        "x_RecommendedGbpPerMonth": month_of(one.recommended.gbp_per_hour),
        "x_RecommendedFullGbpPerMonth": month_of(one.recommended.full_gbp_per_hour),
        "x_SavingGbpPerMonth": pence(saving.p50) if saving else None,
        "x_SavingLowGbpPerMonth": pence(saving.p10) if saving else None,
        "x_SavingHighGbpPerMonth": pence(saving.p90) if saving else None,
        "x_CostDeltaGbpPerMonth": None if saving else month_of(one.cost_delta_gbp_per_hour or 0.0),
        "x_CostDeltaGbpPerHour": one.cost_delta_gbp_per_hour,
        "x_OneOffGbp": pence(one.one_off.total_gbp),
        "x_Confidence": one.risk.confidence.value,
        "x_Effort": one.effort,
        "x_LegalBasis": one.legal_basis,
        "x_ExpiresAt": one.expires_at.isoformat(),
    }


def _pricing(price: PriceEvidence | None) -> Mapping[str, Any]:
    return {
        "PricingCurrency": price.currency if price else None,
        "ListUnitPrice": price.price_per_hour if price else None,
        "PricingUnit": "Hours",
        "x_GbpPerUnit": price.gbp_per_unit if price else None,
        "x_FxDate": price.fx_date.isoformat() if price else None,
        "x_FxSource": price.fx_source if price else None,
    }


def _place(prefix: str, place: Mapping[str, Any]) -> Mapping[str, Any]:
    return {f"{prefix}{name}": place[key] for key, name in _PLACE.items()}
