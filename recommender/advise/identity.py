"""Names that last: the id of a piece of advice, and hashes of what it was made from."""

from __future__ import annotations

import hashlib
import json

import polars as pl
from pydantic import BaseModel

from recommender.advise.record import Kind


def advice_id(kind: Kind, *, workload: tuple[str, ...], cluster: str, pool: str) -> str:
    """This will return the id of advice: the same while kind, target, recommended cluster and pool are the same."""
    return _digest([kind.value, *workload, cluster, pool])[:16]


def etag(*parts: object) -> str:
    """This will return a hash of the figures that advice rests on; it changes when any of them does."""
    return _digest([repr(part) for part in parts])[:16]


def frame_sha256(rows: pl.DataFrame) -> str:
    """This will return the SHA-256 of a frame's rows as they stand."""
    return hashlib.sha256(rows.write_json().encode()).hexdigest()


def model_sha256(model: BaseModel) -> str:
    """This will return the SHA-256 of a settings model, keys sorted."""
    return hashlib.sha256(json.dumps(model.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()
