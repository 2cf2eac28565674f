"""Settings of the exporter: which sources, what to let through, where snapshots lie, how to serve.

The sections `sources`, `filters`, `packaged`, `store`, `costs` and `exporter_web` of the settings file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from exporters.core.config_file import Section
from exporters.core.words import CapacityType, OperatingSystem
from exporters.fetch.aws import AwsSettings
from exporters.fetch.aws_costs import AwsCostSettings
from exporters.fetch.azure import AzureSettings
from exporters.fetch.azure_costs import AzureCostSettings
from exporters.fetch.book import BookSettings
from exporters.fetch.contract import CloudSettings, SourceSettings
from exporters.fetch.ecb import FxSettings
from exporters.fetch.gcp import GcpSettings
from exporters.fetch.gcp_costs_settings import GcpCostSettings
from exporters.fetch.onprem import OnpremSettings
from exporters.fetch.opencost import OpenCostSettings
from exporters.fetch.stated import StatedBudget, StatedCommitment
from exporters.normalise.chosen import Filters
from exporters.normalise.cost_anomalies import AnomalyRules


class SourcesSettings(Section):
    """One section a source, and the exchange rates."""

    fx: FxSettings = FxSettings()
    aws: AwsSettings = AwsSettings()
    gcp: GcpSettings = GcpSettings()
    azure: AzureSettings = AzureSettings()
    onprem: OnpremSettings = OnpremSettings()
    book: BookSettings = BookSettings()

    def of(self, name: str) -> SourceSettings:
        """This will return the section of a source by its name."""
        section: SourceSettings = getattr(self, name)
        return section


class FilterSettings(Section):
    """What is published; regions are filtered in each source's own section."""

    families: tuple[str, ...] = Field(
        default=(), description="Globs over the machine family (m6*, n2, Dsv5); empty: all."
    )
    capacity_types: tuple[CapacityType, ...] = Field(
        default=(CapacityType.ON_DEMAND, CapacityType.SPOT, CapacityType.OWNED),
        description="Ways of buying to publish.",
    )
    operating_systems: tuple[OperatingSystem, ...] = Field(
        default=(OperatingSystem.LINUX,), description="Operating systems to publish."
    )

    def as_filters(self) -> Filters:
        """This will return them as the row rules take them."""
        return Filters(
            families=self.families,
            capacity_types=tuple(word.value for word in self.capacity_types),
            operating_systems=tuple(word.value for word in self.operating_systems),
        )


class PackagedSettings(CloudSettings):
    """The packaged price book, which serves for a cloud that has never been fetched; always labelled as such."""

    enabled: bool = Field(default=True, description="Whether the packaged book may stand in.")
    regions: tuple[str, ...] = Field(
        default=(),
        description="Region codes of any cloud; a cloud that none belongs to is left out. Empty: by jurisdictions.",
    )
    providers: tuple[Literal["aws", "gcp", "azure"], ...] = Field(
        default=("aws", "gcp", "azure"), description="Clouds it stands in for."
    )


class StoreSettings(Section):
    """Where snapshots lie."""

    url: str = Field(
        default="tuppence-data/snapshots", min_length=1, description="A folder, or an s3://, gs:// or az:// URL."
    )
    retention_days: int = Field(default=400, ge=1, description="Days of history to keep, one snapshot a day.")


class AnomalySettings(Section):
    """When a day of a service's cost is unusual, judged by the days before it."""

    history_days: int = Field(default=28, ge=14, description="Whole days that a day is judged by.")
    threshold: float = Field(
        default=3.5, gt=0, description="Robust standard deviations above what was to be expected that count."
    )
    minimum_gbp: float = Field(default=10, gt=0, description="An excess of less than this in pounds never counts.")
    minimum_ratio: float = Field(
        default=0.2, ge=0, description="Nor does one of less than this share of what was to be expected."
    )

    def as_rules(self) -> AnomalyRules:
        """This will return them as days are judged by."""
        return AnomalyRules(
            history_days=self.history_days,
            threshold=self.threshold,
            minimum_gbp=self.minimum_gbp,
            minimum_ratio=self.minimum_ratio,
        )


class CostSettings(Section):
    """What was really paid: billing exports (FOCUS or AWS CUR) that are read into daily costs in pounds."""

    paths: tuple[str, ...] = Field(
        default=(), description="Files, folders, globs, or s3://, gs://, az:// URLs of exports; empty: none are read."
    )
    owner_tags: tuple[str, ...] = Field(
        default=("owner", "team", "cost-center"),
        description="Tags that say who bears a cost, the first with a value; any case, `-`, `_` or nothing between.",
    )
    settle_hours: float = Field(
        default=24, ge=0, description="Hours after its end for which a day may still grow, and is not shown as whole."
    )
    refresh_minutes: int = Field(default=360, ge=5, description="Minutes between imports of the exporter.")
    max_rejected_ratio: float = Field(
        default=0.01, ge=0, le=1, description="Share of charges left out past which an export is refused."
    )
    retention_months: int = Field(default=37, ge=1, description="Months of charges to keep, this one among them.")
    budgets: tuple[StatedBudget, ...] = Field(default=(), description="Budgets that no source of costs states.")
    commitments: tuple[StatedCommitment, ...] = Field(
        default=(), description="Commitments that no source of costs states."
    )
    workload_days: int = Field(
        default=62, ge=1, description="Days for which what workloads cost inside clusters is kept."
    )
    discount_days: int = Field(
        default=30,
        ge=7,
        le=365,
        description="Whole days of charges that tell how far below list price was really paid.",
    )
    top_services: int = Field(default=20, ge=1, description="Services with series of their own, of each provider.")
    max_groups: int = Field(
        default=1_000, ge=1, description="Groups of account, service and region with series of their own."
    )
    anomalies: AnomalySettings = AnomalySettings()
    azure: AzureCostSettings = AzureCostSettings()
    aws: AwsCostSettings = AwsCostSettings()
    gcp: GcpCostSettings = GcpCostSettings()
    opencost: OpenCostSettings = OpenCostSettings()

    @model_validator(mode="after")
    def _named_once(self) -> CostSettings:
        budgets = Counter((one.provider, one.account, one.name) for one in self.budgets)
        commitments = Counter((one.provider, one.account, one.id, one.unit.value) for one in self.commitments)
        for what, counts in (("budgets", budgets), ("commitments", commitments)):
            twice = [" ".join(filter(None, key)) for key, count in counts.items() if count > 1]
            if twice:
                raise ValueError(f"{what} stand twice: {', '.join(twice)}; give each a name of its own")
        return self


class ExporterWebSettings(Section):
    """Where the exporter serves."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=10210, ge=0, le=65535, description="Port to listen on; 0: any free one.")
    config_file: Path | None = Field(
        default=None, description="TLS and basic auth, in the exporter-toolkit's web-config format."
    )
    max_series: int = Field(default=200_000, ge=1, description="Most series one scrape may hold.")


class ExporterSettings(Section):
    """All sections of the exporter."""

    sources: SourcesSettings = SourcesSettings()
    filters: FilterSettings = FilterSettings()
    packaged: PackagedSettings = PackagedSettings()
    store: StoreSettings = StoreSettings()
    costs: CostSettings = CostSettings()
    exporter_web: ExporterWebSettings = ExporterWebSettings()
