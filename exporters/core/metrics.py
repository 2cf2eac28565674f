"""Metrics as both packages declare and expose them: a row of a catalogue, its family at a scrape, its line in the docs.

Names follow Prometheus' naming practice: one unit a metric, the unit last, currency in the name, ``A_per_B``
(prometheus.io/docs/practices/naming, "Metric names").
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

Labelled = tuple[tuple[str, ...], float]
"""Values of the labels, in the order of the catalogue, and the sample."""


class Kind(StrEnum):
    """Types of metrics, in OpenMetrics' words."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Args:
        name: as it stands in the text format.
        help: one or two sentences for the reader of a dashboard.
        kind: gauge, counter or info; an info's value is always 1.
        labels: label names, in the order in which they are written.
        unit: the end of the name; empty for counts, ratios of counts and infos.
    """

    name: str
    help: str
    kind: Kind = Kind.GAUGE
    labels: tuple[str, ...] = ()
    unit: str = ""


def family_of(metric: Metric, samples: Iterable[Labelled]) -> Family:
    """This will make the family of one scrape, new each time, so that what is gone leaves no series behind."""
    if metric.kind is Kind.INFO:
        info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.help, labels=metric.labels)
        for labels, _ in samples:
            info.add_metric(labels, dict[str, str]())
        return info
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def registry_of(collector: Collector) -> CollectorRegistry:
    """This will return a registry of one collector, with those of the process and the platform beside it."""
    made = CollectorRegistry()
    made.register(collector)
    ProcessCollector(registry=made)
    PlatformCollector(registry=made)
    GCCollector(registry=made)
    return made


def markdown_table(title: str, metrics: Iterable[Metric]) -> list[str]:
    """This will return the lines of a chapter of a reference page."""
    rows = [f"| `{one.name}` | {one.kind.value} | {_labels(one)} | {one.help} |" for one in metrics]
    return [f"## {title}", "", "| metric | type | labels | meaning |", "|---|---|---|---|", *rows, ""]


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{name}`" for name in metric.labels) or "–"
