"""The order of recommendations: what a rule demands first, then what surely saves most."""

from __future__ import annotations

from collections.abc import Iterable

from recommender.advise.record import Recommendation


def ranked(recommendations: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """This will order recommendations and number them from 1.

    Compliance comes first; then the low end of the saving, greatest first, so that a thin history does not lead the
    list; equal ones by id.
    """
    ordered = sorted(recommendations, key=_key)
    return tuple(one.model_copy(update={"rank": number}) for number, one in enumerate(ordered, start=1))


def _key(one: Recommendation) -> tuple[int, float, float, str]:
    if one.monthly is None:
        return (0, one.cost_delta_gbp_per_hour or 0.0, 0.0, one.id)
    return (1, -float(one.monthly.saving.p10), -float(one.monthly.saving.p50), one.id)
