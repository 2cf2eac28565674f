"""The ledger's commands: list, accept, dismiss, snooze, implemented, reopen, verify, calibrate.

Arguments in, one call each, rows out.
"""

# ruff: noqa: FBT002, PLR0917 - typer reads options from arguments

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from exporters.core.clock import SystemClock, parse_utc
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.settings_file import DEFAULT_FILE, ConfigOption, settings_path
from recommender import calibrating, verification
from recommender.advise.record import State
from recommender.cli import OutputOption, load_settings
from recommender.ledger.decide import Decision, decide
from recommender.ledger.events import EventKind
from recommender.ledger.feedback import by_person
from recommender.ledger.listing import listed, measured, people_read, people_read_measured
from recommender.ledger.proposal import as_diff
from recommender.ledger.store import Ledger
from recommender.report import words

app = typer.Typer(no_args_is_help=True)


def _moment(text: str) -> datetime:
    try:
        return parse_utc(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a day or an ISO 8601 time, such as 2026-12-24") from error


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="A recommendation's id, or how it begins.")]
AuthorOption = Annotated[str, typer.Option(default_factory=_user, help="Who decides; default: $USER.")]
ReasonOption = Annotated[str, typer.Option(help="Why, in a sentence.")]
UntilOption = typer.Option("--until", parser=_moment, metavar="TIME", help="A day or an ISO 8601 time in UTC.")


@app.command("list")
def list_recommendations(
    state: Annotated[
        list[State] | None, typer.Option(help="May be repeated; default: open and accepted; see also --all.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All states.")] = False,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """List recommendations of the ledger with their states."""
    wanted = set(State) if everything else set(state or (State.OPEN, State.ACCEPTED))
    with errors_explained():
        ledger = Ledger.at(load_settings(config).ledger)
        with ledger.reading() as reader:
            rows = listed(reader, at=SystemClock().now(), states=wanted)
        if rows.is_empty() and output is ListFormat.TABLE:
            named = ", ".join(sorted(one.value for one in wanted))
            stderr.print(f"Nothing in the {ledger.where} is {named}.", markup=False, soft_wrap=True)
            return
        write_rows(rows, output, table=_visible(people_read(rows)), title="Recommendations")


@app.command()
def accept(
    advice_id: IdArgument,
    author: AuthorOption,
    reason: ReasonOption = "",
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Accept a recommendation: somebody will carry it out."""
    _decide(advice_id, Decision(EventKind.ACCEPTED, author, reason), config, output)


@app.command()
def dismiss(
    advice_id: IdArgument,
    reason: Annotated[str, typer.Option(help="Why; it stands beside the refused place in later plans.")],
    author: AuthorOption,
    until: Annotated[datetime | None, UntilOption] = None,
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Dismiss a recommendation: this workload is not advised to that place again, for good or until a time."""
    _decide(advice_id, Decision(EventKind.DISMISSED, author, reason, until=until), config, output)


@app.command()
def snooze(
    advice_id: IdArgument,
    until: Annotated[datetime, UntilOption],
    author: AuthorOption,
    reason: ReasonOption = "",
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Snooze a recommendation: its workload is left alone until a time."""
    _decide(advice_id, Decision(EventKind.SNOOZED, author, reason, until=until), config, output)


@app.command()
def implemented(
    advice_id: IdArgument,
    author: AuthorOption,
    at: Annotated[
        datetime | None,
        typer.Option("--at", parser=_moment, metavar="TIME", help="When the move was made; default: now."),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="TEXT", help="What applied it: a pull request's address, a ticket, by hand.")
    ] = "",
    reason: ReasonOption = "",
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Say that a recommendation was carried out; its saving is verified after 14 days of usage, by default."""
    evidence = by_person(by.strip()).model_dump_json(exclude_none=True) if by.strip() else None
    decision = Decision(EventKind.IMPLEMENTED, author, reason or by.strip(), happened_at=at, evidence=evidence)
    _decide(advice_id, decision, config, output)


@app.command()
def reopen(
    advice_id: IdArgument,
    author: AuthorOption,
    reason: ReasonOption = "",
    config: ConfigOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Reopen a recommendation that was accepted, dismissed, snoozed, or said to be carried out by mistake."""
    _decide(advice_id, Decision(EventKind.REOPENED, author, reason), config, output)


@app.command()
def verify(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Measure what carried out recommendations really save, by 14 days of usage after the move, by default."""
    with errors_explained():
        rows = measured(verification.verify(load_settings(config), at=SystemClock().now()))
        if rows.is_empty() and output is ListFormat.TABLE:
            stderr.print("No recommendation was carried out yet: see tuppence implemented.", soft_wrap=True)
            return
        write_rows(rows, output, table=_visible(people_read_measured(rows)), title="Realised savings")


@app.command()
def calibrate(
    author: AuthorOption,
    apply: Annotated[
        bool, typer.Option("--apply", help="Approve: write an approval into the ledger, then the policy's file.")
    ] = False,
    reason: ReasonOption = "",
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Propose figures of the policy from what was verified and decided, as a diff; --apply takes them."""
    with errors_explained():
        settings, now, approval = load_settings(config), SystemClock().now(), None
        place = calibrating.policy_place(settings, settings_path(config))
        if apply:
            made, approval = calibrating.approve(settings, place, at=now, author=author, reason=reason)
        else:
            made = calibrating.calibrated(settings, at=now)
    if as_json:
        typer.echo(json.dumps({**asdict(made), "approval": approval and approval.number}, indent=1))
        return
    file = str(place.file or DEFAULT_FILE)
    taken = "" if approval is None else f"approval {approval.number} by {words.shown(author)} is in the ledger"
    typer.echo(as_diff(made, file=file, section=place.section, taken=taken), nl=False)
    if approval is not None:
        stderr.print(f"{file} was written; tuppence serve reads it when it is reloaded.", markup=False, soft_wrap=True)


def _decide(advice_id: str, decision: Decision, config: Path | None, output: ListFormat) -> None:
    with errors_explained():
        ledger, now = Ledger.at(load_settings(config).ledger), SystemClock().now()
        after = decide(ledger, advice_id, decision, at=now)
        with ledger.reading() as reader:
            rows = listed(reader, at=max(now, after.last.at), states=set(State), only=after.recommendation_id)
        write_rows(rows, output, table=_visible(people_read(rows)))


def _visible(table: pl.DataFrame) -> pl.DataFrame:
    """What people wrote may hold characters that a terminal obeys."""
    return table.with_columns(pl.col(pl.String).map_elements(words.shown, return_dtype=pl.String))
