"""The dashboard "Tuppence: exporter health": how far figures can be trusted, from the source of a price to the report.

Age, origin and rejects of each source, what a scrape returns of what it may, and whether evaluations, the hub and the
readers of the report were served.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.frame import Addresses, label_variable, new_dashboard
from dashboards.health_services import add_deliveries, add_evaluations, add_publication
from dashboards.parts import (
    coloured,
    joined_by,
    lines,
    matrix,
    named_columns,
    now,
    numbers,
    over_time,
    rows,
    shown_as,
    worded,
)

UID: Final = "tuppence-health"
CHOSEN: Final = 'source=~"$source"'
ORIGIN: Final = f"tuppence_exporter_price_origin_info{{{CHOSEN}}}"
MAX_AGE: Final = f"tuppence_exporter_snapshot_max_age_seconds{{{CHOSEN}}}"
AGE: Final = f"time() - max by (source) (tuppence_exporter_snapshot_timestamp_seconds{{{CHOSEN}}})"
REJECTED: Final = f"max by (source, reason) (tuppence_exporter_rows_rejected{{{CHOSEN}}})"


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "exporter health",
        uid=UID,
        description="How old prices are and where they come from; whether evaluations, scores and reports went "
        "through.",
        addresses=addresses,
        since="now-24h",
    )
    board.with_variable(label_variable("source", "Source", values_of="tuppence_exporter_price_origin_info"))
    board.with_row(Row("Sources of prices"))
    _add_sources(board)
    _add_ages(board)
    _add_rejects(board)
    board.with_row(Row("The exporter's scrape"))
    _add_series(board)
    add_evaluations(board)
    add_publication(board)
    add_deliveries(board)
    return board.build()


def _add_sources(board: Builder) -> None:
    panel = rows(
        "Sources",
        description="Each source: age of its prices, how much of the allowed age is used up (past 100 % its series "
        "stop; the packaged book has no limit), where they come from, whether the last refresh succeeded (empty: none "
        "has run), and what was left out.",
        unit="short",
        queries=[
            now(f"max by (source, origin) ({ORIGIN})", ref_id="A"),
            now(AGE, ref_id="B"),
            now(f"({AGE}) / max by (source) ({MAX_AGE})", ref_id="C"),
            now(f"min by (source) (tuppence_exporter_refresh_success{{{CHOSEN}}})", ref_id="D"),
            now(f"max by (source) (tuppence_exporter_offers{{{CHOSEN}}})", ref_id="E"),
            now(f"max by (source) (tuppence_exporter_illustrative_offers{{{CHOSEN}}})", ref_id="F"),
            now(f"sum by (source) ({REJECTED})", ref_id="G"),
        ],
    )
    heads = {
        "source": "Source",
        "origin": "Origin",
        "Value #B": "Age",
        "Value #C": "Of the allowed age",
        "Value #D": "Last refresh",
        "Value #E": "Offers",
        "Value #F": "Illustrative",
        "Value #G": "Rows left out",
    }
    named_columns(joined_by(panel, "source"), heads)
    origins = {"live": ("live", "green"), "cached": ("cached", "yellow"), "packaged": ("packaged", "orange")}
    panel.override_by_name("Origin", worded(origins))
    panel.override_by_name("Age", shown_as("s", decimals=1))
    allowed = coloured(((None, "green"), (0.8, "orange"), (1, "red")))
    panel.override_by_name("Of the allowed age", [*shown_as("percentunit", decimals=0), *allowed])
    panel.override_by_name("Last refresh", worded({"1": ("ok", "green"), "0": ("failed", "red")}))
    panel.override_by_name("Illustrative", coloured(((None, "text"), (1, "orange"))))
    board.with_panel(panel.span(24).height(9))


def _add_ages(board: Builder) -> None:
    board.with_panel(
        lines(
            "Age of prices",
            description="Time since each source was asked for the prices that are served. A line that only rises "
            "belongs to a source whose refreshes fail; packaged prices are as old as their book.",
            unit="s",
            queries=[over_time(AGE, legend="{{source}}")],
        )
        .span(12)
        .height(8)
    )
    board.with_panel(
        lines(
            "Failed refreshes",
            description="Refreshes that failed, by source. The last good prices stay until they are older than the "
            "source allows. The status page says why.",
            unit="short",
            queries=[
                over_time(
                    "sum by (source) "
                    f"(increase(tuppence_exporter_refresh_failures_total{{{CHOSEN}}}[$__rate_interval]))",
                    legend="{{source}}",
                )
            ],
        )
        .span(12)
        .height(8)
    )


def _add_rejects(board: Builder) -> None:
    board.with_panel(
        matrix(
            "Rows left out, by reason",
            description="Rows that the last good refresh left out. None of them has a price, and none is guessed. "
            "Implausible ones moved more than tenfold and wait for a second look.",
            unit="short",
            decimals=0,
            expression=REJECTED,
            row="source",
            column="reason",
        )
        .span(12)
        .height(8)
    )
    board.with_panel(
        lines(
            "Duration of refreshes",
            description="How long the last refresh of each source took, failed or not.",
            unit="s",
            queries=[
                over_time(
                    f"max by (source) (tuppence_exporter_refresh_duration_seconds{{{CHOSEN}}})", legend="{{source}}"
                )
            ],
        )
        .span(12)
        .height(8)
    )


def _add_series(board: Builder) -> None:
    board.with_panel(
        numbers(
            "Series served, of the limit",
            description="At 100 % newer prices wait and older ones are served: narrow sources' regions or "
            "filters.families, or raise exporter_web.max_series.",
            unit="percentunit",
            decimals=0,
            query=now("max(tuppence_exporter_series / tuppence_exporter_series_limit)", legend="of the limit"),
            colours=((None, "green"), (0.8, "orange"), (0.95, "red")),
        )
        .span(8)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Newer prices that wait",
            description="1 while newer prices exceed the limit of series and older ones are served in their place.",
            unit="short",
            decimals=0,
            query=now("max(tuppence_exporter_series_capped)", legend="waiting"),
            colours=((None, "green"), (1, "red")),
        )
        .span(8)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Settings in use",
            description="1 if the settings on disk of both services are in use, 0 if those of one are wrong and the "
            "ones before stay. tuppence config check names the line.",
            unit="short",
            decimals=0,
            query=now(
                "min(min by (job) (tuppence_exporter_config_last_reload_successful) "
                "or min by (job) (tuppence_recommender_config_last_reload_successful))",
                legend="in use",
            ),
            colours=((None, "red"), (1, "green")),
        )
        .span(8)
        .height(5)
    )
