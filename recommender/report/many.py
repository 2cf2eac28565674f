"""Rows that are put into words only when somebody looks at them: a report of 50,000 shows a few hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

From = TypeVar("From")
To = TypeVar("To")


class Told(Sequence[To], Generic[From, To]):
    """A sequence over records, each put into words when it is read.

    Args:
        records: what there is to tell.
        tell: puts one into words.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, records: Sequence[From], tell: Callable[[From], To]) -> None:
        self._records, self._tell = records, tell

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> To: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[To]: ...
    def __getitem__(self, index: int | slice) -> To | Sequence[To]:
        """This will return one in words, or a part of the sequence."""
        if isinstance(index, slice):
            return Told(self._records[index], self._tell)
        return self._tell(self._records[index])

    def __iter__(self) -> Iterator[To]:
        return map(self._tell, self._records)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence that says the same."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))


class Joined(Sequence[To]):
    """Several sequences one after the other.

    Args:
        parts: the sequences.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *parts: Sequence[To]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    @overload
    def __getitem__(self, index: int) -> To: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[To]: ...
    def __getitem__(self, index: int | slice) -> To | Sequence[To]:
        """This will return one, or a part of the sequence."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        for part in self._parts:
            if 0 <= place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(index)

    def __iter__(self) -> Iterator[To]:
        for part in self._parts:
            yield from part

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence that says the same."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))


def _equal(one: object, other: object) -> bool:
    return one == other
