"""The recommender's commands: advice, forecasts, bursts, reports, service. Arguments in, one call each, results out."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import structlog
import typer

from exporters.core.clock import SystemClock, parse_utc
from exporters.core.config_file import read_document, validate
from exporters.core.output import ListFormat, errors_explained
from exporters.core.sections import ALL_SECTIONS
from exporters.core.settings_file import ConfigOption, settings_path
from recommender.advise.plan import Plan
from recommender.assessed import assessed
from recommender.calibrating import learnt
from recommender.commands.burst import write_bursts
from recommender.commands.forecast import write_forecasts
from recommender.demo.run import run_demo, write_company
from recommender.explained import explained, find
from recommender.listing import write_plan
from recommender.outlook import ahead_at, outlook_at
from recommender.recorded import ahead_remembered, recorded, remembered, unrecorded
from recommender.report.assessment import FORMATS as ASSESSMENT_FORMATS
from recommender.report.assessment import STEM, write_assessment
from recommender.report.calibration import with_calibration
from recommender.report.document import schema
from recommender.report.of_owner import owner_report
from recommender.report.registry import FORMATS
from recommender.report.view_model import report_of
from recommender.report.write import write_report
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from recommender.week.facts import week_facts

THRESHOLD_MET = 3

_log = structlog.get_logger(__name__)

app = typer.Typer(no_args_is_help=True)


def load_settings(config: Path | None) -> RecommenderSettings:
    """This will read and check the recommender's half of the settings."""
    return validate(read_document(settings_path(config)), RecommenderSettings, known=ALL_SECTIONS)


def _proposed(settings: RecommenderSettings, *, at: datetime | None, no_ledger: bool) -> Plan:
    now = SystemClock().now()
    if no_ledger:
        return unrecorded(settings, at=at or now)
    made = recorded(settings, at=at or now, now=now)
    if made.not_recorded:
        _log.info("not_recorded_in_ledger", why=made.not_recorded)
    return made.plan


def _moment(text: str) -> datetime:
    try:
        return parse_utc(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not an ISO 8601 time, such as 2026-11-30T09:00:00Z") from error


def _week(text: str) -> Week:
    try:
        return Week.parse(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a week, such as 2026-W48 or 2026-11-25") from error


OutputOption = Annotated[ListFormat, typer.Option("--output", "-o", help="table, json or csv.")]
AtOption = Annotated[
    datetime | None,
    typer.Option("--at", parser=_moment, metavar="TIME", help="Evaluation time, ISO 8601 in UTC; default: now."),
]
WeekOption = Annotated[
    Week | None,
    typer.Option(parser=_week, metavar="WEEK", help="2026-W48, or a date in the week; default: the last whole one."),
]


NoLedgerOption = Annotated[
    bool, typer.Option("--no-ledger", help="Neither read what was decided nor write down what is proposed.")
]


@app.command()
def recommend(
    config: ConfigOption = None,
    at: AtOption = None,
    no_ledger: NoLedgerOption = False,
    fail_above: Annotated[
        float | None, typer.Option(metavar="GBP", help="Exit with 3 if more than this could be saved a month.")
    ] = None,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Say which workload should run where, what it saves a month, and what cannot be said."""
    with errors_explained():
        plan = _proposed(load_settings(config), at=at, no_ledger=no_ledger)
        write_plan(report_of(plan), output)
    if fail_above is not None and plan.summary.saving_gbp_per_month > Decimal(str(fail_above)):
        raise typer.Exit(THRESHOLD_MET)


@app.command()
def explain(
    advice_id: Annotated[str, typer.Argument(metavar="ID", help="A recommendation's id, or how it begins.")],
    config: ConfigOption = None,
    at: AtOption = None,
    no_ledger: NoLedgerOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="The whole record.")] = False,
) -> None:
    """Explain one recommendation: prices, usage, thresholds, and what would change the verdict."""
    with errors_explained():
        moment, evaluate = at or SystemClock().now(), unrecorded if no_ledger else remembered
        one = find(evaluate(load_settings(config), at=moment), advice_id)
    sys.stdout.write(one.model_dump_json(indent=2, exclude_none=True) + "\n" if as_json else explained(one))


@app.command()
def forecast(config: ConfigOption = None, at: AtOption = None, output: OutputOption = ListFormat.TABLE) -> None:
    """Forecast demand in the next hour by cluster and resource class, and say how good the same forecasts were."""
    with errors_explained():
        found = outlook_at(load_settings(config), at=at or SystemClock().now())
        write_forecasts(found.forecasts, output)


@app.command()
def burst(
    config: ConfigOption = None,
    at: AtOption = None,
    no_ledger: NoLedgerOption = False,
    output: OutputOption = ListFormat.TABLE,
) -> None:
    """Say which owned pools are short, what should leave for where and at what price, and what comes home."""
    with errors_explained():
        look_ahead = ahead_at if no_ledger else ahead_remembered
        write_bursts(look_ahead(load_settings(config), at=at or SystemClock().now()), output)


@app.command()
def report(
    config: ConfigOption = None,
    week: WeekOption = None,
    out: Annotated[Path, typer.Option(help="Folder to write into; made if it is not there.")] = Path("tuppence-report"),
    form: Annotated[
        list[str] | None, typer.Option("--format", help="html, md, json, csv; may be repeated; default: all.")
    ] = None,
    at: AtOption = None,
    no_ledger: NoLedgerOption = False,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what is this owner's, with sums of their own.")
    ] = None,
    with_assessment: Annotated[
        bool, typer.Option("--assessment", help="Write the assessment before a roll-out beside it, and link it.")
    ] = False,
    with_schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the json format.")] = False,
) -> None:
    """Write a week's report."""
    if with_schema:
        sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
        return
    with errors_explained():
        moment = at or SystemClock().now()
        asked = week or Week.last_whole(moment)
        settings, evaluate = load_settings(config), unrecorded if no_ledger else remembered
        plan = evaluate(settings, at=moment, window=asked.window)
        facts = week_facts(settings, asked, at=moment, with_ledger=not no_ledger)
        made = report_of(plan, asked, facts) if owner is None else owner_report(plan, owner, asked, facts)
        if not no_ledger and owner is None:
            made = with_calibration(made, plan, learnt(settings, at=moment))
        names = form or [one.name for one in FORMATS]
        written = write_report(replace(made, assessment=STEM if with_assessment else ""), out, names=names)
        if with_assessment:
            beside = [name for name in names if name in ASSESSMENT_FORMATS]
            written += write_assessment(assessed(settings, at=moment), out, names=beside, report=written[0].stem)
        for path in written:
            typer.echo(path)


@app.command()
def serve(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 0.0.0.0: every one.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0: any free one.")] = None,
) -> None:
    """Serve recommendations as pages, API and metrics, and keep them fresh."""
    from recommender.serving import serve_recommender  # noqa: PLC0415 - only a service pays for the web server

    with errors_explained():
        settings = load_settings(config)
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        web = settings.recommender_web.model_copy(update=given)
        settings = settings.model_copy(update={"recommender_web": web})
        serve_recommender(settings, load=lambda: load_settings(config))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write into; made if it is not there.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(help="Of the made-up week; the same seed gives the same week.")] = 1,
    files_only: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write only settings, policy, usage and bills into this folder."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The ledger that its settings name; default: a file in the folder."),
    ] = None,
) -> None:
    """Show everything once, without an account: prices, a scrape, advice and the report of a made-up company."""
    with errors_explained():
        if files_only is not None:
            write_company(files_only, seed=seed, clock=SystemClock(), say=typer.echo, ledger=ledger)
            return
        run_demo(out, seed=seed, clock=SystemClock(), say=typer.echo, ledger=ledger)
