"""The roll-out's commands: assess. Arguments in, one call each, results out."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from exporters.core.clock import SystemClock
from exporters.core.output import errors_explained, print_table
from exporters.core.settings_file import ConfigOption
from recommender.assessed import assessed
from recommender.cli import AtOption, load_settings
from recommender.report.assessment import FORMATS, write_assessment
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
        found = assessed(load_settings(config), at=at or SystemClock().now())
        if out is not None:
            for path in write_assessment(found, out, names=form or FORMATS):
                typer.echo(path)
        elif output is AssessFormat.JSON:
            sys.stdout.write(found.to_json())
        else:
            _write_tables(page_of(found))


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
