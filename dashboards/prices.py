"""The dashboard "Tuppence: prices and advice": what things cost, how fresh those prices are, what advice would save.

Minima are the exporter's own (``tuppence_cheapest_…``), so that no panel reads every offer. Each query folds replicas
of a service with max or min, so that two exporters are not counted twice.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard, DashboardCursorSync

from dashboards.advice import add_advice
from dashboards.freshness import add_freshness, add_origin
from dashboards.parts import (
    address_variable,
    as_number,
    bars,
    data_source_variable,
    label_variable,
    lines,
    link,
    matrix,
    named_columns,
    now,
    over_time,
    rows,
    shown_as,
)

UID: Final = "tuppence-prices"
POUNDS: Final = "currencyGBP"
PLACE: Final = 'provider=~"$provider", region=~"$region"'
CHOSEN: Final = f'{PLACE}, capacity_type=~"$capacity_type"'
CHOSEN_MODEL: Final = f'{CHOSEN}, gpu_model=~"$gpu_model"'
FROM_PLACE: Final = 'provider=~"$provider", from_region=~"$region"'
VCPU: Final = "tuppence_cheapest_price_gbp_per_vcpu_hour"
GPU: Final = "tuppence_cheapest_price_gbp_per_gpu_hour"

ONE_RATE: Final = "Every price is in pounds at one exchange rate a currency; see Exchange rates below."
SPLIT: Final = (
    "A machine's price is split into its vCPUs, memory and GPUs, which add up to it exactly "
    "(docs/explanation/price-split.md)."
)


def dashboard() -> Dashboard:
    """This will return the dashboard."""
    board = Builder("Tuppence: prices and advice").uid(UID).tags(["tuppence", "finops"]).readonly()
    board.description("What a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds, and what advice would save.")
    board.timezone("Europe/London").week_start("monday").time("now-7d", "now").refresh("5m")
    board.tooltip(DashboardCursorSync.CROSSHAIR)
    _add_variables(board)
    board.link(link("Status of the exporter", "${exporter_url}/", "Each source: last refresh, origin, next refresh"))
    board.link(link("Advice", "${recommender_url}/", "The recommender: every recommendation with its evidence"))
    add_origin(board)
    board.with_row(Row("Compute"))
    _add_cheapest(board)
    _add_trends(board)
    _add_spot(board)
    board.with_row(Row("Egress"))
    _add_egress(board)
    add_freshness(board)
    add_advice(board)
    return board.build()


def _add_variables(board: Builder) -> None:
    board.with_variable(data_source_variable())
    board.with_variable(label_variable("provider", "Provider", values_of="tuppence_region_info"))
    board.with_variable(label_variable("region", "Region", values_of='tuppence_region_info{provider=~"$provider"}'))
    board.with_variable(
        label_variable("capacity_type", "Capacity type", values_of=f'{{__name__=~"{VCPU}|{GPU}", {PLACE}}}')
    )
    board.with_variable(label_variable("gpu_model", "GPU model", values_of=f"{GPU}{{{PLACE}}}"))
    board.with_variable(
        address_variable(
            "exporter_url",
            "Exporter",
            address="http://127.0.0.1:10210",
            description="Address of the exporter as your browser reaches it; for the link to its status page.",
        )
    )
    board.with_variable(
        address_variable(
            "recommender_url",
            "Recommender",
            address="http://127.0.0.1:10211",
            description="Address of the recommender as your browser reaches it; for the link to its pages.",
        )
    )


def _add_cheapest(board: Builder) -> None:
    board.with_panel(
        matrix(
            "Cheapest vCPU-hour by region and capacity type",
            description=f"The lowest price of one vCPU for one hour on Linux machines without GPUs. {SPLIT} {ONE_RATE}",
            unit=POUNDS,
            decimals=5,
            expression=f"min by (place, capacity_type) (label_join({VCPU}{{{CHOSEN}}}, "
            '"place", " ", "provider", "region"))',
            row="place",
            column="capacity_type",
        )
        .span(10)
        .height(13)
    )
    board.with_panel(
        matrix(
            "Cheapest GPU-hour by GPU model and region",
            description="The lowest price of one whole GPU for one hour on Linux machines, without the vCPUs and "
            f"memory beside it. A fraction counts by the price of a whole one. {SPLIT} {ONE_RATE}",
            unit=POUNDS,
            decimals=4,
            expression=f"min by (place, gpu_model) (label_join({GPU}{{{CHOSEN_MODEL}}}, "
            '"place", " ", "provider", "region", "capacity_type"))',
            row="place",
            column="gpu_model",
        )
        .span(14)
        .height(13)
    )


def _add_trends(board: Builder) -> None:
    board.with_panel(
        lines(
            "Cheapest vCPU-hour over time",
            description="How the lowest price of a vCPU-hour moved, by region and capacity type. A line that ends "
            "belongs to offers that are gone or grew too old.",
            unit=POUNDS,
            decimals=5,
            query=over_time(
                f"min by (provider, region, capacity_type) ({VCPU}{{{CHOSEN}}})",
                legend="{{provider}} {{region}} {{capacity_type}}",
            ),
        )
        .span(12)
        .height(9)
    )
    board.with_panel(
        lines(
            "Cheapest GPU-hour over time",
            description="How the lowest price of a whole GPU's hour moved, by model and capacity type, over the chosen "
            "regions.",
            unit=POUNDS,
            decimals=4,
            query=over_time(
                f"min by (gpu_model, capacity_type) ({GPU}{{{CHOSEN_MODEL}}})", legend="{{gpu_model}} {{capacity_type}}"
            ),
        )
        .span(12)
        .height(9)
    )


def _add_spot(board: Builder) -> None:
    board.with_panel(
        bars(
            "Spot against on-demand: vCPU",
            description="How much less the cheapest vCPU-hour costs on spot than on demand in the same region. The two "
            "may be on different machines. Spot is never inferred: a region without a spot price has no bar.",
            unit="percentunit",
            decimals=0,
            query=now(_discount(VCPU, PLACE, "provider, region"), legend="{{provider}} {{region}}"),
            none="no region has both",
        )
        .span(12)
        .height(9)
    )
    board.with_panel(
        bars(
            "Spot against on-demand: GPU",
            description="How much less a whole GPU's hour costs on spot than on demand, same model and region. Nothing "
            "is shown where spot costs as much or more.",
            unit="percentunit",
            decimals=0,
            query=now(
                _discount(GPU, f'{PLACE}, gpu_model=~"$gpu_model"', "provider, region, gpu_model"),
                legend="{{gpu_model}} {{provider}} {{region}}",
            ),
            none="no model has both",
        )
        .span(12)
        .height(9)
    )


def _discount(metric: str, chosen: str, labels: str) -> str:
    """1 − spot ÷ on-demand where spot is cheaper, largest first."""
    spot = f'min by ({labels}) ({metric}{{{chosen}, capacity_type="spot"}})'
    on_demand = f'min by ({labels}) ({metric}{{{chosen}, capacity_type="on-demand"}})'
    return f"sort_desc(1 - {spot} / {on_demand} > 0)"


def _add_egress(board: Builder) -> None:
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
