"""The dashboard "Tuppence: prices": what a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds, now and over time.

Minima are the exporter's own (``tuppence_cheapest_…``), so that no panel reads every offer. Each query folds replicas
of a service with max or min, so that two exporters are not counted twice.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.frame import Addresses, label_variable, new_dashboard
from dashboards.parts import bars, lines, matrix, now, over_time
from dashboards.rates import add_egress, add_origin, add_rates

UID: Final = "tuppence-prices"
POUNDS: Final = "currencyGBP"
PLACE: Final = 'provider=~"$provider", region=~"$region"'
CHOSEN: Final = f'{PLACE}, capacity_type=~"$capacity_type"'
CHOSEN_MODEL: Final = f'{CHOSEN}, gpu_model=~"$gpu_model"'
VCPU: Final = "tuppence_cheapest_price_gbp_per_vcpu_hour"
GPU: Final = "tuppence_cheapest_price_gbp_per_gpu_hour"

ONE_RATE: Final = "Every price is in pounds at one exchange rate a currency; see Exchange rates below."
SPLIT: Final = (
    "A machine's price is split into its vCPUs, memory and GPUs, which add up to it exactly "
    "(docs/explanation/price-split.md)."
)


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "prices",
        uid=UID,
        description="What a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds, now and over time.",
        addresses=addresses,
    )
    _add_variables(board)
    add_origin(board)
    board.with_row(Row("Compute"))
    _add_cheapest(board)
    _add_providers(board)
    _add_trends(board)
    _add_spot(board)
    add_egress(board)
    add_rates(board)
    return board.build()


def _add_variables(board: Builder) -> None:
    board.with_variable(label_variable("provider", "Provider", values_of="tuppence_region_info"))
    board.with_variable(label_variable("region", "Region", values_of='tuppence_region_info{provider=~"$provider"}'))
    board.with_variable(
        label_variable("capacity_type", "Capacity type", values_of=f'{{__name__=~"{VCPU}|{GPU}", {PLACE}}}')
    )
    board.with_variable(label_variable("gpu_model", "GPU model", values_of=f"{GPU}{{{PLACE}}}"))


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


def _add_providers(board: Builder) -> None:
    board.with_panel(
        bars(
            "Cheapest vCPU-hour by provider",
            description="The lowest price of a vCPU-hour over the chosen regions, by provider and capacity type. "
            f"{ONE_RATE}",
            unit=POUNDS,
            decimals=5,
            query=now(
                f"sort(min by (provider, capacity_type) ({VCPU}{{{CHOSEN}}}))", legend="{{provider}} {{capacity_type}}"
            ),
        )
        .span(10)
        .height(9)
    )
    board.with_panel(
        matrix(
            "Cheapest GPU-hour by GPU model and provider",
            description="The lowest price of a whole GPU's hour over the chosen regions and capacity types, by model "
            f"and provider. {ONE_RATE}",
            unit=POUNDS,
            decimals=4,
            expression=f"min by (provider, gpu_model) ({GPU}{{{CHOSEN_MODEL}}})",
            row="provider",
            column="gpu_model",
        )
        .span(14)
        .height(9)
    )


def _add_trends(board: Builder) -> None:
    board.with_panel(
        lines(
            "Cheapest vCPU-hour over time",
            description="How the lowest price of a vCPU-hour moved, by region and capacity type. A line that ends "
            "belongs to offers that are gone or grew too old.",
            unit=POUNDS,
            decimals=5,
            queries=[
                over_time(
                    f"min by (provider, region, capacity_type) ({VCPU}{{{CHOSEN}}})",
                    legend="{{provider}} {{region}} {{capacity_type}}",
                )
            ],
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
            queries=[
                over_time(
                    f"min by (gpu_model, capacity_type) ({GPU}{{{CHOSEN_MODEL}}})",
                    legend="{{gpu_model}} {{capacity_type}}",
                )
            ],
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
