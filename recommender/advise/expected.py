"""How wide the expected saving is, and how far it can be trusted.

The range is widened by short history, as the Kubernetes vertical pod autoscaler widens its bounds by 1 + 1/days, and by
what was not observed: half-width = 1/days + (1 − coverage), as a share of the saving. It is an allowance, not a
measured quantile, and never leaves [0, current cost].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exporters.core.frames import ILLUSTRATIVE
from exporters.core.money import pence
from exporters.core.units import HOURS_PER_MONTH
from exporters.core.words import Origin, SplitMethod
from recommender.advise.record import Confidence, PriceEvidence, Range

_HIGH_DAYS, _LOW_DAYS = 7.0, 2.0
_HIGH_COVERAGE = 0.95
_ORDER = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)


@dataclass(frozen=True, slots=True)
class Trust:
    """A level of confidence and the reasons for it."""

    confidence: Confidence
    why: tuple[str, ...]


def observed_days(row: Mapping[str, Any], *, window_hours: float) -> float:
    """This will return the days of the window in which the workload's cluster was observed."""
    return float(row["coverage_ratio"]) * window_hours / 24.0


def saving_range(saving_gbp_per_hour: float, current_gbp_per_hour: float, *, days: float, coverage: float) -> Range:
    """This will put a range around a saving, in pounds a month.

    Args:
        saving_gbp_per_hour: between 0 and the current cost.
        current_gbp_per_hour: what the workload costs now.
        days: days observed.
        coverage: share of the window observed.
    """
    allowance = min(1.0, (1.0 / days if days > 0 else 1.0) + (1.0 - coverage))
    high = min(current_gbp_per_hour, saving_gbp_per_hour * (1.0 + allowance))
    return Range(
        p10=pence(saving_gbp_per_hour * (1.0 - allowance) * HOURS_PER_MONTH),
        p50=pence(saving_gbp_per_hour * HOURS_PER_MONTH),
        p90=pence(high * HOURS_PER_MONTH),
    )


def trust(prices: tuple[PriceEvidence, ...], *, days: float, coverage: float, on_spot: bool) -> Trust:
    """This will say how far advice can be trusted: as far as the weakest of what it rests on."""
    found = [
        *(doubt for price in prices for doubt in _price_doubts(price)),
        *_usage_doubts(days, coverage),
    ]
    if on_spot:
        found.append((Confidence.MEDIUM, "how often spot is interrupted there is an assumption of the policy"))
    worst = max((level for level, _ in found), key=_ORDER.index, default=Confidence.HIGH)
    why = tuple(dict.fromkeys(text for level, text in found if level == worst))
    return Trust(worst, why or (f"{days:.1f} days observed, live prices for both places",))


def _price_doubts(price: PriceEvidence) -> list[tuple[Confidence, str]]:
    what = f"the {price.used_for} price of {price.instance_type} ({price.capacity_type})"
    doubts = []
    if price.note is not None and ILLUSTRATIVE in price.note:
        doubts.append((Confidence.LOW, f"{what} is illustrative, not a dated quotation"))
    if price.origin == Origin.PACKAGED:
        doubts.append((Confidence.MEDIUM, f"{what} is the packaged one of {price.observed_at:%-d %B %Y}"))
    if price.split_method == SplitMethod.FALLBACK:
        doubts.append((Confidence.MEDIUM, f"{what} is split by its region's median ratio"))
    return doubts


def _usage_doubts(days: float, coverage: float) -> list[tuple[Confidence, str]]:
    doubts = []
    if days < _LOW_DAYS:
        doubts.append((Confidence.LOW, f"only {days:.1f} days were observed"))
    elif days < _HIGH_DAYS * _HIGH_COVERAGE:
        doubts.append((Confidence.MEDIUM, f"{days:.1f} days were observed, a week shows every weekday"))
    if coverage < _HIGH_COVERAGE:
        doubts.append((Confidence.MEDIUM, f"{coverage:.0%} of the window was observed"))
    return doubts
