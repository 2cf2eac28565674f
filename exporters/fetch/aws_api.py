"""Fetch, AWS, mode api: every page of four calls for every region, in parallel, whole or not at all.

Per region: DescribeInstanceTypes (which also shows whether the account may use the region), DescribeSpotPriceHistory
with StartTime = now (the price in force, however old), GetProducts of AmazonEC2 and of AWSDataTransfer. A region that
the account may not use is skipped with the reason; any other failure ends the refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.words import CapacityType, OperatingSystem
from exporters.fetch.aws_clients import Clients, error_code, plain_errors, pricing_home
from exporters.fetch.aws_deadline import Deadline
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
OPERATING_SYSTEM_NAMES = {OperatingSystem.LINUX.value: "Linux", OperatingSystem.WINDOWS.value: "Windows"}
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
    deadline = Deadline(request)
    clients = Clients(settings, deadline, pricing_home(settings.partition, regions))
    pricing = clients.pricing()
    ec2 = {region: clients.ec2(region) for region in regions}

    def one(region: str) -> _Region:
        return _fetch_region(region, ec2[region], pricing, request, deadline)

    answers = _in_parallel(one, regions, settings.parallel_regions, request)
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


def _in_parallel(
    one: Callable[[str], _Region], regions: Sequence[str], workers: int, request: FetchRequest
) -> list[_Region]:
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="aws") as pool:
        futures = [pool.submit(one, region) for region in regions]
        request.progress("aws regions", done=0, total=len(regions))
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=1.0, return_when=FIRST_EXCEPTION)
            request.progress("aws regions", done=len(regions) - len(pending), total=len(regions))
            if any(future.exception() for future in done):
                pool.shutdown(wait=False, cancel_futures=True)
                break
        failed = next((error for f in futures if f.done() and not f.cancelled() and (error := f.exception())), None)
        if failed:
            raise failed
        return [future.result() for future in futures]


def _fetch_region(
    region: str, ec2: EC2Client, pricing: PricingClient, request: FetchRequest, deadline: Deadline
) -> _Region:
    types: list[dict[str, Any]] = []
    try:
        for page in _pages(
            ec2, "describe_instance_types", region, "ec2:DescribeInstanceTypes", deadline, MaxResults=100
        ):
            types += page["InstanceTypes"]
        frames = {"spot": _spot(ec2, region, request, deadline)} if _asked(request, CapacityType.SPOT) else {}
    except TerminalSourceError as error:
        if (code := error_code(error.__cause__)) in NOT_FOR_THIS_ACCOUNT:
            return _Region(region, {}, Skipped(region=region, why=f"{code}: not opted in, or not allowed here"))
        raise
    devices = [row for item in types for row in device_rows(region, item)]
    frames["instance_types"] = pl.DataFrame([instance_type_row(region, t) for t in types], schema=INSTANCE_TYPE_SCHEMA)
    frames["devices"] = pl.DataFrame(devices, schema=DEVICE_SCHEMA)
    frames["transfers"] = _transfers(pricing, region, deadline)
    if terms := _terms(request):
        frames["products"] = _products(pricing, region, request, terms, deadline)
    return _Region(region, frames)


def _asked(request: FetchRequest, *words: CapacityType) -> bool:
    return any(word.value in request.capacity_types for word in words)


def _terms(request: FetchRequest) -> list[str]:
    on_demand = ["OnDemand"] if _asked(request, CapacityType.ON_DEMAND) else []
    return on_demand + (["Reserved"] if _asked(request, CapacityType.COMMITTED_1Y, CapacityType.COMMITTED_3Y) else [])


def _spot(ec2: EC2Client, region: str, request: FetchRequest, deadline: Deadline) -> pl.DataFrame:
    """All pages, merged before anything is used: a page may be empty and still not be the last."""
    descriptions = [d for system in request.operating_systems for d in PRODUCT_DESCRIPTIONS[system]]
    pages = _pages(
        ec2,
        "describe_spot_price_history",
        region,
        "ec2:DescribeSpotPriceHistory",
        deadline,
        StartTime=request.now,
        ProductDescriptions=descriptions,
        MaxResults=1000,
    )
    rows = [spot_row(region, item) for page in pages for item in page["SpotPriceHistory"]]
    return pl.DataFrame(rows, schema=SPOT_SCHEMA)


def _products(
    pricing: PricingClient, region: str, request: FetchRequest, terms: Sequence[str], deadline: Deadline
) -> pl.DataFrame:
    wanted = [
        {"regionCode": region, "productFamily": family, "operatingSystem": OPERATING_SYSTEM_NAMES[system]}
        | {"capacitystatus": "Used", "marketoption": "OnDemand", "preInstalledSw": "NA"}
        for system in request.operating_systems
        for family in MACHINE_FAMILIES
    ]
    rows = [
        row
        for attributes in wanted
        for row in _items(pricing, "AmazonEC2", attributes, PRODUCT_COLUMNS, terms, region, deadline)
    ]
    if not rows:
        raise IntegrityError(
            "the price list holds no machine for the region",
            where=f"pricing:GetProducts for {region}",
            next_step="Check the region code; the last good prices stay.",
        )
    return pl.DataFrame(rows, schema=raw_schema(PRODUCT_COLUMNS))


def _transfers(pricing: PricingClient, region: str, deadline: Deadline) -> pl.DataFrame:
    rows = [
        row
        for kind in TRANSFER_TYPES
        for row in _items(
            pricing,
            "AWSDataTransfer",
            {"fromRegionCode": region, "transferType": kind},
            TRANSFER_COLUMNS,
            ["OnDemand"],
            region,
            deadline,
        )
    ]
    return pl.DataFrame(rows, schema=raw_schema(TRANSFER_COLUMNS))


def _items(
    pricing: PricingClient,
    service: str,
    attributes: Mapping[str, str],
    columns: Sequence[Column],
    terms: Sequence[str],
    region: str,
    deadline: Deadline,
) -> list[dict[str, str | None]]:
    """Every item of one query; a page token that expires means beginning again, never an early end."""
    where = f"pricing:GetProducts {service} for {region}"
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in attributes.items()]
    for _ in range(RESTARTS + 1):
        try:
            pages = _pages(
                pricing,
                "get_products",
                region,
                "pricing:GetProducts",
                deadline,
                ServiceCode=service,
                Filters=filters,
                FormatVersion="aws_v1",
                MaxResults=100,
            )
            return [
                row
                for page in pages
                for text in page["PriceList"]
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


def _pages(
    client: Any, operation: str, region: str, action: str, deadline: Deadline, **arguments: Any
) -> Iterator[dict[str, Any]]:
    """Every page of a call; the deadline is looked at between pages, and before each try by the client."""
    size = arguments.pop("MaxResults")
    where = f"{action} in {region}"
    with plain_errors(where, action=action):
        for page in client.get_paginator(operation).paginate(**arguments, PaginationConfig={"PageSize": size}):
            deadline.check(where)
            yield page
