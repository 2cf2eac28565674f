"""The API's OpenAPI document as a file: ``python -m recommender.serve.openapi > docs/reference/openapi.json``."""

from __future__ import annotations

import json
import sys

from exporters.core.clock import SystemClock
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan


def document() -> str:
    """This will return the document of the API that is served, with a newline at its end."""
    app = create_app(Recommender(last=LastPlan(), clock=SystemClock(), reload=lambda: None))
    return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
