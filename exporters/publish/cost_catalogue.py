"""The part of the catalogue about what was paid: one row a metric; publish.costs makes their frames."""

from __future__ import annotations

from exporters.publish.metric import Frame, Metric

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
        name="tuppence_effective_discount_ratio",
        help="How far below list price machines were really paid lately, without commitments and credits, where there "
        "is evidence enough; of all regions or families together: all.",
        labels=("provider", "region", "instance_family", "capacity_type"),
        frame=Frame.DISCOUNTS,
        unit="ratio",
        value="discount_ratio",
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
        name="tuppence_commitment_expiry_timestamp_seconds",
        help="When a commitment in force ends unless it is renewed; the scope is the commitment (seconds since 1970).",
        labels=("provider", "account", "scope"),
        frame=Frame.COMMITMENTS,
        unit="seconds",
        value="ends_at_seconds",
    ),
    Metric(
        name="tuppence_commitment_gbp_per_hour",
        help="What an hour of a commitment costs, used or not, upfront fees spread over its term, in pounds.",
        labels=("provider", "account", "scope"),
        frame=Frame.COMMITMENTS,
        unit="gbp_per_hour",
        value="gbp_per_hour",
    ),
    Metric(
        name="tuppence_budget_gbp",
        help="What somebody means to spend in a month, a budget's name as scope; of a longer one its share of a month.",
        labels=("provider", "account", "scope"),
        frame=Frame.BUDGETS,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_cost_forecast_gbp",
        help="What this month will have been billed, in eight of ten cases within the bounds; scopes overlap, so that"
        " they must not be added up.",
        labels=("provider", "account", "scope", "bound"),
        frame=Frame.COST_FORECASTS,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_cost_provider_forecast_gbp",
        help="What the provider itself expects this month to come to, in pounds at the newest rate.",
        labels=("provider", "account", "bound"),
        frame=Frame.PROVIDER_FORECASTS,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_workload_cost_gbp",
        help="What the workloads of a namespace cost on its cluster's last whole day, as OpenCost says, in pounds.",
        labels=("cluster", "namespace"),
        frame=Frame.WORKLOAD_COSTS,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_cost_change_gbp",
        help="Why the last whole day, or the seven days that end on it, cost more or less than a week before (effective"
        " cost); causes add up to the change.",
        labels=("provider", "account", "service", "span", "cause"),
        frame=Frame.COST_CHANGES,
        unit="gbp",
        value="gbp",
    ),
    Metric(
        name="tuppence_cost_anomaly_gbp",
        help="By how much the last whole day cost more than was to be expected; absent where it did not.",
        labels=("provider", "account", "service"),
        frame=Frame.COST_ANOMALIES,
        unit="gbp",
        value="excess_gbp",
    ),
    Metric(
        name="tuppence_cost_expected_gbp",
        help="What the last whole day was to be expected to cost by the days before it: of anomalies and the dearest"
        " services.",
        labels=("provider", "account", "service", "bound"),
        frame=Frame.EXPECTED_COSTS,
        unit="gbp",
        value="gbp",
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
        help="Whether costs were last brought from the source (1) or that failed (0).",
        labels=("source",),
        frame=Frame.COST_IMPORTS,
        value="success",
    ),
    Metric(
        name="tuppence_cost_import_timestamp_seconds",
        help="When costs were last asked of the source, failed or not (seconds since 1970).",
        labels=("source",),
        frame=Frame.COST_IMPORTS,
        unit="seconds",
        value="finished_at_seconds",
    ),
)
"""Rendered when costs were imported, and when a day has passed."""
