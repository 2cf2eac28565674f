"""Azure costs, first arrow by download: cost details and price sheets, made on request, fetched as files.

Promises every file of a report, of the size that its manifest says, or an exception. Files lie behind links that are
signed for a short time; they are fetched without a token, and no message shows a link's signature.

Source: azure-mgmt-costmanagement 5: generate_cost_details_report.begin_create_operation (a report a month and kind of
cost), price_sheet.begin_download_by_billing_account and _by_billing_profile.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import polars as pl
from azure.mgmt.costmanagement import models
from polars.exceptions import PolarsError

from exporters.core.errors import IntegrityError, TransientSourceError
from exporters.core.http import RetryPolicy, download
from exporters.fetch.azure_costs_client import READER, Costs
from exporters.fetch.azure_costs_query import months
from exporters.fetch.azure_costs_scope import Scope
from exporters.fetch.azure_details_rows import Report, details_charges, details_names
from exporters.fetch.azure_session import Sdk, as_source_errors
from exporters.fetch.focus_columns import DETAILS, map_for
from exporters.fetch.focus_rows import NULLS

METRICS: Final = {Report.ACTUAL: "ActualCost", Report.AMORTISED: "AmortizedCost"}
SHEETS_READER: Final = "a reader's role on the billing account"
_NOTHING: Final = 204
_NO_DATA: Final = "nodatafound"
_COMPLETED: Final = "completed"


@dataclass(frozen=True, slots=True)
class Downloads:
    """Where and how files are fetched.

    Args:
        costs: the client that asks for them.
        session: a client without credentials, for signed links.
        scratch: an existing directory.
    """

    costs: Costs
    session: httpx2.Client
    scratch: Path

    def file(self, link: str, name: str, *, size: int | None = None) -> Path:
        """This will fetch the file behind a signed link.

        Args:
            link: HTTPS.
            name: what it is called here.
            size: how many bytes it must have; None: it is not said.

        Raises:
            SourceError: it was not given in time.
            IntegrityError: it has another size, or its link is not HTTPS.
        """
        place = urlsplit(link)._replace(query="", fragment="").geturl()
        if urlsplit(link).scheme != "https":
            raise IntegrityError("a file lies behind a link that is not https", where=place, next_step="Report it.")
        path = self.scratch / name
        deadline = self.costs.access.deadline
        download(
            self.session,
            link,
            path,
            policy=RetryPolicy(timeout_seconds=deadline.remaining(place)),
            still_wanted=lambda _done, _total: deadline.check(place),
        )
        if size is not None and path.stat().st_size != size:
            raise IntegrityError(
                f"the file has {path.stat().st_size:,} bytes, its manifest says {size:,}",
                where=place,
                next_step="It will be fetched again at the next refresh.",
            )
        return path

    def finished(self, begin: Callable[..., Sdk], *asked: Any, what: str, right: str) -> Sdk | None:  # noqa: ANN401
        """This will begin an operation, wait until it is done, and return its result; None: there is no data.

        Args:
            begin: of the SDK.
            asked: its arguments.
            what: what is made, as the subject of a sentence.
            right: the right that the identity needs.
        """
        place, statuses = self.costs.access.endpoint, list[int]()
        with as_source_errors(place, what=what, right=right):
            poller = begin(*asked, raw_response_hook=lambda answer: statuses.append(answer.http_response.status_code))
            poller.wait(self.costs.access.deadline.remaining(place))
            if not poller.done():
                raise TransientSourceError(
                    f"{what} was not made in time",
                    where=place,
                    next_step="Raise costs.azure.deadline_seconds; what was known stays.",
                )
            return None if statuses[-1] == _NOTHING else poller.result()


def details(
    downloads: Downloads, scope: Scope, *, first_day: date, last_day: date, owner_tags: Sequence[str]
) -> pl.LazyFrame | None:
    """This will return the charges of a scope from its reports of actual and of amortised cost; None: there are none.

    Args:
        downloads: how files are fetched.
        scope: whose.
        first_day: the first day.
        last_day: the last day.
        owner_tags: keys of tags that name an owner.

    Raises:
        SourceError: a report was not made, or not given.
        IntegrityError: it is not whole, or lacks a column.
    """
    parts = [
        _charges(path, report, scope, owner_tags)
        for report in METRICS
        for start, end in months(first_day, last_day)
        for path in _report(downloads, scope, report, start, end)
    ]
    return pl.concat(parts) if parts else None


def _report(downloads: Downloads, scope: Scope, report: Report, first_day: date, last_day: date) -> Iterator[Path]:
    what = f"the {report.value} cost details from {first_day} to {last_day} of {scope.path}"
    found = downloads.finished(
        downloads.costs.sdk.generate_cost_details_report.begin_create_operation,
        scope.path,
        models.GenerateCostDetailsReportRequestDefinition(
            metric=METRICS[report],
            time_period=models.CostDetailsTimePeriod(start=first_day.isoformat(), end=last_day.isoformat()),
        ),
        what=what,
        right=f"{READER} on {scope.path}",
    )
    status = "" if found is None else str(getattr(found.status, "value", found.status)).casefold()
    if found is None or status == _NO_DATA:
        return
    blobs = (found.manifest.blobs if found.manifest is not None else None) or []
    if status != _COMPLETED or not blobs or (found.manifest.blob_count or len(blobs)) != len(blobs):
        raise IntegrityError(
            f"{what} ended as {status or 'nothing'}, with {len(blobs)} files",
            where=downloads.costs.access.endpoint,
            next_step="It will be asked again at the next refresh.",
        )
    for number, blob in enumerate(blobs):
        ending = "csv.gz" if found.manifest.compress_data else "csv"
        name = f"{scope.account.replace('/', '-')}-{report.value}-{first_day}-{number}.{ending}"
        yield downloads.file(blob.blob_link, name, size=blob.byte_count)


def _charges(path: Path, report: Report, scope: Scope, owner_tags: Sequence[str]) -> pl.LazyFrame:
    where = f"{report.value} cost details of {scope.path}"
    try:
        raw = pl.scan_csv(path, infer_schema=False, null_values=list(NULLS))
        raw = raw.rename(details_names(raw.collect_schema().names()))
        if map_for(set(raw.collect_schema().names()), where=where) is not DETAILS:
            raise IntegrityError("it holds no cost details", where=where, next_step="Report it.")
        return details_charges(raw, report, owner_tags=owner_tags)
    except PolarsError as error:
        raise IntegrityError(
            f"the file cannot be read ({str(error).splitlines()[0]})",
            where=where,
            next_step="It will be asked again at the next refresh.",
        ) from error


def price_sheet(downloads: Downloads, scope: Scope, today: date) -> list[Path]:
    """This will fetch the price sheet of a billing account or a billing profile: the CSV files of it.

    Raises:
        SourceError: it was not made, or not given.
        IntegrityError: it is no file, or an archive that is damaged.
    """
    sheets, parts = downloads.costs.sdk.price_sheet, scope.account.split("/")
    if len(parts) == 1:
        begin, asked = sheets.begin_download_by_billing_account, (parts[0], f"{today:%Y%m}")
    else:
        begin, asked = sheets.begin_download_by_billing_profile, (parts[0], parts[-1])
    what = f"the price sheet of {scope.path}"
    found = downloads.finished(begin, *asked, what=what, right=SHEETS_READER)
    link = None if found is None else _link(found)
    if not link:
        raise IntegrityError(
            f"{what} has no link to a file",
            where=downloads.costs.access.endpoint,
            next_step="Set costs.azure.price_sheets: false if this agreement has none.",
        )
    path = downloads.file(link, f"{scope.account.replace('/', '-')}-prices")
    return _unpacked(path, what)


def _link(found: Sdk) -> str | None:
    """Where the file lies: a billing account's answer and a billing profile's say it in two ways."""
    properties = found.get("properties") or found
    link: str | None = properties.get("downloadUrl") or properties.get("reportUrl")
    return link


def _unpacked(path: Path, what: str) -> list[Path]:
    """The CSV files of an archive, under names of our own, so that none can lie elsewhere; or the file itself."""
    if not zipfile.is_zipfile(path):
        return [path]
    found: list[Path] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for number, member in enumerate(one for one in archive.namelist() if one.lower().endswith(".csv")):
                target = path.with_name(f"{path.name}-{number}.csv")
                with archive.open(member) as packed, target.open("wb") as file:
                    while block := packed.read(1 << 20):
                        file.write(block)
                found.append(target)
    except (zipfile.BadZipFile, OSError) as error:
        raise IntegrityError(
            f"{what} is a damaged archive", where=str(path.name), next_step="It will be fetched again."
        ) from error
    return found
