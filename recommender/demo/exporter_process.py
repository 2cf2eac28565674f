"""The exporter as the demonstration runs it: a process of its own on a free port, asked over HTTP, ended by its pid."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from exporters.core.errors import TerminalSourceError

START_SECONDS = 60.0
STOP_SECONDS = 3.0
_ADDRESS = re.compile(r"(http://\S+)/metrics")
_POLL_SECONDS = 0.1


@contextmanager
def running_exporter(settings: Path, *, log: Path) -> Iterator[str]:
    """This will run `tuppence export` until the block ends, and give its address without a trailing slash.

    Args:
        settings: the settings file.
        log: where its output goes.

    Raises:
        TerminalSourceError: it ended, or did not listen in time; its last words are in the message.
    """
    command = [sys.executable, "-m", "tuppence", "--log-level", "error", "export"]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program with our own arguments
            [*command, "--config", str(settings), "--port", "0"], stdout=output, stderr=output
        )
    try:
        yield _address(process, log)
    finally:
        _stop(process)


def seeded(settings: Path, *, source: str) -> None:
    """This will run `tuppence fetch` of one source, which puts packaged prices beside its own on the shelf.

    Raises:
        TerminalSourceError: it failed; its words are in the message.
    """
    command = [sys.executable, "-m", "tuppence", "--log-level", "error", "fetch", source, "--config", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    if done.returncode:
        said = " ".join(done.stderr.split())[-600:]
        raise TerminalSourceError("no prices could be fetched", where="tuppence fetch", next_step=f"It said: {said}")


def scraped(url: str, *, source: str, log: Path) -> str:
    """This will scrape once the source's first refresh and the first import of bills have ended, and return the body.

    Raises:
        TerminalSourceError: one of them failed, or did not end in time.
    """
    deadline = time.monotonic() + START_SECONDS
    ends = (f'tuppence_exporter_refresh_success{{source="{source}"}} ', 'tuppence_cost_import_success{source="files"} ')
    with httpx2.Client(timeout=10) as client:
        while time.monotonic() < deadline:
            body = client.get(f"{url}/metrics").text
            if all(f"{series}1.0" in body for series in ends):
                return body
            if any(f"{series}0.0" in body for series in ends):
                break
            time.sleep(_POLL_SECONDS)
    raise _failure(f"the source {source} was not refreshed, or the bills not imported", log)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := _ADDRESS.search(log.read_text(encoding="utf-8", errors="replace")):
            return found.group(1)
        time.sleep(_POLL_SECONDS)
    raise _failure("the exporter did not start", log)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """A refresh under way, of exchange rates for one, is not waited for: its snapshot is whole or absent."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _failure(what: str, log: Path) -> TerminalSourceError:
    said = " ".join(log.read_text(encoding="utf-8", errors="replace").split())[-600:]
    return TerminalSourceError(what, where="tuppence export", next_step=f"It said: {said or 'nothing'}")
