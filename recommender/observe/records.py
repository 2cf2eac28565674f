"""Reads whole hourly records of dashboards/rules/recording.yaml over a window, one query a record, within the budget.

A record that is evaluated within an hour stands for the hour before: its rows carry the start of the hour whose end is
the first whole hour at or after the sample. What differs only in further labels, such as the replicas of one
Prometheus, is one series, and its greatest value counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import polars as pl

from exporters.core.errors import IntegrityError
from recommender.observe.coverage import Window
from recommender.observe.prometheus import Prometheus, Query, Stored
from recommender.settings import PrometheusSettings

HOUR = timedelta(hours=1)


class Records:
    """The records of one server over one window."""

    def __init__(self, server: Prometheus, settings: PrometheusSettings, window: Window) -> None:
        self._server = server
        self._cluster = settings.cluster_label
        self._window = window
        self._series: dict[str, int] = {}

    @property
    def window(self) -> Window:
        """The time that is read."""
        return self._window

    @property
    def hours(self) -> int:
        """The window's length; a part of an hour counts as one."""
        return -(-int(self._window.seconds) // 3_600)

    def count(self, records: Iterable[str]) -> None:
        """This will count the series of every record in one query, for the budget of those that follow."""
        counting = f'count by (__name__) (last_over_time({{__name__=~"{"|".join(records)}"}}[{self.hours}h]))'
        query = Query("series of each record", counting)
        counted = self._server.instant(query, at=self._window.end, labels=("__name__",))
        self._series = {str(name): int(number) for name, number in counted.iter_rows()}

    def series_of(self, record: str) -> int:
        """How many series of a record there are, as counted."""
        return self._series.get(record, 0)

    def stored(self, record: str, labels: tuple[str, ...]) -> Stored:
        """This will return a record as it was stored, with cluster and the labels as columns; hours as timestamps."""
        stored = self._server.stored(
            record,
            start=self._window.start,
            end=self._window.end,
            labels=(self._cluster, *labels),
            expected_points=self.series_of(record) * self.hours,
        )
        start = self._window.start
        before_end = (pl.col("timestamp") - start).dt.total_microseconds() - 1
        hour = (start + (before_end // 3_600_000_000) * HOUR).alias("timestamp")
        points = stored.points.select("series", hour, "value")
        once = (points["series"].diff() != 0) | (points["timestamp"].diff().dt.total_hours() > 0)
        # Samples come by series and time; one an hour is the rule, and looking is cheaper than making it so.
        newest = points if once.all() else points.unique(["series", "timestamp"], keep="last")
        return Stored(
            labels=stored.labels.rename({self._cluster: "cluster"}), points=newest.filter(self._window.holds())
        )

    def rolled_up(self, function: str, record: str, labels: tuple[str, ...]) -> pl.DataFrame:
        """This will return a record reduced over the window by the server: cluster, the labels and value.

        Args:
            function: of PromQL, such as sum_over_time.
            record: the name of the series.
            labels: the labels that become columns; of series that differ only in others the greatest value counts.
        """
        span = round(self._window.seconds * 1_000) - 1
        by = ", ".join((self._cluster, *labels))
        query = Query(record, f"max by ({by}) ({function}({record}[{span}ms]))")
        frame = self._server.instant(query, at=self._window.end, labels=(self._cluster, *labels))
        return frame.rename({self._cluster: "cluster"})

    def latest(self, record: str, labels: tuple[str, ...]) -> pl.DataFrame:
        """This will return when a record last had labels: cluster, the labels, timestamp (start of the hour)."""
        stored = self.stored(record, labels)
        newest = stored.points.group_by("series").agg(pl.col("timestamp").max())
        return newest.join(stored.labels, on="series").group_by("cluster", *labels).agg(pl.col("timestamp").max())

    def read(self, record: str, labels: tuple[str, ...]) -> pl.DataFrame:
        """This will return a record: cluster, the labels, timestamp (the start of the hour), value; one row a key.

        Raises:
            IntegrityError: a value is not a finite number, or below zero.
        """
        stored = self.stored(record, labels)
        key = ["cluster", *labels, "timestamp"]
        self._check_values(record, stored)
        return stored.points.join(stored.labels, on="series").group_by(key).agg(pl.col("value").max()).sort(key)

    def _check_values(self, record: str, stored: Stored) -> None:
        odd = stored.points.filter(~possible("value")).join(stored.labels, on="series")
        if odd.height:
            raise IntegrityError(
                f"the record {record!r} holds {odd.height} values that cannot be, such as {odd.row(0, named=True)}",
                where=self._server.url,
                next_step="Look at the recording rule of that name and at what it reads.",
            )


def possible(column: str) -> pl.Expr:
    """This will return whether a value is a finite number and not below zero."""
    return pl.col(column).is_finite() & (pl.col(column) >= 0)
