"""The command for what was really paid below list price. Arguments in, one call, results out; no logic."""

from __future__ import annotations

from typing import Annotated

import polars as pl
import typer

from exporters.commands.cost_changes import OutputOption, ProviderOption, read_settings
from exporters.core.clock import SystemClock
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.settings_file import ConfigOption
from exporters.listings.costs import discounts_for_reading
from exporters.store.costs import read_costs
from exporters.store.discounts import discounts
from exporters.store.shelf import open_shelf

DaysOption = Annotated[
    int | None, typer.Option(min=1, help="How many of the last whole days count; default: costs.discount_days.")
]


def list_discounts(
    config: ConfigOption = None,
    days: DaysOption = None,
    provider: ProviderOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Show how far below list price machines were really paid, by family and region, and whether that holds."""
    with errors_explained():
        settings, today = read_settings(config), SystemClock().now().date()
        paid = read_costs(open_shelf(settings.store.url)).days
        found = discounts(paid, until=today, last_days=days or settings.costs.discount_days).filter(
            pl.lit(value=True) if not provider else pl.col("provider").is_in(provider)
        )
    write_rows(found, output, table=discounts_for_reading(found))
    if found.is_empty():
        stderr.print("No discounts: no machine was paid for lately whose list cost is known. See tuppence costs show.")
