"""The commands for why costs changed and what is unusual. Arguments in, one call each, results out; no logic."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape

from exporters.core.config_file import read_document, validate
from exporters.core.cost_change_frames import Span
from exporters.core.errors import SettingsError
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.sections import ALL_SECTIONS
from exporters.core.settings_file import ConfigOption, settings_path
from exporters.cost_explained import Explanation, anomalies, explain
from exporters.listings.cost_changes import (
    anomalies_for_reading,
    anomalies_in_pence,
    changes_for_reading,
    changes_in_pence,
    sentence,
    total_in_pence,
)
from exporters.normalise.cost_changes import ChangeBasis
from exporters.settings import ExporterSettings
from exporters.store.costs import read_costs
from exporters.store.shelf import open_shelf

OutputOption = Annotated[ListFormat, typer.Option("--output", "-o", help="table, json or csv.")]
ProviderOption = Annotated[list[str] | None, typer.Option(help="aws, azure, gcp …; may be repeated.")]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Rows to show; default: 20 in a table, else all.")]
DATE = ["%Y-%m-%d"]


def explain_costs(  # noqa: PLR0917 - options, which typer reads from the signature
    config: ConfigOption = None,
    day: Annotated[
        datetime | None, typer.Option(formats=DATE, help="A whole day; default: the last one of each account.")
    ] = None,
    week: Annotated[
        datetime | None, typer.Option(formats=DATE, help="The seven whole days that end on this one.")
    ] = None,
    basis: Annotated[ChangeBasis, typer.Option(help="effective or billed.")] = "effective",
    provider: ProviderOption = None,
    limit: LimitOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Say why a day, or a week, cost more or less than the one a week before: usage, price, mix, commitments, FX."""
    with errors_explained():
        if day and week:
            raise SettingsError("there are both", where="--day, --week", next_step="Name one of them.")
        days = _days(read_settings(config), provider)
    last = week or day
    span = Span.WEEK if week else Span.DAY
    explained = explain(days, span=span, day=None if last is None else last.date(), basis=basis)
    rows = changes_in_pence(explained.changes)
    shown = _limited(rows, limit, output)
    write_rows(shown, output, table=changes_for_reading(shown))
    _say_what_was_compared(explained, shown=shown.height, of=rows.height)


def list_anomalies(  # noqa: PLR0917 - options, which typer reads from the signature
    config: ConfigOption = None,
    days: Annotated[int, typer.Option(min=1, help="How many whole days of each account are judged.")] = 7,
    every: Annotated[bool, typer.Option("--all", help="Every judged day, unusual or not.")] = False,  # noqa: FBT002
    provider: ProviderOption = None,
    limit: LimitOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """List days on which a service cost more than its own past let one expect, with the range that was expected."""
    with errors_explained():
        settings = read_settings(config)
        known = _days(settings, provider)
    judged = anomalies(known, settings.costs.anomalies.as_rules(), judged_days=days)
    rows = anomalies_in_pence(judged if every else judged.filter(pl.col("is_anomaly")))
    shown = _limited(rows, limit, output)
    write_rows(shown, output, table=anomalies_for_reading(shown))
    if known.is_empty():
        stderr.print("No costs yet. Import an export: tuppence costs import PATH")
        return
    unusual = judged.filter(pl.col("is_anomaly")).height
    stderr.print(f"{unusual:,} of {judged.height:,} days of services cost more than was to be expected.")
    if judged.is_empty():
        stderr.print("A series is judged once three weeks of it are known, and only on whole days.")


def read_settings(config: ConfigOption) -> ExporterSettings:
    """This will read and check the exporter's half of the settings."""
    return validate(read_document(settings_path(config)), ExporterSettings, known=ALL_SECTIONS)


def _days(settings: ExporterSettings, provider: list[str] | None) -> pl.DataFrame:
    days = read_costs(open_shelf(settings.store.url)).days
    return days.filter(pl.col("provider").is_in(provider)) if provider else days


def _limited(rows: pl.DataFrame, limit: int | None, output: ListFormat) -> pl.DataFrame:
    return rows.head(limit) if limit else rows.head(20) if output is ListFormat.TABLE else rows


def _say_what_was_compared(explained: Explanation, *, shown: int, of: int) -> None:
    if not explained.changes.is_empty():
        rest = "" if shown == of else f" ({of - shown:,} more are not shown)"
        stderr.print(f"{escape(sentence(total_in_pence(explained.changes), of='All'))}{rest}", soft_wrap=True)
    for provider, account, until in explained.left_out.select("provider", "billing_account", "whole_until").iter_rows():
        stderr.print(f"[yellow]not compared[/] {provider} {escape(account)}: whole until {until}", soft_wrap=True)
    if explained.changes.is_empty() and explained.left_out.is_empty():
        stderr.print("No costs yet. Import an export: tuppence costs import PATH")
