"""How many examples a property test tries: few in a quick run, many where ``PROPERTIES=deep`` stands, as in a slow one.

Only of tests whose examples are dear; the others try as many as the profile in conftest.py says.
"""

from __future__ import annotations

import os

DEEP = os.environ.get("PROPERTIES") == "deep"


def examples(quick: int, deep: int) -> int:
    """The number of examples of this run."""
    return deep if DEEP else quick
