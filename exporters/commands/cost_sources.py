"""The commands for sources of costs and for what holds beside the charges. Arguments in, one call each, results out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape

from exporters.commands.cost_changes import LimitOption, OutputOption, read_settings
from exporters.core.clock import SystemClock
from exporters.core.errors import SettingsError
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.progress import terminal_progress
from exporters.core.settings_file import ConfigOption
from exporters.cost_refresh import CostOutcome, CostRefresher
from exporters.cost_statement import state_settings
from exporters.fetch.cost_contract import CostSource
from exporters.fetch.cost_registry import COST_SOURCES
from exporters.listings.costs import for_reading
from exporters.listings.standing import (
    WorkloadsBy,
    budgets_table,
    commitments_table,
    forecasts_table,
    negotiated_table,
    workloads_table,
)
from exporters.settings import ExporterSettings
from exporters.store.costs import read_costs
from exporters.store.read import current_rates
from exporters.store.shelf import open_shelf
from exporters.store.standing import Standing, read_standing


def refresh_costs(
    source: Annotated[str | None, typer.Argument(help="aws, azure, gcp or opencost; default: all enabled.")] = None,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Ask one source of costs, or all that are enabled; show what was left out and why."""
    with errors_explained():
        settings = read_settings(config)
        with terminal_progress() as progress:
            refresher = CostRefresher(
                settings=settings, shelf=open_shelf(settings.store.url), clock=SystemClock(), progress=progress
            )
            chosen = refresher.enabled() if source is None else (source_named(source),)
            if not chosen:
                raise SettingsError(
                    "no source of costs is enabled",
                    where="costs",
                    next_step="Enable one (costs.azure.enabled: true), or import exports: tuppence costs import PATH.",
                )
            outcomes = [refresher.refresh(one) for one in chosen]
    write_rows(_outcomes(outcomes), output, table=for_reading(_outcomes(outcomes)))
    for one in outcomes:
        _say(one)
    if any(one.error is not None for one in outcomes):
        raise typer.Exit(1)


def list_budgets(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Show budgets beside what this month is expected to come to."""
    with errors_explained():
        settings = read_settings(config)
        now, held, shelf = datetime.now(UTC), _standing(settings), open_shelf(settings.store.url)
        rows = budgets_table(read_costs(shelf).days, held, current_rates(shelf), today=now.date())
    _write(rows, output, nothing="No budgets. State some in the settings: costs.budgets, or enable a source of costs.")


def show_forecast(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Show what this month will have been billed, with its range, and what providers expect."""
    with errors_explained():
        settings = read_settings(config)
        now, held, shelf = datetime.now(UTC), _standing(settings), open_shelf(settings.store.url)
        rows = forecasts_table(read_costs(shelf).days, held, current_rates(shelf), today=now.date())
    _write(rows, output, nothing="No forecast: it needs 14 whole days of costs, none older than four days.")


def list_commitments(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Show commitments in force: what they cost, how far they are used, when they end."""
    with errors_explained():
        settings = read_settings(config)
        now, held, shelf = datetime.now(UTC), _standing(settings), open_shelf(settings.store.url)
        rows = commitments_table(read_costs(shelf).days, held, current_rates(shelf), now=now)
    _write(rows, output, nothing="No commitments. State some in the settings: costs.commitments, or enable a source.")


def list_negotiated(
    config: ConfigOption = None, limit: LimitOption = None, output: OutputOption = ListFormat.TABLE
) -> None:
    """Show what price sheets say was negotiated below list, meter by meter."""
    with errors_explained():
        settings = read_settings(config)
        rates = current_rates(open_shelf(settings.store.url))
        rows = negotiated_table(_standing(settings), rates, today=datetime.now(UTC).date())
    shown = rows.head(limit) if limit else rows.head(20) if output is ListFormat.TABLE else rows
    _write(shown, output, nothing="No negotiated prices. Azure's price sheets bring them: costs.azure.price_sheets.")


def list_workloads(
    config: ConfigOption = None,
    by: Annotated[WorkloadsBy, typer.Option(help="What costs are added up by.")] = WorkloadsBy.WORKLOAD,
    days: Annotated[int, typer.Option(min=1, help="Whole days up to yesterday.")] = 7,
    limit: LimitOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Show what workloads cost inside their clusters, as OpenCost says."""
    with errors_explained():
        settings = read_settings(config)
        held = _standing(settings)
        rates = current_rates(open_shelf(settings.store.url))
        rows = workloads_table(held, rates, by=by, today=datetime.now(UTC).date(), days=days)
    shown = rows.head(limit) if limit else rows.head(20) if output is ListFormat.TABLE else rows
    _write(shown, output, nothing="No costs of workloads. Enable costs.opencost, then: tuppence costs refresh opencost")


def source_named(name: str) -> CostSource:
    """This will return the source of costs with a name.

    Raises:
        SettingsError: there is none.
    """
    for source in COST_SOURCES:
        if source.name == name:
            return source
    raise SettingsError(
        f"there is no source of costs {name!r}",
        where="tuppence",
        next_step=f"Name one of: {', '.join(source.name for source in COST_SOURCES)}.",
    )


def _standing(settings: ExporterSettings) -> Standing:
    """What holds now, what the settings state among it."""
    shelf = open_shelf(settings.store.url)
    state_settings(settings, shelf, now=datetime.now(UTC))
    return read_standing(shelf)


def _write(rows: pl.DataFrame, output: ListFormat, *, nothing: str) -> None:
    write_rows(rows, output, table=for_reading(rows))
    if rows.is_empty():
        stderr.print(nothing)


def _outcomes(outcomes: list[CostOutcome]) -> pl.DataFrame:
    rows = [
        {
            "source": one.source,
            "result": "ok" if one.error is None else "failed",
            "days": one.days["charge_day"].n_unique(),
            "billed_gbp": round(float(one.days["billed_gbp"].sum() or 0), 2),
            "effective_gbp": round(float(one.days["effective_gbp"].sum() or 0), 2),
            "restated_days": one.restated["charge_day"].n_unique(),
            "left_out": int(one.rejects["rows"].sum() or 0),
            "paid_requests": one.paid_requests,
        }
        for one in outcomes
    ]
    return pl.DataFrame(rows)


def _say(one: CostOutcome) -> None:
    for row in one.rejects.to_dicts():
        stderr.print(f"[yellow]left out[/] {row['rows']:,} {row['reason']}: {escape(row['example'])}", soft_wrap=True)
    for skipped in one.skipped:
        stderr.print(f"[yellow]skipped[/] {escape(skipped.region)}: {escape(skipped.why)}", soft_wrap=True)
    if one.error is not None:
        stderr.print(f"[bold red]error[/] {escape(str(one.error))}", soft_wrap=True)
