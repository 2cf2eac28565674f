"""From series to bytes: the /metrics body in the text format 0.0.4 and in OpenMetrics 1.0.0, plain and deflated.

Pure. Lines are built by string expressions over whole columns; no Python code runs per row. The two formats differ
only in the comment lines above each metric, so they share the parts that hold samples, and the deflated parts can be
joined to one gzip stream with whatever follows them (RFC 1951 blocks ended at a byte boundary; RFC 1952 trailer).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from exporters.core.metrics import Kind
from exporters.publish.metric import PRICE_NOTE, Frame, Metric
from exporters.publish.series import Series

ROWS_PER_PART = 5_000
"""Gives parts of about 1 MB, which go through a socket faster than smaller and larger ones."""

_COMPRESSION_LEVEL = 6
_RAW_DEFLATE = -zlib.MAX_WBITS
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a body, as it is and as raw deflate blocks that end at a byte boundary."""

    plain: bytes
    deflated: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """All price series in one format; health metrics follow it.

    Args:
        parts: in the order in which they are sent.
        size: bytes of all plain parts.
        checksum: CRC-32 of all plain parts.
    """

    parts: tuple[Part, ...]
    size: int
    checksum: int

    def plain(self, tail: bytes) -> list[bytes]:
        """This will return the pieces of the whole answer, `tail` being the health metrics."""
        return [*(part.plain for part in self.parts), tail]

    def gzipped(self, tail: bytes) -> list[bytes]:
        """This will return the pieces of the whole answer as one gzip member (RFC 1952)."""
        end = _deflate(tail, zlib.Z_FINISH)
        trailer = struct.pack("<LL", zlib.crc32(tail, self.checksum), (self.size + len(tail)) & 0xFFFFFFFF)
        return [_GZIP_HEADER, *(part.deflated for part in self.parts), end + trailer]


@dataclass(frozen=True, slots=True)
class Bodies:
    """The rendered price series.

    Args:
        text: text format 0.0.4.
        openmetrics: OpenMetrics 1.0.0, without the final ``# EOF``, which the health metrics bring.
        series: how many series they hold.
    """

    text: Body
    openmetrics: Body
    series: int


NOTHING = Bodies(text=Body((), 0, 0), openmetrics=Body((), 0, 0), series=0)
"""What is served before the first prices are there."""


def render(series: Sequence[Series]) -> Bodies:
    """This will render series to bytes, in the order given; a metric without series is left out."""
    text: list[Part] = []
    openmetrics: list[Part] = []
    shown = [one for one in series if one.rows.height]
    for one in shown:
        samples = list(_sample_parts(one))
        text += [_part(text_header(one.metric)), *samples]
        openmetrics += [_part(openmetrics_header(one.metric)), *samples]
    return Bodies(text=_body(text), openmetrics=_body(openmetrics), series=sum(one.rows.height for one in shown))


def text_header(metric: Metric) -> str:
    """This will return the comment lines of a metric in the text format, in which an info is a gauge."""
    kind = Kind.GAUGE if metric.kind is Kind.INFO else metric.kind
    return f"# HELP {metric.name} {_help(metric)}\n# TYPE {metric.name} {kind.value}\n"


def openmetrics_header(metric: Metric) -> str:
    """This will return the comment lines of a metric in OpenMetrics, in which a family has no type suffix."""
    family = metric.name.removesuffix("_info").removesuffix("_total")
    unit = f"# UNIT {family} {metric.unit}\n" if metric.unit else ""
    return f"# TYPE {family} {metric.kind.value}\n{unit}# HELP {family} {_help(metric)}\n"


def _help(metric: Metric) -> str:
    return metric.help if metric.frame is Frame.HEALTH else f"{metric.help} {PRICE_NOTE}"


def _sample_parts(series: Series) -> Iterator[Part]:
    lines = _lines(series.metric)
    for start in range(0, series.rows.height, ROWS_PER_PART):
        batch = series.rows.slice(start, ROWS_PER_PART)
        yield _part(batch.select(lines.str.join("")).item())


def _lines(metric: Metric) -> pl.Expr:
    """One sample line a row: ``name{label="value",…} number`` and a line feed."""
    pieces: list[pl.Expr] = []
    opening = metric.name + "{"
    for name in metric.labels:
        pieces += [pl.lit(f'{opening}{name}="'), _escaped(name)]
        opening = '",'
    return pl.concat_str([*pieces, pl.lit('"} '), pl.col("value").cast(pl.String), pl.lit("\n")])


def _escaped(name: str) -> pl.Expr:
    r"""A label value with ``\``, line feed and ``"`` escaped, as both formats ask; everything else stays UTF-8."""
    column = pl.col(name).str.replace_all("\\", "\\\\", literal=True)
    return column.str.replace_all("\n", "\\n", literal=True).str.replace_all('"', '\\"', literal=True)


def _part(text: str) -> Part:
    plain = text.encode()
    return Part(plain=plain, deflated=_deflate(plain, zlib.Z_SYNC_FLUSH))


def _deflate(plain: bytes, ending: int) -> bytes:
    compressor = zlib.compressobj(_COMPRESSION_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
    return compressor.compress(plain) + compressor.flush(ending)


def _body(parts: Sequence[Part]) -> Body:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part.plain, checksum)
    return Body(parts=tuple(parts), size=sum(len(part.plain) for part in parts), checksum=checksum)
