"""Evidence in words: how a source gave a price, and what that is in pounds."""

from __future__ import annotations

from exporters.core.money import GBP, rate
from recommender.advise.other_basis import both_shown, off_list
from recommender.advise.record import PriceEvidence


def price_line(price: PriceEvidence) -> str:
    """This will say how a source gave a price, and what that is in pounds."""
    rate_text = f" × {price.gbp_per_unit:.6f} ({price.fx_source}, {price.fx_date:%-d %B %Y})"
    converted = "" if price.currency == GBP else rate_text
    note = f"; {price.note}" if price.note else ""
    return (
        f"{price.used_for}: {price.instance_type}, {price.capacity_type}, {price.provider} {price.region}: "
        f"{price.price_per_hour:g} {price.currency}{converted} = {pounds_an_hour(price)}, {price.origin}, "
        f"{price.snapshot_id}, split {price.split_method}{note}"
    )


def pounds_an_hour(price: PriceEvidence) -> str:
    """This will say a price in pounds, at list and as it is really paid where both are to be shown.

    A price that is counted as really paid always has its list price beside it, because that is what its source gave.
    """
    beside = at_the_other_basis(price)
    return f"{rate(price.gbp_per_hour)} an hour{f' ({beside})' if beside else ''}"


def at_the_other_basis(price: PriceEvidence) -> str:
    """This will say the figure beside the one that counts; empty where there is one price, or hardly two."""
    at_list, paid = price.list_gbp_per_hour, price.effective_gbp_per_hour
    if at_list is None or paid is None:
        return ""
    if price.gbp_per_hour != at_list:
        return f"really paid; {rate(at_list)} at list"
    return f"{rate(paid)} really paid, {off_list(price)}" if both_shown(price) else ""
