"""The report for machines: the plan's own document with the week it is for."""

from __future__ import annotations

import json

from recommender.report.view import Report


def render(report: Report) -> str:
    """This will return the document as JSON with sorted keys."""
    return json.dumps(report.document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
