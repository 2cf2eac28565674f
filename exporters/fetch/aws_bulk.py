"""Fetch, AWS, mode bulk: the public offer files, streamed to disk and handed on as lazy frames. No credentials.

Per region and service: region_index.json names the current version, its CSV is downloaded and looked at for being
whole, and then only scanned: the row rule's filter is pushed down into the reader, so that an offer file of a million
rows never stands in memory.
Source: AWS bulk offer files, format v1.0: five lines of preamble, a header, one price dimension a line.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import polars as pl

from exporters.core.errors import (
    IntegrityError,
    SettingsError,
    TerminalSourceError,
    TransientSourceError,
    TuppenceError,
)
from exporters.core.http import RetryPolicy, checked_endpoint, client, download, get
from exporters.core.words import CapacityType
from exporters.fetch.aws_price_list import PRODUCT_COLUMNS, TRANSFER_COLUMNS, Column
from exporters.fetch.contract import Fetched, FetchRequest, Finding, Skipped
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from exporters.fetch.aws import AwsSettings

HOSTS = {
    "aws": ("https://pricing.us-east-1.amazonaws.com", "aws"),
    "aws-us-gov": ("https://pricing.us-east-1.amazonaws.com", "aws"),
    "aws-cn": ("https://pricing.cn-north-1.amazonaws.com.cn", "cn"),
}
"""Host and path word of the offer files by partition."""

SERVICES = {"products": ("AmazonEC2", PRODUCT_COLUMNS), "transfers": ("AWSDataTransfer", TRANSFER_COLUMNS)}
PREAMBLE_LINES = 5
TAIL_BYTES = 64 * 1024
NO_SPOT = "spot prices need credentials and mode: api; the offer files hold none"
NEXT_TIME = "It will be tried again at the next refresh."


def fetch_bulk(
    settings: AwsSettings, request: FetchRequest, regions: tuple[str, ...], skipped: tuple[Skipped, ...]
) -> Fetched:
    """This will download the offer files of the regions to the scratch directory and return scans of them."""
    deadline = Deadline.of(request, source="aws")
    host, word = _host(settings)
    frames: dict[str, pl.LazyFrame] = {}
    with client() as session:
        for frame, (service, columns) in SERVICES.items():
            paths = _version_paths(session, host, word, service, deadline)
            scans = []
            for done, region in enumerate(regions):
                request.progress(f"aws {service}", done=done, total=len(regions))
                target = request.scratch / f"{service}-{region}.csv"
                _download(session, host + _path_of(paths, region, service), target, deadline)
                scans.append(scan_offer_file(target, columns, where=f"{service} {region}"))
            request.progress(f"aws {service}", done=len(regions), total=len(regions))
            frames[frame] = pl.concat(scans)
    frames["packaged_shapes"] = packaged_shapes()
    frames["regions"] = pl.LazyFrame({"region": list(regions)})
    no_spot = (Skipped(region="", why=NO_SPOT),) if CapacityType.SPOT.value in request.capacity_types else ()
    return Fetched(source="aws", observed_at=request.now, frames=frames, skipped=(*skipped, *no_spot))


def check_bulk(settings: AwsSettings, request: FetchRequest, regions: tuple[str, ...]) -> tuple[Finding, ...]:
    """This will read the region indexes and look whether each region stands in them."""
    deadline = Deadline.of(request, source="aws")
    host, word = _host(settings)
    findings = []
    with client() as session:
        for service, _ in SERVICES.values():
            subject = f"offer files of {service}"
            try:
                paths = _version_paths(session, host, word, service, deadline)
                for region in regions:
                    _path_of(paths, region, service)
                findings.append(Finding(subject, "ok", f"{host}: {len(regions)} of {len(regions)} regions"))
            except TuppenceError as error:
                findings.append(Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step))
    if CapacityType.SPOT.value in request.capacity_types:
        findings.append(Finding("spot prices", "warning", NO_SPOT, "Set sources.aws.mode: api to have them."))
    return tuple(findings)


def packaged_shapes() -> pl.LazyFrame:
    """This will return the packaged table of machine types."""
    with as_file(files("exporters.fetch.data").joinpath("aws_shapes.csv")) as table:
        floats = dict.fromkeys(("vcpus", "memory_gib", "gpus", "accelerators"), pl.Float64)
        text = ("gpu_model", "accelerator_model")
        return (
            pl.read_csv(table, schema_overrides=floats, infer_schema=False)
            .with_columns(pl.col(*text).fill_null(""), pl.col("gpus", "accelerators").fill_null(0.0))
            .lazy()
        )


def scan_offer_file(path: Path, columns: Sequence[Column], *, where: str) -> pl.LazyFrame:
    """This will look whether an offer file is whole, and return a scan of its raw columns by their headers.

    Raises:
        IntegrityError: no preamble, a column missing, no row, or a last line that is cut off.
    """
    header = _header(path, where)
    missing = [column.header for column in columns if column.required and column.header not in header]
    if missing:
        raise IntegrityError(
            f"the offer file has no column {', '.join(repr(name) for name in missing)}",
            where=where,
            next_step="The last good prices stay; if it lasts, the format has changed: please report it.",
        )
    _check_last_line(path, len(header), where)
    present = [column for column in columns if column.header in header]
    absent = [pl.lit(None, pl.String).alias(column.name) for column in columns if column.header not in header]
    return (
        pl.scan_csv(path, skip_rows=PREAMBLE_LINES, infer_schema=False)
        .select(*(pl.col(column.header).alias(column.name) for column in present), *absent)
        .select(column.name for column in columns)
    )


def _header(path: Path, where: str) -> list[str]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        lines = [line for line, _ in zip(csv.reader(file), range(PREAMBLE_LINES + 1), strict=False)]
    if len(lines) <= PREAMBLE_LINES or lines[0][:1] != ["FormatVersion"] or lines[0][1:2] != ["v1.0"]:
        first = lines[0][0][:80] if lines and lines[0] else ""
        raise IntegrityError(
            f"this is not an offer file of format v1.0 (it begins with {first!r})",
            where=where,
            next_step="Check proxies and sources.aws.endpoints.bulk: something else than AWS answered.",
        )
    return lines[PREAMBLE_LINES]


def _check_last_line(path: Path, fields: int, where: str) -> None:
    """A file that was cut off where the server closed the connection ends inside a line."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES), os.SEEK_SET)
        tail = file.read().decode("utf-8", errors="replace")
    last = tail.rstrip("\r\n").rpartition("\n")[2]
    values = next(csv.reader([last]), [])
    if values[:1] == ["SKU"]:
        raise IntegrityError("the offer file holds no price", where=where, next_step=NEXT_TIME)
    if len(values) != fields or last.count('"') % 2:
        raise IntegrityError("the offer file is cut off in its last line", where=where, next_step=NEXT_TIME)


def _host(settings: AwsSettings) -> tuple[str, str]:
    host, word = HOSTS.get(settings.partition, ("", "aws"))
    host = settings.endpoints.bulk or host
    if not host:
        raise SettingsError(
            f"no public offer files are known for partition {settings.partition}",
            where="sources.aws.mode",
            next_step="Use mode: api, or name the host in sources.aws.endpoints.bulk.",
        )
    return checked_endpoint(host, setting="sources.aws.endpoints.bulk"), word


def _version_paths(session: httpx2.Client, host: str, word: str, service: str, deadline: Deadline) -> Mapping[str, str]:
    """The path of each region's current CSV, from the index of a service."""
    url = f"{host}/offers/v1.0/{word}/{service}/current/region_index.json"
    response = get(session, url, policy=_policy(deadline, url))
    try:
        regions = response.json()["regions"]
        return {name: entry["currentVersionUrl"].removesuffix(".json") + ".csv" for name, entry in regions.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TerminalSourceError(
            f"this is not a region index ({type(error).__name__}: {error}): {response.text[:80]!r}",
            where=url,
            next_step="Check proxies and sources.aws.endpoints.bulk: something else than AWS answered.",
        ) from error


def _path_of(paths: Mapping[str, str], region: str, service: str) -> str:
    path = paths.get(region)
    if path is None:
        raise TerminalSourceError(
            f"{service} has no offer file for {region}",
            where="sources.aws.regions",
            next_step=f"Leave {region} out; the index names {len(paths)} regions.",
        )
    if not path.startswith("/offers/"):
        raise IntegrityError(
            f"the region index leads elsewhere: {path[:120]!r}",
            where=f"{service} {region}",
            next_step="Check proxies and sources.aws.endpoints.bulk.",
        )
    return path


def _download(session: httpx2.Client, url: str, target: Path, deadline: Deadline) -> None:
    def still_wanted(_done: int, _total: int | None) -> None:
        deadline.check(url)

    try:
        download(session, url, target, policy=_policy(deadline, url), still_wanted=still_wanted)
    except OSError as error:
        raise TransientSourceError(
            f"the offer file cannot be written ({error.strerror})",
            where=str(target),
            next_step="Free space in the scratch directory: one region's file takes up to 1 GB.",
        ) from error


def _policy(deadline: Deadline, where: str) -> RetryPolicy:
    return RetryPolicy(timeout_seconds=deadline.remaining(where))
