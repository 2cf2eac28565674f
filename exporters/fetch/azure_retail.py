"""Azure, the list: every page of one Retail Prices query, as text columns, or an error.

Promises that a list is whole: each next link is followed verbatim, but only to the configured endpoint; a repeated
link, a count that disagrees with its items, another currency or another region than asked, a body that is not a price
list, and a list that shifted while it was paged are errors. Prices stay the text that was sent, never a float.

Source: Azure Retail Prices API, api-version 2023-01-01-preview (Microsoft Learn, "Azure Retail Prices overview").
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit

import httpx2
import polars as pl

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.http import RetryPolicy, get
from exporters.fetch.deadline import Deadline

PATH = "/api/retail/prices"
API_VERSION = "2023-01-01-preview"
READINGS = 3
"""How often a list that shifts under paging is read before the refresh gives up."""

COLUMNS: Mapping[str, str] = {
    "currencyCode": "currency",
    "tierMinimumUnits": "tier_minimum_units",
    "retailPrice": "retail_price",
    "armRegionName": "region",
    "effectiveStartDate": "effective_start",
    "effectiveEndDate": "effective_end",
    "meterId": "meter_id",
    "meterName": "meter_name",
    "skuId": "sku_id",
    "skuName": "sku_name",
    "productName": "product_name",
    "unitOfMeasure": "unit",
    "type": "price_type",
    "isPrimaryMeterRegion": "is_primary",
    "armSkuName": "instance_type",
    "reservationTerm": "reservation_term",
}
"""The API's fields that are kept, and the column each becomes (all String)."""

_IDENTITY = ("region", "meter_id", "sku_id", "tier_minimum_units", "price_type", "reservation_term", "instance_type",
             "effective_start")  # fmt: skip
_DEFAULT_PORTS = {"https": 443, "http": 80}

Row = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Query:
    """One list to read.

    Args:
        frame: the name of the raw frame that its rows belong to.
        asked: the region, or another word for what was asked; becomes the column `asked`.
        currency: ISO 4217.
        condition: the OData filter.
        one_region: whether every row must lie in the region `asked`, and there must be some.
    """

    frame: str
    asked: str
    currency: str
    condition: str
    one_region: bool = True


@dataclass(frozen=True, slots=True)
class Retail:
    """The price list's side of one refresh.

    Args:
        session: the HTTP client; shared by threads.
        endpoint: checked base URL, such as https://prices.azure.com.
        deadline: the time left to read everything.
        throttle_wait_seconds: the first pause after a throttle that names no time.
    """

    session: httpx2.Client
    endpoint: str
    deadline: Deadline
    throttle_wait_seconds: float = 4.0


def read_list(retail: Retail, query: Query) -> pl.DataFrame:
    """This will return every row of a query: the columns of COLUMNS and `asked`, all String.

    A row that stands twice means that the list shifted between two pages and may have lost another one, so it is
    read again; if the same rows stand twice in two readings, the list itself repeats them and one of each is kept.

    Raises:
        TransientSourceError: throttled beyond the deadline, cut off, truncated, or shifting in every reading.
        TerminalSourceError: refused, or not a price list.
        IntegrityError: pages that contradict what was asked or each other.
    """
    repeated_before: Counter[tuple[str | None, ...]] | None = None
    for _ in range(READINGS):
        rows = _all_pages(retail, query)
        counts = Counter(tuple(row[column] for column in _IDENTITY) for row in rows)
        repeated = Counter({key: times for key, times in counts.items() if times > 1})
        if not repeated or repeated == repeated_before:
            return _frame(rows, query)
        repeated_before = repeated
    raise TransientSourceError(
        f"the list of {query.asked} shifted while it was paged ({len(repeated)} meters stood on two pages)",
        where=retail.endpoint + PATH,
        next_step="Prices are being changed there; it will be read again at the next refresh.",
    )


def _frame(rows: Sequence[Row], query: Query) -> pl.DataFrame:
    schema = dict.fromkeys(COLUMNS.values(), pl.String)
    frame = pl.DataFrame(rows, schema=schema).unique(maintain_order=True).with_columns(asked=pl.lit(query.asked))
    if query.one_region and frame.is_empty():
        raise IntegrityError(
            f"the price list has no {query.currency} row for {query.condition!r}",
            where=f"azure region {query.asked}",
            next_step="Check the region's name (lower case, such as uksouth) in sources.azure.regions.",
        )
    strangers = frame.filter(pl.col("region").str.to_lowercase() != query.asked.lower()) if query.one_region else None
    if strangers is not None and not strangers.is_empty():
        raise IntegrityError(
            f"the answer holds rows of another region ({strangers['region'][0]!r})",
            where=f"azure region {query.asked}",
            next_step="The endpoint ignores the filter; check sources.azure.retail_endpoint.",
        )
    return frame


def _all_pages(retail: Retail, query: Query) -> list[Row]:
    url = retail.endpoint + PATH
    params: Mapping[str, str] | None = {
        "api-version": API_VERSION,
        "currencyCode": f"'{query.currency}'",
        "$filter": query.condition,
    }
    rows: list[Row] = []
    seen: set[str] = set()
    while True:
        body = _page(retail, url, params)
        rows += _rows_of(body, query, where=retail.endpoint + PATH)
        link = body["NextPageLink"]
        if link is None or link == "":
            return rows
        url, params = _checked_link(retail, link, seen), None


def _checked_link(retail: Retail, link: object, seen: set[str]) -> str:
    """The next link if it leads to the configured endpoint and was not followed before."""
    place = retail.endpoint + PATH
    if not isinstance(link, str) or _origin(link) != _origin(place):
        raise IntegrityError(
            f"the next page lies elsewhere: {link!r:.200}",
            where=place,
            next_step="A proxy may be rewriting links; check sources.azure.retail_endpoint.",
        )
    if link in seen:
        raise IntegrityError(
            "the pages lead in a circle", where=place, next_step="It will be read again at the next refresh."
        )
    seen.add(link)
    return link


def _origin(url: str) -> tuple[str, str | None, int | None, str]:
    """Scheme, host, port and path, so that https://host and https://host:443 are the same."""
    parts = urlsplit(url)
    try:
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        port = None
    return parts.scheme, parts.hostname, port, parts.path


def _page(retail: Retail, url: str, params: Mapping[str, str] | None) -> dict[str, object]:
    place = retail.endpoint + PATH
    left = retail.deadline.remaining(place)
    policy = RetryPolicy(timeout_seconds=min(left, 300.0), wait_initial_seconds=retail.throttle_wait_seconds)
    return _parsed(get(retail.session, url, policy=policy, params=params), place)


def _parsed(response: httpx2.Response, place: str) -> dict[str, object]:
    """The body as JSON with exact numbers, checked to be a page of a price list."""
    kind = response.headers.get("content-type", "")
    if "html" in kind or response.text.lstrip()[:1] == "<":
        raise TerminalSourceError(
            "the answer is a web page, not a price list",
            where=place,
            next_step="A proxy or login page may stand between; check the network and sources.azure.retail_endpoint.",
        )
    try:
        body = json.loads(response.text, parse_float=Decimal, parse_constant=str)
    except ValueError as error:
        raise TransientSourceError(
            f"the answer of {len(response.content)} bytes is cut off or not JSON",
            where=place,
            next_step="It will be read again at the next refresh.",
        ) from error
    if not isinstance(body, dict) or not isinstance(body.get("Items"), list) or "NextPageLink" not in body:
        raise TerminalSourceError(
            "the answer is JSON but not a page of the Retail Prices API",
            where=place,
            next_step="Check sources.azure.retail_endpoint.",
        )
    return body


def _rows_of(body: Mapping[str, object], query: Query, *, where: str) -> list[Row]:
    items = body["Items"]
    assert isinstance(items, list)
    if body.get("Count") != len(items):
        raise IntegrityError(
            f"a page of {query.asked} says Count {body.get('Count')} and holds {len(items)} rows",
            where=where,
            next_step="It will be read again at the next refresh.",
        )
    currencies = {body.get("BillingCurrency")} | {item.get("currencyCode") for item in items}
    if currencies != {query.currency}:
        raise IntegrityError(
            f"asked for {query.currency}, the answer holds {', '.join(sorted(map(str, currencies)))}",
            where=where,
            next_step="Check sources.azure.retail_endpoint; prices in an unexpected currency are never used.",
        )
    return [{column: _text(item.get(field)) for field, column in COLUMNS.items()} for item in items]


def _text(value: object) -> str | None:
    """A JSON value as text: numbers with the digits that were sent, none through a float."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(value, "f") if isinstance(value, Decimal) else str(value)
