"""`tuppence emit`: today's advice as objects that schedulers take as they are, in a folder for one pull request."""

# ruff: noqa: FBT002, PLR0917 - typer reads options from arguments

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from exporters.core.clock import SystemClock
from exporters.core.output import errors_explained
from exporters.core.settings_file import ConfigOption
from recommender.cli import AtOption, load_settings
from recommender.emit.index import Index
from recommender.emit.write import check_replaceable
from recommender.emitted import emit_to, hand_over, systems_named
from recommender.ocm_dry_run import dry_runs

app = typer.Typer(no_args_is_help=True)


@app.command()
def emit(
    config: ConfigOption = None,
    system: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Whose objects; may be repeated; default: all systems.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write; one that was handed over before is replaced.")] = Path(
        "tuppence-emit"
    ),
    at: AtOption = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Do not read what was decided and proposed before.")
    ] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of index.json, and leave.")] = False,
) -> None:
    """Write today's advice for Kubernetes, OCM, Kueue, Karmada and others, re-priced, with its roll-back."""
    if schema:
        sys.stdout.write(json.dumps(Index.model_json_schema(), indent=2, ensure_ascii=False) + "\n")
        return
    with errors_explained():
        systems = systems_named(system or ())
        check_replaceable(out)
        given = hand_over(load_settings(config), at=at or SystemClock().now(), no_ledger=no_ledger)
        index = emit_to(out, given, systems)
    for part in index.systems:
        typer.echo(f"{part.name}: {len(part.documents)} written, {len(part.not_expressed)} not expressed")
    with errors_explained():
        if given.subject.settings.ocm.debug_url is not None and any(one.name == "ocm" for one in systems):
            for checked in dry_runs(given.subject):
                typer.echo(checked.sentence())
    if index.superseded:
        typer.echo(f"{len(index.superseded)} superseded: do not apply what was written for them before.")
    typer.echo(out / "index.md")
