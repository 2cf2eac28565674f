"""Where scores were written outside Tuppence: rows of the ledger, only ever added, so that all can be found again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Publication:
    """What a writer was about to leave on a hub, written down before it wrote.

    Args:
        number: 1, 2, 3 … within the ledger; two publications never share one.
        at: when (UTC).
        hub: the address of the hub's API server.
        name: of the objects, such as `finops`.
        namespaces: every namespace of the hub that may hold one from then on, as a sorted JSON list.
    """

    number: int
    at: datetime
    hub: str
    name: str
    namespaces: str


def latest(publications: Iterable[Publication]) -> dict[tuple[str, str], Publication]:
    """This will return the newest publication of each hub and name."""
    return {(one.hub, one.name): one for one in sorted(publications, key=lambda one: one.number)}
