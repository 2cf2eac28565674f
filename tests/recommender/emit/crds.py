"""Schemas of the custom resources that are handed over, where they lie beside the repository (../shared/crds)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

_BESIDE = Path("shared") / "crds"
CRDS = next(
    (above / _BESIDE for above in Path(__file__).resolve().parents if (above / _BESIDE).is_dir()),
    Path(__file__).resolve().parents[4] / _BESIDE,
)
"""Beside the repository, or beside a folder above it."""

needs_schemas = pytest.mark.skipif(not CRDS.is_dir(), reason="the schemas of the custom resources are not at ../shared")


def violations(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """This will return where objects break their schema; an unknown field, or a kind without a schema, breaks it."""
    found = []
    for one in objects:
        name = f"{one['kind']} {one['metadata']['name']}"
        validator = _validator(one["apiVersion"], one["kind"])
        if validator is None:
            found.append(f"{name}: no schema")
            continue
        found += [f"{name} at {error.json_path}: {error.message}" for error in validator.iter_errors(one)]
    return found


@cache
def _validator(api_version: str, kind: str) -> jsonschema.Draft7Validator | None:
    path = CRDS / f"{api_version.replace('/', '_')}_{kind}.json"
    return jsonschema.Draft7Validator(json.loads(path.read_text())) if path.is_file() else None
