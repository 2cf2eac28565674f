"""The catalogue of the exporter's metrics: one row each, from which the code, the reference page and the tests come.

A new metric is a new row here, or of what was paid in cost_catalogue.py; see core.metrics for the practice of names.
"""

from __future__ import annotations

import polars as pl

from exporters.core.frames import EGRESS_KEY, OFFER_KEY
from exporters.core.metrics import Kind
from exporters.core.words import OperatingSystem
from exporters.publish.cost_catalogue import COSTS
from exporters.publish.metric import Fold, Frame, Metric

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
