"""A real PostgreSQL for tests: its own folder, a free loopback port, stopped by its pid.

Where the programs are missing a test is skipped with the reason; with ``CI=true`` it fails instead. PostgreSQL refuses
to run as root, so root starts it as the user of Debian's package.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.servers.prometheus import free_port, wait_until

READY_WITHIN_SECONDS = 30.0
SERVICE_USER = "postgres"


@contextmanager
def running_postgresql() -> Iterator[str]:
    """This will run PostgreSQL until the block ends, and give the URL of its empty database without a password."""
    initdb, postgres = program("initdb"), program("postgres")
    user = SERVICE_USER if os.geteuid() == 0 else None
    with TemporaryDirectory(prefix="postgresql-") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        made = [initdb, "-D", data, "-U", "tuppence", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(made, user=user, cwd=folder, check=True, capture_output=True, timeout=60)
        port = free_port()
        flags = ["listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", "fsync=off"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [postgres, "-D", data, *(part for flag in flags for part in ("-c", flag))],
                user=user,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        try:
            url = f"postgresql://tuppence@127.0.0.1:{port}/postgres"
            wait_until(
                lambda: _answers(url, process),
                seconds=READY_WITHIN_SECONDS,
                otherwise=lambda: f"PostgreSQL did not answer: {(folder / 'log').read_text(errors='replace')}",
            )
            yield url
        finally:
            # SIGQUIT: the "immediate" shutdown, without a checkpoint, because the data are thrown away (PostgreSQL:
            # "Shutting Down the Server").
            process.send_signal(signal.SIGQUIT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def program(name: str) -> str:
    """This will return the path of a program of PostgreSQL, or skip the test (fail it with CI=true).

    Debian keeps them beside the version, outside of the usual path.
    """
    if (path := shutil.which(name)) is not None:
        return path
    if debian := sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")):
        return str(debian[-1])
    reason = f"{name} is not installed (Debian package: postgresql)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "PostgreSQL ended"
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
