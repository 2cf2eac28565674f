"""The scale of the scores, and what a scheduler that reads them will do: pounds an hour → points → move or stay.

Open Cluster Management adds up weight × score; its Steady prioritizer gives the cluster that is chosen now 100 and
every other 0, and equal sums are decided by name (open-cluster-management.io/ocm, pkg/placement/plugins/steady and
pkg/placement/controllers/scheduling/schedule.go). So a challenger c displaces an incumbent i only if
w·(s_c − s_i) > 100·S. On a logarithmic scale s_c − s_i = K·ln(E_i/E_c), whatever the anchor; with
K = (100·S/w) / −ln(1 − θ) that margin is a saving of θ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from exporters.core.errors import SettingsError
from recommender.settings import Policy

LEAST, MIDDLE, MOST = 1, 50, 100
OUT: Final = -100
"""A cluster that is forbidden or has no price. 0 is what a scheduler reads where there is no score."""

GRID_POINTS: Final = 10.0
"""Anchors are rounded to steps that are worth so many points, so that they stay where they are from day to day."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How pounds become points.

    Args:
        points_per_log: K, points for a factor e in price.
        margin_points: points by which a challenger must be ahead, and more: 100·S/w.
        min_saving_ratio: θ, the saving that this margin means.
        steady_weight: S.
        cost_weight: w.
    """

    points_per_log: float
    margin_points: float
    min_saving_ratio: float
    steady_weight: float
    cost_weight: float

    @classmethod
    def of(cls, policy: Policy) -> Scale:
        """This will return the scale on which the scheduler's margin means the policy's smallest saving.

        Raises:
            SettingsError: a smallest saving of nothing, or of everything, has no such scale.
        """
        ratio, score = policy.steady.min_saving_ratio, policy.score
        if not 0 < ratio < 1:
            raise SettingsError(
                f"a smallest saving of {ratio:.0%} gives scores no scale",
                where="policy.steady.min_saving_ratio",
                next_step="Set a share between 0 and 1, such as 0.15.",
            )
        margin = 100 * score.steady_weight / score.cost_weight
        return cls(margin / -math.log1p(-ratio), margin, ratio, score.steady_weight, score.cost_weight)

    @property
    def can_move(self) -> bool:
        """Whether an incumbent at the anchor can be displaced at all: from there to the end it is 50 points."""
        return self.margin_points < MOST - MIDDLE - GRID_POINTS / 2

    @property
    def grid_ratio(self) -> float:
        """The ratio of one step of anchors."""
        return math.exp(GRID_POINTS / self.points_per_log)

    def points(self, gbp_per_hour: pl.Expr, reference: pl.Expr) -> pl.Expr:
        """This will turn prices into points; what costs no cash gets all."""
        raw = MIDDLE + self.points_per_log * (reference / gbp_per_hour).log()
        free = (gbp_per_hour == 0) | reference.is_null()
        return pl.when(free).then(float(MOST)).otherwise(raw.round().clip(LEAST, MOST)).cast(pl.Int32)

    def on_grid(self, gbp_per_hour: float) -> float:
        """This will return the step of the grid that is nearest to a price."""
        return float(self.grid_ratio ** round(math.log(gbp_per_hour) / math.log(self.grid_ratio)))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What Open Cluster Management will do with a Placement.

    Args:
        incumbent: the cluster that is chosen now.
        challenger: the cluster that is advised.
        winner: the cluster with the highest sum.
        lead_points: by how much the challenger's score is above the incumbent's.
        over_margin_points: by how much that is more than Steady asks; it moves only if this is above 0.
        at_end: whether one of the two scores is at an end of the scale, so that the lead is more than it seems.
    """

    incumbent: str
    challenger: str
    winner: str
    lead_points: int
    over_margin_points: float
    at_end: bool

    @property
    def will_move(self) -> bool:
        """Whether it will choose the cluster that is advised."""
        return self.winner == self.challenger != self.incumbent

    def sentence(self, scale: Scale) -> str:
        """This will say it for a person."""
        saving = 1 - math.exp(-self.lead_points / scale.points_per_log)
        about = "at least" if self.at_end else "about"
        lead = f"{self.challenger} leads {self.incumbent} by {self.lead_points} points ({about} {saving:.0%})"
        if self.lead_points <= 0:
            lead = f"{self.challenger} does not lead {self.incumbent} ({self.lead_points} points)"
        elif self.lead_points > MOST - LEAST:
            lead = f"{self.incumbent} may not be chosen any more"
        asked = f"Steady asks for more than {scale.margin_points:g} (a saving of {scale.min_saving_ratio:.0%})"
        if self.will_move and self.lead_points > MOST - LEAST:
            return f"will move: {self.incumbent} may not be chosen any more"
        if self.will_move:
            return f"will move: {lead}, {asked}"
        if self.winner not in (self.incumbent, self.challenger):
            return f"will move elsewhere: to {self.winner}, which has the highest score; {lead}, {asked}"
        return f"will not move: {lead}, {asked}; {max(0.0, -self.over_margin_points):g} points or more are missing"


def predicted(values: Mapping[str, int], *, incumbent: str, challenger: str, scale: Scale) -> Prediction:
    """This will foretell a choice of one cluster.

    Args:
        values: the scores of the clusters that the Placement's predicates let pass.
        incumbent: the cluster that is chosen now; one that no predicate lets pass has no say.
        challenger: the cluster that is advised, among `values`.
        scale: the weights.
    """
    final = {
        name: scale.cost_weight * value + (100 * scale.steady_weight if name == incumbent else 0.0)
        for name, value in values.items()
    }
    winner = min(final, key=lambda name: (-final[name], name))
    ends = {LEAST, MOST} & {values[challenger], values.get(incumbent, OUT)}
    lead = values[challenger] - values.get(incumbent, OUT)
    over = lead - (scale.margin_points if incumbent in values else 0.0)
    return Prediction(incumbent, challenger, winner, lead, over, at_end=bool(ends))
