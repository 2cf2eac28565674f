"""OpenCost: the arrow from the allocation API of a cluster to what its workloads cost a day.

Promises, for every whole UTC day asked for, each workload that OpenCost names, with parts that add up to OpenCost's own
total, or an error: never a part of a cluster. A day that is not over is not asked for. Days of which OpenCost says
nothing are reported as skipped, because an empty answer and a lost history look alike.
Source: OpenCost, API, "Allocation API" (opencost.io/docs/integrations/api); names of the fields as in AllocationJSON.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import dataframely as dy
import httpx2
import polars as pl
from pydantic import Field, model_validator

from exporters.core.config_file import Section
from exporters.core.errors import IntegrityError, SettingsError, SourceError, TerminalSourceError, TransientSourceError
from exporters.core.http import RetryPolicy, checked_endpoint, client, get
from exporters.core.secrets import read_secret
from exporters.core.standing_frames import WorkloadCost
from exporters.fetch.contract import Finding, Skipped
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings
from exporters.fetch.deadline import Deadline
from exporters.fetch.opencost_rows import Bill, workload_costs

SETTING = "costs.opencost.endpoints"
AGGREGATE = "cluster,namespace,controllerKind,controller"
"""Names of allocation properties, in the order in which OpenCost joins them to an entry's name."""

ANSWER_SECONDS = 120.0
"""How long one answer may be waited for: OpenCost asks Prometheus for each day anew."""


class OpenCostEndpoint(Section):
    """One OpenCost, which knows one cluster."""

    cluster: str = Field(min_length=1, description="The cluster's name, as in `clusters` and in Prometheus.")
    url: str = Field(description="Where OpenCost's API is, for example http://opencost.opencost:9003.")
    currency: str = Field(
        pattern="^[A-Z]{3}$", description="ISO 4217 code that OpenCost's prices are in; its answers do not say."
    )
    path: Literal["/allocation", "/allocation/compute"] = Field(
        default="/allocation", description="The second one for an older OpenCost, which has no other."
    )
    bearer_token_file: Path | None = Field(default=None, description="File with a bearer token.")
    username: str | None = Field(default=None, description="User name for basic auth.")
    password_file: Path | None = Field(default=None, description="File with the password for basic auth.")
    ca_file: Path | None = Field(default=None, description="CA certificate that the server's comes from, PEM.")

    @model_validator(mode="after")
    def _one_kind_of_credentials(self) -> Self:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and password_file go together")
        if self.bearer_token_file is not None and self.username is not None:
            raise ValueError("bearer_token_file and username exclude each other")
        return self


class OpenCostSettings(CostSourceSettings):
    """What the source of workload costs can be told."""

    endpoints: tuple[OpenCostEndpoint, ...] = Field(default=(), description="One OpenCost a cluster.")
    days_per_request: int = Field(default=7, ge=1, le=31, description="Days asked for at once.")
    resolution: str = Field(
        default="5m", pattern=r"^\d+[smh]$", description="Resolution of OpenCost's own queries; finer is slower."
    )
    retry_wait_seconds: float = Field(default=1.0, gt=0, description="First pause before a request is tried again.")

    @model_validator(mode="after")
    def _each_cluster_once(self) -> Self:
        names = [endpoint.cluster for endpoint in self.endpoints]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two endpoints name the cluster {twice[0]!r}: their costs would be added up")
        return self


def fetch(settings: OpenCostSettings, cloud: None, request: CostRequest) -> CostFetched:
    """This will return what each workload of each cluster cost on each whole day asked for.

    Raises:
        SettingsError: there is no endpoint, or one of them, or a secret file, is wrong.
        TransientSourceError: an OpenCost is slow, down or busy beyond the retries or the deadline.
        TerminalSourceError: an OpenCost refused the credentials or the query.
        IntegrityError: an answer is not OpenCost's, is of other days, or does not add up.
    """
    del cloud
    if not settings.endpoints:
        raise SettingsError("no OpenCost is named", where=SETTING, next_step="Add one endpoint a cluster.")
    deadline = Deadline.of(request, source="opencost")
    days = whole_days(request)
    rows: list[dict[str, Any]] = []
    skipped: list[Skipped] = []
    for done, endpoint in enumerate(settings.endpoints, start=1):
        found = _of_cluster(settings, endpoint, days, deadline)
        rows.extend(found)
        silent = sorted(set(days) - {row["day"] for row in found})
        if silent:
            skipped.append(Skipped("", f"OpenCost of {endpoint.cluster} holds nothing of {_spans(silent)}"))
        request.progress("clusters' allocations", done=done, total=len(settings.endpoints))
    return CostFetched("opencost", request.now, workloads=_frame(rows), skipped=tuple(skipped))


def check(settings: OpenCostSettings, cloud: None, request: CostRequest) -> tuple[Finding, ...]:
    """This will ask each OpenCost for the last whole day."""
    del cloud
    if not settings.endpoints:
        return (Finding("endpoints", "failed", "no OpenCost is named", f"Add one endpoint a cluster to {SETTING}."),)
    deadline = Deadline.of(request, source="opencost")
    return tuple(_finding(settings, endpoint, request, deadline) for endpoint in settings.endpoints)


def _finding(
    settings: OpenCostSettings, endpoint: OpenCostEndpoint, request: CostRequest, deadline: Deadline
) -> Finding:
    yesterday = request.now.date() - timedelta(days=1)
    try:
        found = _of_cluster(settings, endpoint, [yesterday], deadline)
    except (SourceError, SettingsError, IntegrityError) as error:
        return Finding(endpoint.cluster, "failed", f"{error.where}: {error.what}", error.next_step)
    if not found:
        step = "Check that OpenCost finds its Prometheus, and how far its history goes back."
        return Finding(endpoint.cluster, "warning", f"OpenCost holds nothing of {yesterday}", step)
    total = sum(row["total_cost"] for row in found)
    return Finding(
        endpoint.cluster, "ok", f"{len(found)} workloads cost {total:,.2f} {endpoint.currency} on {yesterday}"
    )


def whole_days(request: CostRequest) -> list[date]:
    """This will return the days asked for that are over (UTC)."""
    last = min(request.last_day, request.now.astimezone(UTC).date() - timedelta(days=1))
    return [request.first_day + timedelta(days=n) for n in range((last - request.first_day).days + 1)]


def _of_cluster(
    settings: OpenCostSettings, endpoint: OpenCostEndpoint, days: list[date], deadline: Deadline
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    with _session(endpoint) as session:
        for start in range(0, len(days), settings.days_per_request):
            asked = days[start : start + settings.days_per_request]
            where = f"OpenCost of {endpoint.cluster} ({endpoint.url})"
            policy = RetryPolicy(
                timeout_seconds=deadline.remaining(where), wait_initial_seconds=settings.retry_wait_seconds
            )
            answer = get(
                session, f"{_url(endpoint)}{endpoint.path}", policy=policy, params=_params(asked, settings.resolution)
            )
            sets = _sets(answer.text, where)
            bill = Bill(cluster=endpoint.cluster, currency=endpoint.currency, days=tuple(asked), where=where)
            rows.extend(workload_costs(sets, bill, theirs=seen))
    return rows


def _params(days: list[date], resolution: str) -> dict[str, str]:
    return {
        "window": f"{_midnight(days[0])},{_midnight(days[-1] + timedelta(days=1))}",
        "step": "1d",
        "aggregate": AGGREGATE,
        "accumulate": "false",
        "includeIdle": "true",
        "resolution": resolution,
    }


def _sets(text: str, where: str) -> list[Any]:
    """The sets of an answer; OpenCost may answer 200 with the code of an error inside."""
    try:
        answer = json.loads(text)
    except ValueError as error:
        raise _unlike(f"the answer is no JSON ({error})", where) from error
    if not isinstance(answer, dict) or "code" not in answer:
        raise _unlike("the answer has no code", where)
    code, said = answer["code"], str(answer.get("message") or "no message")[:200]
    if code in {429, 500, 502, 503, 504}:
        step = "Look into OpenCost's log: its Prometheus may be slow. It will be asked again at the next refresh."
        raise TransientSourceError(f"it answered code {code} ({said})", where=where, next_step=step)
    if code != 200:
        step = "Check its version and costs.opencost; try the path /allocation/compute."
        raise TerminalSourceError(f"it answered code {code} ({said})", where=where, next_step=step)
    sets = answer.get("data")
    if not isinstance(sets, list):
        raise _unlike("the answer's data is no list of sets", where)
    return sets


def _unlike(what: str, where: str) -> IntegrityError:
    step = "Check that the URL is that of OpenCost's API (port 9003), and that no login page stands before it."
    return IntegrityError(what, where=where, next_step=step)


def _frame(rows: list[dict[str, Any]]) -> dy.DataFrame[WorkloadCost]:
    schema = {name: column.dtype for name, column in WorkloadCost.columns().items()}
    return WorkloadCost.validate(pl.DataFrame(rows, schema=schema, orient="row"))


@contextmanager
def _session(endpoint: OpenCostEndpoint) -> Iterator[httpx2.Client]:
    headers = _headers(endpoint)
    try:
        session = client(
            timeout_seconds=ANSWER_SECONDS, headers=headers, verify=str(endpoint.ca_file) if endpoint.ca_file else True
        )
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the CA file {endpoint.ca_file} cannot be used ({error.strerror or error})",
            where=f"{SETTING}, {endpoint.cluster}",
            next_step="Check the path, its permissions, and that it is PEM.",
        ) from error
    with session:
        yield session


def _url(endpoint: OpenCostEndpoint) -> str:
    """Inside a cluster OpenCost speaks plain HTTP; credentials must not."""
    setting = f"{SETTING}, {endpoint.cluster}"
    parts = urlsplit(endpoint.url)
    secret = endpoint.bearer_token_file is not None or endpoint.password_file is not None
    if not secret and parts.scheme == "http" and parts.hostname and parts.username is None:
        return endpoint.url.rstrip("/")
    return checked_endpoint(endpoint.url, setting=setting)


def _headers(endpoint: OpenCostEndpoint) -> dict[str, str]:
    setting = f"{SETTING}, {endpoint.cluster}"
    if endpoint.bearer_token_file is not None:
        token = read_secret(endpoint.bearer_token_file, setting=f"{setting}, bearer_token_file")
        return {"Authorization": f"Bearer {token}"}
    if endpoint.username is not None and endpoint.password_file is not None:
        password = read_secret(endpoint.password_file, setting=f"{setting}, password_file")
        pair = base64.b64encode(f"{endpoint.username}:{password}".encode()).decode("ascii")
        return {"Authorization": f"Basic {pair}"}
    return {}


def _midnight(day: date) -> str:
    return datetime.combine(day, time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spans(days: list[date]) -> str:
    return str(days[0]) if len(days) == 1 else f"{len(days)} days between {days[0]} and {days[-1]}"


SOURCE = CostSource(name="opencost", settings_model=OpenCostSettings, fetch=fetch, check=check)
