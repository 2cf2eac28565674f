"""What the settings state of commitments and budgets, put on the shelf beside what sources of costs state.

So the recommender, which reads the shelf and not the exporter's settings, knows it too.
"""

from __future__ import annotations

from datetime import datetime

from exporters.fetch.stated import SETTINGS, budgets_of, commitments_of
from exporters.settings import ExporterSettings
from exporters.store.shelf import Shelf
from exporters.store.standing import last_statement
from exporters.store.standing_write import write_statement


def state_settings(settings: ExporterSettings, shelf: Shelf, *, now: datetime) -> None:
    """This will write what the settings state, if it is not what the shelf has already.

    Raises:
        StoreError: the shelf cannot be read or written.
    """
    frames = {
        "budgets": budgets_of(settings.costs.budgets),
        "commitments": commitments_of(settings.costs.commitments),
    }
    before = last_statement(shelf, SETTINGS)
    if before is None or any(not frame.equals(before[1][name]) for name, frame in frames.items()):
        write_statement(shelf, SETTINGS, frames, now=now)
