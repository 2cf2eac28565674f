"""Azure, between reading and returning: are the dollar and the pound list of a region the same list?

The API gives no total, so a next link that is lost early looks like the end. Two lists that were read apart hardly
lose the same rows; they are believed when they hold nearly the same meters.
"""

from __future__ import annotations

import polars as pl

from exporters.core.errors import IntegrityError

MAX_LISTING_DIFFERENCE = 0.01
"""Share of meters that may stand in one currency's list only: prices are edited between two readings."""

METER_KEY = ("meter_id", "sku_id", "tier_minimum_units", "price_type", "reservation_term")
"""What tells two rows of a region apart in either currency; not the start of validity, which an edit moves."""


def require_same_meters(usd: pl.DataFrame, gbp: pl.DataFrame, *, where: str) -> None:
    """This will compare the meters of a region's two lists (azure_retail.COLUMNS).

    Raises:
        IntegrityError: more than 1 % of the meters stand in one of them only.
    """
    dollars = usd.select(METER_KEY).unique()
    pounds = gbp.select(METER_KEY).unique()
    only_usd = dollars.join(pounds, on=METER_KEY, how="anti", nulls_equal=True).height
    only_gbp = pounds.join(dollars, on=METER_KEY, how="anti", nulls_equal=True).height
    if only_usd + only_gbp > MAX_LISTING_DIFFERENCE * (dollars.height + only_gbp):
        raise IntegrityError(
            f"the price list is not whole: {only_usd} meters stand only in its {dollars.height} in USD, "
            f"{only_gbp} only in its {pounds.height} in GBP",
            where=where,
            next_step="It will be read again at the next refresh; the last good prices stay.",
        )
