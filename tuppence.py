"""The command: mounts the commands of the two packages, nothing else."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

import exporters.cli
import exporters.commands.costs
import recommender.cli
import recommender.commands.assess
import recommender.commands.deliver
import recommender.commands.emit
import recommender.commands.ledger
import recommender.commands.publish
from exporters.core.config_commands import config_app
from exporters.core.logging import LogFormat, LogLevel, configure_logging
from exporters.settings import ExporterSettings
from recommender.settings import RecommenderSettings

EXIT_CODES = "Exit codes: 0 ok, 1 failure, 2 usage or settings, 3 threshold met."

app = typer.Typer(
    name="tuppence",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="What a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds, and which workload should run where.",
    epilog=EXIT_CODES,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tuppence {version('tuppence')}")
        raise typer.Exit


SERVING = {"export", "serve"}


@app.callback()
def common(
    context: typer.Context,
    log_format: Annotated[LogFormat, typer.Option(help="How log lines on stderr look.")] = LogFormat.AUTO,
    log_level: Annotated[LogLevel | None, typer.Option(help="Default: info while serving, else warning.")] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Set up what every command shares."""
    default = LogLevel.INFO if context.invoked_subcommand in SERVING else LogLevel.WARNING
    configure_logging(form=log_format, level=log_level or default)


for commands in (
    exporters.cli.app,
    recommender.cli.app,
    recommender.commands.emit.app,
    recommender.commands.ledger.app,
    recommender.commands.assess.app,
    recommender.commands.publish.app,
    recommender.commands.deliver.app,
):
    app.registered_commands.extend(commands.registered_commands)
app.add_typer(recommender.commands.publish.mode_app, name="mode")
app.add_typer(exporters.commands.costs.costs_app, name="costs")
app.add_typer(config_app([ExporterSettings, RecommenderSettings]), name="config")


def main() -> None:
    """This will run the command."""
    app()


if __name__ == "__main__":
    main()
