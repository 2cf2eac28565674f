"""A scrape of 200,000 series against prometheus_client.generate_latest over the same families, and the server's memory.

``python bench/exposition.py`` serves from a process of its own and prints the ratio; it fails when a limit is missed.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import polars as pl
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from exporters.core.frames import EgressRate, FxRate, Offer
from exporters.core.metrics import Kind
from exporters.core.web.serving import serving
from exporters.core.words import Origin
from exporters.publish.health import Health
from exporters.publish.http import Exporter, create_app
from exporters.publish.negotiation import OPENMETRICS
from exporters.publish.published import PublishedPrices
from exporters.publish.series import select_series
from exporters.store.read import Prices
from exporters.store.shelf import open_shelf
from exporters.store.snapshot import Manifest

SERIES = 200_000
ROUNDS = 7
LEAST_RATIO = 100
MOST_MEMORY_MIB = 400
REGIONS, TYPES, ZONES = 20, 770, 4
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def prices() -> Prices:
    """Offers as a whole cloud has them: every type on demand in every region, and on spot in each zone of each."""
    places = pl.DataFrame({"place": range(REGIONS)}).select(region=pl.format("eu-north-{}", "place"))
    machines = pl.DataFrame({"number": range(TYPES)}).with_columns(
        family=pl.format("m{}i", pl.col("number") // 10), size=2 ** (pl.col("number") % 6)
    )
    bought = pl.concat(
        [
            pl.DataFrame({"capacity_type": ["on-demand"], "letter": [""]}),
            pl.DataFrame({"capacity_type": ["spot"] * (ZONES - 1), "letter": list("abc"[: ZONES - 1])}),
        ]
    )
    rows = places.join(machines, how="cross").join(bought, how="cross").with_row_index("serial")
    return Prices(
        offers=Offer.validate(_offers(rows), cast=True),
        egress=EgressRate.create_empty(),
        fx=FxRate.create_empty(),
        used=(Manifest(source="aws", taken_at=NOW, origin=Origin.LIVE, max_age_hours=48),),
        stale=(),
    )


def _offers(rows: pl.DataFrame) -> pl.DataFrame:
    hourly = 0.02 + pl.col("serial") * 1.000123e-5
    return rows.select(
        zone=pl.when(pl.col("letter") == "").then(pl.lit("")).otherwise(pl.col("region") + pl.col("letter")),
        instance_type=pl.format("{}.{}xlarge", "family", "number"),
        vcpus=pl.col("size").cast(pl.Float64),
        memory_gib=pl.col("size") * 4.0,
        price_per_hour=hourly.cast(pl.Decimal(32, 12)),
        gbp_per_hour=hourly * 0.746330,
        gbp_per_vcpu_hour=hourly * 0.746330 * 10.7 / 14.7 / pl.col("size"),
        gbp_per_gib_hour=hourly * 0.746330 / 14.7 / pl.col("size"),
        **{name: pl.col(name) for name in ("region", "family", "capacity_type")},
        **{name: pl.lit(value) for name, value in _SAME_EVERYWHERE.items()},
    ).select(Offer.column_names())


_SAME_EVERYWHERE: dict[str, object] = dict.fromkeys(Offer.column_names()) | {
    "provider": "aws",
    "operating_system": "linux",
    "currency": "USD",
    "gpu_model": "",
    "gpus": 0.0,
    "accelerator_model": "",
    "accelerators": 0.0,
    "architecture": "amd64",
    "generation": "6i",
    "shape_source": "api",
    "split_method": "fitted",
    "gbp_per_unit": 0.746330,
    "fx_date": date(2026, 10, 30),
    "fx_source": "ecb",
    "source": "aws",
    "observed_at": NOW,
}
for _varying in ("zone", "instance_type", "vcpus", "memory_gib", "price_per_hour", "region", "family", "capacity_type"):
    del _SAME_EVERYWHERE[_varying]
for _varying in ("gbp_per_hour", "gbp_per_vcpu_hour", "gbp_per_gib_hour"):
    del _SAME_EVERYWHERE[_varying]


class SameFamilies(Collector):
    """The same series as prometheus-client families, made beforehand so that only their formatting is timed."""

    def __init__(self, of: Prices) -> None:
        self._families = [family for one in select_series(of) if (family := _family(one)) is not None]

    def collect(self) -> Iterator[Metric]:
        """This will yield them."""
        return iter(self._families)


def _family(one) -> GaugeMetricFamily | None:
    if one.metric.kind is Kind.INFO and one.rows.is_empty():
        return None
    family = GaugeMetricFamily(one.metric.name, one.metric.help, labels=one.metric.labels)
    for *labels, value in one.rows.iter_rows():
        family.add_metric(labels, value)
    return family


class Scraper:
    """A scraper that keeps its connection, as Prometheus does, and reads each body to its end."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._buffer = memoryview(bytearray(256 * 1024))

    def scrape(self, keep: bytearray | None = None, **headers: str) -> int:
        """Scrapes once, keeping the body if asked to; its bytes."""
        named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self._socket.sendall(f"GET /metrics HTTP/1.1\r\nhost: localhost\r\n{named}\r\n".encode())
        size = left = self._content_length()
        while left:
            read = self._socket.recv_into(self._buffer, min(left, len(self._buffer)), socket.MSG_WAITALL)
            left -= read
            if keep is not None:
                keep += self._buffer[:read]
        return size

    def _content_length(self) -> int:
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            head += self._socket.recv(1)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return int(re.search(rb"content-length: (\d+)", head)[1])


def seconds(work: Callable[[], object]) -> float:
    """How long it took."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def serve() -> None:
    """The serving process: publishes, says its port and what rendering took, and waits to be ended."""
    health = Health()
    published = PublishedPrices(health, max_series=SERIES * 2)
    published.publish(prices())
    app = create_app(
        Exporter(published=published, health=health, shelf=open_shelf("memory:///"), clock=_Now(), reload=lambda: None)
    )
    with serving(app) as address:
        current = published.current
        assert current is not None
        print(json.dumps({"port": address.port, "series": current.bodies.series, "render": current.render_seconds}))
        sys.stdout.flush()
        sys.stdin.read()


class _Now:
    def now(self) -> datetime:
        return NOW


def memory_mib(pid: int, name: str) -> float:
    """VmRSS (now) or VmHWM (peak) of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def main() -> int:
    """Compares, prints, and returns 1 when a limit is missed."""
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        said = json.loads(server.stdout.readline())
        scraper = Scraper(said["port"])
        registry = CollectorRegistry()
        registry.register(SameFamilies(prices()))
        generated, scrapes = [], []
        for _ in range(ROUNDS):  # in turn, so that whatever else the machine does meets both alike
            generated.append(seconds(lambda: generate_latest(registry)))
            scrapes += [seconds(lambda: scraper.scrape(accept_encoding="identity")) for _ in range(5)]
        zipped = bytearray()
        scraper.scrape(zipped, accept_encoding="gzip")
        size = len(gzip.decompress(zipped))
        for encoding in ("identity", "gzip"):
            scraper.scrape(accept=OPENMETRICS, accept_encoding=encoding)
        resident, peak = memory_mib(server.pid, "VmRSS"), memory_mib(server.pid, "VmHWM")
    finally:
        server.stdin.close()
        server.wait(timeout=30)
    ratio = statistics.median(generated) / statistics.median(scrapes)
    print(f"series                     {said['series']:>9,}")
    print(f"body                       {size / 1e6:>9.1f} MB, gzip {len(zipped) / 1e6:.1f} MB")
    print(f"rendering, all four bodies {said['render'] * 1000:>9.0f} ms, once per snapshot")
    print(f"generate_latest            {_milliseconds(generated)}")
    print(f"scrape over loopback       {_milliseconds(scrapes)}")
    print(f"ratio of the medians       {ratio:>9.0f} (at least {LEAST_RATIO})")
    print(f"server resident            {resident:>9.0f} MiB (under {MOST_MEMORY_MIB}), peak {peak:.0f} MiB")
    return 0 if said["series"] >= SERIES and ratio >= LEAST_RATIO and resident < MOST_MEMORY_MIB else 1


def _milliseconds(taken: list[float]) -> str:
    return f"{min(taken) * 1000:>9.1f} ms best, {statistics.median(taken) * 1000:.1f} ms median of {len(taken)}"


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        sys.exit(main())
