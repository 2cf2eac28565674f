"""What the source of Google Cloud's costs can be told: the section `costs.gcp` of the settings."""

from __future__ import annotations

import re
from typing import Final

from pydantic import Field, field_validator, model_validator

from exporters.core.units import BYTES_PER_GIB
from exporters.fetch.cost_contract import CostSourceSettings

_TABLE: Final = re.compile(r"^[a-z][a-z0-9.:-]{4,}\.\w+\.[\w-]+$")
_ACCOUNT: Final = re.compile(r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$")


class GcpCostSettings(CostSourceSettings):
    """What the source of Google Cloud's costs can be told."""

    tables: tuple[str, ...] = Field(
        default=(),
        description="Billing exports as project.dataset.table: standard or detailed usage cost, or the FOCUS view; one "
        "of each billing account.",
    )
    query_project: str | None = Field(
        default=None, description="Project that runs and pays for the queries; without it: the table's own."
    )
    max_bytes_per_query: int = Field(
        default=50 * BYTES_PER_GIB,
        ge=10 * 1024 * 1024,
        description="Most bytes one query may read.",
    )
    usd_per_tib: float = Field(
        default=6.25, ge=0, description="BigQuery's price of a TiB read, for messages; 6.25 in the US, more elsewhere."
    )
    bigquery_endpoint: str = Field(
        default="https://bigquery.googleapis.com", description="BigQuery API; http:// only to this machine."
    )
    commitment_projects: tuple[str, ...] = Field(
        default=(), description="Projects whose committed use of machines is read from Compute Engine."
    )
    budget_accounts: tuple[str, ...] = Field(
        default=(), description="Billing accounts (XXXXXX-XXXXXX-XXXXXX) whose budgets are read."
    )
    budgets_endpoint: str = Field(
        default="https://billingbudgets.googleapis.com", description="Cloud Billing Budget API."
    )

    @field_validator("tables")
    @classmethod
    def _tables_are_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _TABLE.match(name):
                raise ValueError(f"{name!r} is not of the form project.dataset.table")
        if len(set(names)) < len(names):
            raise ValueError("a table stands twice: its charges would be added up")
        return names

    @field_validator("budget_accounts")
    @classmethod
    def _accounts_are_ids(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _ACCOUNT.match(name):
                raise ValueError(f"{name!r} is not of the form XXXXXX-XXXXXX-XXXXXX")
        return names

    @model_validator(mode="after")
    def _asks_for_something(self) -> GcpCostSettings:
        if self.enabled and not (self.tables or self.commitment_projects or self.budget_accounts):
            raise ValueError("name at least one of tables, commitment_projects, budget_accounts")
        return self
