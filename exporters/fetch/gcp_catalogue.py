"""The Cloud Billing Catalog, page by page, in two currencies, merged into one frame of SKUs.

Every page arrives or nothing is returned. The API gives no total, so wholeness is shown by agreement: no listing is
empty, no SKU stands in one twice (paging that shifts), and the USD and GBP listings hold nearly the same SKUs. A
listing that lost its next-page token or got an empty answer ends on a full or an empty page; one that ends so is
believed only if the other, read with another page size, ends on a part of a page and holds exactly the same SKUs.
Source: Cloud Billing API v1, services.skus.list; prices are units + nanos (google.type.Money).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl
from google.cloud import billing_v1

from exporters.core.errors import IntegrityError
from exporters.fetch.contract import Progress
from exporters.fetch.gcp_session import Session, as_source_errors, open_session, page_retry, page_timeout

__all__ = ["Session", "fetch_skus", "first_sku", "open_session"]

NANOS = 1_000_000_000
MAX_LISTING_DIFFERENCE = 0.01
"""Share of SKUs that may stand in one currency's listing only: prices are edited between two listings."""

Message: TypeAlias = Any
"""A generated protobuf message; its class carries no static types."""

ROW: dict[str, pl.DataType | type[pl.DataType]] = {
    "sku_id": pl.String,
    "description": pl.String,
    "resource_family": pl.String,
    "resource_group": pl.String,
    "usage_type": pl.String,
    "service_regions": pl.List(pl.String),
    "currency": pl.String,
    "usage_unit": pl.String,
    "tier_start": pl.Float64,
    "price": pl.String,
    "currency_conversion_rate": pl.Float64,
    "effective_time": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class Listing:
    """One service's SKUs in one currency.

    Args:
        rows: one row a SKU and tier.
        ends_cleanly: whether the last page held some SKUs, and fewer than were asked for.
    """

    rows: pl.DataFrame
    ends_cleanly: bool


def fetch_skus(session: Session, *, services: Sequence[str], page_size: int, progress: Progress) -> pl.DataFrame:
    """This will return every SKU of the services with its USD and GBP price, one row a tier (frame ``skus``).

    Raises:
        SourceError: a page did not arrive.
        IntegrityError: a listing is not whole.
    """
    frames = [
        merge_currencies(
            list_service(session, service=service, currency="USD", page_size=page_size, progress=progress),
            list_service(session, service=service, currency="GBP", page_size=page_size - 1, progress=progress),
            where=f"{session.where} services/{service}",
        )
        for service in services
    ]
    return pl.concat(frames)


def first_sku(session: Session, *, service: str) -> str:
    """This will return the id of one SKU, asking for a page of one."""
    page = _page(session, service=service, currency="GBP", page_size=1, token="")
    return str(page.skus[0].sku_id) if page.skus else "(none)"


def list_service(session: Session, *, service: str, currency: str, page_size: int, progress: Progress) -> Listing:
    """This will return one service's SKUs in one currency, page by page to the end.

    Raises:
        SourceError: a page did not arrive.
        IntegrityError: the listing is empty or its pages shifted.
    """
    rows: list[tuple[Any, ...]] = []
    seen: set[str] = set()
    token, pages = "", 0
    where = f"{session.where} services/{service} in {currency}"
    while True:
        page = _page(session, service=service, currency=currency, page_size=page_size, token=token)
        _refuse_repeats(seen, page.skus, where)
        rows.extend(row for sku in page.skus for row in sku_rows(sku))
        pages += 1
        progress(f"gcp SKUs in {currency}", done=pages, total=None)
        following = page.next_page_token
        if not following:
            if not seen:
                raise _not_whole("it is empty", where)
            return Listing(skus_frame(rows), ends_cleanly=0 < len(page.skus) < page_size)
        if following == token:
            raise _not_whole("the page token repeats itself", where)
        token = following


def _page(session: Session, *, service: str, currency: str, page_size: int, token: str) -> Message:
    """One page as a plain protobuf message; currency_code is accepted only in the request object."""
    where = f"{session.where} services/{service}"
    request = billing_v1.ListSkusRequest(
        parent=f"services/{service}", currency_code=currency, page_size=page_size, page_token=token
    )
    with as_source_errors(where):
        pager = session.client.list_skus(
            request=request,
            retry=page_retry(session.deadline, first_wait=session.first_wait, where=where),
            timeout=page_timeout(session.deadline, where=where),
        )
        return billing_v1.ListSkusResponse.pb(next(pager.pages))


def sku_rows(sku: Message) -> list[tuple[Any, ...]]:
    """This will return the rows of one SKU, one a tier of the price in force; without tiers its price is null."""
    category = sku.category
    head = (
        sku.sku_id,
        sku.description,
        category.resource_family,
        category.resource_group,
        category.usage_type,
        list(sku.service_regions),
    )
    if not sku.pricing_info:
        return [(*head, None, None, None, None, None, None)]
    info = max(sku.pricing_info, key=lambda item: (item.effective_time.seconds, item.effective_time.nanos))
    effective = info.effective_time.seconds * 1_000_000 + info.effective_time.nanos // 1_000 or None
    unit, rate = info.pricing_expression.usage_unit, info.currency_conversion_rate or None
    tiers = info.pricing_expression.tiered_rates
    if not tiers:
        return [(*head, None, unit, None, None, rate, effective)]
    return [
        (
            *head,
            tier.unit_price.currency_code,
            unit,
            tier.start_usage_amount,
            money_text(tier.unit_price.units, tier.unit_price.nanos),
            rate,
            effective,
        )
        for tier in tiers
    ]


def money_text(units: int, nanos: int) -> str:
    """This will return google.type.Money as exact decimal text with nine places."""
    total = units * NANOS + nanos
    whole, part = divmod(abs(total), NANOS)
    return f"{'-' if total < 0 else ''}{whole}.{part:09d}"


def merge_currencies(usd: Listing, gbp: Listing, *, where: str) -> pl.DataFrame:
    """This will put the GBP price of the same SKU and tier beside the USD price.

    Raises:
        IntegrityError: one of the listings is not whole.
    """
    usd_ids, gbp_ids = set(usd.rows["sku_id"]), set(gbp.rows["sku_id"])
    different = len(usd_ids ^ gbp_ids)
    allowed = MAX_LISTING_DIFFERENCE * len(usd_ids | gbp_ids) if usd.ends_cleanly and gbp.ends_cleanly else 0
    if different > allowed:
        raise _not_whole(f"{different} SKUs stand in only one of the USD and GBP listings", where)
    if not usd.ends_cleanly and not gbp.ends_cleanly:
        raise _not_whole("its last page is full or empty yet names no next page", where)
    pounds = gbp.rows.select(
        "sku_id",
        "tier_start",
        "currency_conversion_rate",
        gbp_currency="currency",
        gbp_price="price",
    )
    return usd.rows.drop("currency_conversion_rate").join(
        pounds, on=["sku_id", "tier_start"], how="left", nulls_equal=True, maintain_order="left"
    )


def skus_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """This will return rows of sku_rows as one currency's frame."""
    frame = pl.DataFrame(rows, schema=ROW, orient="row")
    return frame.with_columns(pl.col("effective_time").cast(pl.Datetime("us", "UTC")))


def _refuse_repeats(seen: set[str], skus: Iterable[Message], where: str) -> None:
    for sku in skus:
        if sku.sku_id in seen:
            raise _not_whole(f"SKU {sku.sku_id} stands in it twice, so its pages shifted while they were read", where)
        seen.add(sku.sku_id)


def _not_whole(what: str, where: str) -> IntegrityError:
    return IntegrityError(
        f"the catalogue is not whole: {what}",
        where=where,
        next_step="It will be read again at the next refresh; the last good prices stay.",
    )
