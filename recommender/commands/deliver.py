"""The commands of delivery: deliver, deliveries. Arguments in, one call each, rows out."""

# ruff: noqa: FBT002, PLR0917 - typer reads options from arguments

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

import polars as pl
import typer
from polars.datatypes import DataType, DataTypeClass

from exporters.core.clock import SystemClock
from exporters.core.errors import SettingsError, TuppenceError
from exporters.core.output import ListFormat, errors_explained, stderr, write_rows
from exporters.core.settings_file import ConfigOption
from recommender.cli import AtOption, OutputOption, WeekOption, load_settings
from recommender.deliver_settings import AnyChannel, DeliverSettings
from recommender.delivering import Parcels, deliver, only
from recommender.ledger.deliveries import Delivery, DeliveryState, standing_of
from recommender.ledger.store import Ledger
from recommender.parcels import parcels_of
from recommender.report import words
from recommender.report.deliver.contract import Parcel
from recommender.report.deliver.due import due, scopes_of
from recommender.report.deliver.registry import outline
from recommender.week.calendar import Week

app = typer.Typer(no_args_is_help=True)

ALL = "all"
_BAD = {DeliveryState.FAILED, DeliveryState.UNKNOWN}
_LOG: Final[Mapping[str, DataType | DataTypeClass]] = {
    "number": pl.Int64,
    "at": pl.Datetime("us", "UTC"),
    "week": pl.String,
    "scope": pl.String,
    "channel": pl.String,
    "attempt": pl.Int64,
    "state": pl.String,
    "detail": pl.String,
}


@app.command("deliver")
def deliver_reports(
    config: ConfigOption = None,
    week: WeekOption = None,
    channel: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="May be repeated; default: every channel.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also what is unknown, once you have looked that it did not arrive.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go where.")] = False,
    at: AtOption = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Deliver what was not delivered of a week's report; what was sent is never sent again."""
    with errors_explained():
        settings, moment = load_settings(config), at or SystemClock().now()
        chosen = only(settings.deliver, channel or [])
        asked = _ended(week or Week.last_whole(moment), moment)
        ledger = Ledger.at(settings.ledger)
        parcels = parcels_of(settings.model_copy(update={"deliver": chosen}), asked, moment)
        if dry_run:
            write_rows(
                _planned(ledger, chosen, asked, parcels, again=again), output, title=f"Would be sent, {asked.id}"
            )
            return
        deliver(ledger, chosen, asked, now=SystemClock().now, parcels=parcels, by_hand=True, again=again)
        standing = _standing(ledger, chosen, asked, parcels)
        rows = log_rows(standing)
        write_rows(rows, output, table=_visible(rows), title=f"Deliveries of {asked.id}")
    if any(one.state is DeliveryState.UNKNOWN for one in standing):
        _say("Unknown: look whether it arrived; if it did not, run tuppence deliver --again.")
    if any(one.state in _BAD for one in standing):
        raise typer.Exit(1)


@app.command()
def deliveries(config: ConfigOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """List every step of every delivery, oldest first."""
    with errors_explained():
        ledger = Ledger.at(load_settings(config).ledger)
        with ledger.reading() as reader:
            rows = log_rows(reader.deliveries())
        if rows.is_empty() and output is ListFormat.TABLE:
            _say(f"Nothing was delivered yet, says the {ledger.where}.")
            return
        write_rows(rows, output, table=_visible(rows), title="Deliveries")


def log_rows(steps: list[Delivery] | tuple[Delivery, ...]) -> pl.DataFrame:
    """This will return steps as rows; the scope of the report for all is `all`."""
    rows = [
        {name: getattr(one, name) for name in _LOG} | {"scope": one.scope or ALL, "state": one.state.value}
        for one in steps
    ]
    return pl.DataFrame(rows, schema=_LOG)


def _ended(week: Week, moment: datetime) -> Week:
    if week.window.end > moment:
        raise SettingsError(
            f"{week.id} has not ended ({week.window.end:%Y-%m-%d %H:%M} UTC)",
            where="deliver --week",
            next_step="Ask for a week that has ended, or leave --week out for the last one.",
        )
    return week


def _standing(ledger: Ledger, settings: DeliverSettings, week: Week, parcels: Parcels) -> list[Delivery]:
    """The last step of each delivery that the settings ask for, channel by channel."""
    with ledger.reading() as reader:
        known = standing_of(reader.deliveries(week=week.id), at=SystemClock().now())
    asked = [(week.id, scope, one.name) for one in settings.channels for scope in scopes_of(one, parcels)]
    return [known[key] for key in asked if key in known]


def _planned(ledger: Ledger, settings: DeliverSettings, week: Week, parcels: Parcels, *, again: bool) -> pl.DataFrame:
    now = SystemClock().now()
    with ledger.reading() as reader:
        known = standing_of(reader.deliveries(week=week.id), at=now)
    channels = {one.name: one for one in settings.channels}
    asked = due(settings, week, owners=parcels, known=known, now=now, by_hand=True, again=again)
    rows = [
        {
            "channel": one.channel,
            "type": channels[one.channel].type,
            "scope": words.shown(one.scope or ALL),
            "attempt": one.attempt,
            **_outlined(parcels[one.scope], channels[one.channel]),
        }
        for one in asked
    ]
    text = dict.fromkeys(("channel", "type", "scope", "to", "problem"), pl.String)
    return pl.DataFrame(rows, schema_overrides=text) if rows else pl.DataFrame(schema=text)


def _outlined(parcel: Parcel, channel: AnyChannel) -> dict[str, str | int | None]:
    try:
        made = outline(parcel, channel)
    except TuppenceError as error:
        return {"to": "", "bytes": None, "problem": words.shown(f"{error.what}. {error.next_step}")}
    return {"to": words.shown(made.to), "bytes": made.size_bytes, "problem": ""}


def _visible(rows: pl.DataFrame) -> pl.DataFrame:
    """What others answered may hold characters that a terminal obeys; times as people read them."""
    plain = rows.with_columns(pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S UTC"))
    return plain.with_columns(pl.col(pl.String).map_elements(words.shown, return_dtype=pl.String))


def _say(text: str) -> None:
    stderr.print(text, markup=False, soft_wrap=True)
