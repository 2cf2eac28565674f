"""Fetch, AWS, mode api: every page of four calls for every region, in parallel, whole or not at all.

Per region: DescribeInstanceTypes (which also shows whether the account may use the region), DescribeSpotPriceHistory
with StartTime = now (the price in force, however old), GetProducts of AmazonEC2 and of AWSDataTransfer. A region that
the account may not use is skipped with the reason; any other failure ends the refresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.words import CapacityType, OperatingSystem
from exporters.fetch.aws_clients import Clients, error_code, plain_errors, pricing_home
from exporters.fetch.aws_instance_types import (
    DEVICE_SCHEMA,
    INSTANCE_TYPE_SCHEMA,
    SPOT_SCHEMA,
    device_rows,
    instance_type_row,
    spot_row,
)
from exporters.fetch.aws_price_list import PRODUCT_COLUMNS, TRANSFER_COLUMNS, Column, raw_schema, read_item
from exporters.fetch.contract import Fetched, FetchRequest, Skipped
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_pricing import PricingClient

    from exporters.fetch.aws import AwsSettings

NOT_FOR_THIS_ACCOUNT = frozenset({"AuthFailure", "OptInRequired", "UnauthorizedOperation"})
"""What EC2 answers in a region that is not opted in, or that a service control policy closes."""

PRODUCT_DESCRIPTIONS = {
    OperatingSystem.LINUX.value: ("Linux/UNIX", "Linux/UNIX (Amazon VPC)"),
    OperatingSystem.WINDOWS.value: ("Windows", "Windows (Amazon VPC)"),
}
SYSTEM_NAMES = {OperatingSystem.LINUX.value: "Linux", OperatingSystem.WINDOWS.value: "Windows"}
MACHINE_FAMILIES = ("Compute Instance", "Compute Instance (bare metal)")
TRANSFER_TYPES = ("AWS Outbound", "InterRegion Outbound", "IntraRegion")
RESTARTS = 2
"""How often a query whose page token expired is begun again from its first page."""


@dataclass(frozen=True, slots=True)
class _Region:
    """All that one region gave; `skipped` instead when the account may not use it."""

    name: str
    frames: Mapping[str, pl.DataFrame]
    skipped: Skipped | None = None


def fetch_api(
    settings: AwsSettings, request: FetchRequest, regions: tuple[str, ...], skipped: tuple[Skipped, ...]
) -> Fetched:
    """This will fetch the regions in parallel; the first failure ends all of it."""
    deadline = Deadline.of(request, source="aws")
    clients = Clients(settings, deadline, pricing_home(settings.partition, regions))
    pricing = clients.pricing()
    fetchers = [_RegionFetch(region, clients.ec2(region), pricing, request, deadline) for region in regions]
    answers = _in_parallel(fetchers, settings.parallel_regions, request)
    left_out = tuple(answer.skipped for answer in answers if answer.skipped)
    whole = [answer for answer in answers if not answer.skipped]
    if not whole:
        raise TerminalSourceError(
            f"no region may be used by this account ({left_out[0].region}: {left_out[0].why})",
            where="sources.aws",
            next_step="Allow ec2:DescribeInstanceTypes and opt in to the regions, or set mode: bulk.",
        )
    frames = {name: pl.concat([answer.frames[name] for answer in whole]).lazy() for name in whole[0].frames}
    frames["regions"] = pl.LazyFrame({"region": [answer.name for answer in whole]})
    return Fetched(source="aws", observed_at=request.now, frames=frames, skipped=(*skipped, *left_out))


def _in_parallel(fetchers: Sequence[_RegionFetch], workers: int, request: FetchRequest) -> list[_Region]:
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="aws") as pool:
        futures = [pool.submit(fetcher.whole) for fetcher in fetchers]
        request.progress("aws regions", done=0, total=len(futures))
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                request.progress("aws regions", done=done, total=len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


@dataclass(frozen=True, slots=True)
class _RegionFetch:
    """The calls of one region; `whole` runs in a thread of its own."""

    region: str
    ec2: EC2Client
    pricing: PricingClient
    request: FetchRequest
    deadline: Deadline

    def whole(self) -> _Region:
        """Everything of the region, or the reason why the account may not use it."""
        try:
            frames = self._machine_types()
            if self._asked(CapacityType.SPOT):
                frames["spot"] = self._spot()
        except TerminalSourceError as error:
            if (code := error_code(error.__cause__)) in NOT_FOR_THIS_ACCOUNT:
                why = f"{code}: the account has not opted in, or may not call EC2 here"
                return _Region(self.region, {}, Skipped(region=self.region, why=why))
            raise
        frames["transfers"] = self._transfers()
        terms = ["OnDemand"] if self._asked(CapacityType.ON_DEMAND) else []
        terms += ["Reserved"] if self._asked(CapacityType.COMMITTED_1Y, CapacityType.COMMITTED_3Y) else []
        if terms:
            frames["products"] = self._products(terms)
        return _Region(self.region, frames)

    def _asked(self, *words: CapacityType) -> bool:
        return any(word.value in self.request.capacity_types for word in words)

    def _machine_types(self) -> dict[str, pl.DataFrame]:
        pages = self.ec2.get_paginator("describe_instance_types").paginate(PaginationConfig={"PageSize": 100})
        types = list(self._every(pages, "InstanceTypes", "ec2:DescribeInstanceTypes"))
        devices = [row for item in types for row in device_rows(self.region, item)]
        described = [instance_type_row(self.region, item) for item in types]
        return {
            "instance_types": pl.DataFrame(described, schema=INSTANCE_TYPE_SCHEMA),
            "devices": pl.DataFrame(devices, schema=DEVICE_SCHEMA),
        }

    def _spot(self) -> pl.DataFrame:
        """All pages, merged before anything is used: a page may be empty and still not be the last."""
        pages = self.ec2.get_paginator("describe_spot_price_history").paginate(
            StartTime=self.request.now,
            ProductDescriptions=[d for system in self.request.operating_systems for d in PRODUCT_DESCRIPTIONS[system]],
            PaginationConfig={"PageSize": 1000},
        )
        prices = self._every(pages, "SpotPriceHistory", "ec2:DescribeSpotPriceHistory")
        return pl.DataFrame([spot_row(self.region, price) for price in prices], schema=SPOT_SCHEMA)

    def _products(self, terms: Sequence[str]) -> pl.DataFrame:
        fixed = {"capacitystatus": "Used", "marketoption": "OnDemand", "preInstalledSw": "NA"}
        rows = [
            row
            for system in self.request.operating_systems
            for family in MACHINE_FAMILIES
            for row in self._items(
                "AmazonEC2",
                {"regionCode": self.region, "productFamily": family, "operatingSystem": SYSTEM_NAMES[system], **fixed},
                PRODUCT_COLUMNS,
                terms=terms,
            )
        ]
        if not rows:
            raise IntegrityError(
                "the price list holds no machine for the region",
                where=f"pricing:GetProducts for {self.region}",
                next_step="The last good prices stay; it will be tried again at the next refresh.",
            )
        return pl.DataFrame(rows, schema=raw_schema(PRODUCT_COLUMNS))

    def _transfers(self) -> pl.DataFrame:
        rows = [
            row
            for kind in TRANSFER_TYPES
            for row in self._items(
                "AWSDataTransfer", {"fromRegionCode": self.region, "transferType": kind}, TRANSFER_COLUMNS
            )
        ]
        return pl.DataFrame(rows, schema=raw_schema(TRANSFER_COLUMNS))

    def _items(
        self,
        service: str,
        attributes: Mapping[str, str],
        columns: Sequence[Column],
        *,
        terms: Sequence[str] = ("OnDemand",),
    ) -> list[dict[str, str | None]]:
        """Every item of one query; a page token that expires means beginning again, never an early end."""
        where = f"pricing:GetProducts {service} for {self.region}"
        for _ in range(RESTARTS + 1):
            pages = self.pricing.get_paginator("get_products").paginate(
                ServiceCode=service,
                Filters=[{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in attributes.items()],
                FormatVersion="aws_v1",
                PaginationConfig={"PageSize": 100},
            )
            try:
                return [
                    row
                    for text in self._every(pages, "PriceList", "pricing:GetProducts")
                    for row in read_item(text, columns, terms=terms, where=where)
                ]
            except TerminalSourceError as error:
                if error_code(error.__cause__) != "ExpiredNextTokenException":
                    raise
        raise TransientSourceError(
            f"the page token expired {RESTARTS + 1} times",
            where=where,
            next_step="It will be tried again at the next refresh.",
        )

    def _every(self, pages: Iterable[Mapping[str, Any]], items: str, action: str) -> Iterator[Any]:
        """Every item of every page; the deadline is looked at between pages, and before each try by the client.

        botocore reads a body that is not JSON, or is cut off, as an answer without members: that is no last page.
        """
        where = f"{action} in {self.region}"
        with plain_errors(where, action=action):
            for page in pages:
                self.deadline.check(where)
                if items not in page:
                    raise IntegrityError(
                        f"an answer came without {items}: it was cut off, or something else than AWS answered",
                        where=where,
                        next_step="Check proxies and sources.aws.endpoints; the next refresh tries again.",
                    )
                yield from page[items]
