"""The parts that say how far the prices can be trusted: where they come from, how old they are, at which rates."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import (
    coloured,
    joined_by,
    lines,
    named_columns,
    note,
    now,
    numbers,
    over_time,
    rows,
    shown_as,
    worded,
)

DAY: Final = 86_400
ORIGIN: Final = "tuppence_exporter_price_origin_info"
TAKEN_AT: Final = "tuppence_exporter_snapshot_timestamp_seconds"
MAX_AGE: Final = "tuppence_exporter_snapshot_max_age_seconds"
AGE: Final = f"time() - max by (source) ({TAKEN_AT})"

HOW_TO_READ: Final = """\
Prices come from each source's last good snapshot. **Live** was fetched by this exporter, **cached** by an earlier run,
**packaged** is the price book that ships with Tuppence and stands in until a source is enabled: real list prices of the
date shown, not today's. *Illustrative* prices are never shown here; `tuppence prices` lists them.

A source that is late or failing: see the [status page](${exporter_url}/), then run `tuppence check` and
`tuppence fetch SOURCE`. What each metric means: `docs/reference/metrics.md`; this dashboard: `docs/how-to/grafana.md`.
"""


def add_origin(board: Dashboard) -> None:
    """This will add, at the head of the dashboard, which prices are not the providers' of today."""
    board.with_panel(
        note(
            HOW_TO_READ,
            title="About these prices",
            description="Where prices come from, and what to do when they are old.",
        )
        .span(12)
        .height(6)
    )
    board.with_panel(
        numbers(
            "Packaged prices in use, by age",
            description="Sources for which the packaged price book stands in, and how old its figures are. Enable the "
            "source in the settings to replace them.",
            unit="s",
            decimals=1,
            query=now(f'{AGE} and on (source) {ORIGIN}{{origin="packaged"}}', legend="{{source}}"),
            colours=((None, "orange"),),
            none="none",
            names=True,
        )
        .span(7)
        .height(6)
    )
    board.with_panel(
        numbers(
            "Illustrative offers left out",
            description="Offers whose price is only illustrative. They have no series and are in no panel.",
            unit="short",
            decimals=0,
            query=now("max by (source) (tuppence_exporter_illustrative_offers) > 0", legend="{{source}}"),
            colours=((None, "orange"),),
            none="none",
            names=True,
        )
        .span(5)
        .height(6)
    )


def add_freshness(board: Dashboard) -> None:
    """This will add freshness by source and the exchange rates."""
    board.with_row(Row("Freshness"))
    _add_sources(board)
    board.with_panel(
        lines(
            "Failed refreshes",
            description="Refreshes that failed, by source. The last good prices stay until they are older than the "
            "source allows. The status page says why.",
            unit="short",
            query=over_time(
                "sum by (source) (increase(tuppence_exporter_refresh_failures_total[$__rate_interval]))",
                legend="{{source}}",
            ),
        )
        .span(8)
        .height(9)
    )
    _add_rates(board)
    _add_strays_and_limit(board)


def _add_sources(board: Dashboard) -> None:
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
            now("min by (source) (tuppence_exporter_refresh_success)", ref_id="D"),
            now("max by (source) (tuppence_exporter_offers)", ref_id="E"),
            now("max by (source) (tuppence_exporter_illustrative_offers)", ref_id="F"),
            now("sum by (source) (max by (source, reason) (tuppence_exporter_rows_rejected))", ref_id="G"),
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
    board.with_panel(panel.span(16).height(9))


def _add_rates(board: Dashboard) -> None:
    board.with_panel(
        numbers(
            "Exchange rates",
            description="Pounds per unit of each currency: the one rate at which every price in it is shown.",
            unit="currencyGBP",
            decimals=6,
            query=now(
                'max by (currency, source) (tuppence_fx_gbp_per_unit{currency!="GBP"})',
                legend="1 {{currency}} ({{source}})",
            ),
            names=True,
        )
        .span(6)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Age of the exchange rates",
            description="Time since the day of each rate. Reference rates appear on working days, so four days are "
            "usual after a weekend; more than five call for a look at the source fx.",
            unit="s",
            decimals=1,
            query=now(
                'time() - max by (currency, source) (tuppence_fx_rate_date_timestamp_seconds{currency!="GBP"})',
                legend="{{currency}} ({{source}})",
            ),
            colours=((None, "green"), (5 * DAY, "orange"), (10 * DAY, "red")),
            names=True,
        )
        .span(6)
        .height(5)
    )


def _add_strays_and_limit(board: Dashboard) -> None:
    ours = "max by (currency) (tuppence_fx_gbp_per_unit)"
    board.with_panel(
        numbers(
            "Providers' own rates against ours",
            description="How far the exchange rate in a provider's own list in pounds lies from ours. Past 3 % a bill "
            "will differ from these prices by as much; a contract rate can be set for the source fx.",
            unit="percentunit",
            decimals=2,
            query=now(
                f"max by (currency, provider) (tuppence_fx_provider_gbp_per_unit) "
                f"/ on (currency) group_left () {ours} - 1",
                legend="{{provider}}: {{currency}}",
            ),
            colours=((None, "red"), (-0.03, "green"), (0.03, "red")),
            none="no list in pounds",
            names=True,
        )
        .span(6)
        .height(5)
    )
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
        .span(6)
        .height(5)
    )
