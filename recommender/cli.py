"""The recommender's commands: recommend. Arguments in, one call each, results out; no logic."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from exporters.core.clock import SystemClock, parse_utc
from exporters.core.config_file import read_document, validate
from exporters.core.output import ListFormat, errors_explained
from exporters.core.sections import ALL_SECTIONS
from exporters.core.settings_file import ConfigOption, settings_path
from recommender.inputs import evaluation
from recommender.settings import RecommenderSettings

app = typer.Typer(no_args_is_help=True)

OutputOption = Annotated[ListFormat, typer.Option("--output", "-o", help="table, json or csv.")]


def load_settings(config: Path | None) -> RecommenderSettings:
    """This will read and check the recommender's half of the settings."""
    return validate(read_document(settings_path(config)), RecommenderSettings, known=ALL_SECTIONS)


def _moment(text: str) -> datetime:
    try:
        return parse_utc(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not an ISO 8601 time, such as 2026-11-30T09:00:00Z") from error


AtOption = Annotated[
    datetime | None,
    typer.Option("--at", parser=_moment, metavar="TIME", help="Evaluation time, ISO 8601 in UTC; default: now."),
]


@app.command()
def recommend(config: ConfigOption = None, at: AtOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Say which workload should run where, what it saves a month, and what cannot be said."""
    with errors_explained():
        plan = evaluation(load_settings(config), at=at or SystemClock().now())
    if output is ListFormat.JSON:
        sys.stdout.write(plan.to_json() + "\n")
    else:
        for one in plan.recommendations:
            sys.stdout.write(f"{one.title}\n")
