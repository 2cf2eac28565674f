"""How well each candidate did, in figures that can be compared between series, and the choice as a sentence.

WAPE = Σ|error| ÷ Σ demand; MASE = mean |error| ÷ that of the seasonal naive of 24 h over the same origins (Hyndman and
Koehler 2006, "Another look at measures of forecast accuracy"). A percentage error by hour is not shown, because it has
no value where demand is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recommender.forecast.backtest import Backtest
from recommender.forecast.candidates import CANDIDATES, PERSISTENCE, SEASONAL_NAIVE, Candidate
from recommender.forecast.grid import Floats

Row = dict[str, Any]


def accuracy_rows(found: Backtest) -> list[Row]:
    """This will return one row a candidate of CANDIDATES, over the origins that the choice rests on."""
    protocol = found.protocol
    until = max(len(found.origins) - protocol.due, 0)
    window = slice(max(0, until - protocol.window), until)
    seasonal = [one.name for one in CANDIDATES].index(SEASONAL_NAIVE)
    naive_errors = found.end.losses[seasonal, window]
    rows = []
    for number, candidate in enumerate(CANDIDATES):
        losses, errors = found.peak.losses[number, window], found.end.losses[number, window]
        known = ~np.isnan(found.peak.actuals[window]) & ~np.isnan(found.bounds[number, window])
        inside = found.peak.actuals[window] <= found.bounds[number, window]
        rows.append(
            {
                "model": candidate.name,
                "origins": int((~np.isnan(losses)).sum()),
                "pinball_p90": _mean(losses),
                "relative_loss": _finite(found.peak.scores[number, -1]),
                "wape_ratio": _wape(errors, found.end.actuals[window]),
                "mase_ratio": _ratio(errors, naive_errors),
                "coverage_p90_ratio": _mean(np.where(known, inside, np.nan)),
                "is_naive": candidate.is_naive,
                "is_baseline_only": candidate.is_baseline_only,
            }
        )
    return rows


def verdict(candidates: Sequence[Candidate], accuracy: Sequence[Row], chosen: Row) -> Row:
    """This will say in a sentence why a candidate was chosen.

    Returns:
        `beats_both_naives` and `verdict`.
    """
    by_name = {row["model"]: row for row in accuracy}
    naives = [by_name[name] for name in (PERSISTENCE, SEASONAL_NAIVE) if by_name[name]["relative_loss"] is not None]
    is_naive = next(one.is_naive for one in candidates if one.name == chosen["model"])
    loss = chosen["relative_loss"]
    beats = bool(naives) and loss is not None and all(loss < row["relative_loss"] for row in naives)
    if is_naive and not beats:
        return {
            "beats_both_naives": False,
            "verdict": f"no candidate beats both naives, so the naive is used: {chosen['model']}",
        }
    shares = "; ".join(
        f"{loss / row['relative_loss'] - 1:+.0%} on {row['model']}" for row in naives if row["relative_loss"]
    )
    return {
        "beats_both_naives": beats,
        "verdict": f"{chosen['model']}: pinball loss of P90 {shares}, over {chosen['origins']:,} past forecasts",
    }


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _wape(errors: Floats, actuals: Floats) -> float | None:
    both = ~np.isnan(errors) & ~np.isnan(actuals)
    total = float(actuals[both].sum())
    return float(errors[both].sum()) / total if total > 0 else None


def _ratio(errors: Floats, naive: Floats) -> float | None:
    both = ~np.isnan(errors) & ~np.isnan(naive)
    total = float(naive[both].sum())
    return float(errors[both].sum()) / total if total > 0 else None
