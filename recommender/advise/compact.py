"""A record that was built becomes one that takes less room: what is equal in all records is held once.

Pydantic keeps with every model the set of the fields that were given: 0.7 to 2.3 kB each, more than the values, and the
same for every model of a shape. Parts are frozen and copying one copies its set, so that nobody changes a shared one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeVar

from recommender.advise.record import Part

PartT = TypeVar("PartT", bound=Part)


def compact(part: PartT) -> PartT:
    """This will return the same part; it and the parts in it share the sets of their fields with others of a shape."""
    object.__setattr__(part, "__pydantic_fields_set__", _held_once(frozenset(part.model_fields_set)))
    for inner in _inside(part):
        compact(inner)
    return part


def _inside(part: Part) -> Iterator[Part]:
    for value in part.__dict__.values():
        if isinstance(value, Part):
            yield value
        elif isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, Part))


@cache
def _held_once(names: frozenset[str]) -> set[str]:
    return set(names)
