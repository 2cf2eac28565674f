"""What buying nodes ahead is worth: node by node, against paying for them by the hour they run. Pure.

A node that is bought ahead costs its price whether it runs or not, so it pays once it runs for a larger share of the
time than

    break-even = its price an hour bought ahead ÷ its price an hour on demand

(the newsvendor's rule, node by node, as in burst.extend). Usage that falls away in month m of a term of T months leaves
T × price bought ahead − m × price on demand paid too much: no commitment of a year or three can be given back in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.commitment_record import TermOffered

DIGITS = 9
TERM_MONTHS = {"committed-1y": 12, "committed-3y": 36}
_ROUNDING = 1e-9


def steady(hours: Sequence[float], *, quantile: float) -> float:
    """This will return what is not undercut in more than a share of the hours; 0 without any.

    Args:
        hours: nodes that ran, one figure an observed hour.
        quantile: the share, from 0 to 1; the lower of two neighbours is taken.
    """
    return sorted(hours)[int(quantile * (len(hours) - 1))] if hours else 0.0


def used_share(hours: Sequence[float], number: int) -> float:
    """This will return the share of the time in which the n-th node of a pool is used.

    Args:
        hours: nodes that ran, one figure an observed hour.
        number: from 1.
    """
    used = math.fsum(min(max(one - (number - 1), 0.0), 1.0) for one in hours)
    return used / len(hours) if hours else 0.0


def worthwhile(hours: Sequence[float], *, most: int, committed: float, on_demand: float) -> int:
    """This will return how many nodes are each used for more of the time than they must be to pay.

    Args:
        hours: nodes that ran, one figure an observed hour.
        most: looked at.
        committed: price of a node bought ahead, £/h.
        on_demand: the same by the hour.
    """
    number = 0
    while number < most and used_share(hours, number + 1) * on_demand > committed + _ROUNDING:
        number += 1
    return number


def saving(hours: Sequence[float], *, first: int, last: int, committed: float, on_demand: float) -> float:
    """This will return what nodes from the first to the last save an hour when they are bought ahead, £/h."""
    return sum(used_share(hours, number) * on_demand - committed for number in range(first, last + 1))


def term_offered(
    capacity_type: str, *, nodes: int, committed: float, on_demand: float, saving_gbp_per_hour: float
) -> TermOffered:
    """This will say what a term costs, when it has paid for itself, and what is lost when usage falls away."""
    months = TERM_MONTHS[capacity_type]
    monthly, by_the_hour = (price * nodes * HOURS_PER_MONTH for price in (committed, on_demand))
    told = sorted({1, months // 4, months // 2, months})
    return TermOffered(
        capacity_type=capacity_type,
        term_months=months,
        gbp_per_node_hour=round(committed, DIGITS),
        on_demand_gbp_per_node_hour=round(on_demand, DIGITS),
        break_even_ratio=round(committed / on_demand, DIGITS),
        break_even_months=round(months * committed / on_demand, DIGITS),
        saving_gbp_per_month=round(saving_gbp_per_hour * HOURS_PER_MONTH, 2),
        whole_term_gbp=round(months * monthly, 2),
        losses_gbp=tuple((month, round(months * monthly - month * by_the_hour, 2)) for month in told),
    )
