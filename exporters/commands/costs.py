"""The commands for what was really paid. Arguments in, one call each, results out; no logic."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape

from exporters.commands.cost_changes import (
    LimitOption,
    OutputOption,
    ProviderOption,
    explain_costs,
    list_anomalies,
    read_settings,
)
from exporters.commands.cost_discounts import list_discounts
from exporters.commands.cost_sources import (
    list_budgets,
    list_commitments,
    list_negotiated,
    list_workloads,
    refresh_costs,
    show_forecast,
)
from exporters.core.clock import SystemClock
from exporters.core.errors import SettingsError
from exporters.core.output import ListFormat, errors_explained, print_table, stderr, write_rows
from exporters.core.settings_file import ConfigOption
from exporters.cost_import import CostImport, CostImporter
from exporters.listings.costs import CostBy, at_old_rates, costs_by, for_reading, total_of, totals
from exporters.store.costs import read_costs
from exporters.store.shelf import open_shelf

costs_app = typer.Typer(
    no_args_is_help=True, help="What was really paid: billing exports, the clouds' cost APIs, commitments, budgets."
)
costs_app.command(name="explain")(explain_costs)
costs_app.command(name="anomalies")(list_anomalies)
costs_app.command(name="discounts")(list_discounts)
costs_app.command(name="refresh")(refresh_costs)
costs_app.command(name="budgets")(list_budgets)
costs_app.command(name="forecast")(show_forecast)
costs_app.command(name="commitments")(list_commitments)
costs_app.command(name="negotiated")(list_negotiated)
costs_app.command(name="workloads")(list_workloads)


@costs_app.command(name="import")
def import_costs(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, globs, or s3://, gs://, az:// URLs; default: costs.paths."),
    ] = None,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Read billing exports into daily costs in pounds; show what was left out and why."""
    with errors_explained():
        settings = read_settings(config)
        chosen = paths or list(settings.costs.paths)
        if not chosen:
            raise SettingsError(
                "there is nothing to import", where="costs.paths", next_step="Name a path, or set costs.paths."
            )
        importer = CostImporter(settings=settings, shelf=open_shelf(settings.store.url), clock=SystemClock())
        done = importer.run(chosen)
    if output is ListFormat.JSON:
        sys.stdout.write(_as_json(done) + "\n")
        return
    write_rows(totals(done.days), output, table=for_reading(totals(done.days)))
    _say_what_happened(done)


@costs_app.command(name="show")
def show_costs(  # noqa: PLR0917 - options, which typer reads from the signature
    config: ConfigOption = None,
    by: Annotated[CostBy, typer.Option(help="What costs are added up by.")] = CostBy.SERVICE,
    month: Annotated[list[str] | None, typer.Option(help="Such as 2026-11; may be repeated. Default: all.")] = None,
    provider: ProviderOption = None,
    limit: LimitOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Show what was paid, billed and effective, in pounds; days that may still grow are counted."""
    with errors_explained():
        settings = read_settings(config)
        days = read_costs(open_shelf(settings.store.url), months=month or None).days.filter(
            pl.lit(value=True) if not provider else pl.col("provider").is_in(provider)
        )
    rows = costs_by(days, by)
    shown = rows.head(limit) if limit else rows.head(20) if output is ListFormat.TABLE else rows
    write_rows(shown, output, table=for_reading(shown))
    if days.is_empty():
        chosen = "of that month or provider; tuppence costs show --by month lists all" if month or provider else "yet"
        stderr.print(f"No costs {chosen}. To bring some: tuppence costs import PATH, or tuppence costs refresh")
    elif output is ListFormat.TABLE:
        print_table(for_reading(total_of(days)))


def _as_json(done: CostImport) -> str:
    document = {
        "files": [asdict(one) for one in done.files],
        "totals": totals(done.days).to_dicts(),
        "rejects": done.rejects.to_dicts(),
        "restated": done.restated.to_dicts(),
        "months": list(done.months),
        "too_old": list(done.too_old),
    }
    return json.dumps(document, default=str, ensure_ascii=False, indent=1)


def _say_what_happened(done: CostImport) -> None:
    for one in done.files:
        what = one.note or f"{one.version}, {one.rows:,} charges, {one.rejected:,} left out"
        stderr.print(f"{escape(one.file)}: {what}", soft_wrap=True)
    for reason, rows, example in done.rejects.group_by("reason").agg(_COUNT, _EXAMPLE).sort("reason").iter_rows():
        stderr.print(f"[yellow]left out[/] {rows:,} {reason}: {escape(example)}", soft_wrap=True)
    for row in done.restated.to_dicts():
        what = f"{row['provider']} {row['charge_day']}: billed {row['currency']} {row['billed_before']:.2f}"
        stderr.print(f"[yellow]restated[/] {what}, now {row['billed_now']:.2f}", soft_wrap=True)
    for row in at_old_rates(done.days).to_dicts():
        what = f"{row['currency']} of {row['first']} to {row['last']} is at the rate of {row['fx_date']}"
        stderr.print(
            f"[yellow]old rate[/] {what} ({row['fx_source']}); newer ones: tuppence fetch fx, then import again"
        )
    for month in done.too_old:
        stderr.print(f"[yellow]not kept[/] {month}: older than costs.retention_months")


_COUNT = pl.col("rows").sum()
_EXAMPLE = pl.col("example").min()
