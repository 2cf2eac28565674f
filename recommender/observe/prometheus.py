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

    @property
    def url(self) -> str:
        """The server's address, as errors name it."""
        return self._url

    def instant(self, query: Query, *, at: datetime, labels: Sequence[str]) -> pl.DataFrame:
        """This will evaluate a query at one moment: a column a label (empty: not there), and value (Float64).

        Raises:
            SourceError: the server did not answer as it should; transient or not.
            IntegrityError: the answer is partial, or holds values that are not finite.
        """
        answer = self._vector(query, self._get(query, {"time": _seconds(at)}))
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
            IntegrityError: the answer is partial.
        """
        # A millisecond less, because the range is closed at both ends in Prometheus 2.
        query = Query(record, f"{record}[{round((end - start).total_seconds() * 1_000) - 1}ms]")
        self._check_budget(query, expected_points)
        response = self._get(query, {"time": _seconds(end)})
        return self._matrix(query, response, labels)

    def _check_budget(self, query: Query, points: int) -> None:
        if points > self._settings.max_points:
            raise SettingsError(
                f"the query {query.name!r} would return {points} points, more than {self._settings.max_points}; it was "
                "not sent",
                where=f"{SETTING}.max_points",
                next_step="Take a shorter window, or raise the budget if the server can bear it.",
            )

    def _get(self, query: Query, params: Mapping[str, str]) -> httpx2.Response:
        sent = {"query": query.expression, "timeout": f"{self._settings.timeout_seconds:g}s", **params}
        sent |= _OF_THANOS if self._settings.thanos else {}
        patience = TRIES * (self._settings.timeout_seconds + ANSWER_SECONDS)
        try:
            return get(
                self._session,
                f"{self._url}/api/v1/query",
                policy=RetryPolicy(attempts=TRIES, timeout_seconds=patience),
                params=sent,
            )
        except SourceError as error:
            raise type(error)(
                f"the query {query.name!r} failed: {error.what}", where=error.where, next_step=_ADVICE
            ) from error

    def _vector(self, query: Query, response: httpx2.Response) -> list[dict[str, Any]]:
        try:
            body = response.json()
            self._check(query, body, kind="vector")
            result: list[dict[str, Any]] = body["data"]["result"]
        except (ValueError, KeyError, TypeError) as error:
            self._not_the_api(query, response, error)
        return result

    def _matrix(self, query: Query, response: httpx2.Response, labels: Sequence[str]) -> Stored:
        """Read by polars, because Python's objects for millions of points take several times as long."""
        try:
            read = pl.Series([response.content.decode("utf-8")]).str.json_decode(_matrix_of(labels))
            self._check(query, _head(read), kind="matrix")
            return _series_of(read, labels)
        except (ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
            self._not_the_api(query, response, error)

    def _check(self, query: Query, body: Mapping[str, Any], *, kind: str) -> None:
        if body["status"] != "success":
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

    def _not_the_api(self, query: Query, response: httpx2.Response, cause: Exception) -> NoReturn:
        words = response.headers.get("content-type", "no type")
        self._fail(query, f"got an answer that is not the query API's ({words}: {response.text[:80]!r})", cause)

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


def _matrix_of(labels: Sequence[str]) -> pl.Struct:
    """The answer with a matrix (Prometheus, HTTP API, "Range vectors"); a point is a number and a number in quotes."""
    series = pl.Struct({"metric": pl.Struct(dict.fromkeys(labels, pl.String)), "values": pl.List(pl.List(pl.String))})
    return pl.Struct(
        {
            **dict.fromkeys(("status", "errorType", "error"), pl.String),
            "warnings": pl.List(pl.String),
            "isPartial": pl.Boolean,
            "data": pl.Struct({"resultType": pl.String, "result": pl.List(series)}),
        }
    )


def _head(answer: pl.Series) -> dict[str, Any]:
    """All but the series, whose place a list takes; without it the answer is not whole."""
    whole = pl.DataFrame({"answer": answer}).unnest("answer")
    data = pl.col("data").struct
    row = whole.select(pl.exclude("data"), kind=data.field("resultType"), there=data.field("result").is_not_null()).row(
        0, named=True
    )
    if row["status"] is None:
        raise ValueError("there is no status")
    return row | {"data": {"resultType": row["kind"], "result": [] if row["there"] else None}}


def _series_of(answer: pl.Series, labels: Sequence[str]) -> Stored:
    result = answer.struct.field("data").struct.field("result").explode(empty_as_null=False)
    series = pl.DataFrame({"all": result}).unnest("all").with_row_index("series")
    points = series.select("series", "values").explode("values", empty_as_null=False)
    moment, value = (pl.col("values").list.get(place).cast(pl.Float64) for place in (0, 1))
    found = points.select("series", timestamp=_moment(moment), value=value)
    if any(found.null_count().row(0)):
        raise ValueError("a point has no time or no value")
    return Stored(
        labels=series.select("series", "metric").unnest("metric").with_columns(pl.col(labels).fill_null("")),
        points=found,
    )


def _moment(seconds: pl.Expr) -> pl.Expr:
    """Milliseconds are as fine as Prometheus keeps time."""
    return (seconds * 1_000).round().cast(pl.Int64).cast(pl.Datetime("ms", "UTC")).dt.cast_time_unit("us")


def _seconds(moment: datetime) -> str:
    seconds = moment.timestamp()
    return f"{seconds:.3f}" if math.modf(seconds)[0] else f"{seconds:.0f}"
