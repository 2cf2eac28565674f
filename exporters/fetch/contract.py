"""What every price source agrees to: given a request it gives every page of what it was asked, or raises.

A source is one module in this package with a settings model, a `fetch` and a `check`, and one row in registry.py;
the rule that turns its raw rows into list prices stands under the same name in normalise/row_rules/. A source
never chooses rows, never converts money and never keeps a partial answer. SDKs are
imported inside functions (or in modules that only those functions import), so that the core install works without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl
from pydantic import Field

from exporters.core.config_file import Section
from exporters.core.geography import DEFAULT_JURISDICTIONS


class SourceSettings(Section):
    """What every source can be told."""

    enabled: bool = Field(default=False, description="Whether the source is fetched.")
    refresh_minutes: int = Field(default=360, ge=5, description="Minutes between refreshes.")
    deadline_seconds: int = Field(default=900, ge=10, description="The longest one refresh may take.")
    max_age_hours: float = Field(
        default=48, gt=0, description="Age of the last good snapshot past which its series stop."
    )


class CloudSettings(SourceSettings):
    """What every cloud can be told."""

    regions: tuple[str, ...] = Field(default=(), description="Region codes; empty: every region in the jurisdictions.")
    jurisdictions: tuple[str, ...] = Field(default=DEFAULT_JURISDICTIONS, description="GB, EEA or ISO country codes.")


class Progress(Protocol):
    """Told how far a refresh is; silent unless somebody watches."""

    def __call__(self, step: str, *, done: int, total: int | None) -> None:
        """This will note that `done` of `total` (None: unknown) units of a step are done."""
        ...


def silent(step: str, *, done: int, total: int | None) -> None:
    """A progress that tells nobody."""
    del step, done, total


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What one refresh hands to a source.

    Args:
        now: the moment of the refresh (UTC).
        scratch: an existing directory for large downloads; removed after the refresh.
        deadline: the moment by which the source must have finished (UTC).
        capacity_types: wanted capacity types (words of CapacityType).
        operating_systems: wanted operating systems (words of OperatingSystem).
        progress: told how far it is.
    """

    now: datetime
    scratch: Path
    deadline: datetime
    capacity_types: tuple[str, ...] = ("on-demand", "spot")
    operating_systems: tuple[str, ...] = ("linux",)
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Skipped:
    """A region or a part that was not asked for a reason that is not a failure (for example: not opted in)."""

    region: str
    why: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """Everything one source gave at one moment, as it gave it.

    Args:
        source: the source's name.
        observed_at: when it was fetched (UTC).
        frames: raw frames by name; each source documents its names and columns.
        skipped: what was left out and why.
    """

    source: str
    observed_at: datetime
    frames: Mapping[str, pl.LazyFrame]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `tuppence check` looked at.

    Args:
        subject: for example "credentials" or "pricing:GetProducts".
        state: ok, warning (works, but less well) or failed.
        detail: what was seen; secrets never stand here.
        next_step: what to do; empty when ok.
    """

    subject: str
    state: Literal["ok", "warning", "failed"]
    detail: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A row of the registry.

    Args:
        name: the word used in settings, labels and file names.
        settings_model: its section under `sources`.
        fetch: gives everything, or raises a SourceError or IntegrityError.
        check: looks without fetching everything; never raises for what a user can mend.
        extra: the optional dependency group it needs; None: the core install is enough.
        packaged: whether the packaged book stands in until it first succeeds.
    """

    name: str
    settings_model: type[SourceSettings]
    fetch: Callable[[Any, FetchRequest], Fetched]
    check: Callable[[Any, FetchRequest], tuple[Finding, ...]]
    extra: str | None = None
    packaged: bool = field(default=False)
