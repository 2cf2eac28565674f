"""Declared frames of the forecast: demand in, forecasts, accuracy, recent bounds and what cannot be said out.

Amounts are in the resource's unit: vCPUs, GiB, GPUs. The key is cluster, resource and resource class: the architecture
for vcpu and memory_gib, the GPU model for gpu.
"""

from __future__ import annotations

import dataframely as dy

SERIES_KEY = ("cluster", "resource", "resource_class")
RESOURCES = ("vcpu", "memory_gib", "gpu")
UNKNOWN_CLASS = "unknown"


class Demand(dy.Schema):
    """What was requested and waited for at one moment. A moment that is not here was not observed; it is not zero."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True, description="vcpu, memory_gib or gpu")
    resource_class = dy.String(primary_key=True, description="architecture, or GPU model")
    timestamp = dy.Datetime(
        time_unit="us", time_zone="UTC", primary_key=True, description="start of the time that the row is a mean of"
    )
    demand = dy.Float64(
        allow_nan=True,
        allow_inf=True,
        description="requested by replicas with and without a node; what is no amount is refused with a reason",
    )


class ForecastFrame(dy.Schema):
    """Demand in the next hour, with how well the same was foretold in the past."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    at = dy.Datetime(time_unit="us", time_zone="UTC", description="evaluation time")
    visible_until = dy.Datetime(time_unit="us", time_zone="UTC", description="end of the last sample that was used")
    horizon_seconds = dy.UInt32(min=1, description="from visible_until to the end of the last step foretold")
    demand = dy.Float64(min=0, description="in the last sample")
    p50 = dy.Float64(min=0, description="expected at the end of the horizon")
    p90 = dy.Float64(min=0, description="not exceeded within the horizon, in nine cases of ten; never under p50")
    model = dy.String(description="candidate chosen for p90 by pinball loss")
    model_p50 = dy.String(description="candidate chosen for p50 by absolute error")
    origins = dy.UInt32(description="past forecasts that the choice rests on")
    beats_both_naives = dy.Bool(description="model is better than persistence and the seasonal naive of 24 h")
    coverage_p90_ratio = dy.Float64(nullable=True, min=0, max=1, description="of past bounds made the same way")
    wape_ratio = dy.Float64(nullable=True, min=0, description="of model_p50; null: nothing was demanded")
    verdict = dy.String(description="the choice as a sentence")


class Accuracy(dy.Schema):
    """How well one candidate did on one series over the back-test."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    model = dy.String(primary_key=True)
    origins = dy.UInt32(description="past forecasts that have come due")
    pinball_p90 = dy.Float64(nullable=True, min=0, description="mean loss of its bound, in the resource's unit")
    relative_loss = dy.Float64(nullable=True, min=0, description="loss ÷ persistence's over the same origins")
    wape_ratio = dy.Float64(nullable=True, min=0, description="Σ|error| ÷ Σ demand; null: nothing was demanded")
    mase_ratio = dy.Float64(
        nullable=True, min=0, description="mean |error| ÷ the 24 h seasonal naive's; null where that made none"
    )
    coverage_p90_ratio = dy.Float64(nullable=True, min=0, max=1)
    is_naive = dy.Bool(description="persistence or a seasonal naive")
    is_baseline_only = dy.Bool(description="shown for comparison, never chosen")


class RecentBound(dy.Schema):
    """The bound as it stood at the last evaluations, so that one peak does not make a burst."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    visible_until = dy.Datetime(time_unit="us", time_zone="UTC", primary_key=True)
    demand = dy.Float64(min=0, description="in the last sample visible then")
    p90 = dy.Float64(min=0)


class NotForecast(dy.Schema):
    """A series of which nothing is foretold, and why."""

    cluster = dy.String(primary_key=True)
    resource = dy.String(primary_key=True)
    resource_class = dy.String(primary_key=True)
    reason = dy.String(description="a word of forecast.grid.Reason")
    why = dy.String()
    next_step = dy.String()
