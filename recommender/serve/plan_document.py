"""The plan as the JSON that is served: written piece by piece, kept compressed, whole only while it is asked for.

A plan of 50,000 recommendations is hundreds of megabytes of text, and most of it repeats itself.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from recommender.advise.plan import Plan

_LEVEL = 1
"""Of zlib: the fastest; what repeats itself is short at any level."""


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """The text of Plan.to_json in UTF-8, compressed.

    Args:
        packed: zlib stream (RFC 1950).
        length: of the text, bytes.
    """

    packed: bytes
    length: int

    @classmethod
    def of(cls, plan: Plan) -> PlanDocument:
        """This will write a plan down."""
        packer, packed, length = zlib.compressobj(_LEVEL), [], 0
        for piece in pieces(plan):
            text = piece.encode()
            length += len(text)
            packed.append(packer.compress(text))
        packed.append(packer.flush())
        return cls(b"".join(packed), length)

    def read(self) -> bytes:
        """This will return the text."""
        return zlib.decompress(self.packed, bufsize=max(1, self.length))


def pieces(plan: Plan) -> Iterator[str]:
    """This will yield the text of Plan.to_json, a row of a list at a time."""
    between = "{\n  "
    for name in sorted(type(plan).model_fields):
        value = getattr(plan, name)
        if value is None:
            continue
        yield f"{between}{json.dumps(name)}: "
        if isinstance(value, tuple):
            yield from _rows(value)
        else:
            yield _text(plan.model_dump(mode="json", exclude_none=True, include={name})[name], indent="  ")
        between = ",\n  "
    yield "\n}"


def _rows(rows: tuple[BaseModel, ...]) -> Iterator[str]:
    between = "[\n    "
    for row in rows:
        yield between + _text(row.model_dump(mode="json", exclude_none=True), indent="    ")
        between = ",\n    "
    yield "\n  ]" if rows else "[]"


def _text(value: Any, *, indent: str) -> str:  # noqa: ANN401 - JSON values
    # A line break within a string is written \n: each that stands in the text begins a line.
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).replace("\n", f"\n{indent}")
