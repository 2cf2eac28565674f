"""Fetch, AWS costs: what machines would cost under a Compute Savings Plan bought now. Asking costs nothing.

Promises one rate for each term, region and machine type, or an exception; the settings say which families and regions,
because all of them are some hundred thousand rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.standing_frames import CommitmentRate
from exporters.core.words import OperatingSystem
from exporters.fetch.aws_clients import SavingsPlansClient
from exporters.fetch.aws_costs_calls import exact, pages, stated_whole, whole_error
from exporters.fetch.aws_costs_commitments import LINUX

YEAR_SECONDS: Final = 31_536_000


def plan_rates(
    client: SavingsPlansClient, source: str, regions: Sequence[str], families: Sequence[str]
) -> list[dict[str, object]]:
    """This will return what machines cost under a Compute Savings Plan without upfront payment, as CommitmentRate.

    The row rule: unit Hrs, usage type BoxUsage (not of dedicated hosts or unused capacity reservations), shared
    tenancy, operation RunInstances (plain Linux). After it one row is left for each term, region and type.

    Args:
        client: the SDK's client of `savingsplans`.
        source: the name of the source.
        regions: wanted region codes.
        families: wanted instance families, at least one.
    """
    action = "savingsplans:DescribeSavingsPlansOfferingRates"
    wanted = {
        "region": list(regions),
        "instanceFamily": list(families),
        "productDescription": ["Linux/UNIX"],
        "tenancy": ["shared"],
    }
    answers = pages(
        client.describe_savings_plans_offering_rates,
        {
            "savingsPlanTypes": ["Compute"],
            "savingsPlanPaymentOptions": ["No Upfront"],
            "products": ["EC2"],
            "serviceCodes": ["AmazonEC2"],
            "filters": [{"name": name, "values": values} for name, values in wanted.items()],
            "maxResults": 1000,
        },
        items="searchResults",
        next_page="nextToken",
        action=action,
    )
    with stated_whole(action):
        rows = [_rate_row(one, source, action) for page in answers for one in page["searchResults"] if _is_plain(one)]
    keys = [(row["term_years"], row["region"], row["instance_type"]) for row in rows]
    if len(set(keys)) != len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise whole_error(f"there are two rates for {twice}", action)
    return rows


def rate_frame(rows: Sequence[Mapping[str, object]]) -> dy.DataFrame[CommitmentRate]:
    """This will return rows as a frame that holds to its schema."""
    return CommitmentRate.validate(pl.DataFrame(rows, schema=CommitmentRate.create_empty().schema), cast=True)


def _is_plain(one: Mapping[str, Any]) -> bool:
    properties = _properties(one)
    return (
        one.get("unit") == "Hrs"
        and "BoxUsage" in str(one.get("usageType", ""))
        and "Unused" not in str(one.get("usageType", ""))
        and one.get("operation") == "RunInstances"
        and properties.get("tenancy") == "shared"
        and properties.get("productDescription") in LINUX
    )


def _rate_row(one: Mapping[str, Any], source: str, action: str) -> dict[str, object]:
    offering, properties = one["savingsPlanOffering"], _properties(one)
    rate = exact(one.get("rate"), where=action)
    if rate <= 0:
        raise whole_error(f"the rate of {properties.get('instanceType')} is {rate}", action)
    return {
        "source": source,
        "provider": "aws",
        "plan_type": offering["planType"],
        "term_years": int(offering["durationSeconds"]) // YEAR_SECONDS,
        "payment": offering["paymentOption"],
        "region": properties["region"],
        "instance_type": properties["instanceType"],
        "operating_system": OperatingSystem.LINUX.value,
        "currency": offering["currency"],
        "rate_per_hour": float(rate),
    }


def _properties(one: Mapping[str, Any]) -> dict[str, str]:
    return {str(entry["name"]): str(entry["value"]) for entry in one.get("properties", ())}
