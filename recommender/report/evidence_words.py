"""Evidence in words: how a source gave a price, and what that is in pounds."""

from __future__ import annotations

from exporters.core.money import GBP, rate
from recommender.advise.record import PriceEvidence


def price_line(price: PriceEvidence) -> str:
    """This will say how a source gave a price, and what that is in pounds."""
    rate_text = f" × {price.gbp_per_unit:.6f} ({price.fx_source}, {price.fx_date:%-d %B %Y})"
    converted = "" if price.currency == GBP else rate_text
    note = f"; {price.note}" if price.note else ""
    return (
        f"{price.used_for}: {price.instance_type}, {price.capacity_type}, {price.provider} {price.region}: "
        f"{price.price_per_hour:g} {price.currency}{converted} = {rate(price.gbp_per_hour)} an hour, {price.origin}, "
        f"{price.snapshot_id}, split {price.split_method}{note}"
    )
