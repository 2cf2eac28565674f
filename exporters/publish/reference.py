"""The catalogue as a page for readers: docs/reference/metrics.md is this module's output, and a test compares them.

``python -m exporters.publish.reference > docs/reference/metrics.md``
"""

from __future__ import annotations

import sys

from exporters.core.metrics import markdown_table
from exporters.publish.catalogue import HEALTH, PRICES
from exporters.publish.cost_catalogue import COSTS

_OPENING = """# Metrics of the exporter

A scrape reads memory only: prices come from each source's last good snapshot, which is refreshed in the background
every `refresh_minutes` of the source, and stop when it is older than the source's `max_age_hours`.

Every price is in pounds, at one exchange rate per currency. A label without a value (`zone=""`: the whole region;
`gpu_model=""`: no GPU) counts as absent in PromQL. `region` and `zone` are common target labels too, so scrape
with `honor_labels: true`. Prices that are only illustrative have no series; `tuppence prices` lists them.
"""

_CLOSING = """The metrics of the process, the platform and the garbage collector (`process_…`, `python_…`) are those of
prometheus-client.
"""


def page() -> str:
    """This will return the page in Markdown."""
    return "\n".join(
        [
            _OPENING,
            *markdown_table("Prices", PRICES),
            *markdown_table("What was really paid", COSTS),
            *markdown_table("Health of the exporter", HEALTH),
            _CLOSING,
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(page())
