"""What was really paid, on the shelf beside the prices: one snapshot a month of charges, whole or old.

A month lies in ``costs/<YYYY-MM>/<written at>/`` as one Parquet file and a manifest that is written last: without it a
snapshot does not exist. The readers of prices do not see these folders. The reading side; store.cost_write writes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import dataframely as dy
import polars as pl
import structlog
from polars.exceptions import PolarsError

from exporters.core.cost_frames import COST_KEY, FILES, PoundCost
from exporters.core.errors import StoreError
from exporters.store.shelf import ReadableShelf

_log = structlog.get_logger(__name__)

COSTS = "costs"
COST_MANIFEST = "cost-manifest.json"
COST_FILE = "days.parquet"
SCHEMA_VERSION = 2
STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class CostManifest:
    """What is known of a month without opening it.

    Args:
        month: its first day.
        written_at: when this snapshot was made (UTC).
        rows: rows of the month.
        files: every export file that was read into it: the months that it touches, by the sha256 of its bytes.
        rejected: charges that the last import into it left out, by reason.
    """

    month: date
    written_at: datetime
    rows: int = 0
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The folder of the snapshot."""
        return f"{COSTS}/{self.month:%Y-%m}/{self.written_at.astimezone(UTC).strftime(STAMP)}"

    def to_json(self) -> bytes:
        """This will write it as the content of its file."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "month": self.month.isoformat(),
            "written_at": self.written_at.astimezone(UTC).isoformat(),
            "rows": self.rows,
            "files": {digest: list(months) for digest, months in self.files.items()},
            "rejected": dict(self.rejected),
        }
        return json.dumps(document, indent=1, sort_keys=True).encode()

    @classmethod
    def from_json(cls, content: bytes, *, where: str) -> CostManifest:
        """This will read the content of its file.

        Raises:
            StoreError: it is damaged, or of a newer schema.
        """
        try:
            document = json.loads(content)
            version = document["schema_version"]
            found = cls(
                month=date.fromisoformat(document["month"]),
                written_at=datetime.fromisoformat(document["written_at"]),
                rows=document["rows"],
                files=document["files"],
                rejected=document["rejected"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(where, f"the manifest is damaged ({error})") from error
        if version != SCHEMA_VERSION:
            raise _damaged(where, f"it has schema version {version}, this program reads {SCHEMA_VERSION}")
        return found


@dataclass(frozen=True, slots=True)
class Costs:
    """All that is known of what was paid.

    Args:
        days: every month together.
        manifests: the snapshots behind them, oldest month first.
    """

    days: dy.DataFrame[PoundCost] = field(default_factory=PoundCost.create_empty)
    manifests: tuple[CostManifest, ...] = ()

    @property
    def imported(self) -> frozenset[str]:
        """The hashes of files that stand in every month that they touch."""
        by_month = {f"{one.month:%Y-%m}": one.files for one in self.manifests}
        return frozenset(
            digest
            for files in by_month.values()
            for digest, months in files.items()
            if all(digest in by_month.get(month, {}) for month in months)
        )


def cost_folders(shelf: ReadableShelf) -> dict[str, list[str]]:
    """This will return the folders of whole snapshots by month (``2026-11``), oldest first."""
    ends = f"/{COST_MANIFEST}"
    found: dict[str, list[str]] = {}
    for key in shelf.keys(COSTS):
        if key.endswith(ends):
            folder = key.removesuffix(ends)
            found.setdefault(folder.split("/")[1], []).append(folder)
    return {month: sorted(folders) for month, folders in sorted(found.items())}


def read_costs(
    shelf: ReadableShelf,
    *,
    months: Sequence[str] | None = None,
    until: datetime | None = None,
    every_source: bool = False,
) -> Costs:
    """This will return the newest readable snapshot of each month; a damaged one is logged, the one before is taken.

    Args:
        shelf: where snapshots lie.
        months: such as ``2026-11``; None: all.
        until: snapshots written later are passed over, so that a replay sees what was there then; None: none is.
        every_source: whether days that two sources know come twice; else one of them stands, see one_source_a_day.

    Raises:
        StoreError: the shelf cannot be listed.
    """
    frames: list[dy.DataFrame[PoundCost]] = []
    manifests: list[CostManifest] = []
    for month, folders in cost_folders(shelf).items():
        if months is None or month in months:
            for folder in reversed(folders):
                try:
                    manifest, days = _load(shelf, folder)
                except StoreError as error:
                    _log.warning("cost_snapshot_skipped", folder=folder, error=str(error))
                    continue
                if until is not None and manifest.written_at > until:
                    continue
                frames.append(days)
                manifests.append(manifest)
                break
    together = pl.concat([PoundCost.create_empty(), *frames])
    chosen = together if every_source else one_source_a_day(together)
    return Costs(days=PoundCost.cast(chosen.sort(COST_KEY)), manifests=tuple(manifests))


def one_source_a_day(days: pl.DataFrame) -> pl.DataFrame:
    """This will keep what one source says of an account on a day, so that nothing is counted twice.

    An export in files is finer than what an API gives, so it stands; but a day that it does not state whole gives way
    to a source that does.

    Args:
        days: rows of PoundCost of every source.
    """
    account = pl.when(pl.col("sub_account") != "").then("sub_account").otherwise("billing_account")
    place = ["provider", "account", "charge_day"]
    named = days.with_columns(account=account)
    claims = named.group_by(*place, "source").agg(pl.col("is_whole").all())
    best = claims.sort(
        "is_whole", pl.col("source") == FILES, "source", descending=[True, True, False], maintain_order=True
    ).unique(place, keep="first", maintain_order=True)
    return named.join(best.select(*place, "source"), on=[*place, "source"], how="semi").drop("account")


def _load(shelf: ReadableShelf, folder: str) -> tuple[CostManifest, dy.DataFrame[PoundCost]]:
    manifest = CostManifest.from_json(shelf.get(f"{folder}/{COST_MANIFEST}"), where=folder)
    try:
        days = PoundCost.cast(pl.read_parquet(io.BytesIO(shelf.get(f"{folder}/{COST_FILE}"))))
    except (PolarsError, OSError) as error:
        raise _damaged(folder, f"it cannot be read ({error})") from error
    if days.height != manifest.rows:
        raise _damaged(folder, f"it has {days.height} rows, its manifest says {manifest.rows}")
    return manifest, days


def _damaged(where: str, what: str) -> StoreError:
    return StoreError(what, where=where, next_step="Remove this snapshot; the one before it is used.")
