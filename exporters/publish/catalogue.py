"""The catalogue of the exporter's metrics: one row each, from which the code, the reference page and the tests come.

A new metric is a new row here; see core.metrics for the practice of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from exporters.core.frames import EGRESS_KEY, OFFER_KEY
from exporters.core.metrics import Kind
from exporters.core.metrics import Metric as DeclaredMetric
from exporters.core.words import OperatingSystem

PRICE_NOTE = "Cached; refreshed in the background every refresh_minutes of its source."


class Frame(StrEnum):
    """What a metric's series are read from (publish/series.py)."""

    OFFERS = "offers"
    MACHINES = "machines"
    EGRESS = "egress"
    REGIONS = "regions"
    FX = "fx"
    IMPLIED_FX = "implied_fx"
    COSTS = "costs"
    COST_IMPORTS = "cost_imports"
    COST_REJECTS = "cost_rejects"
    COST_REACH = "cost_reach"
    COST_ALLOCATION = "cost_allocation"
    UNIT_COSTS = "unit_costs"
    COVERAGE = "coverage"
    UTILISATION = "utilisation"
    HEALTH = "health"


class Fold(StrEnum):
    """What is done with rows that have the same labels."""

    NONE = "none"
    MINIMUM = "minimum"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Metric(DeclaredMetric):
    """One metric of the exporter; the columns of its frame are named as its labels.

    Args:
        frame: what its series are read from.
        value: the frame's column that holds the value; empty for infos and health metrics.
        where: rows that have a series; None: all.
        fold: what is done with rows that have the same labels.
    """

    frame: Frame
    value: str = ""
    where: pl.Expr | None = None
    fold: Fold = Fold.NONE


_HAS_GPU = pl.col("gpus") > 0
_HAS_ACCELERATOR = pl.col("accelerators") > 0
_LINUX = pl.col("operating_system") == OperatingSystem.LINUX.value

PRICES: tuple[Metric, ...] = (
    Metric(
        name="tuppence_price_gbp_per_instance_hour",
        help="Price of one machine for one hour, in pounds.",
        kind=Kind.GAUGE,
        labels=OFFER_KEY,
        frame=Frame.OFFERS,
        unit="gbp_per_instance_hour",
        value="gbp_per_hour",
    ),
    Metric(
        name="tuppence_price_gbp_per_vcpu_hour",
        help="The part of a machine's price that one of its vCPUs bears for one hour, in pounds.",
        kind=Kind.GAUGE,
        labels=OFFER_KEY,
        frame=Frame.OFFERS,
        unit="gbp_per_vcpu_hour",
        value="gbp_per_vcpu_hour",
    ),
    Metric(
        name="tuppence_price_gbp_per_gib_hour",
        help="The part of a machine's price that one GiB of its memory bears for one hour, in pounds.",
        kind=Kind.GAUGE,
        labels=OFFER_KEY,
        frame=Frame.OFFERS,
        unit="gbp_per_gib_hour",
        value="gbp_per_gib_hour",
    ),
    Metric(
        name="tuppence_price_gbp_per_gpu_hour",
        help="The part of a machine's price that one whole GPU bears for one hour, in pounds.",
        kind=Kind.GAUGE,
        labels=(*OFFER_KEY, "gpu_model"),
        frame=Frame.OFFERS,
        unit="gbp_per_gpu_hour",
        value="gbp_per_gpu_hour",
        where=_HAS_GPU,
    ),
    Metric(
        name="tuppence_price_gbp_per_accelerator_hour",
        help="The part of a machine's price that one accelerator that is not a GPU bears for one hour, in pounds.",
        kind=Kind.GAUGE,
        labels=(*OFFER_KEY, "gpu_model", "accelerator_model"),
        frame=Frame.OFFERS,
        unit="gbp_per_accelerator_hour",
        value="gbp_per_accelerator_hour",
        where=_HAS_ACCELERATOR,
    ),
    Metric(
        name="tuppence_cheapest_price_gbp_per_vcpu_hour",
        help="The lowest price of a vCPU-hour on Linux machines without GPUs or other accelerators, in pounds.",
        kind=Kind.GAUGE,
        labels=("provider", "region", "capacity_type", "gpu_model"),
        frame=Frame.OFFERS,
        unit="gbp_per_vcpu_hour",
        value="gbp_per_vcpu_hour",
        where=~_HAS_GPU & ~_HAS_ACCELERATOR & _LINUX,
        fold=Fold.MINIMUM,
    ),
    Metric(
        name="tuppence_cheapest_price_gbp_per_gpu_hour",
        help="The lowest price of a whole GPU's hour by model on Linux machines, in pounds.",
        kind=Kind.GAUGE,
        labels=("provider", "region", "capacity_type", "gpu_model"),
        frame=Frame.OFFERS,
        unit="gbp_per_gpu_hour",
        value="gbp_per_gpu_hour",
        where=_HAS_GPU & _LINUX,
        fold=Fold.MINIMUM,
    ),
    Metric(
        name="tuppence_egress_price_gbp_per_gib",
        help="Price of one GiB that leaves a region or zone, from a monthly volume of tier_start_gib on, in pounds.",
        kind=Kind.GAUGE,
        labels=EGRESS_KEY,
        frame=Frame.EGRESS,
        unit="gbp_per_gib",
        value="gbp_per_gib",
    ),
    Metric(
        name="tuppence_instance_info",
        help="What a machine type consists of, and how its price was split (of its on-demand offer, where it has one).",
        kind=Kind.INFO,
        labels=(
            "provider",
            "region",
            "instance_type",
            "family",
            "architecture",
            "vcpus",
            "memory_gib",
            "gpu_model",
            "gpus",
            "split_method",
        ),
        frame=Frame.MACHINES,
    ),
    Metric(
        name="tuppence_region_info",
        help="Country and jurisdiction of each region that has an offer.",
        kind=Kind.INFO,
        labels=("provider", "region", "country", "jurisdiction"),
        frame=Frame.REGIONS,
    ),
    Metric(
        name="tuppence_fx_gbp_per_unit",
        help="Pounds per unit of a currency: the one rate at which every price in it is expressed.",
        kind=Kind.GAUGE,
        labels=("currency", "source"),
        frame=Frame.FX,
        unit="gbp_per_unit",
        value="gbp_per_unit",
    ),
    Metric(
        name="tuppence_fx_rate_date_timestamp_seconds",
        help="The day of that exchange rate (midnight UTC, seconds since 1970).",
        kind=Kind.GAUGE,
        labels=("currency", "source"),
        frame=Frame.FX,
        unit="seconds",
        value="rate_date_seconds",
    ),
    Metric(
        name="tuppence_fx_provider_gbp_per_unit",
        help="Pounds per unit of a currency that a provider's own list in pounds implies.",
        kind=Kind.GAUGE,
        labels=("currency", "provider"),
        frame=Frame.IMPLIED_FX,
        unit="gbp_per_unit",
        value="gbp_per_unit",
    ),
)
"""Rendered once per snapshot."""

COSTS: tuple[Metric, ...] = (
    Metric(
        name="tuppence_cost_gbp",
        help="What was paid in a window of whole days (UTC), in pounds at each day's rate; absent until it is whole.",
        labels=("provider", "account", "service", "region", "window", "basis"),
        frame=Frame.COSTS,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_cost_whole_until_timestamp_seconds",
        help="The end of the last day of the account that is whole (seconds since 1970).",
        labels=("provider", "account"),
        frame=Frame.COST_REACH,
        unit="seconds",
        value="whole_until_seconds",
    ),
    Metric(
        name="tuppence_cost_allocation_ratio",
        help="Share of the effective cost of usage that an owner tag stands on, in the window.",
        labels=("provider", "window"),
        frame=Frame.COST_ALLOCATION,
        unit="ratio",
        value="ratio",
    ),
    Metric(
        name="tuppence_cost_gbp_per_vcpu_hour",
        help="What a vCPU-hour really cost in the last 30 whole days, where exports state vCPU-hours, in pounds.",
        labels=("provider", "region", "basis"),
        frame=Frame.UNIT_COSTS,
        unit="gbp_per_vcpu_hour",
        value="gbp_per_vcpu_hour",
    ),
    Metric(
        name="tuppence_commitment_coverage_ratio",
        help="Share of usage at list price that commitments covered in the last 30 whole days; the scope is a service.",
        labels=("provider", "account", "scope"),
        frame=Frame.COVERAGE,
        unit="ratio",
        value="ratio",
    ),
    Metric(
        name="tuppence_commitment_utilisation_ratio",
        help="Share of a commitment that was used in the last 30 whole days; the scope is the commitment.",
        labels=("provider", "account", "scope"),
        frame=Frame.UTILISATION,
        unit="ratio",
        value="ratio",
    ),
    Metric(
        name="tuppence_cost_charges_rejected",
        help="Charges that the last import left out, by reason; none of them is in any cost.",
        labels=("reason",),
        frame=Frame.COST_REJECTS,
        value="rows",
    ),
    Metric(
        name="tuppence_cost_import_success",
        help="Whether the last import of billing exports succeeded (1) or not (0).",
        labels=("source",),
        frame=Frame.COST_IMPORTS,
        value="success",
    ),
    Metric(
        name="tuppence_cost_import_timestamp_seconds",
        help="When the last import of billing exports ended (seconds since 1970).",
        labels=("source",),
        frame=Frame.COST_IMPORTS,
        unit="seconds",
        value="finished_at_seconds",
    ),
)
"""Rendered when costs were imported, and when a day has passed."""


def _health(name: str, text: str, *labels: str, kind: Kind = Kind.GAUGE, unit: str = "") -> Metric:
    return Metric(name=name, help=text, kind=kind, labels=labels, frame=Frame.HEALTH, unit=unit)


HEALTH: tuple[Metric, ...] = (
    _health(
        "tuppence_exporter_snapshot_timestamp_seconds",
        "When the source was asked for the snapshot that is served, or was served until it grew too old.",
        "source",
        unit="seconds",
    ),
    _health(
        "tuppence_exporter_snapshot_max_age_seconds",
        "Age past which the source's series stop; absent for the packaged book, which has none.",
        "source",
        unit="seconds",
    ),
    _health(
        "tuppence_exporter_refresh_success", "Whether the source's last refresh succeeded (1) or not (0).", "source"
    ),
    _health(
        "tuppence_exporter_refresh_duration_seconds",
        "How long the source's last refresh took, failed or not.",
        "source",
        unit="seconds",
    ),
    _health(
        "tuppence_exporter_refreshes_total",
        "Refreshes of the source since the start, failed ones among them.",
        "source",
        kind=Kind.COUNTER,
    ),
    _health(
        "tuppence_exporter_refresh_failures_total",
        "Failed refreshes of the source since the start.",
        "source",
        kind=Kind.COUNTER,
    ),
    _health(
        "tuppence_exporter_rows_rejected",
        "Rows that the source's last good refresh left out, by reason; none of them has a price.",
        "source",
        "reason",
    ),
    _health("tuppence_exporter_offers", "Offers of the source that have series now.", "source"),
    _health(
        "tuppence_exporter_illustrative_offers",
        "Offers of the source that are only illustrative: listed by `tuppence prices`, never published as series.",
        "source",
    ),
    _health(
        "tuppence_exporter_price_origin_info",
        "Where the source's prices come from: live (refreshed by this process), cached (an older refresh) or packaged.",
        "source",
        "origin",
        kind=Kind.INFO,
    ),
    _health("tuppence_exporter_series", "Price series that a scrape returns."),
    _health("tuppence_exporter_series_limit", "The most price series that a scrape may return (the setting)."),
    _health(
        "tuppence_exporter_series_capped",
        "1 while newer prices wait because they exceed the limit and older ones are served.",
    ),
    _health(
        "tuppence_exporter_render_duration_seconds",
        "How long the last rendering of the price series took.",
        unit="seconds",
    ),
    _health(
        "tuppence_exporter_config_last_reload_successful",
        "Whether the last reading of the settings succeeded (1) or not (0).",
    ),
    _health(
        "tuppence_exporter_config_last_reload_success_timestamp_seconds",
        "When the settings were last read successfully.",
        unit="seconds",
    ),
    _health("tuppence_build_info", "The program that answers.", "version", "python_version", kind=Kind.INFO),
)
"""Answered at each scrape from memory."""

CATALOGUE: tuple[Metric, ...] = (*PRICES, *COSTS, *HEALTH)
