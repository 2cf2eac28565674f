"""The hourly records that Prometheus would hold for the rows of a usage file, as OpenMetrics text with timestamps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from recommender.observe.usage_prometheus import (
    AMOUNT_RECORDS,
    COVERAGE,
    LOCAL_VOLUME,
    PRIORITY,
    USAGES,
    WORKLOAD_LABELS,
)
from tests.servers.prometheus import PrometheusServer, promtool, running_prometheus

WORKLOAD = ("namespace", "workload_kind", "workload")
PLACE = ("pool", "instance_type", "capacity_type")

Series = dict[str, dict[tuple[tuple[str, str], ...], dict[int, float]]]


def recorded(
    rows: Iterable[Mapping[str, Any]],
    *,
    cluster_label: str = "cluster",
    extra: Mapping[str, str] | None = None,
    more: Iterable[tuple[str, Mapping[str, str], datetime, float]] = (),
) -> str:
    """This will return the records of rows in the form of a usage file; an hour's record stands at its end.

    Args:
        rows: hours of workloads.
        cluster_label: what the cluster's label is called.
        extra: labels that every series has.
        more: further records: name, labels, start of the hour, value.
    """
    series: Series = defaultdict(lambda: defaultdict(dict))
    for record, labels, hour, value in more:
        _add(series, record, labels, int((hour + timedelta(hours=1)).timestamp()), value)
    for row in rows:
        at = int((row["timestamp"] + timedelta(hours=1)).timestamp())
        base = {cluster_label: row["cluster"], **(extra or {})}
        workload = base | {name: row[name] for name in WORKLOAD}
        place = workload | {name: row[name] for name in PLACE if row[name]}
        model = {"gpu_model": row["gpu_model"]} if row["gpu_model"] else {}
        _add(series, COVERAGE, base, at, 1.0)
        for column, record in AMOUNT_RECORDS.items():
            labels = workload if column == "pending_replicas" else place | (model if "gpu" in column else {})
            amount = row.get(column)
            if amount is not None and (amount != 0 or column in USAGES):
                _add(series, record, labels, at, amount)
        if row.get("owner"):
            _add(series, WORKLOAD_LABELS, workload | {"label_tuppence_owner": row["owner"]}, at, 1.0)
        if row.get("priority_class"):
            _add(series, PRIORITY, workload | {"priority_class": row["priority_class"]}, at, 1.0)
        if row.get("local_volume"):
            _add(series, LOCAL_VOLUME, workload, at, 1.0)
    return _open_metrics(series)


def _add(series: Series, record: str, labels: Mapping[str, str], at: int, value: float) -> None:
    series[record][tuple(sorted(labels.items()))][at] = value


def _open_metrics(series: Series) -> str:
    lines = []
    for record, of_record in series.items():
        lines.append(f"# TYPE {record} gauge")
        for labels, points in of_record.items():
            text = ",".join(f'{name}="{value}"' for name, value in labels)
            lines += [f"{record}{{{text}}} {value!r} {at}" for at, value in sorted(points.items())]
    return "\n".join([*lines, "# EOF", ""])


def lay_blocks(text: str, data: Path) -> None:
    """This will turn OpenMetrics text into blocks in a data folder, by promtool; few, so that it reads once."""
    data.mkdir()
    source = data.parent / "records.om"
    source.write_text(text, encoding="utf-8")
    done = promtool(
        "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=5000h", "--quiet", str(source), str(data)
    )
    assert done.returncode == 0, done.stderr.decode()


@contextmanager
def holding(text: str) -> Iterator[PrometheusServer]:
    """This will run a Prometheus that holds OpenMetrics text, however old."""
    ever = ("--storage.tsdb.retention.time=20y",)
    with running_prometheus({}, fill=partial(lay_blocks, text), flags=ever) as server:
        yield server
