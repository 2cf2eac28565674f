"""The third part of the assessment: for every mode, the figures by which the next step is judged.

    what the two parts before found, prices, the ledger's record → one step a mode

Pure. A new figure is a function in assess_gates.py and its name in the modes that it decides about.
"""

from __future__ import annotations

from recommender.advise import assess_gates as gates
from recommender.advise.assess_record import MODES, Gate, Mode, Step
from recommender.rollout_settings import RolloutSettings

_NEXT: dict[Mode, Mode] = {"recommend": "shadow", "shadow": "pilot", "pilot": "publish"}


def steps(found: gates.Found, settings: RolloutSettings, *, mode: Mode, min_saving_ratio: float) -> tuple[Step, ...]:
    """This will return the four modes with their figures.

    Args:
        found: what was found.
        settings: the thresholds.
        mode: the one that is set.
        min_saving_ratio: below it a cheaper cluster moves nothing (policy, steady).
    """
    asked: dict[Mode, tuple[Gate, ...]] = {
        "recommend": (
            gates.coverage(found, settings),
            gates.priced(found, settings),
            gates.live(found, settings),
            gates.recorded(found, settings),
        ),
        "shadow": (
            gates.steady(found, settings, min_saving_ratio),
            gates.taken(found, settings),
            gates.suited(found, settings),
        ),
        "pilot": (
            gates.verified(found, settings),
            gates.realised(found, settings),
            gates.by_scheduler(found, settings),
            gates.pending(found, settings),
            gates.waiting_elsewhere(found),
            gates.forecast(found, settings),
        ),
        "publish": (
            gates.steady(found, settings, min_saving_ratio),
            gates.realised(found, settings),
            gates.pending(found, settings),
            gates.waiting_elsewhere(found),
        ),
    }
    return tuple(
        Step(
            mode=one,
            is_current=one == mode,
            next_mode=_NEXT.get(one),
            met=all(gate.met for gate in asked[one]),
            gates=asked[one],
        )
        for one in MODES
    )
