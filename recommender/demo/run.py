"""The demonstration: write a made-up company, run the real exporter on it, scrape it, and advise from its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from exporters.core.clock import Clock
from exporters.core.config_file import read_document, validate
from exporters.core.errors import StoreError
from exporters.core.output import ListFormat, print_table
from exporters.core.sections import ALL_SECTIONS
from exporters.store.costs import read_costs
from exporters.store.shelf import open_readable
from recommender.assessed import assessed
from recommender.demo.exporter_process import running_exporter, scraped, seeded
from recommender.demo.paid import last_month
from recommender.demo.prices import cheapest_gpus, cheapest_vcpus, internet_egress
from recommender.demo.write import add_costs, write_demo
from recommender.emitted import emit_to, handed
from recommender.inputs import prices_at
from recommender.listing import write_plan
from recommender.recorded import recorded
from recommender.report.assessment import STEM, write_assessment
from recommender.report.json import render as as_json
from recommender.report.view_model import report_of
from recommender.report.write import write_report
from recommender.settings import RecommenderSettings
from recommender.week.calendar import Week
from recommender.week.facts import week_facts

SOURCE = "onprem"
"""The one source that the demonstration asks; the others are packaged."""
WEEKS = 2
"""Of usage, so that the report can say why a week cost more than the one before."""


def run_demo(folder: Path, *, seed: int, clock: Clock, say: Callable[[str], None], ledger: str | None = None) -> None:
    """This will run the demonstration and print what it finds.

    The usage is of the last whole week and the one before it, the prices are the exporter's at the time.

    Args:
        folder: where everything is written: the files of the company, metrics.txt, recommendations.json, and
            report and assessment as .html and .md.
        seed: of the usage.
        clock: the time.
        say: prints a line.
        ledger: the URL of its ledger; None: a file in the folder.

    Raises:
        TuppenceError: a part did not work; nothing is made up in its stead.
    """
    week = Week.last_whole(clock.now())
    path = write_company(folder, seed=seed, clock=clock, say=say, ledger=ledger)
    log = folder / "exporter.log"
    with running_exporter(path, log=log) as url:
        body = scraped(url, source=SOURCE, log=log)
        say(f"The exporter ran at {url} and was scraped once: {_samples(body):,} samples, in {folder}/metrics.txt.")
    _write(folder / "metrics.txt", body)
    settings = validate(read_document(path), RecommenderSettings, known=ALL_SECTIONS)
    at = clock.now()
    _show_prices(settings, at, say)
    _show_costs(settings, at, path, say)
    evaluated = recorded(settings, at=at, now=at, window=week.window)
    made = evaluated.evaluation
    plain = report_of(made.plan, week)
    write_plan(plain, ListFormat.TABLE)
    _write(folder / "recommendations.json", as_json(plain))
    report = report_of(made.plan, week, week_facts(settings, week, at=at, ahead=evaluated.ahead))
    written = write_report(replace(report, assessment=STEM), folder, names=["html", "md"], stem="report")
    write_assessment(assessed(settings, at=at, made=made), folder, names=["html", "md"], report="report")
    index = emit_to(folder / "emit", handed(settings, made, at=at))
    say(f"\nWhat {len(index.systems)} systems would be given: {folder / 'emit' / 'index.md'}.")
    say(f"Open {written[0]}. To go on: tuppence recommend --config {path}")


def write_company(
    folder: Path, *, seed: int, clock: Clock, say: Callable[[str], None], ledger: str | None = None
) -> Path:
    """This will write the files of the made-up company, usage and bills among them, and return its settings' path.

    Raises:
        StoreError: the folder cannot be written.
        TerminalSourceError: no prices could be fetched to bill at.
    """
    now = clock.now()
    path = write_demo(folder, until=Week.last_whole(now).window.end, seed=seed, ledger=ledger, weeks=WEEKS)
    seeded(path, source=SOURCE)
    settings = validate(read_document(path), RecommenderSettings, known=ALL_SECTIONS)
    add_costs(path, offers=prices_at(settings, at=clock.now()).offers, today=now.date(), seed=seed)
    say(f"A made-up company: five clusters, two weeks of usage and two months of bills, in {folder}/.")
    return path


def _show_prices(settings: RecommenderSettings, at: datetime, say: Callable[[str], None]) -> None:
    prices = prices_at(settings, at=at)
    say("")
    print_table(cheapest_vcpus(prices), title="The cheapest vCPU-hours", right=("£/vCPU-hour",))
    say("")
    print_table(cheapest_gpus(prices), title="The cheapest GPU-hours", right=("£/GPU-hour",))
    say("")
    regions = {(cluster.provider, cluster.region) for cluster in settings.clusters}
    print_table(internet_egress(prices, regions), title="A GiB to the internet", right=("£/GiB", "from GiB a month"))
    say("")


def _show_costs(settings: RecommenderSettings, at: datetime, path: Path, say: Callable[[str], None]) -> None:
    costs = read_costs(open_readable(settings.prices.url))
    print_table(last_month(costs, today=at.date()), title="What was really paid", right=("paid", "at list", "less"))
    say(f"More of it: tuppence costs explain --config {path}; also show, anomalies, discounts, budgets, commitments.\n")


def _samples(body: str) -> int:
    return sum(1 for line in body.splitlines() if line and not line.startswith("#"))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"the file cannot be written ({error})",
            where=str(path),
            next_step="Check that the folder can be written and the disk has room.",
        ) from error
