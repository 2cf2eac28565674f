"""The end of a command that serves: threads that wait for somebody else do not hold it up.

Python waits at its end for every thread of a pool. A source that hangs would so keep the process until its deadline,
long after whoever stopped it has lost patience; what it would have written is whole or absent all the same.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import thread as pools
from contextlib import contextmanager

import structlog
import typer

GRACE_SECONDS = 2.0
"""Time in which a refresh that is nearly done may still end."""

_log = structlog.get_logger(__name__)


@contextmanager
def leaving_promptly(*, grace_seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """This will end the process after the block, with its exit code, if threads are left that do not end themselves."""
    code = 1
    try:
        yield
        code = 0
    except typer.Exit as leave:
        code = leave.exit_code
        raise
    finally:
        if waiting := _still_running(grace_seconds):
            _log.warning("threads_abandoned", threads=waiting)
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _still_running(grace_seconds: float) -> list[str]:
    end = time.monotonic() + grace_seconds
    while names := [thread.name for thread in threading.enumerate() if _holds_up(thread)]:
        if time.monotonic() >= end:
            return names
        time.sleep(0.05)
    return []


def _holds_up(thread: threading.Thread) -> bool:
    """Python joins a pool's threads even where they are daemons, and keeps the list of them to itself."""
    of_a_pool = thread in pools._threads_queues  # noqa: SLF001 - see above
    return thread is not threading.main_thread() and (of_a_pool or not thread.daemon)
