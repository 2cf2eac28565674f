"""The exporter's commands: export, fetch, prices, check. Arguments in, one call each, results out; no logic."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape

from exporters.core.clock import SystemClock
from exporters.core.config_file import read_document, validate
from exporters.core.errors import SettingsError
from exporters.core.frames import is_illustrative
from exporters.core.leaving import leaving_promptly
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.progress import terminal_progress
from exporters.core.scratch import scratch_folder
from exporters.core.sections import ALL_SECTIONS
from exporters.core.settings_file import ConfigOption, settings_path
from exporters.cost_refresh import CostRefresher
from exporters.fetch.contract import Source
from exporters.fetch.cost_files import check_paths
from exporters.fetch.cost_registry import COST_SOURCES
from exporters.fetch.registry import SOURCES
from exporters.listings.prices import Unit, checks_table, findings_table, list_prices, prices_table
from exporters.permissions import STORE, WITHOUT_RIGHTS, documents
from exporters.publish.health import Health
from exporters.refresh import Outcome, Refresher
from exporters.settings import ExporterSettings
from exporters.store.read import CLOCK_SKEW, combine, last_snapshots
from exporters.store.shelf import open_shelf
from exporters.store.snapshot import FX_SOURCE

app = typer.Typer(no_args_is_help=True)
OutputOption = Annotated[ListFormat, typer.Option("--output", "-o", help="table, json or csv.")]


def load_settings(config: Path | None) -> ExporterSettings:
    """This will read and check the exporter's half of the settings."""
    return validate(read_document(settings_path(config)), ExporterSettings, known=ALL_SECTIONS)


@app.command()
def export(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 0.0.0.0: every one.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any free one.")] = None,
    fetch_sources: Annotated[
        bool, typer.Option("--fetch/--no-fetch", help="Refresh the sources, or serve what the store holds.")
    ] = True,
) -> None:
    """Serve prices to Prometheus and keep them fresh."""
    from exporters.serving import serve_exporter  # noqa: PLC0415 - only a service pays for the web server

    with leaving_promptly(), errors_explained():
        settings = load_settings(config)
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        web = settings.exporter_web.model_copy(update=given)
        settings = settings.model_copy(update={"exporter_web": web})
        serve_exporter(settings, load=lambda: load_settings(config), fetch=fetch_sources)


@app.command()
def fetch(
    source: Annotated[
        str | None, typer.Argument(help="aws, gcp, azure, onprem, book or fx; default: all enabled.")
    ] = None,
    config: ConfigOption = None,
    accept: Annotated[bool, typer.Option(help="Take prices that moved implausibly as they are.")] = False,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Refresh one source, or all that are enabled; show what was left out and why."""
    with errors_explained():
        settings = load_settings(config)
        with terminal_progress() as progress:
            refresher = Refresher(
                settings=settings,
                shelf=open_shelf(settings.store.url),
                clock=SystemClock(),
                log=Health(),
                progress=progress,
                accept_changes=accept,
            )
            outcomes = _refresh(refresher, source)
            refresher.seed()
    write_rows(_outcomes_table(outcomes), output)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    for outcome in failed:
        stderr.print(f"[bold red]error[/] {escape(str(outcome.error))}", soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def _refresh(refresher: Refresher, name: str | None) -> list[Outcome]:
    if name == FX_SOURCE:
        return [refresher.refresh_fx()]
    if name is not None:
        return [refresher.refresh(_source_named(name))]
    return [refresher.refresh_fx(), *(refresher.refresh(source) for source in refresher.enabled())]


def _source_named(name: str) -> Source:
    for source in SOURCES:
        if source.name == name:
            return source
    raise SettingsError(
        f"there is no source {name!r}",
        where="tuppence",
        next_step=f"Name one of: fx, {', '.join(source.name for source in SOURCES)}.",
    )


def _outcomes_table(outcomes: list[Outcome]) -> pl.DataFrame:
    rows = [
        {
            "source": outcome.source,
            "result": "ok" if outcome.error is None else "failed",
            "offers": outcome.snapshot.offers.height if outcome.snapshot else 0,
            "egress_rates": outcome.snapshot.egress.height if outcome.snapshot else 0,
            "rejected": _rejected(outcome),
            "skipped": "; ".join(f"{region}: {why}" for region, why in _skipped(outcome)),
        }
        for outcome in outcomes
    ]
    return pl.DataFrame(rows)


def _rejected(outcome: Outcome) -> str:
    if outcome.snapshot is None:
        return ""
    counts = outcome.snapshot.rejects.group_by("reason").agg(pl.col("rows").sum()).sort("reason")
    return ", ".join(f"{rows} {reason}" for reason, rows in counts.iter_rows())


def _skipped(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    return outcome.snapshot.manifest.skipped if outcome.snapshot else ()


@app.command()
def prices(
    config: ConfigOption = None,
    provider: Annotated[list[str] | None, typer.Option(help="aws, gcp, azure, onprem …; may be repeated.")] = None,
    region: Annotated[list[str] | None, typer.Option(help="Region code; may be repeated.")] = None,
    instance_type: Annotated[list[str] | None, typer.Option(help="Machine type; may be repeated.")] = None,
    gpu_model: Annotated[
        list[str] | None, typer.Option(help="Canonical GPU model, such as L4; may be repeated.")
    ] = None,
    capacity_type: Annotated[list[str] | None, typer.Option(help="on-demand, spot, owned …; may be repeated.")] = None,
    by: Annotated[Unit, typer.Option(help="Cheapest first by this unit.")] = Unit.INSTANCE,
    illustrative: Annotated[
        bool, typer.Option("--illustrative", help="Also prices that only show what a price looks like.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows to show; default: 20 in a table, else all.")] = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """List prices, cheapest first."""
    with errors_explained():
        settings = load_settings(config)
        shelf = open_shelf(settings.store.url)
        now = datetime.now(UTC)
        refresher = Refresher(settings=settings, shelf=shelf, clock=SystemClock(), log=Health())
        live = [*last_snapshots(shelf, until=now + CLOCK_SKEW), *refresher.packaged_snapshots()]
        found = combine({snapshot.manifest.source: snapshot for snapshot in live}.values(), now=now)
        chosen = list_prices(
            found.offers if illustrative else found.offers.filter(~is_illustrative()),
            by=by,
            provider=provider,
            region=region,
            instance_type=instance_type,
            gpu_model=gpu_model,
            capacity_type=capacity_type,
        )
        rows = chosen.head(limit) if limit else chosen.head(20) if output is ListFormat.TABLE else chosen
        machine, person = prices_table(rows)
        write_rows(machine, output, table=person)
        for manifest in found.stale:
            stderr.print(f"[yellow]left out[/] {manifest.id}: too old. Run: tuppence fetch {manifest.source}")
        if not illustrative and (left_out := found.offers.filter(is_illustrative()).height):
            stderr.print(f"{left_out} illustrative prices left out; --illustrative shows them.")
        if output is ListFormat.TABLE and rows.height < chosen.height:
            stderr.print(f"{rows.height} of {chosen.height} offers; --limit shows more.")


@app.command()
def check(
    source: Annotated[str | None, typer.Argument(help="A source, or fx; default: all enabled.")] = None,
    config: ConfigOption = None,
    permissions: Annotated[
        bool, typer.Option(help="Print the least rights that the settings ask for, and nothing else.")
    ] = False,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Look at credentials, permissions and reachability of each source, and say the next step."""
    with errors_explained():
        settings = load_settings(config)
        if permissions:
            _write_permissions(settings, source, output)
            return
        refresher = Refresher(
            settings=settings, shelf=open_shelf(settings.store.url), clock=SystemClock(), log=Health()
        )
        chosen = _price_sources(refresher, source)
        with scratch_folder() as scratch:
            findings = checks_table(chosen, refresher, rates=source in {None, FX_SOURCE}, scratch=scratch)
            findings = pl.concat([findings, _cost_findings(settings, source)])
    write_rows(findings, output)
    if source is None and not chosen:
        stderr.print(
            "No source is enabled; the packaged book serves. Enable one in the settings: sources.azure.enabled: true"
        )
    if "failed" in findings["state"].to_list():
        raise typer.Exit(1)


def _price_sources(refresher: Refresher, name: str | None) -> tuple[Source, ...]:
    """The sources of prices that are meant; none for the rates and for what is a source of costs alone."""
    if name is None:
        return refresher.enabled()
    of_costs = {one.name for one in COST_SOURCES} - {one.name for one in SOURCES}
    return () if name in {FX_SOURCE, *of_costs} else (_source_named(name),)


def _cost_findings(settings: ExporterSettings, source: str | None) -> pl.DataFrame:
    """What sources of costs look at: exports in files, and those that are enabled, or of the cloud that was named."""
    refresher = CostRefresher(settings=settings, shelf=open_shelf(settings.store.url), clock=SystemClock())
    chosen = [one for one in refresher.enabled() if source in {None, one.name}]
    found = [("costs.paths", finding) for finding in check_paths(settings.costs.paths if source is None else ())]
    return findings_table(found + [(f"costs.{one.name}", item) for one in chosen for item in refresher.check(one)])


def _write_permissions(settings: ExporterSettings, name: str | None, output: ListFormat) -> None:
    """The documents on stdout, so that they can be handed on as they are; what each is for on stderr."""
    enabled = [source.name for source in SOURCES if settings.sources.of(source.name).enabled]
    names = [*(enabled or WITHOUT_RIGHTS), STORE] if name is None else [name]
    if name is not None and name not in WITHOUT_RIGHTS:
        _source_named(name)
    found = documents(settings, names)
    if output is ListFormat.JSON:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
        return
    if output is ListFormat.CSV:
        columns = ("source", "holder", "kind", "body")
        rows = [(one.source, one.holder, one.kind, json.dumps(one.body)) for one in found]
        write_rows(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row"), output)
        return
    for one in found:
        stderr.print(f"[bold]{one.source}[/]: {one.kind} for {one.holder}")
        typer.echo(json.dumps(one.body, indent=2))
    for bare in dict.fromkeys(names):
        if all(one.source != bare for one in found):
            stderr.print(f"[bold]{bare}[/]: no rights needed; {WITHOUT_RIGHTS[bare]}.", soft_wrap=True)
