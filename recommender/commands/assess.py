"""The roll-out's commands: assess, feedback. Arguments in, one call each, results out."""

# ruff: noqa: FBT002 - typer reads options from arguments

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from exporters.core.clock import SystemClock
from exporters.core.output import ListFormat, errors_explained, print_table, write_rows
from exporters.core.settings_file import ConfigOption
from recommender.assessed import assessed
from recommender.cli import AtOption, OutputOption, load_settings
from recommender.feedback import feedback as read_back
from recommender.feedback import read_objects
from recommender.ledger.links import linked_rows
from recommender.publishing import Publishing
from recommender.report import words
from recommender.report.assessment import FORMATS, check_formats, write_assessment
from recommender.report.assessment_view import AssessmentPage, Table, page_of

app = typer.Typer(no_args_is_help=True)


class AssessFormat(StrEnum):
    """Formats on stdout."""

    TABLE = "table"
    JSON = "json"


@app.command()
def assess(
    config: ConfigOption = None,
    at: AtOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write assessment.html, .md and .json there instead.")
    ] = None,
    form: Annotated[
        list[str] | None, typer.Option("--format", help="With --out: html, md, json; may be repeated; default: all.")
    ] = None,
    output: Annotated[AssessFormat, typer.Option("--output", "-o", help="table or json.")] = AssessFormat.TABLE,
) -> None:
    """Say what the clusters cost and how they perform, what suits a pilot, and what the next mode waits for."""
    with errors_explained():
        check_formats(form or ())
        found = assessed(load_settings(config), at=at or SystemClock().now())
        if out is not None:
            for path in write_assessment(found, out, names=form or FORMATS):
                typer.echo(path)
        elif output is AssessFormat.JSON:
            sys.stdout.write(found.to_json())
        else:
            _write_tables(page_of(found))


@app.command()
def feedback(
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What kubectl get … -o json or -o yaml prints; -: standard input; default: Placements of emit.hub.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing into the ledger.")] = False,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Read what schedulers decided back, and write down the advice that they carried out."""
    with errors_explained():
        settings = load_settings(config)
        objects = Publishing(settings).decided() if decisions is None else read_objects(decisions)
        where = "emit.hub" if decisions is None else str(decisions)
        links = read_back(settings, objects, at=SystemClock().now(), where=where, write=not dry_run)
        rows = linked_rows(links)
        write_rows(rows, output, table=_people_read(rows), title="Decisions")


def _write_tables(page: AssessmentPage) -> None:
    for table in page.tables:
        if table.rows:
            print_table(_frame(table), title=table.title, right=[table.head[number] for number in table.right])
        else:
            sys.stdout.write(f"{table.title}: {table.nothing}\n")
        sys.stdout.write("\n")
    sys.stdout.write(f"{page.verdict}\nMode: {page.mode}. Usage: {page.usage}.\n")


def _frame(table: Table) -> pl.DataFrame:
    return pl.DataFrame([dict(zip(table.head, row, strict=True)) for row in table.rows])


def _people_read(rows: pl.DataFrame) -> pl.DataFrame:
    """Names in the file may hold characters that a terminal obeys."""
    return rows.select(
        pl.col("source").alias("decision"),
        pl.col("outcome"),
        pl.col("why"),
        pl.col("recommendation_id").fill_null("").alias("id"),
        pl.col("title").fill_null("").alias("advice"),
        pl.when("recorded").then(pl.lit("yes")).otherwise(pl.lit("no")).alias("written down"),
    ).with_columns(pl.col(pl.String).map_elements(words.shown, return_dtype=pl.String))
