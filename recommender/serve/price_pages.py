"""The page of prices: filters in its address, the cheapest first, and where each price comes from."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from exporters.core.clock import Clock
from exporters.core.money import GBP, rate
from recommender.report import words
from recommender.serve.access import Access
from recommender.serve.layout import html
from recommender.serve.price_shelf import PriceShelf
from recommender.serve.price_view import SHOWN, Unit, Wanted, choices, found

_HERE = "/prices"
_UNITS = {Unit.VCPU: "vCPU", Unit.GPU: "GPU", Unit.ACCELERATOR: "Other accelerators", Unit.EGRESS: "Egress"}


class PriceQuery(BaseModel):
    """What the page's address asks for; an empty field of the form is no filter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Unit = Unit.VCPU
    model: str = Field(default="", max_length=200, description="GPU model, accelerator, or destination of egress.")
    provider: str = Field(default="", max_length=200)
    region: str = Field(default="", max_length=200)
    capacity_type: str = Field(default="", max_length=200)
    operating_system: str = Field(default="linux", pattern="^(linux|windows)$")

    def address(self, unit: Unit) -> str:
        """This will return the address of another unit at the same place."""
        kept = {"unit": unit.value, "provider": self.provider, "region": self.region}
        return f"{_HERE}?{urlencode({name: value for name, value in kept.items() if value})}"


def price_pages(shelf: PriceShelf, access: Access, clock: Clock) -> APIRouter:
    """This will return the route of the page of prices."""
    router = APIRouter(include_in_schema=False)

    @router.api_route(_HERE, methods=["GET", "HEAD"])
    def _prices(request: Request, query: Annotated[PriceQuery, Query()]) -> Response:
        prices, now = shelf.prices(), clock.now()
        rates = [
            f"1 {one['currency']} = {rate(one['gbp_per_unit'])} ({one['fx_source']}, {one['rate_date']:%-d %B %Y})"
            for one in prices.fx.sort("currency").iter_rows(named=True)
            if one["currency"] != GBP and one["currency"] in set(prices.offers["currency"])
        ]
        offered = choices(prices, query.unit)
        return html(
            "prices.html",
            here=_HERE,
            who=access.visitor(request).shown_name,
            query=query,
            units=[(unit.value, name, query.address(unit)) for unit, name in _UNITS.items()],
            offered={name: [(one, words.shown(one)) for one in values] for name, values in offered.items()},
            found=found(prices, Wanted(**query.model_dump()), now=now),
            most=SHOWN,
            rates=[words.shown(one) for one in rates],
            stale=[words.shown(one.source) for one in prices.stale],
            sources=[
                f"{words.shown(one.source)} of {words.moment(one.taken_at)}, {words.age(now - one.taken_at)} old"
                for one in prices.used
            ],
        )

    return router
