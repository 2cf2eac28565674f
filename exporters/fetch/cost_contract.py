"""What every source of costs agrees to: for a span of days it gives all that was charged, or raises.

A source is one module in this package with a settings model, a `fetch` and a `check`, and one row in cost_registry.py.
It gives charges as rows of Charge, and what holds now: commitments, budgets and the provider's own forecast. It never
converts money, never decides which days are whole, and never keeps a partial answer. SDKs are imported inside
functions, so that the core install works without them. Exports in files have a way of their own (cost_files.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import dataframely as dy
import polars as pl
from pydantic import Field

from exporters.core.config_file import Section
from exporters.core.cost_frames import Charge
from exporters.core.standing_frames import (
    Budget,
    Commitment,
    CommitmentRate,
    CommitmentUse,
    NegotiatedPrice,
    ProviderForecast,
    WorkloadCost,
)
from exporters.fetch.contract import Finding, Progress, Skipped, silent


class CostSourceSettings(Section):
    """What every source of costs can be told."""

    enabled: bool = Field(default=False, description="Whether the source is asked for costs.")
    refresh_minutes: int = Field(default=1440, ge=60, description="Minutes between two times of asking.")
    deadline_seconds: int = Field(default=900, ge=10, description="The longest one time of asking may take.")
    history_days: int = Field(
        default=62, ge=1, le=400, description="Days to ask for at the first time; two whole months by default."
    )
    restated_days: int = Field(
        default=10, ge=1, le=62, description="Days to ask for again each time, because providers restate them."
    )


@dataclass(frozen=True, slots=True)
class CostRequest:
    """What one time of asking hands to a source.

    Args:
        now: the moment (UTC).
        first_day: the first day wanted (UTC).
        last_day: the last day wanted; it is never after today.
        scratch: an existing directory for large downloads; removed afterwards.
        deadline: the moment by which the source must have finished (UTC).
        owner_tags: tags that say who bears a cost, the first that has a value counts.
        progress: told how far it is.
    """

    now: datetime
    first_day: date
    last_day: date
    scratch: Path
    deadline: datetime
    owner_tags: Sequence[str] = ()
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class CostFetched:
    """All that one source charged over the days asked for, and what holds now.

    Args:
        source: the source's name.
        observed_at: when it was asked (UTC).
        charges: rows of Charge of every day asked for; None: this source states no charges.
        commitments: what is bought in advance; None: it was not asked, so that what was known stays.
        commitment_use: how far commitments were used and what they covered; None likewise.
        commitment_rates: what machines cost under commitments that could be bought; None likewise.
        negotiated_prices: what an agreement pays beside list prices; None likewise.
        budgets: what somebody means to spend; None likewise.
        forecasts: what the provider expects; None likewise.
        workloads: what workloads cost, of the days asked for; None: this source does not say.
        paid_requests: requests that cost money.
        skipped: what was left out and why.
    """

    source: str
    observed_at: datetime
    charges: pl.LazyFrame | None = None
    commitments: dy.DataFrame[Commitment] | None = None
    commitment_use: dy.DataFrame[CommitmentUse] | None = None
    commitment_rates: dy.DataFrame[CommitmentRate] | None = None
    negotiated_prices: dy.DataFrame[NegotiatedPrice] | None = None
    budgets: dy.DataFrame[Budget] | None = None
    forecasts: dy.DataFrame[ProviderForecast] | None = None
    workloads: dy.DataFrame[WorkloadCost] | None = None
    paid_requests: int = 0
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class CostSource:
    """A row of the registry.

    Args:
        name: the word used in settings, labels and file names.
        settings_model: its section under `costs`.
        fetch: given its section, that of its cloud and the request, it gives everything, or raises a SourceError or an
            IntegrityError.
        check: of the same; looks without fetching everything; never raises for what a user can mend.
        cloud: the section under `sources` that says how its cloud is reached (credentials, endpoints); None: none.
        extra: the optional dependency group it needs; None: the core install is enough.
    """

    name: str
    settings_model: type[CostSourceSettings]
    fetch: Callable[[Any, Any, CostRequest], CostFetched]
    check: Callable[[Any, Any, CostRequest], tuple[Finding, ...]]
    cloud: str | None = None
    extra: str | None = None


def no_charges() -> pl.LazyFrame:
    """This will return charges of days on which nothing was charged."""
    return Charge.create_empty().lazy()
