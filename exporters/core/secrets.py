"""Secrets live in files, are read at the moment of use, and are never printed."""

from __future__ import annotations

from pathlib import Path

from exporters.core.errors import SettingsError


def read_secret(path: Path, *, setting: str) -> str:
    """This will return the content of a secret file without its last newline.

    Raises:
        SettingsError: the file is missing, unreadable or empty; the message names the setting, never the content.
    """
    try:
        text = path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise SettingsError(
            f"the secret file {path} cannot be read ({error.strerror})",
            where=setting,
            next_step="Check the path and its permissions.",
        ) from error
    if not text:
        raise SettingsError(f"the secret file {path} is empty", where=setting, next_step="Write the secret into it.")
    return text
