"""Folders for what is downloaded while a refresh runs: gone with their process, whichever way it ends.

A process that is killed cannot clear up after itself, so each holds a lock on its folder, which the system releases,
and whoever makes the next folder removes those that nobody holds. A lock tells the dead from the living where process
ids do not: they are given again, and every container has a process 1.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "tuppence-scratch-"


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """This will give an empty folder until the block ends, and first remove those that dead processes left beside it.

    Args:
        parent: where to make it; None: the system's folder for temporary files.
    """
    beside = parent or Path(tempfile.gettempdir())
    _remove_abandoned(beside)
    folder, lock = _made(beside)
    try:
        yield folder
    finally:
        # A thread that a signal left behind may still be writing; what stays goes with the next folder.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _made(beside: Path) -> tuple[Path, int]:
    """A new folder and the open lock on it; made again if another process took it for abandoned in between."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=beside))
        lock = _locked(folder)
        if lock is not None:
            return folder, lock


def _remove_abandoned(beside: Path) -> None:
    for folder in beside.glob(f"{PREFIX}*"):
        lock = _locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path) -> int | None:
    """The lock on a folder of this user; None: another process holds it, or it is gone or not ours."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(lock)
            if held.st_uid == os.geteuid() and os.path.samestat(held, folder.lstat()):
                return lock
        os.close(lock)
    return None
