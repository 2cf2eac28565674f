"""The report for machines: the plan's document with what the week adds; one line a row, easy to search."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from recommender.report.view import Report


def render(report: Report) -> str:
    """This will return the document as JSON: its members in the order of the alphabet, rows as their models declare."""
    return "".join(parts(report))


def parts(report: Report) -> Iterator[str]:
    """This will yield the same piece by piece: the values of 50,000 recommendations are never there all at once."""
    between = "{\n"
    for name, value in sorted(_members(report)):
        yield f"{between}{_text(name)}: "
        yield from _value(value)
        between = ",\n"
    yield "\n}\n"


def _members(report: Report) -> Iterator[tuple[str, Any]]:
    """What the document has at its top, models not yet turned into JSON values; see Report.document."""
    plan = report.plan
    for name in type(plan).model_fields:
        value = getattr(plan, name)
        if name == "summary":
            yield name, plan.summary.model_dump(mode="json", exclude_none=True, exclude=set(report.without))
        elif isinstance(value, tuple | BaseModel):
            yield name, value
        elif value is not None:
            yield name, plan.model_dump(mode="json", include={name})[name]
    yield from report.more.items()


def _value(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON values and models
    if isinstance(value, list | tuple) and value:
        yield from _list(value)
    else:
        yield _text(value)


def _list(values: Iterable[Any]) -> Iterator[str]:
    between = "[\n"
    for one in values:
        yield f"{between}{_text(one)}"
        between = ",\n"
    yield "\n]"


def _text(value: Any) -> str:  # noqa: ANN401 - JSON values and models
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_none=True)
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
