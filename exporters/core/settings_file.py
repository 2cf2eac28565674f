"""Which settings file a command uses: --config, else $TUPPENCE_CONFIG, else tuppence.yaml here, else the defaults."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from exporters.core.errors import SettingsError

DEFAULT_FILE = Path("tuppence.yaml")
VARIABLE = "TUPPENCE_CONFIG"

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help=f"Settings file; default: ${VARIABLE}, else ./{DEFAULT_FILE}, else defaults."),
]


def settings_path(option: Path | None) -> Path | None:
    """This will return the settings file to read, or None for the defaults.

    Raises:
        SettingsError: a file was named but is not there.
    """
    named = option or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is None:
        return DEFAULT_FILE if DEFAULT_FILE.exists() else None
    if not named.exists():
        raise SettingsError(
            "the settings file is not there",
            where=str(named),
            next_step="Check --config and the variable TUPPENCE_CONFIG.",
        )
    return named
