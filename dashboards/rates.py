"""The parts of the prices beside compute: where they come from, egress, and the rates at which all are in pounds."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import as_number, matrix, named_columns, note, now, numbers, rows, shown_as

DAY: Final = 86_400
POUNDS: Final = "currencyGBP"
ORIGIN: Final = "tuppence_exporter_price_origin_info"
TAKEN_AT: Final = "tuppence_exporter_snapshot_timestamp_seconds"
AGE: Final = f"time() - max by (source) ({TAKEN_AT})"
FROM_PLACE: Final = 'provider=~"$provider", from_region=~"$region"'

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


def add_egress(board: Dashboard) -> None:
    """This will add the price of a GiB that leaves a region or a zone."""
    board.with_row(Row("Egress"))
    joined = '"place", " ", "provider", "from_region"'
    metric = "tuppence_egress_price_gbp_per_gib"
    out = rows(
        "Egress to the internet and between zones",
        description="Price of one GiB that leaves a region for the internet, or a zone for another zone, from the "
        "monthly volume in GiB on. Zero is a price: that much is free.",
        unit=POUNDS,
        decimals=4,
        queries=[
            now(
                f"min by (place, destination, tier_start_gib) (label_join("
                f'{metric}{{{FROM_PLACE}, destination=~"internet|zone"}}, {joined}))'
            )
        ],
    )
    as_number(out, "tier_start_gib").override_by_name("From GiB a month", shown_as("locale", decimals=0))
    heads = {"place": "From", "destination": "To", "tier_start_gib": "From GiB a month", "Value": "£ per GiB"}
    board.with_panel(named_columns(out, heads).span(10).height(11))
    board.with_panel(
        matrix(
            "Egress between regions",
            description="Price of one GiB from a region (row) to another region of the same provider (column), first "
            "tier. An empty cell has no price in the provider's list; it is not free.",
            unit=POUNDS,
            decimals=4,
            expression=f"min by (place, to_region) (label_join("
            f'{metric}{{{FROM_PLACE}, destination="region", tier_start_gib="0"}}, {joined}))',
            row="place",
            column="to_region",
        )
        .span(14)
        .height(11)
    )


def add_rates(board: Dashboard) -> None:
    """This will add the exchange rates, their age, and how far providers' own lie from them."""
    board.with_row(Row("Currencies"))
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
        .span(8)
        .height(6)
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
        .span(8)
        .height(6)
    )
    _add_strays(board)


def _add_strays(board: Dashboard) -> None:
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
        .span(8)
        .height(6)
    )
