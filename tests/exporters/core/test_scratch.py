"""Downloads go with the process that made them, whichever way it ends, and nobody else's go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from exporters.core.scratch import PREFIX, scratch_folder

HOLDER = """
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("scratch", sys.argv[1])
scratch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scratch)
with scratch.scratch_folder(Path(sys.argv[2])) as folder:
    (folder / "offer.csv").write_text("half a download")
    print(folder, flush=True)
    time.sleep(60)
"""
"""Loads the one module from its file, so that no package has to be imported first."""


def holder(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    module = sys.modules[scratch_folder.__module__].__file__
    assert module is not None
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", HOLDER, module, str(parent)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_empty_ours_and_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert folder.parent == tmp_path
        assert list(folder.iterdir()) == []
        (folder / "offer.csv").write_text("x")

    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path):
        raise ZeroDivisionError

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_one_and_what_a_living_one_holds_stays(tmp_path: Path) -> None:
    process, folder = holder(tmp_path)
    try:
        with scratch_folder(tmp_path):
            assert (folder / "offer.csv").exists()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert (folder / "offer.csv").exists()

        with scratch_folder(tmp_path) as mine:
            assert list(tmp_path.iterdir()) == [mine]
    finally:
        process.kill()
        process.communicate()


def test_two_of_one_process_do_not_remove_each_other(tmp_path: Path) -> None:
    """Sources are refreshed at the same time, each in its own."""
    with scratch_folder(tmp_path) as one, scratch_folder(tmp_path) as other:
        assert sorted(tmp_path.iterdir()) == sorted([one, other])


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    parent = tmp_path / "parent"
    parent.mkdir()
    (parent / f"{PREFIX}link").symlink_to(elsewhere)
    (parent / f"{PREFIX}file").write_text("x")
    (parent / "tuppence-data").mkdir()

    with scratch_folder(parent):
        pass

    assert {path.name for path in parent.iterdir()} == {f"{PREFIX}link", f"{PREFIX}file", "tuppence-data"}
    assert (elsewhere / "kept").exists()
