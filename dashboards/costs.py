"""The dashboard "Tuppence: costs": what was really paid, against list and budgets, why it changed, how fresh it is.

Costs change once a day, and only whole days count. Each query folds replicas of the exporter with max before it adds.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.cost_changes import add_changes, add_freshness
from dashboards.cost_plans import add_budgets, add_commitments
from dashboards.frame import Addresses, label_variable, new_dashboard
from dashboards.parts import bars, lines, matrix, now, numbers, over_time

UID: Final = "tuppence-costs"
POUNDS: Final = "currencyGBP"
COST: Final = "tuppence_cost_gbp"
VCPU_HOUR: Final = "tuppence_cost_gbp_per_vcpu_hour"
CHOSEN: Final = 'provider=~"$provider", account=~"$account"'
EACH: Final = "provider, account, service, region, window, basis"

WINDOWS: Final = (
    "A window is whole or absent: yesterday and last_month until their last day is, month_to_date until the month has "
    "a whole day; last_whole_day is the newest of each account."
)
EFFECTIVE: Final = "Effective cost: upfront fees and commitments spread over what they cover (docs/how-to/costs.md)."


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "costs",
        uid=UID,
        description="What was really paid, against list prices and budgets, why it changed, and how fresh that is.",
        addresses=addresses,
        since="now-30d",
    )
    board.with_variable(label_variable("provider", "Provider", values_of=COST))
    board.with_variable(label_variable("account", "Account", values_of=f'{COST}{{provider=~"$provider"}}'))
    board.with_row(Row("What was paid"))
    _add_totals(board)
    _add_breakdowns(board)
    board.with_row(Row("Paid against list"))
    _add_unit_costs(board)
    add_commitments(board)
    add_budgets(board)
    add_changes(board)
    add_freshness(board)
    return board.build()


def _paid(by: str, *, only: str = "") -> str:
    """What was paid by some labels, each series counted once whatever the number of exporters."""
    chosen = f"{CHOSEN}, {only}" if only else CHOSEN
    return f"sum by ({by}) (max by ({EACH}) ({COST}{{{chosen}}}))"


def _add_totals(board: Builder) -> None:
    board.with_panel(
        numbers(
            "Paid by window, billed and effective",
            description=f"What the chosen accounts cost, on the invoice (billed) and effective. {WINDOWS} {EFFECTIVE}",
            unit=POUNDS,
            decimals=2,
            query=now(_paid("window, basis"), legend="{{window}}, {{basis}}"),
            names=True,
        )
        .span(14)
        .height(5)
    )
    board.with_panel(
        bars(
            "Share of costs with an owner",
            description="Of the effective cost of usage, what an owner tag stands on. Which tags name an owner is the "
            f"setting costs.owner_tags. {WINDOWS}",
            unit="percentunit",
            decimals=1,
            query=now(
                'max by (provider, window) (tuppence_cost_allocation_ratio{provider=~"$provider"})',
                legend="{{provider}}, {{window}}",
            ),
            colours=((None, "red"), (0.7, "orange"), (0.9, "green")),
        )
        .span(10)
        .height(5)
    )


def _add_breakdowns(board: Builder) -> None:
    for what, row, span in (("service", "service", 10), ("account", "account", 7), ("region", "region", 7)):
        board.with_panel(
            matrix(
                f"Effective cost by {what}",
                description=f"What each {what} of the chosen accounts cost by window. {EFFECTIVE} Services and groups "
                f"past the limits of the settings are other. {WINDOWS}",
                unit=POUNDS,
                decimals=2,
                expression=_paid(f"{row}, window", only='basis="effective"'),
                row=row,
                column="window",
            )
            .span(span)
            .height(10)
        )


def _add_unit_costs(board: Builder) -> None:
    of_place = f'label_join({VCPU_HOUR}{{provider=~"$provider"}}, "place", " ", "provider", "region")'
    board.with_panel(
        matrix(
            "Price of a vCPU-hour, paid and at list",
            description="What a vCPU-hour really cost in the last 30 whole days, memory included, and what the same "
            "hours cost at list price, where exports state vCPU-hours. Absent at list where a charge has none.",
            unit=POUNDS,
            decimals=5,
            expression=f"max by (place, basis) ({of_place})",
            row="place",
            column="basis",
        )
        .span(10)
        .height(8)
    )
    paid, listed = (
        f'max by (provider, region) ({VCPU_HOUR}{{provider=~"$provider", basis="{basis}"}})'
        for basis in ("effective", "list")
    )
    board.with_panel(
        lines(
            "Paid below list",
            description="How far below its list price a vCPU-hour was really paid: negotiated prices, commitments and "
            "spot together. The price basis effective ranks by such discounts.",
            unit="percentunit",
            decimals=1,
            queries=[over_time(f"1 - {paid} / on (provider, region) {listed}", legend="{{provider}} {{region}}")],
        )
        .span(14)
        .height(8)
    )
