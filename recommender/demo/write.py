"""The demonstration's files: settings, policy and usage, written into a folder as a user would lay them out."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import polars as pl

from exporters.core.config_file import parse_document, validate
from exporters.core.errors import SettingsError, StoreError
from exporters.core.sections import ALL_SECTIONS
from recommender.demo.bills import (
    RESERVATION,
    RESERVED,
    RESERVED_DOLLARS_PER_HOUR,
    RESERVED_MACHINES,
    write_bills,
)
from recommender.demo.usage import week_of_usage
from recommender.settings import RecommenderSettings

FOLDER = "@FOLDER@"
LEDGER = "@LEDGER@"
LEDGER_FILE = "ledger.sqlite"
SETTINGS_FILE = "tuppence.yaml"
POLICY_FILE = "policy.yaml"
USAGE_FILE = "usage.parquet"
COSTS_FILE = "costs.yaml"
RESERVED_DAYS_LEFT = 45
"""Soon enough for advice whether to renew what is reserved."""
LISTED, REALLY_PAID = "price_basis: list ", "price_basis: effective "


def write_demo(folder: Path, *, until: datetime, seed: int, ledger: str | None = None, weeks: int = 1) -> Path:
    """This will write tuppence.yaml, policy.yaml and usage.parquet, and return the path of the settings.

    Args:
        folder: made if it is not there; the settings name it by its absolute path.
        until: the end of the week of usage, in UTC; cut down to the hour.
        seed: of the usage; the same seed and hour give the same files.
        ledger: the URL of the ledger in the settings; None: a file in the folder.
        weeks: of usage.

    Raises:
        SettingsError: `until` has no offset.
        StoreError: the folder cannot be written.
    """
    if until.tzinfo is None:
        raise SettingsError(
            "the end of the week has no time zone", where="the demonstration", next_step="Give a time in UTC."
        )
    hour = until.replace(minute=0, second=0, microsecond=0)
    whole = folder.resolve()
    settings = _settings_text(folder=str(whole), ledger=ledger or str(whole / LEDGER_FILE))
    document = parse_document(settings, source=SETTINGS_FILE, environment=os.environ)
    clusters = validate(document, RecommenderSettings, known=ALL_SECTIONS).clusters
    usage = week_of_usage(clusters, until=hour.astimezone(UTC), seed=seed, weeks=weeks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")
        (folder / POLICY_FILE).write_text(_packaged(POLICY_FILE), encoding="utf-8")
        usage.write_parquet(folder / USAGE_FILE)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder / SETTINGS_FILE


def add_costs(path: Path, *, offers: pl.DataFrame, today: date, seed: int) -> None:
    """This will write bills of the last months, and add to the settings where they lie and what else is known of costs.

    Args:
        path: of the settings, in the folder of the demonstration.
        offers: list prices.
        today: bills end with the day before it.
        seed: of how far days differ.

    Raises:
        StoreError: the folder cannot be written.
    """
    folder = path.parent
    usage = pl.read_parquet(folder / USAGE_FILE)
    write_bills(folder, usage=usage, offers=offers, today=today, seed=seed)
    ends = today + timedelta(days=RESERVED_DAYS_LEFT)
    texts = {
        FOLDER: _quoted(str(folder.resolve())),
        "@RESERVATION@": RESERVATION,
        "@RESERVED@": RESERVED,
        "@RESERVED_MACHINES@": str(RESERVED_MACHINES),
        "@RESERVED_DOLLARS_PER_HOUR@": f"{RESERVED_MACHINES * RESERVED_DOLLARS_PER_HOUR:.3f}",
        "@RESERVED_FROM@": f"{ends - timedelta(days=365)}",
        "@RESERVED_UNTIL@": f"{ends}",
    }
    section = _packaged(COSTS_FILE)
    for mark, text in texts.items():
        section = section.replace(mark, text)
    try:
        settings = path.read_text(encoding="utf-8").replace(LISTED, REALLY_PAID)
        path.write_text(settings + section, encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the demonstration cannot be written ({error})",
        where=str(folder),
        next_step="Check that the folder can be written and the disk has room.",
    )


def _settings_text(*, folder: str, ledger: str) -> str:
    return _packaged(SETTINGS_FILE).replace(FOLDER, _quoted(folder)).replace(LEDGER, _quoted(ledger))


def _quoted(text: str) -> str:
    """It stands inside double quotes, in a file where ${…} is a variable."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("$", "$$")


def _packaged(name: str) -> str:
    return files("recommender.demo.data").joinpath(name).read_text(encoding="utf-8")
