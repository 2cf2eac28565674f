"""Rendered bodies are valid in both formats, plain and gzipped, and say what the series say."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from exporters.core.metrics import Kind
from exporters.publish.catalogue import PRICES
from exporters.publish.exposition import ROWS_PER_PART, Bodies, Body, render
from exporters.publish.metric import Metric
from exporters.publish.series import Series, select_series
from tests.exporters.publish.sample import HOSTILE, no_prices, prices
from tests.servers.prometheus import promtool

GOLDEN = Path(__file__).parent / "golden"
EOF = b"# EOF\n"

label_values = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    """Series of a metric of the catalogue with any label values and any prices."""
    metric = draw(st.sampled_from(PRICES))
    row = st.tuples(*(label_values for _ in metric.labels))
    keys = draw(st.lists(row, max_size=6, unique=True))
    value = st.just(1.0) if metric.kind is Kind.INFO else numbers
    found = draw(st.lists(value, min_size=len(keys), max_size=len(keys)))
    columns: dict[str, Any] = {label: [key[i] for key in keys] for i, label in enumerate(metric.labels)}
    schema = dict.fromkeys(metric.labels, pl.String) | {"value": pl.Float64}
    return Series(metric, pl.DataFrame(columns | {"value": found}, schema=schema))


def whole(body: Body, tail: bytes = b"") -> bytes:
    """The plain answer in one piece."""
    return b"".join(body.plain(tail))


def samples(families: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What a parser read: values by name and labels."""
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def expected(series: Series) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The same of what was to be written."""
    labels = series.metric.labels
    return {
        (series.metric.name, frozenset(zip(labels, row[:-1], strict=True))): row[-1] for row in series.rows.iter_rows()
    }


@given(any_series())
@example(
    Series(
        next(one for one in PRICES if one.labels == ("currency", "source")),
        pl.DataFrame(
            {
                "currency": [HOSTILE, "", '\\"', "\r\x85\u2028{}#,= "],
                "source": ["£"] * 4,
                "value": [5e-324, 0.0, 1e23, 0.1],
            }
        ),
    )
)
def test_both_parsers_read_back_the_same_labels_and_the_same_numbers(series: Series) -> None:
    bodies = render([series])
    assert samples(parse_text(whole(bodies.text).decode())) == expected(series)
    assert samples(parse_openmetrics(whole(bodies.openmetrics, EOF).decode())) == expected(series)
    assert bodies.series == series.rows.height


@given(any_series(), st.binary(max_size=50))
def test_gzip_is_one_member_that_holds_the_plain_answer(series: Series, tail: bytes) -> None:
    body = render([series]).text
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    assert reader.decompress(b"".join(body.gzipped(tail))) == whole(body, tail)
    assert reader.eof
    assert reader.unused_data == b""


@pytest.fixture(scope="module")
def bodies() -> Bodies:
    """The sample, rendered."""
    return render(select_series(prices()))


@pytest.mark.parametrize("form", ["text", "openmetrics"])
def test_the_body_is_the_golden_one(bodies: Bodies, form: str) -> None:
    golden = {"text": "metrics.txt", "openmetrics": "metrics.openmetrics.txt"}[form]
    assert whole(getattr(bodies, form)).decode() == (GOLDEN / golden).read_text(encoding="utf-8")


def test_promtool_finds_nothing_to_say(bodies: Bodies) -> None:
    verdict = promtool("check", "metrics", stdin=whole(bodies.text))
    assert (verdict.returncode, verdict.stdout, verdict.stderr) == (0, b"", b"")


def test_openmetrics_families_carry_their_unit(bodies: Bodies) -> None:
    units = {family.name: family.unit for family in parse_openmetrics(whole(bodies.openmetrics, EOF).decode())}
    assert units["tuppence_price_gbp_per_vcpu_hour"] == "gbp_per_vcpu_hour"
    assert units["tuppence_instance"] == ""


def test_the_two_formats_share_the_memory_of_their_samples(bodies: Bodies) -> None:
    shared = {id(part) for part in bodies.text.parts} & {id(part) for part in bodies.openmetrics.parts}
    assert sum(len(part.plain) for part in bodies.text.parts if id(part) in shared) > 0.3 * bodies.text.size


def test_a_metric_longer_than_a_part_is_whole_and_in_order() -> None:
    metric = next(one for one in PRICES if one.labels == ("currency", "provider"))
    count = 2 * ROWS_PER_PART + 1
    rows = pl.DataFrame({"currency": [f"{number:06}" for number in range(count)], "provider": "aws", "value": 1.5})
    body = render([Series(metric, rows)]).text
    lines = whole(body).decode().splitlines()[2:]
    assert len(body.parts) == 1 + 3
    assert lines == [f'{metric.name}{{currency="{number:06}",provider="aws"}} 1.5' for number in range(count)]


def test_a_metric_without_series_is_left_out() -> None:
    nothing = render(select_series(no_prices()))
    assert (nothing.series, whole(nothing.text), whole(nothing.openmetrics)) == (0, b"", b"")
    assert gzip.decompress(b"".join(nothing.text.gzipped(b"up 1\n"))) == b"up 1\n"


def test_no_metric_is_left_out_of_the_sample(bodies: Bodies) -> None:
    families: list[Metric] = [one.metric for one in select_series(prices()) if one.rows.height]
    assert [metric.name for metric in families] == [metric.name for metric in PRICES]
