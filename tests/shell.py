"""Commands typed one after another, with the real program, in one process beside the test: it is loaded once.

Run as a script: standard input is a JSON list of ``[variables, arguments]``, standard output ends with a JSON list of
the exit codes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

Typed = tuple[Mapping[str, str], Sequence[str]]
"""Variables that hold from here on, and the arguments of ``tuppence``."""


def exit_codes(commands: Sequence[Typed], *, folder: Path) -> list[int]:
    """This will type the commands in a folder, without variables of Tuppence from outside; returns the exit codes."""
    calm = {name: value for name, value in os.environ.items() if not name.startswith("TUPPENCE_")}
    shell = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(commands),
        cwd=folder,
        env=calm | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    codes: list[int] = json.loads(shell.stdout.splitlines()[-1])
    return codes


def _exit_code(arguments: Sequence[str]) -> int:
    from tuppence import app  # noqa: PLC0415 - the test that calls exit_codes has no need to load it

    try:
        app(list(arguments), prog_name="tuppence")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _main() -> None:
    codes = []
    for variables, arguments in json.load(sys.stdin):
        os.environ |= variables
        codes.append(_exit_code(arguments))
    sys.stdout.write("\n" + json.dumps(codes) + "\n")


if __name__ == "__main__":
    _main()
