"""A price book on disk and settings that read it: the smallest real source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporters.settings import ExporterSettings

HEADER = (
    "provider,region,zone,instance_type,operating_system,capacity_type,vcpus,memory_gib,gpu_model,gpus,architecture,"
    "currency,price_per_hour,effective_from"
)


def book_row(
    *, name: str = "gpu-a100", price: str = "1.20", provider: str = "hyperion", currency: str = "GBP", gpus: str = "1"
) -> str:
    """This will return one line of a price book: an A100 machine of a GPU cloud in London, unless changed."""
    return f"{provider},london,,{name},linux,on-demand,12,96,A100-80GB,{gpus},amd64,{currency},{price},2026-01-01"


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """Moto's server: S3, STS, and a recording of what EC2 says of its machine types."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - a second of importing, for the few tests that ask

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def write_book(tmp_path: Path) -> Callable[..., Path]:
    """Writes a price book with the given lines and returns its path."""

    def write(*rows: str) -> Path:
        path = tmp_path / "book.csv"
        path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def book_settings(tmp_path: Path) -> ExporterSettings:
    """Settings with one enabled source, the book at book.csv, and a store beside it."""
    return ExporterSettings.model_validate(
        {
            "sources": {
                "book": {"enabled": True, "files": [str(tmp_path / "book.csv")]},
                "fx": {"source": "packaged"},
            },
            "store": {"url": str(tmp_path / "store")},
            "packaged": {"enabled": False},
        }
    )
