"""The edge to Prometheus, Thanos, Mimir and VictoriaMetrics: named queries in, polars frames out.

Promises a whole answer or an error that names the query: an answer that is partial, carries a warning, is not JSON or
holds a value that is not a finite number is an error, never a smaller result.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx2
import polars as pl

from exporters.core.errors import IntegrityError, SettingsError, SourceError, TerminalSourceError
from exporters.core.http import RetryPolicy, checked_endpoint, client, get
from exporters.core.secrets import read_secret
from recommender.settings import PrometheusSettings

SETTING = "usage.prometheus"
TRIES = 3
ANSWER_SECONDS = 5.0
"""What the answer's way back may take on top of the time that the server has for the query."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the name that errors call it by."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Samples as they were stored; labels stand apart from points, because a series of a week has 168 points.

    Args:
        labels: series (UInt32), and a column a label (empty: not there).
        points: series, timestamp (UTC), value (Float64).
    """

    labels: pl.DataFrame
    points: pl.DataFrame


class Prometheus:
    """The query API of one server; use it as a context manager."""

    def __init__(self, settings: PrometheusSettings) -> None:
        """This will open no connection yet.

        Raises:
            SettingsError: credentials would travel in the clear, or a secret file cannot be read.
        """
        self._url = _checked_url(settings)
        self._settings = settings
        self._session = client(
            timeout_seconds=settings.timeout_seconds + ANSWER_SECONDS,
            headers=_headers(settings),
            verify=True if settings.ca_file is None else str(settings.ca_file),
        )

    def __enter__(self) -> Prometheus:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def instant(self, query: Query, *, at: datetime, labels: Sequence[str]) -> pl.DataFrame:
        """This will evaluate a query at one moment: a column a label (empty: not there), and value (Float64).

        Raises:
            SourceError: the server did not answer as it should; transient or not.
            IntegrityError: the answer is partial, or holds values that are not finite.
        """
        answer = self._ask(query, "query", {"time": _seconds(at)}, kind="vector")
        rows = [(*_labels(series, labels), float(series["value"][1])) for series in answer]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(labels, pl.String) | {"value": pl.Float64}, orient="row")
        return self._finite(query, frame)

    def stored(
        self, record: str, *, start: datetime, end: datetime, labels: Sequence[str], expected_points: int
    ) -> Stored:
        """This will return the stored samples of a record after start, up to and with end.

        An instant query over a range selector: nothing is evaluated and no step is chosen, so it costs the server less
        than a range query and gives each sample once, with its own time.

        Args:
            record: the name of the series, which errors call the query by.
            start: the moment before the first one.
            end: the last moment.
            labels: the labels that become columns.
            expected_points: must be within the points budget.

        Raises:
            SettingsError: the query is over the points budget and was not sent.
            SourceError: the server did not answer as it should; transient or not.
            IntegrityError: the answer is partial, or holds values that are not finite.
        """
        # A millisecond less, because the range is closed at both ends in Prometheus 2.
        query = Query(record, f"{record}[{round((end - start).total_seconds() * 1_000) - 1}ms]")
        self._check_budget(query, expected_points)
        answer = self._ask(query, "query", {"time": _seconds(end)}, kind="matrix")
        named = [(number, *_labels(one, labels)) for number, one in enumerate(answer)]
        schema: dict[str, type[pl.DataType]] = {"series": pl.UInt32} | dict.fromkeys(labels, pl.String)
        points = self._finite(query, _points(answer))
        return Stored(labels=pl.DataFrame(named, schema=schema, orient="row"), points=points)

    def _check_budget(self, query: Query, points: int) -> None:
        if points > self._settings.max_points:
            raise SettingsError(
                f"the query {query.name!r} would return {points} points, more than {self._settings.max_points}; it was "
                "not sent",
                where=f"{SETTING}.max_points",
                next_step="Take a shorter window, or raise the budget if the server can bear it.",
            )

    def _ask(self, query: Query, path: str, params: Mapping[str, str], *, kind: str) -> list[dict[str, Any]]:
        sent = {"query": query.expression, "timeout": f"{self._settings.timeout_seconds:g}s", **params}
        sent |= _OF_THANOS if self._settings.thanos else {}
        patience = TRIES * (self._settings.timeout_seconds + ANSWER_SECONDS)
        try:
            response = get(
                self._session,
                f"{self._url}/api/v1/{path}",
                policy=RetryPolicy(attempts=TRIES, timeout_seconds=patience),
                params=sent,
            )
        except SourceError as error:
            raise type(error)(
                f"the query {query.name!r} failed: {error.what}", where=error.where, next_step=_ADVICE
            ) from error
        return self._result(query, response, kind=kind)

    def _result(self, query: Query, response: httpx2.Response, *, kind: str) -> list[dict[str, Any]]:
        try:
            body = response.json()
            status = body["status"]
        except (ValueError, KeyError, TypeError) as error:
            words = response.headers.get("content-type", "no type")
            self._fail(query, f"got an answer that is not the query API's ({words}: {response.text[:80]!r})", error)
        if status != "success":
            self._fail(query, f"was refused: {body.get('errorType')}: {body.get('error')}")
        # `warnings`: Thanos, Mimir and Prometheus; `isPartial`: the cluster version of VictoriaMetrics.
        if body.get("warnings") or body.get("isPartial"):
            said = "; ".join(map(str, body.get("warnings") or ["isPartial"]))
            raise IntegrityError(
                f"the query {query.name!r} may be incomplete: {said}",
                where=self._url,
                next_step="Find out which part of the data did not answer; nothing is taken from a partial answer.",
            )
        data = body.get("data") or {}
        if data.get("resultType") != kind or not isinstance(data.get("result"), list):
            self._fail(query, f"got a {data.get('resultType')!r} where a {kind} was expected")
        result: list[dict[str, Any]] = data["result"]
        return result

    def _fail(self, query: Query, what: str, cause: Exception | None = None) -> NoReturn:
        raise TerminalSourceError(f"the query {query.name!r} {what}", where=self._url, next_step=_ADVICE) from cause

    def _finite(self, query: Query, frame: pl.DataFrame) -> pl.DataFrame:
        odd = frame.filter(~pl.col("value").is_finite())
        if odd.is_empty():
            return frame
        raise IntegrityError(
            f"the query {query.name!r} gave {odd.height} values that are not finite numbers, such as "
            f"{odd.row(0, named=True)}",
            where=self._url,
            next_step="Look at the recording rule of that name and at what it reads.",
        )


_OF_THANOS = {"partial_response": "false", "dedup": "true", "max_source_resolution": "0s"}
"""Complete answers, replicas once, and the samples that were recorded (Thanos, Query API), not down-sampled ones."""
_ADVICE = "Check usage.prometheus.url, the credentials and the tenant, and try the query in the server's own page."


def _checked_url(settings: PrometheusSettings) -> str:
    """Inside a cluster Prometheus speaks plain HTTP; credentials must not."""
    if settings.bearer_token_file is None and settings.password_file is None:
        parts = urlsplit(settings.url)
        if parts.scheme == "http" and parts.hostname:
            return settings.url.rstrip("/")
    return checked_endpoint(settings.url, setting=f"{SETTING}.url")


def _headers(settings: PrometheusSettings) -> dict[str, str]:
    headers = {} if settings.tenant is None else {"X-Scope-OrgID": settings.tenant}
    if settings.bearer_token_file is not None:
        token = read_secret(settings.bearer_token_file, setting=f"{SETTING}.bearer_token_file")
        return headers | {"Authorization": f"Bearer {token}"}
    if settings.username is not None and settings.password_file is not None:
        password = read_secret(settings.password_file, setting=f"{SETTING}.password_file")
        pair = base64.b64encode(f"{settings.username}:{password}".encode()).decode("ascii")
        return headers | {"Authorization": f"Basic {pair}"}
    return headers


def _labels(series: dict[str, Any], labels: Sequence[str]) -> tuple[str, ...]:
    metric = series["metric"]
    return tuple(str(metric.get(label, "")) for label in labels)


def _points(answer: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """All points of a matrix in three columns; numbers stay text until polars reads them, which is quicker."""
    moments: list[float] = []
    values: list[str] = []
    series: list[int] = []
    for number, one in enumerate(answer):
        series += [number] * len(one["values"])
        for moment, value in one["values"]:
            moments.append(moment)
            values.append(value)
    return pl.DataFrame(
        {
            "series": pl.Series(series, dtype=pl.UInt32),
            "timestamp": pl.Series(moments, dtype=pl.Float64),
            "value": pl.Series(values, dtype=pl.String),
        }
    ).with_columns(
        (pl.col("timestamp") * 1_000)
        .round()
        .cast(pl.Int64)
        .cast(pl.Datetime("ms", "UTC"))
        .cast(pl.Datetime("us", "UTC")),
        pl.col("value").cast(pl.Float64),
    )


def _seconds(moment: datetime) -> str:
    seconds = moment.timestamp()
    return f"{seconds:.3f}" if math.modf(seconds)[0] else f"{seconds:.0f}"
