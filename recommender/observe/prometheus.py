"""The edge to Prometheus, Thanos, Mimir and VictoriaMetrics: named queries in, polars frames out.

Promises a whole answer or an error that names the query: an answer that is partial, carries a warning, is not JSON or
holds a value that is not a finite number is an error, never a smaller result.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn
from urllib.parse import urlsplit

import httpx2
import polars as pl

from exporters.core.errors import IntegrityError, SettingsError, SourceError, TerminalSourceError
from exporters.core.http import RetryPolicy, checked_endpoint, client, get
from exporters.core.secrets import read_secret
from recommender.settings import PrometheusSettings

SETTING = "usage.prometheus"
MOST_POINTS_A_SERIES = 11_000
"""Prometheus refuses a range query with more points a series (web/api/v1, "exceeded maximum resolution")."""
TRIES = 3
ANSWER_SECONDS = 5.0
"""What the answer's way back may take on top of the time that the server has for the query."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the name that errors call it by."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Steps:
    """The moments a range query is evaluated at, both ends included."""

    start: datetime
    end: datetime
    step: timedelta

    @property
    def count(self) -> int:
        """How many moments there are."""
        return int((self.end - self.start) / self.step) + 1


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

    def range(self, query: Query, steps: Steps, *, labels: Sequence[str], series: int) -> pl.DataFrame:
        """This will evaluate a query at many moments: a column a label, timestamp (UTC) and value.

        Args:
            query: what to ask.
            steps: when.
            labels: the labels that become columns.
            series: how many series are expected; with the steps it must stay within the points budget.

        Raises:
            SettingsError: the query is over the points budget and was not sent.
            SourceError: the server did not answer as it should; transient or not.
            IntegrityError: the answer is partial, or holds values that are not finite.
        """
        self._check_budget(query, steps, series)
        window = {"start": _seconds(steps.start), "end": _seconds(steps.end), "step": str(steps.step.total_seconds())}
        answer = self._ask(query, "query_range", window, kind="matrix")
        names = [_labels(one, labels) for one in answer]
        frame = pl.DataFrame(
            {
                **{label: [name[place] for name in names] for place, label in enumerate(labels)},
                "timestamp": [[float(point[0]) for point in one["values"]] for one in answer],
                "value": [[float(point[1]) for point in one["values"]] for one in answer],
            },
            schema=dict.fromkeys(labels, pl.String) | {"timestamp": pl.List(pl.Float64), "value": pl.List(pl.Float64)},
        ).explode("timestamp", "value")
        moment = (pl.col("timestamp") * 1_000_000).round().cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
        return self._finite(query, frame.with_columns(moment.alias("timestamp")))

    def _check_budget(self, query: Query, steps: Steps, series: int) -> None:
        if steps.count > MOST_POINTS_A_SERIES:
            raise SettingsError(
                f"the query {query.name!r} asks for {steps.count} points a series; at most {MOST_POINTS_A_SERIES} go",
                where="usage.window_hours",
                next_step="Take a shorter window.",
            )
        if (points := series * steps.count) > self._settings.max_points:
            raise SettingsError(
                f"the query {query.name!r} would return {points} points ({series} series × {steps.count}), more than "
                f"{self._settings.max_points}; it was not sent",
                where=f"{SETTING}.max_points",
                next_step="Take a shorter window, or raise the budget if the server can bear it.",
            )

    def _ask(self, query: Query, path: str, params: Mapping[str, str], *, kind: str) -> list[dict[str, Any]]:
        thanos = {"partial_response": "false", "dedup": "true"} if self._settings.thanos else {}
        sent = {"query": query.expression, "timeout": f"{self._settings.timeout_seconds:g}s", **params, **thanos}
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
        if body.get("warnings"):
            raise IntegrityError(
                f"the query {query.name!r} may be incomplete: {'; '.join(map(str, body['warnings']))}",
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


def _seconds(moment: datetime) -> str:
    seconds = moment.timestamp()
    return f"{seconds:.3f}" if math.modf(seconds)[0] else f"{seconds:.0f}"
