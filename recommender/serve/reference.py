"""The catalogue as a page for readers: docs/reference/recommender-metrics.md is this module's output.

``python -m recommender.serve.reference > docs/reference/recommender-metrics.md``; a test compares them.
"""

from __future__ import annotations

import sys

from exporters.core.metrics import markdown_table
from recommender.serve.catalogue import ADVICE, AHEAD, DELIVERY, HEALTH, OVERVIEW, SCORES, WATCH

_OPENING = """# Metrics of the recommender

A scrape reads memory only. Figures are those of the last good plan: a failed evaluation changes none of them, so alert
on `tuppence_recommender_evaluation_success == 0` and on the age of `tuppence_recommender_evaluation_timestamp_seconds`.

Savings are pounds for 730 hours. Advice that is owed to a rule (`kind="compliance"`) is counted, but has no saving.
"""

_CLOSING = """The metrics of the process, the platform and the garbage collector (`process_…`, `python_…`) are those of
prometheus-client.
"""


def page() -> str:
    """This will return the page in Markdown."""
    groups = {
        "Advice": ADVICE,
        "The plan by cluster, rule, owner and burst": OVERVIEW,
        "The next hour": AHEAD,
        "Placement scores": SCORES,
        "Watch": WATCH,
        "Delivery of reports": DELIVERY,
        "Health of the recommender": HEALTH,
    }
    return "\n".join(
        [_OPENING, *(line for name, group in groups.items() for line in markdown_table(name, group)), _CLOSING]
    )


if __name__ == "__main__":
    sys.stdout.write(page())
