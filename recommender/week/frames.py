"""Declared frames of a week's report: what it gathers, already reduced to what a reader can tell apart."""

from __future__ import annotations

import dataframely as dy


class PricePoint(dy.Schema):
    """The cheapest price of a unit in a region on one day."""

    day = dy.Date(primary_key=True)
    provider = dy.String(primary_key=True)
    region = dy.String(primary_key=True)
    unit = dy.String(primary_key=True, description="vCPU, or the GPU's model")
    gbp_per_hour = dy.Float64(min=0, description="cheapest on-demand price of one unit")
