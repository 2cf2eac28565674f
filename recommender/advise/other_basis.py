"""A recommendation at the other price basis: what it would say at list price, or at what is really paid."""

from __future__ import annotations

from collections.abc import Iterator

from exporters.core.money import pounds, rate
from exporters.core.units import HOURS_PER_MONTH
from exporters.core.words import PriceBasis
from recommender.advise.record import PricedPlace, PriceEvidence
from recommender.place.effective import BOTH_SHOWN_FROM

_OTHER = {PriceBasis.LIST: "what is really paid", PriceBasis.EFFECTIVE: "list prices"}


def both_shown(price: PriceEvidence) -> bool:
    """This will say whether list price and what is really paid differ by so much that both are to be shown."""
    at_list, paid = price.list_gbp_per_hour, price.effective_gbp_per_hour
    return at_list is not None and paid is not None and abs(at_list - paid) > BOTH_SHOWN_FROM * at_list


def at_other_basis(
    current: PricedPlace, recommended: PricedPlace, prices: tuple[PriceEvidence, ...], *, basis: PriceBasis
) -> Iterator[str]:
    """This will say what the advice comes to at the other basis, where a price differs enough to be shown twice.

    Machines are priced by the hour, so that compute and work done again follow the price; what data leaving and
    interruptions cost beside that does not.

    Args:
        current: where the workload is.
        recommended: where it should be.
        prices: the offers of both.
        basis: the one that the plan is at.
    """
    if any(both_shown(price) for price in prices):
        here = _elsewise(current, prices[0], basis)
        there = _elsewise(recommended, prices[1], basis)
        month = (here - there) * HOURS_PER_MONTH
        yield (
            f"At {_OTHER[basis]} an hour would cost {rate(here)} and {rate(there)}: "
            f"{pounds(abs(month))} a month {'less' if month >= 0 else 'more'} ({_how_far(prices)})."
        )


def _elsewise(place: PricedPlace, price: PriceEvidence, basis: PriceBasis) -> float:
    """What an hour costs at the other basis. Owned and committed machines have one price."""
    at_list, paid = price.list_gbp_per_hour, price.effective_gbp_per_hour
    if at_list is None or paid is None:
        return place.gbp_per_hour
    factor = paid / at_list if basis is PriceBasis.LIST else at_list / paid
    follows = place.compute_gbp_per_hour + place.lost_work_gbp_per_hour
    return place.gbp_per_hour + follows * (factor - 1)


def _how_far(prices: tuple[PriceEvidence, ...]) -> str:
    shown = (one for one in prices if both_shown(one))
    return ", ".join(dict.fromkeys(f"{one.instance_type} {one.capacity_type} is {off_list(one)}" for one in shown))


def off_list(price: PriceEvidence) -> str:
    """This will say how far from its list price a machine is really paid; empty: no bill says that it is not list."""
    at_list, paid = price.list_gbp_per_hour, price.effective_gbp_per_hour
    if at_list is None or paid is None:
        return ""
    off = 1 - paid / at_list
    return f"{abs(off):.0%} {'below' if off >= 0 else 'above'} list"
