"""Declared frames of the charts: the points that each one draws, already reduced to what a reader can tell apart."""

from __future__ import annotations

import dataframely as dy


class DemandPoint(dy.Schema):
    """Demand of one resource class of a cluster at one time, or what is forecast of it."""

    at = dy.Datetime(time_unit="us", time_zone="UTC", primary_key=True)
    demand = dy.Float64(nullable=True, min=0, description="null: not known, or ahead")
    p50 = dy.Float64(nullable=True, min=0, description="null: no forecast was made for it")
    p90 = dy.Float64(nullable=True, min=0)
    capacity = dy.Float64(nullable=True, min=0, description="what the owned nodes admit; null: none are owned")


class SavingPoint(dy.Schema):
    """What one verified move was to save and did save."""

    title = dy.String()
    recommendation_id = dy.String(primary_key=True)
    predicted_gbp_per_month = dy.Float64()
    realised_gbp_per_month = dy.Float64(description="below zero: it costs more")
    low_gbp_per_month = dy.Float64()
    high_gbp_per_month = dy.Float64()


class Change(dy.Schema):
    """One reason why a cost changed; the reasons add up from the first total to the last."""

    order = dy.UInt32(primary_key=True)
    reason = dy.String()
    gbp = dy.Float64(description="the total for the first and the last row, else the change")
    is_total = dy.Bool()
