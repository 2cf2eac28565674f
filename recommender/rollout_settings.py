"""Settings of the roll-out: what suits a pilot, by which figures the next mode is judged, and what is watched.

The section `rollout` of the settings file.
"""

from __future__ import annotations

from pydantic import Field

from exporters.core.config_file import Section


class RolloutSettings(Section):
    """From recommending to publishing, step by step."""

    min_history_days: float = Field(
        default=6,
        gt=0,
        description="Days since a workload was first seen, for a pilot; a week of usage has seven.",
    )
    max_state_gib: float = Field(default=10, ge=0, description="Most state of a workload, for a pilot.")
    min_pilots: int = Field(default=3, ge=1, description="Workloads that suit a pilot, before one begins.")
    min_coverage_ratio: float = Field(default=0.9, ge=0, le=1, description="Of the cluster that is observed least.")
    min_priced_ratio: float = Field(default=0.9, ge=0, le=1, description="Workloads of which the cost is known.")
    min_live_prices_ratio: float = Field(
        default=1.0, ge=0, le=1, description="Snapshots of prices that are not the packaged price book's."
    )
    min_recorded_days: float = Field(default=14, ge=0, description="Days since the ledger's first evaluation.")
    min_steady_ratio: float = Field(
        default=0.95, ge=0, le=1, description="Workloads whose cheapest cluster a day before is still good enough."
    )
    min_taken_ratio: float = Field(default=0.6, ge=0, le=1, description="Accepted or carried out, of what was decided.")
    min_verified: int = Field(default=5, ge=1, description="Moves whose saving was measured.")
    min_realised_ratio: float = Field(default=0.8, ge=0, description="Realised saving ÷ predicted saving.")
    min_scheduler_moves: int = Field(default=3, ge=0, description="Moves that a scheduler decided as advised.")
    max_pending_ratio: float = Field(default=0.02, ge=0, le=1, description="Replicas without a node, of all.")
    max_forecast_wape_ratio: float = Field(
        default=0.25, ge=0, description="Error of the next hour's forecast, the median over all series."
    )
    pending_minutes: int = Field(
        default=10, ge=2, le=120, description="Minutes that pods wait for another scheduler before it is told."
    )
    settled_schedulers: tuple[str, ...] = Field(
        default=(), description="Schedulers besides the default one whose pods are left to them."
    )
