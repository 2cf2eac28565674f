"""The catalogue of the recommender's metrics: one row each, from which code, reference page and tests come.

A new metric is a new row here and its samples in metrics.py; see core.metrics for the practice of names.
"""

from __future__ import annotations

from exporters.core.metrics import Kind, Metric

_POOL = ("cluster", "pool", "instance_type")
_ADVICE = ("kind", "state", "confidence")

ADVICE: tuple[Metric, ...] = (
    Metric("tuppence_recommendations", "Recommendations of the last good plan.", labels=_ADVICE),
    Metric(
        "tuppence_recommendation_saving_gbp_per_month",
        "What the recommendations would save, in pounds for 730 hours. Kinds that may cost have no series.",
        labels=_ADVICE,
        unit="gbp_per_month",
    ),
    Metric(
        "tuppence_recommendation_saving_expected_gbp_per_month",
        "The saving times what measured moves of the kind really save, as the policy has it.",
        labels=("kind",),
        unit="gbp_per_month",
    ),
    Metric(
        "tuppence_saving_withheld_gbp_per_month",
        "What offers would save that only this guard keeps back, the best of each workload; guards do not add up.",
        labels=("rule",),
        unit="gbp_per_month",
    ),
    Metric(
        "tuppence_saving_realised_gbp",
        "What verified recommendations saved in the days in which each was measured, in pounds; may be negative.",
        unit="gbp",
    ),
    Metric(
        "tuppence_saving_predicted_gbp",
        "What the proposals of the same recommendations would make of the same hours, in pounds.",
        unit="gbp",
    ),
    Metric(
        "tuppence_recommender_current_gbp_per_hour",
        "What the priced workloads cost where they are, in pounds an hour.",
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_recommender_planned_gbp_per_hour",
        "What they would cost as advised, in pounds an hour.",
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_recommender_lower_bound_gbp_per_hour",
        "What no plan can beat: rules and room kept, guards left out, in pounds an hour.",
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_owned_used_ratio",
        "Mean requests by all that a pool that is paid for has, of the scarcest resource: now, and as planned.",
        labels=(*_POOL, "plan"),
        unit="ratio",
    ),
    Metric(
        "tuppence_owned_shadow_price_gbp_per_vcpu_hour",
        "What one more requested vCPU in a pool that is paid for would save an hour, in pounds; 0: it has room.",
        labels=_POOL,
        unit="gbp_per_vcpu_hour",
    ),
    Metric(
        "tuppence_owned_shadow_price_gbp_per_gib_hour",
        "The same for one more GiB of memory.",
        labels=_POOL,
        unit="gbp_per_gib_hour",
    ),
    Metric(
        "tuppence_owned_shadow_price_gbp_per_gpu_hour",
        "The same for one more GPU.",
        labels=_POOL,
        unit="gbp_per_gpu_hour",
    ),
    Metric("tuppence_recommender_breaches", "Workloads that run where a hard rule does not let them."),
    Metric(
        "tuppence_recommender_not_enough_data", "Workloads and clusters of which nothing is said.", labels=("reason",)
    ),
)

OVERVIEW: tuple[Metric, ...] = (
    Metric(
        "tuppence_cluster_info",
        "Where a cluster of the settings is; jurisdiction is empty if nobody knows it, and then nothing moves there.",
        kind=Kind.INFO,
        labels=("cluster", "provider", "region", "jurisdiction", "tier"),
    ),
    Metric(
        "tuppence_cluster_current_gbp_per_hour",
        "What the priced workloads of a cluster cost where they are, in pounds an hour.",
        labels=("cluster",),
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_cluster_planned_gbp_per_hour",
        "What the workloads that the plan has in a cluster would cost there, in pounds an hour.",
        labels=("cluster",),
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_refused_offers",
        "Pairs of a workload and an offer that this rule refuses; of several rules the first counts.",
        labels=("rule",),
    ),
    Metric(
        "tuppence_owner_saving_gbp_per_month",
        'Open saving by owner of the workload, in pounds for 730 hours; the 20 largest, the rest is "(others)".',
        labels=("owner",),
        unit="gbp_per_month",
    ),
    Metric(
        "tuppence_burst_replicas",
        "Replicas that open and accepted bursts take out of a cluster's owned capacity, by the cluster they go to.",
        labels=("cluster", "resource", "resource_class", "to_cluster", "state"),
    ),
    Metric(
        "tuppence_burst_cost_delta_gbp_per_hour",
        "What those bursts cost more, in pounds an hour; never a saving.",
        labels=("cluster", "resource", "resource_class", "to_cluster", "state"),
        unit="gbp_per_hour",
    ),
    Metric(
        "tuppence_recommendation_next_expiry_timestamp_seconds",
        "When the first open or accepted recommendation of the kind lapses, seconds since 1970.",
        labels=("kind", "state"),
        unit="timestamp_seconds",
    ),
)
"""The plan by cluster, rule, owner and burst."""

_CLASS = ("cluster", "resource", "resource_class")

AHEAD: tuple[Metric, ...] = (
    Metric(
        "tuppence_demand",
        "Requested by replicas with and without a node in the last sample, in vCPUs, GiB or GPUs.",
        labels=_CLASS,
    ),
    Metric(
        "tuppence_demand_forecast",
        "Demand one hour ahead: p50 expected at the end of the hour, p90 not exceeded within it nine times in ten.",
        labels=(*_CLASS, "bound"),
    ),
    Metric(
        "tuppence_capacity",
        "What a cluster's owned nodes admit, by gangs on the nodes, in vCPUs, GiB or GPUs.",
        labels=_CLASS,
    ),
    Metric(
        "tuppence_burst_needed",
        "1 if demand, or its p90, was beyond what owned nodes admit in enough of the last evaluations, else 0.",
        labels=_CLASS,
    ),
    Metric(
        "tuppence_forecast_wape_ratio",
        "Sum of errors by sum of demand, one hour ahead, median over all series; the model chosen is the one to beat.",
        labels=("model",),
        unit="ratio",
    ),
)
"""The next hour; no series if it could not be foretold."""

SCORES: tuple[Metric, ...] = (
    Metric(
        "tuppence_placement_score",
        "A cluster's score: 1 to 100, higher is cheaper or freer; -100: forbidden, or without a price.",
        labels=("cluster", "score"),
    ),
    Metric(
        "tuppence_placement_score_valid_until_timestamp_seconds",
        "Until when the score may be believed, seconds since 1970; later it has no series.",
        labels=("cluster", "score"),
        unit="timestamp_seconds",
    ),
)
"""Scores of clusters; a class of which an input is missing has those of before until their end, then none."""

WATCH: tuple[Metric, ...] = (
    Metric(
        "tuppence_pods_pending_on_other_scheduler",
        "Pods that had waited for a scheduler which is not the default one for rollout.pending_minutes or longer, at "
        "the last evaluation; no series: none had, or usage is from a file.",
        labels=("cluster", "scheduler"),
    ),
)
"""What a pilot may have left behind; the alert is on the record that Prometheus itself makes each minute."""

DELIVERY: tuple[Metric, ...] = (
    Metric(
        "tuppence_report_deliveries_total",
        "Reports that a channel took, of all weeks and owners, by the ledger: every replica says the same.",
        kind=Kind.COUNTER,
        labels=("channel",),
    ),
    Metric(
        "tuppence_report_delivery_failures_total",
        "Attempts that a channel did not take, or of which nobody knows, by the ledger.",
        kind=Kind.COUNTER,
        labels=("channel",),
    ),
    Metric(
        "tuppence_report_last_success_timestamp_seconds",
        "When a channel last took a report, seconds since 1970; no series: it never did.",
        labels=("channel",),
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_recommender_delivery_success",
        "1 if the reports of the last week were made and none failed or is unknown, else 0.",
    ),
    Metric(
        "tuppence_recommender_delivery_timestamp_seconds",
        "When the last round of deliveries ended, seconds since 1970.",
        unit="timestamp_seconds",
    ),
)
"""Reports on their way to people; no series without a channel in the settings."""

HEALTH: tuple[Metric, ...] = (
    Metric(
        "tuppence_recommender_evaluation_timestamp_seconds",
        "Evaluation time of the last good plan, seconds since 1970.",
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_recommender_usage_end_timestamp_seconds",
        "End of the usage that the last good plan rests on, seconds since 1970.",
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_recommender_evaluation_success", "1 if the last evaluation gave a plan, 0 if the one before stays."
    ),
    Metric(
        "tuppence_recommender_evaluation_duration_seconds",
        "How long the last evaluation took.",
        unit="duration_seconds",
    ),
    Metric("tuppence_recommender_evaluations_total", "Evaluations since the start.", kind=Kind.COUNTER),
    Metric("tuppence_recommender_evaluation_failures_total", "Evaluations that gave no plan.", kind=Kind.COUNTER),
    Metric(
        "tuppence_recommender_verification_success",
        "1 if the last verification of moves that were carried out went through, 0 if not.",
    ),
    Metric(
        "tuppence_recommender_verification_timestamp_seconds",
        "When the last verification ended, seconds since 1970.",
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_recommender_publication_success",
        "1 if the hub has the scores that the mode allows, 0 if the last round was held, refused or cut off.",
    ),
    Metric(
        "tuppence_recommender_publication_timestamp_seconds",
        "When the last round to the hub ended, seconds since 1970.",
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_recommender_objects_written_total",
        "Objects of the hub whose scores were changed since the start.",
        kind=Kind.COUNTER,
    ),
    Metric(
        "tuppence_recommender_config_last_reload_successful",
        "1 if the settings on disk are in use, 0 if they are wrong.",
    ),
    Metric(
        "tuppence_recommender_config_last_reload_success_timestamp_seconds",
        "When the settings in use were read, seconds since 1970.",
        unit="timestamp_seconds",
    ),
    Metric(
        "tuppence_build_info",
        "Version of Tuppence and of Python.",
        kind=Kind.INFO,
        labels=("version", "python_version"),
    ),
)
