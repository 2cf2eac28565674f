"""A local Azure: the Retail Prices API over HTTP, Resource Manager over HTTPS, and a managed identity's token endpoint.

Rows are in the API's form. Failures are programmed by `fail`; what was asked is in `calls`.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import time
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import trustme

from exporters.fetch.azure import AzureSettings
from exporters.fetch.contract import FetchRequest

Row = dict[str, Any]

ZONE_1 = "9995d93a-7d35-4d3f-9c69-7a7fea447ef4"
IDENTITY_SECRET = "identity-header"
TOKEN = "token-of-the-fake"


@dataclass
class Answer:
    """What the fake sends; `body` is bytes, text or something to be JSON."""

    status: int = 200
    body: object = ""
    headers: dict[str, str] = field(default_factory=dict)

    def sent(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


@dataclass
class Call:
    """One request: the path, the query's first values, and the headers (lower case)."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def skip(self) -> int:
        return int(self.query.get("$skip", "0"))

    @property
    def currency(self) -> str:
        return self.query.get("currencyCode", "").strip("'")


Fault = Callable[[Call], Answer | None]


class FakeAzure:
    """Serves on loopback while it is entered.

    Args:
        rows: the dollar list.
        pounds: the pound list; None: the dollar list at 0.8, prices as decimal text would give.
        skus: what Resource SKUs answers, page by page.
        page_size: rows a page.
    """

    def __init__(
        self,
        rows: list[Row],
        *,
        pounds: list[Row] | None = None,
        skus: list[list[Row]] | None = None,
        page_size: int = 5,
    ) -> None:
        self.lists = {"USD": rows, "GBP": [in_pounds(row) for row in rows] if pounds is None else pounds}
        self.sku_pages = skus or []
        self.page_size = page_size
        self.calls: list[Call] = []
        self.public_url: str | None = None
        self.next_sku_link: str | None = None
        self._faults: list[Fault] = []

    def __enter__(self) -> FakeAzure:
        self._authority = trustme.CA()
        self._http, self._https = self._server(self._open), self._server(self._managed)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("127.0.0.1").configure_cert(context)
        self._https.socket = context.wrap_socket(self._https.socket, server_side=True)
        self._threads = [Thread(target=server.serve_forever, args=(0.02,)) for server in (self._http, self._https)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for server, thread in zip((self._http, self._https), self._threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()

    @property
    def retail_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def management_url(self) -> str:
        return f"https://127.0.0.1:{self._https.server_port}"

    def write_ca(self, folder: Path) -> str:
        path = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(path))
        return str(path)

    def environment(self) -> dict[str, str]:
        """What makes azure-identity's default chain ask this fake for a token, as on Azure App Service."""
        return {
            "IDENTITY_ENDPOINT": f"{self.retail_url}/identity",
            "IDENTITY_HEADER": IDENTITY_SECRET,
            "AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential",
        }

    def fail(self, answer: Answer, *, when: Callable[[Call], bool] = lambda call: True, times: int = 1_000) -> None:
        """Answers the first `times` calls that match with something else."""
        left = [times]

        def fault(call: Call) -> Answer | None:
            if left[0] > 0 and when(call):
                left[0] -= 1
                return answer
            return None

        self._faults.append(fault)

    def _server(self, answer: Callable[[Call], Answer]) -> ThreadingHTTPServer:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                call = Call(parts.path, query, {name.lower(): value for name, value in self.headers.items()})
                fake.calls.append(call)
                given = next((fault for made in fake._faults if (fault := made(call))), None) or answer(call)
                self.send_response(given.status)
                headers = {"content-type": "application/json", "content-length": str(len(given.sent()))}
                for name, value in (headers | given.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(given.sent())

            def log_message(self, *words: object) -> None: ...

        return ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def _open(self, call: Call) -> Answer:
        if call.path == "/identity":
            if call.headers.get("x-identity-header") != IDENTITY_SECRET:
                return Answer(401, {"error": "unauthorized_client"})
            token = {"access_token": TOKEN, "expires_on": str(int(time()) + 3600), "token_type": "Bearer"}
            return Answer(body=token | {"resource": call.query["resource"]})
        if call.path != "/api/retail/prices":
            return Answer(404, {"Message": "not found"})
        found = [row for row in self.lists[call.currency] if _matches(row, call.query["$filter"])]
        return Answer(body=self.page(call, found))

    def page(self, call: Call, found: list[Row]) -> Row:
        end = call.skip + self.page_size
        items = found[call.skip : end]
        more = self.link(call, end) if end < len(found) else None
        return {
            "BillingCurrency": call.currency,
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": items,
            "NextPageLink": more,
            "Count": len(items),
        }

    def link(self, call: Call, skip: int) -> str:
        query = "&".join(f"{name}={quote(value)}" for name, value in (call.query | {"$skip": str(skip)}).items())
        return f"{self.public_url or self.retail_url}{call.path}?{query}"

    def _managed(self, call: Call) -> Answer:
        if call.headers.get("authorization") != f"Bearer {TOKEN}":
            return Answer(401, {"error": {"code": "AuthenticationFailed", "message": "no token"}})
        page = int(call.query.get("page", "0"))
        value = self.sku_pages[page] if page < len(self.sku_pages) else []
        more = f"{self.management_url}{call.path}?page={page + 1}" if page + 1 < len(self.sku_pages) else None
        return Answer(body={"value": value, "nextLink": self.next_sku_link or more})


def _matches(row: Row, condition: str) -> bool:
    """The OData that the source uses: equalities and `contains`, joined by and; case-sensitive."""
    values = row | {"priceType": row["type"]}
    for part in condition.split(" and "):
        if (equal := re.fullmatch(r"(\w+) eq '(.*)'", part)) is not None:
            if values[equal[1]] != equal[2]:
                return False
        elif (contains := re.fullmatch(r"contains\((\w+), '(.*)'\)", part)) is not None:
            if contains[2] not in values[contains[1]]:
                return False
        else:
            raise AssertionError(f"the fake does not know {part!r}")
    return True


def vm(size: str, price: float, *, region: str = "uksouth", **changes: Any) -> Row:
    """A Linux on-demand row of a size such as D4s_v5, with changes."""
    sku = size.replace("_", " ")
    row = {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": region,
        "location": "UK South",
        "effectiveStartDate": "2021-11-01T00:00:00Z",
        "meterId": f"meter-{region}-{size}",
        "meterName": sku,
        "productId": "DZH318Z08M99",
        "skuId": f"DZH318Z08M99/{size}",
        "productName": "Virtual Machines Dsv5 Series",
        "skuName": sku,
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": f"Standard_{size}",
    } | changes
    if "skuName" in changes and "meterId" not in changes:
        row |= {"meterName": row["skuName"], "meterId": f"{row['meterId']}-{changes['skuName']}"}
    if "productName" in changes and "skuId" not in changes:
        row["skuId"] = f"{changes['productName']}/{row['skuName']}"
    return row


def bandwidth(meter: str, price: float, *, tier: float = 0, region: str = "uksouth", **changes: Any) -> Row:
    """A row of service Bandwidth on the default route, with changes."""
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": float(tier),
        "retailPrice": price,
        "unitPrice": price,
        "armRegionName": region,
        "location": region,
        "effectiveStartDate": "2023-01-01T00:00:00Z",
        "meterId": ZONE_1 if meter == "Standard Data Transfer Out" else f"meter-{region}-{meter}",
        "meterName": meter,
        "productId": "DZH318Z0BNVX",
        "skuId": "DZH318Z0BNVX/003F",
        "productName": "Rtn Preference: MGN",
        "skuName": "Standard",
        "serviceName": "Bandwidth",
        "serviceFamily": "Networking",
        "unitOfMeasure": "1 GB",
        "type": "Consumption",
        "isPrimaryMeterRegion": False,
        "armSkuName": "",
    } | changes


def zone_1_ladder(region: str = "uksouth", **changes: Any) -> list[Row]:
    """The six tiers of zone 1."""
    tiers = [(0, 0.0), (100, 0.087), (10335, 0.083), (51295, 0.07), (153695, 0.05), (512095, 0.05)]
    return [
        bandwidth("Standard Data Transfer Out", price, tier=tier, region=region, **changes) for tier, price in tiers
    ]


def sku(name: str, *, region: str = "uksouth", resource_type: str = "virtualMachines", **told: str) -> Row:
    """An entry of Resource SKUs; capabilities are text, as in the API."""
    return {
        "resourceType": resource_type,
        "name": name,
        "tier": "Standard",
        "family": "standardFamily",
        "locations": [region],
        "locationInfo": [{"location": region, "zones": ["1", "2", "3"], "zoneDetails": []}],
        "capabilities": [{"name": key, "value": value} for key, value in told.items()],
        "restrictions": [],
    }


def in_pounds(row: Row) -> Row:
    """A dollar row in pounds, at the fake's rate of 0.8."""
    price = round(row["retailPrice"] * 0.8, 9)
    return row | {"currencyCode": "GBP", "retailPrice": price, "unitPrice": price}


@contextmanager
def fake_azure(rows: list[Row], **changes: Any) -> Iterator[FakeAzure]:
    """A fake that serves while the block runs."""
    with FakeAzure(rows, **changes) as fake:
        yield fake


def azure_request(
    tmp_path: Path, *, seconds: float = 20, capacity_types: tuple[str, ...] = ("on-demand", "spot")
) -> FetchRequest:
    now = datetime.now(UTC)
    return FetchRequest(
        now=now, scratch=tmp_path, deadline=now + timedelta(seconds=seconds), capacity_types=capacity_types
    )


def azure_settings(fake: FakeAzure, **changes: object) -> AzureSettings:
    told = {
        "regions": ("uksouth",),
        "retail_endpoint": fake.retail_url,
        "management_endpoint": fake.management_url,
        "throttle_wait_seconds": 0.02,
    }
    return AzureSettings.model_validate(told | changes)
