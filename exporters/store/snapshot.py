"""A snapshot: everything one source published at one moment, and how it lies on a shelf.

A snapshot is the folder ``<source>/<taken_at>/`` with one Parquet file a frame and a ``manifest.json`` that is
written last. Without its manifest a snapshot does not exist, so a process killed between two files loses nothing
and shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dataframely as dy
import polars as pl

from exporters.core.errors import StoreError
from exporters.core.frames import EgressRate, FxRate, Offer, Reject, SetAside
from exporters.core.words import Origin

SCHEMA_VERSION = 1
FX_SOURCE = "fx"
"""The source whose snapshots hold the exchange rates."""

MANIFEST = "manifest.json"
FRAMES: Mapping[str, type[dy.Schema]] = {
    "offers": Offer,
    "egress": EgressRate,
    "fx": FxRate,
    "rejects": Reject,
    "set_aside": SetAside,
}
_STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a snapshot without opening its frames.

    Args:
        source: the source's name.
        taken_at: when the source was asked (UTC).
        origin: live, or packaged for the book that ships with Tuppence.
        max_age_hours: age past which nobody may use it; None for a packaged one.
        rows: rows of each frame.
        skipped: regions or parts that were left out, with the reason.
    """

    source: str
    taken_at: datetime
    origin: Origin
    max_age_hours: float | None
    rows: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The name used in plans and evidence: ``source/taken_at``."""
        return f"{self.source}/{self.taken_at.astimezone(UTC).strftime(_STAMP)}"

    def is_stale(self, now: datetime) -> bool:
        """This will tell whether it is older than its source allows."""
        return self.max_age_hours is not None and (now - self.taken_at).total_seconds() > self.max_age_hours * 3600

    def to_json(self) -> bytes:
        """This will write it as the content of manifest.json."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "source": self.source,
            "taken_at": self.taken_at.astimezone(UTC).isoformat(),
            "origin": self.origin.value,
            "max_age_hours": self.max_age_hours,
            "rows": dict(self.rows),
            "skipped": [list(item) for item in self.skipped],
        }
        return json.dumps(document, indent=1, sort_keys=True).encode()

    @classmethod
    def from_json(cls, content: bytes, *, where: str) -> Manifest:
        """This will read the content of manifest.json.

        Raises:
            StoreError: it is damaged, or of a newer schema.
        """
        try:
            document = json.loads(content)
            if document["schema_version"] != SCHEMA_VERSION:
                raise StoreError(
                    f"it has schema version {document['schema_version']}, this program reads {SCHEMA_VERSION}",
                    where=where,
                    next_step="Use the version of Tuppence that wrote it, or remove the snapshot.",
                )
            return cls(
                source=document["source"],
                taken_at=datetime.fromisoformat(document["taken_at"]),
                origin=Origin(document["origin"]),
                max_age_hours=document["max_age_hours"],
                rows=document["rows"],
                skipped=tuple((region, why) for region, why in document["skipped"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"the manifest is damaged ({error})",
                where=where,
                next_step="Remove this snapshot; the one before it is used.",
            ) from error


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A manifest with its frames; a source that has no rows of a kind has an empty frame."""

    manifest: Manifest
    offers: dy.DataFrame[Offer] = field(default_factory=Offer.create_empty)
    egress: dy.DataFrame[EgressRate] = field(default_factory=EgressRate.create_empty)
    fx: dy.DataFrame[FxRate] = field(default_factory=FxRate.create_empty)
    rejects: dy.DataFrame[Reject] = field(default_factory=Reject.create_empty)
    set_aside: dy.DataFrame[SetAside] = field(default_factory=SetAside.create_empty)

    def frame(self, name: str) -> pl.DataFrame:
        """This will return one frame by its name in FRAMES."""
        chosen: pl.DataFrame = getattr(self, name)
        return chosen
