"""The catalogue keeps the rules of naming that it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporters.core.metrics import Kind
from exporters.publish import reference
from exporters.publish.catalogue import CATALOGUE, PRICES
from exporters.publish.metric import Metric

ROOT = Path(__file__).parents[3]
every_metric = pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)


@every_metric
def test_a_name_is_snake_case_under_one_prefix(metric: Metric) -> None:
    assert re.fullmatch(r"tuppence(_[a-z0-9]+)+", metric.name)


@every_metric
def test_a_name_ends_in_its_unit_or_in_the_suffix_of_its_type(metric: Metric) -> None:
    suffix = {Kind.INFO: "_info", Kind.COUNTER: "_total", Kind.GAUGE: metric.unit}[metric.kind]
    assert metric.name.endswith(suffix)
    assert metric.kind is Kind.COUNTER or not metric.name.endswith("_total")
    assert metric.kind is Kind.INFO or not metric.name.endswith("_info")


@every_metric
def test_a_currency_in_a_name_stands_before_what_it_is_paid_for(metric: Metric) -> None:
    assert "gbp" not in metric.name or re.search(r"_gbp(_per_[a-z_]+)?$", metric.name)
    assert metric.name.count("_per_") <= 1


@every_metric
def test_a_seconds_metric_says_what_its_seconds_are(metric: Metric) -> None:
    if metric.unit == "seconds":
        assert re.search(r"_(timestamp|duration|age)_seconds$", metric.name)


@every_metric
def test_labels_are_words_that_neither_prometheus_nor_a_histogram_claims(metric: Metric) -> None:
    assert len(set(metric.labels)) == len(metric.labels)
    assert not {"job", "instance", "le", "quantile", "currency_unit"} & set(metric.labels)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) for label in metric.labels)


@every_metric
def test_a_help_text_is_a_sentence_on_one_line(metric: Metric) -> None:
    assert metric.help.endswith(".")
    assert metric.help[0].isupper() or metric.help[0].isdigit()
    assert "\n" not in metric.help
    assert "\\" not in metric.help


def test_no_name_stands_twice() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert sorted(set(names)) == sorted(names)


def test_every_price_gauge_reads_a_column_and_no_info_does() -> None:
    assert all((metric.kind is Kind.INFO) == (metric.value == "") for metric in PRICES)


def test_the_reference_page_is_the_catalogue() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert page == reference.page(), "run: python -m exporters.publish.reference > docs/reference/metrics.md"
