"""The status of a score object, the same whether it is handed over as a file or written to a hub.

    scores, their end, how fresh their inputs are → the status of an AddOnPlacementScore

A condition tells a person at the hub what a number cannot: of when prices and usage are, whether an input is missing
now, and which price scores 50. Conditions are a list-map by `type`, so that those of other writers stay theirs
(open-cluster-management.io/api, cluster/v1alpha1/types_addonplacementscore.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import dataframely as dy

from exporters.core.clock import parse_utc
from recommender.emit.contract import Manifest
from recommender.emit.provenance import instant
from recommender.frames import ClassScore

INPUTS_FRESH: Final = "InputsFresh"
_MOST_MESSAGE: Final = 32_000
"""The API server refuses a whole status for a message beyond 32,768 characters."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How fresh the inputs of scores are.

    Args:
        is_fresh: false: some scores are of an evaluation before, because an input is missing now.
        says: the ages, and the price that scores 50.
        since: from when `is_fresh` has been what it is (UTC).
    """

    is_fresh: bool
    says: str
    since: datetime

    def after(self, before: Freshness | None) -> Freshness:
        """This will keep the time of the last transition where nothing turned since."""
        turned = before is None or before.is_fresh != self.is_fresh
        return self if turned or before is None else replace(self, since=before.since)


def freshness_of(scores: dy.DataFrame[ClassScore], *, at: datetime) -> Freshness:
    """This will say how fresh the inputs of scores are, in the same words for every cluster.

    Args:
        scores: of the fleet.
        at: now (UTC).
    """
    ages = (("priced_at", "prices of {}"), ("usage_until", "usage until {}"))
    told = [text.format(instant(time)) for name, text in ages if isinstance(time := scores[name].min(), datetime)]
    references = scores.select("score", "reference_gbp_per_hour").drop_nulls().unique().sort("score")
    told += [f"{name} is 50 at £{reference:.6g} an hour" for name, reference in references.iter_rows()]
    return Freshness(not scores["is_held"].any(), "; ".join(told), at)


def status_of(scores: Mapping[str, int], valid_until: datetime | None, freshness: Freshness | None) -> Manifest:
    """This will return the status.

    Args:
        scores: value by score name.
        valid_until: until when they stand; None: unsaid.
        freshness: of their inputs; None: unsaid.
    """
    status: dict[str, Any] = {}
    if freshness is not None:
        status["conditions"] = [
            {
                "type": INPUTS_FRESH,
                "status": "True" if freshness.is_fresh else "False",
                "reason": "WithinMaxAge" if freshness.is_fresh else "HeldUntilTheyLapse",
                "message": freshness.says[:_MOST_MESSAGE],
                "lastTransitionTime": instant(freshness.since),
            }
        ]
    status["scores"] = [{"name": name, "value": value} for name, value in sorted(scores.items())]
    if valid_until is not None:
        status["validUntil"] = instant(valid_until)
    return status


def freshness_in(conditions: Sequence[Mapping[str, Any]]) -> Freshness | None:
    """This will read back what status_of wrote; None: there is no such condition."""
    for one in conditions:
        if one["type"] == INPUTS_FRESH:
            return Freshness(one["status"] == "True", one["message"], parse_utc(one["lastTransitionTime"]))
    return None
