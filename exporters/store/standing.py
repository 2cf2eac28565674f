"""What holds now beside the charges, on the shelf: the last statement of each source of costs, whole or old.

A statement lies in ``standing/<source>/<written at>/`` as one Parquet file a frame and a manifest that is written last.
The reading side; store.standing_write writes. Amounts are as the source states them; ``in_pounds_now`` converts.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.errors import StoreError
from exporters.core.frames import FxRate
from exporters.core.money import GBP
from exporters.core.standing_frames import (
    Budget,
    Commitment,
    CommitmentRate,
    CommitmentUse,
    NegotiatedPrice,
    ProviderForecast,
    WorkloadCost,
)
from exporters.store.shelf import ReadableShelf

_log = structlog.get_logger(__name__)

STANDING: Final = "standing"
ASKED: Final = "asked"
STANDING_MANIFEST: Final = "standing-manifest.json"
STANDING_VERSION: Final = 1
STAMP: Final = "%Y%m%dT%H%M%S.%fZ"
STANDING_FRAMES: Final[Mapping[str, type[dy.Schema]]] = MappingProxyType(
    {
        "commitments": Commitment,
        "commitment_use": CommitmentUse,
        "commitment_rates": CommitmentRate,
        "negotiated_prices": NegotiatedPrice,
        "budgets": Budget,
        "forecasts": ProviderForecast,
        "workloads": WorkloadCost,
    }
)
"""Every frame of a statement, by the name that it has in CostFetched and in Standing."""


@dataclass(frozen=True, slots=True)
class StandingManifest:
    """What is known of a statement without opening it.

    Args:
        source: who stated it.
        written_at: when (UTC).
        asked_at: when each frame was last stated; one that was not asked for since keeps its time.
        rows: rows of each frame.
    """

    source: str
    written_at: datetime
    asked_at: Mapping[str, datetime]
    rows: Mapping[str, int]

    @property
    def id(self) -> str:
        """The folder of the statement."""
        return f"{STANDING}/{self.source}/{self.written_at.astimezone(UTC).strftime(STAMP)}"

    def to_json(self) -> bytes:
        """This will write it as the content of its file."""
        document = {
            "schema_version": STANDING_VERSION,
            "source": self.source,
            "written_at": self.written_at.astimezone(UTC).isoformat(),
            "asked_at": {name: moment.astimezone(UTC).isoformat() for name, moment in self.asked_at.items()},
            "rows": dict(self.rows),
        }
        return json.dumps(document, indent=1, sort_keys=True).encode()

    @classmethod
    def from_json(cls, content: bytes, *, where: str) -> StandingManifest:
        """This will read the content of its file.

        Raises:
            StoreError: it is damaged, or of another schema.
        """
        try:
            document = json.loads(content)
            version = document["schema_version"]
            found = cls(
                source=document["source"],
                written_at=datetime.fromisoformat(document["written_at"]),
                asked_at={name: datetime.fromisoformat(moment) for name, moment in document["asked_at"].items()},
                rows=document["rows"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(where, f"the manifest is damaged ({error})") from error
        if version != STANDING_VERSION:
            raise _damaged(where, f"it has schema version {version}, this program reads {STANDING_VERSION}")
        return found


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds now, of all sources together; one frame each of STANDING_FRAMES.

    Args:
        commitments: what is bought in advance.
        commitment_use: how far it was used, and what it covered.
        commitment_rates: what machines cost under commitments that could be bought.
        negotiated_prices: what agreements pay beside list prices.
        budgets: what somebody means to spend.
        forecasts: what providers expect.
        workloads: what tools inside clusters say that workloads cost.
        manifests: the statements behind them, by source.
    """

    commitments: dy.DataFrame[Commitment] = field(default_factory=Commitment.create_empty)
    commitment_use: dy.DataFrame[CommitmentUse] = field(default_factory=CommitmentUse.create_empty)
    commitment_rates: dy.DataFrame[CommitmentRate] = field(default_factory=CommitmentRate.create_empty)
    negotiated_prices: dy.DataFrame[NegotiatedPrice] = field(default_factory=NegotiatedPrice.create_empty)
    budgets: dy.DataFrame[Budget] = field(default_factory=Budget.create_empty)
    forecasts: dy.DataFrame[ProviderForecast] = field(default_factory=ProviderForecast.create_empty)
    workloads: dy.DataFrame[WorkloadCost] = field(default_factory=WorkloadCost.create_empty)
    manifests: tuple[StandingManifest, ...] = ()


@dataclass(frozen=True, slots=True)
class LastAsked:
    """When a source was asked last (UTC), and how that ended; success None: it was cut off."""

    at: datetime
    success: bool | None


def standing_folders(shelf: ReadableShelf) -> dict[str, list[str]]:
    """This will return the folders of whole statements by source, oldest first."""
    ends = f"/{STANDING_MANIFEST}"
    found: dict[str, list[str]] = {}
    for key in shelf.keys(STANDING):
        if key.endswith(ends):
            folder = key.removesuffix(ends)
            found.setdefault(folder.split("/")[1], []).append(folder)
    return {source: sorted(folders) for source, folders in sorted(found.items())}


def read_standing(shelf: ReadableShelf, *, until: datetime | None = None) -> Standing:
    """This will return the newest readable statement of each source; a damaged one is logged, the one before is taken.

    Args:
        shelf: where snapshots lie.
        until: statements written later are passed over, so that a replay sees what was there then; None: none is.

    Raises:
        StoreError: the shelf cannot be listed.
    """
    found = [statement for source in standing_folders(shelf) if (statement := last_statement(shelf, source, until))]
    frames: dict[str, Any] = {
        name: schema.validate(pl.concat([schema.create_empty(), *(frames[name] for _, frames in found)]), cast=True)
        for name, schema in STANDING_FRAMES.items()
    }
    return Standing(manifests=tuple(manifest for manifest, _ in found), **frames)


def last_statement(
    shelf: ReadableShelf, source: str, until: datetime | None = None
) -> tuple[StandingManifest, dict[str, pl.DataFrame]] | None:
    """This will return a source's newest readable statement; None: it has none."""
    for folder in reversed(standing_folders(shelf).get(source, [])):
        try:
            manifest = StandingManifest.from_json(shelf.get(f"{folder}/{STANDING_MANIFEST}"), where=folder)
            if until is None or manifest.written_at <= until:
                return manifest, {name: _frame(shelf, manifest, name) for name in STANDING_FRAMES}
        except StoreError as error:
            _log.warning("statement_skipped", folder=folder, error=str(error))
    return None


def last_asked(shelf: ReadableShelf, source: str) -> LastAsked | None:
    """This will return when a source was asked last, and how that ended; None: it never was, or nobody can tell.

    Raises:
        StoreError: the shelf cannot be listed.
    """
    key = f"{ASKED}/{source}.json"
    if key not in shelf.keys(ASKED):
        return None
    try:
        document = json.loads(shelf.get(key))
        return LastAsked(at=datetime.fromisoformat(document["at"]), success=document["success"])
    except (StoreError, ValueError, KeyError, TypeError) as error:
        _log.warning("last_time_unknown", source=source, error=str(error))
        return None


def in_pounds_now(rows: pl.DataFrame, fx: dy.DataFrame[FxRate], *columns: str) -> pl.DataFrame:
    """This will add a column ``<name>_gbp`` for each amount, at the newest rate; null where a currency has none.

    Args:
        rows: with a column currency.
        fx: the rate table.
        columns: amounts in that currency.
    """
    pound = pl.DataFrame({"currency": [GBP], "now_gbp_per_unit": [1.0]})
    rates = fx.filter(pl.col("currency") != GBP).select(
        "currency", now_gbp_per_unit=pl.col("gbp_per_unit").cast(pl.Float64)
    )
    return (
        rows.join(pl.concat([rates, pound]), on="currency", how="left", maintain_order="left")
        .with_columns(
            (pl.col(name).cast(pl.Float64) * pl.col("now_gbp_per_unit")).alias(f"{name}_gbp") for name in columns
        )
        .drop("now_gbp_per_unit")
    )


def _frame(shelf: ReadableShelf, manifest: StandingManifest, name: str) -> pl.DataFrame:
    """A frame that the statement does not know is empty: it was written before there was one."""
    schema = STANDING_FRAMES[name]
    if name not in manifest.rows:
        return schema.create_empty()
    key = f"{manifest.id}/{name}.parquet"
    try:
        frame = schema.cast(pl.read_parquet(io.BytesIO(shelf.get(key))))
    except (PolarsError, OSError) as error:
        raise _damaged(key, f"it cannot be read ({error})") from error
    if frame.height != manifest.rows[name]:
        raise _damaged(key, f"it has {frame.height} rows, its manifest says {manifest.rows[name]}")
    return frame


def _damaged(where: str, what: str) -> StoreError:
    return StoreError(what, where=where, next_step="Remove this statement; the one before it is used.")
