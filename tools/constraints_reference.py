"""Constraints and guards as a page: docs/reference/constraints.md is this module's output, and a test compares them.

``python -m tools.constraints_reference > docs/reference/constraints.md``
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from recommender.guard.decided import DECISIONS
from recommender.guard.steady import BALANCE, worth_rules
from recommender.place.constraints import CONSTRAINTS
from recommender.place.rule import Rule
from recommender.settings import Steady

_OPENING = """# Constraints and guards

The words in the column *rule* are those of plans, explanations and reports. Each refusal keeps its reason; the cheapest
offer that was refused is shown with what the rule costs ([how a place is chosen](../explanation/placement.md)).

## Hard constraints

A place that one of them refuses is never advised, whatever it saves. They are told in this order: law first, then what
cannot run, then what has no room, then what has no price.
"""

_GUARDS = """## Guards

A move that passes the constraints is advised only if it is worth it. The thresholds are the policy's (`steady`); its
defaults are in [settings](settings.md).
"""

_BINDS = (
    "*Binds what runs*: a workload that already runs against the rule is in breach, and a move out of it is owed, even "
    "one that costs money. *Legal basis*: the class's own is printed beside the refusal.\n"
)
_CAP = (
    "Besides, no more moves a week than `steady.max_moves_per_week`: those that disturb least for what they save come "
    "first. A move owed to a rule is not held back.\n"
)
_DECISIONS = """## Decisions

What people decided in the ledger holds a move back, too ([decide](../how-to/decide.md)).
"""


def page() -> str:
    """This will return the page in Markdown."""
    parts = [
        _OPENING,
        *_table(CONSTRAINTS),
        _BINDS,
        _GUARDS,
        *_short((*worth_rules(Steady()), BALANCE)),
        _CAP,
        _DECISIONS,
        *_short(DECISIONS),
    ]
    return "\n".join(parts)


def _table(rules: Sequence[Rule]) -> list[str]:
    rows = [
        f"| `{rule.id}` | {rule.says} | {_yes(held=rule.binds_current)} | {_yes(held=rule.has_legal_basis)} |"
        for rule in rules
    ]
    return ["| rule | says | binds what runs | legal basis |", "|---|---|---|---|", *rows, ""]


def _short(rules: Sequence[Rule]) -> list[str]:
    return ["| rule | says |", "|---|---|", *(f"| `{rule.id}` | {rule.says} |" for rule in rules), ""]


def _yes(*, held: bool) -> str:
    return "yes" if held else ""


if __name__ == "__main__":
    sys.stdout.write(page())
