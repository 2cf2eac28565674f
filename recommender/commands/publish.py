"""The commands of live scores: mode show, mode set, mode rbac, publish, stop. Arguments in, one call each, rows out."""

# ruff: noqa: FBT002 - typer reads options from arguments

from __future__ import annotations

import sys
from typing import Annotated

import polars as pl
import typer
import yaml

from exporters.core.clock import SystemClock
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.settings_file import ConfigOption
from recommender.cli import OutputOption, load_settings
from recommender.commands.ledger import AuthorOption, ReasonOption
from recommender.emit.live.modes import Allowed, Mode
from recommender.emit.live.publisher import Withdrawn
from recommender.emit.live.rbac import rights
from recommender.observe.hub_fleet import DISAGREE
from recommender.publishing import Published, Publishing, approve, mode_in_force, running_in
from recommender.recorded import recorded
from recommender.report import words
from recommender.scored import all_scores

app = typer.Typer(no_args_is_help=True)
mode_app = typer.Typer(no_args_is_help=True, help="What may be written outside Tuppence: show, set, rbac.")


def _mode(text: str) -> Mode:
    try:
        return Mode.of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}: recommend, shadow, pilot or publish") from error


ModeArgument = Annotated[Mode, typer.Argument(parser=_mode, metavar="MODE", help="recommend, shadow, pilot, publish.")]


@mode_app.command()
def show(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Show the mode in force, what the settings say, what was approved, and what is missing."""
    with errors_explained():
        _write_mode(mode_in_force(load_settings(config)), output)


@mode_app.command("set")
def set_mode(
    mode: ModeArgument,
    author: AuthorOption,
    reason: ReasonOption = "",
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Approve a mode in the ledger; a lower one takes force at once, and what it may not have is taken back."""
    with errors_explained():
        settings = load_settings(config)
        approve(settings, mode, at=SystemClock().now(), author=author, reason=reason)
        can = mode_in_force(settings)
        _write_mode(can, output)
        withdrawn = Publishing(settings).withdraw_above(can)
    if withdrawn is not None:
        _tell_withdrawn(withdrawn)


@mode_app.command("rbac")
def print_rights(
    mode: ModeArgument,
    namespace: Annotated[str, typer.Option(help="Of the service account on the hub.")] = "tuppence",
    account: Annotated[str, typer.Option(help="Its name.")] = "tuppence",
    config: ConfigOption = None,
) -> None:
    """Print the rights that a mode needs on the hub, for kubectl apply."""
    with errors_explained():
        hub = load_settings(config).emit.hub
        yaml.safe_dump_all(rights(mode, hub, namespace=namespace, account=account), sys.stdout, sort_keys=False)


@mode_app.command()
def fleet(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Set the fleet beside what the hub says of it: which clusters it has, and where each is said to be."""
    with errors_explained():
        found = Publishing(load_settings(config)).fleet()
        write_rows(found, output, table=_visible(found), title="Clusters on the hub")
    if not found.filter(pl.col("problem").str.starts_with(DISAGREE)).is_empty():
        raise typer.Exit(1)


@app.command()
def publish(
    once: Annotated[
        bool, typer.Option("--once/--dry-run", help="Write one round, or only say what it would write.")
    ] = True,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Write scores to the hub once, as far as the mode in force allows; tuppence serve does so regularly."""
    with errors_explained():
        settings, now = load_settings(config), SystemClock().now()
        evaluated = recorded(settings, at=now, now=now)
        scores = all_scores(settings, evaluated, at=now, previous=None)
        made = Publishing(settings).publish(scores, running=running_in(evaluated.evaluation), dry_run=not once)
        write_rows(_rows(made), output, title=f"Mode {made.allowed.mode.word}")
    _tell(made)
    if not made.is_whole:
        raise typer.Exit(1)


@app.command()
def stop(
    author: AuthorOption,
    reason: ReasonOption = "",
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Do not wait until all scores end together; workloads may move for it.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Take back every score that was written and write no more until a mode is approved again."""
    with errors_explained():
        settings = load_settings(config)
        approve(settings, Mode.RECOMMEND, at=SystemClock().now(), author=author, reason=reason or "stop")
        stderr.print("The mode is recommend: nothing new is written.")
        withdrawn = Publishing(settings).withdraw_all(at_once=at_once)
    _tell_withdrawn(withdrawn)


def _write_mode(can: Allowed, output: ListFormat) -> None:
    row = {
        "mode": can.mode.word,
        "setting": can.setting.word,
        "approved": can.approved.word,
        "objects": can.name or "",
        "namespaces": "all" if can.namespaces is None else ", ".join(sorted(can.namespaces)),
        "missing": can.missing,
    }
    write_rows(pl.DataFrame([row]), output, title="Mode")


def _rows(made: Published) -> pl.DataFrame:
    outcome, planned = made.outcome, made.planned
    row = {
        "hub": made.hub,
        "objects": made.allowed.name or "",
        "written": 0,
        "withdrawn": 0,
        "unchanged": 0,
        "held": "",
    }
    if planned is not None:
        row |= {"written": len(planned.writes), "withdrawn": len(planned.withdraw)}
        row |= {"unchanged": planned.unchanged, "held": planned.held}
    if outcome is not None:
        row |= {"written": outcome.written, "withdrawn": outcome.withdrawn}
        row |= {"unchanged": outcome.unchanged, "held": outcome.held}
    return pl.DataFrame([row])


def _tell(made: Published) -> None:
    if made.allowed.missing:
        _say(f"Missing: {made.allowed.missing}")
    elif made.allowed.mode is Mode.RECOMMEND:
        _say("The mode is recommend: nothing may be written. docs/how-to/modes.md says how to step up.")
    if made.outcome is not None:
        for namespace in made.outcome.not_on_hub:
            _say(f"{namespace} is not a namespace of the hub: nothing can be placed there, and it has no score.")
        for namespace, why in sorted(made.outcome.refused.items()):
            _say(f"{namespace}: {why}")
    if made.withdrawn is not None:
        _say(_withdrawn_words(made.withdrawn))


def _tell_withdrawn(made: Withdrawn) -> None:
    _say(_withdrawn_words(made))
    if made.left:
        raise typer.Exit(1)


def _withdrawn_words(made: Withdrawn) -> str:
    told = [f"Taken back: {made.gone} objects."]
    told += [f"Still there: {name} in {namespace}: {why}" for (namespace, name), why in sorted(made.left.items())]
    return "\n".join(told + (["Run it again when these are mended."] if made.left else []))


def _visible(table: pl.DataFrame) -> pl.DataFrame:
    """What others wrote may hold characters that a terminal obeys."""
    return table.with_columns(pl.col(pl.String).map_elements(words.shown, return_dtype=pl.String))


def _say(text: str) -> None:
    stderr.print(text, markup=False, soft_wrap=True)
