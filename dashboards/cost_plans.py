"""The parts of the costs that look ahead: commitments, their use and their end; budgets and forecasts."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import bars, coloured, lines, merged, named_columns, now, over_time, rows, shown_as

POUNDS: Final = "currencyGBP"
DAY: Final = 24 * 3_600
SCOPE: Final = "provider, account, scope"
OF_PROVIDER: Final = 'provider=~"$provider"'
FORECAST: Final = "tuppence_cost_forecast_gbp"
BUDGET: Final = "tuppence_budget_gbp"
HEADS: Final = {"provider": "Provider", "account": "Account"}


def add_commitments(board: Dashboard) -> None:
    """This will add what commitments cover, how far they are used, what they cost and when they end."""
    board.with_row(Row("Commitments"))
    board.with_panel(
        bars(
            "Usage that commitments cover",
            description="Of the last 30 whole days' usage at list price, what commitments covered, of services that "
            "any commitment covers. Spot is not counted.",
            unit="percentunit",
            decimals=1,
            query=now(
                f"sort_desc(max by ({SCOPE}) (tuppence_commitment_coverage_ratio{{{OF_PROVIDER}}}))",
                legend="{{provider}} {{account}}, {{scope}}",
            ),
            colours=((None, "blue"),),
            none="no commitments",
        )
        .span(9)
        .height(8)
    )
    panel = rows(
        "Commitments, their use and their end",
        description="Each commitment that is known: how much of it was used in the last 30 whole days, what an hour of "
        "it costs whether it is used or not, and how long it lasts. What is empty nobody states.",
        unit=POUNDS,
        decimals=2,
        queries=[
            now(f"min by ({SCOPE}) (tuppence_commitment_utilisation_ratio{{{OF_PROVIDER}}})", ref_id="A"),
            now(f"max by ({SCOPE}) (tuppence_commitment_gbp_per_hour{{{OF_PROVIDER}}})", ref_id="B"),
            now(
                f"min by ({SCOPE}) (tuppence_commitment_expiry_timestamp_seconds{{{OF_PROVIDER}}}) - time()", ref_id="C"
            ),
        ],
        none="no commitments",
    )
    heads = {**HEADS, "scope": "Commitment", "Value #A": "Used", "Value #B": "£/h", "Value #C": "Ends in"}
    named_columns(merged(panel), heads)
    panel.override_by_name(
        "Used", [*shown_as("percentunit", decimals=1), *coloured(((None, "red"), (0.8, "orange"), (0.95, "green")))]
    )
    panel.override_by_name(
        "Ends in", [*shown_as("s", decimals=0), *coloured(((None, "red"), (30 * DAY, "orange"), (90 * DAY, "green")))]
    )
    board.with_panel(panel.span(15).height(8))


def add_budgets(board: Dashboard) -> None:
    """This will add budgets beside what the month is expected to have been billed."""
    board.with_row(Row("Budgets and forecast"))
    month = {bound: f'max by ({SCOPE}) ({FORECAST}{{bound="{bound}"}})' for bound in ("lower", "mid", "upper")}
    budget = f"max by ({SCOPE}) ({BUDGET})"
    panel = rows(
        "Budgets and the month's forecast",
        description="What somebody means to spend this month, and what it will have been billed: the middle, and "
        "bounds that hold in eight of ten cases. A budget over a quarter or a year stands with its share of a month. "
        "Budgets overlap and must not be added up.",
        unit=POUNDS,
        decimals=2,
        queries=[
            now(budget, ref_id="A"),
            *(
                now(f"{month[bound]} and on ({SCOPE}) {budget}", ref_id=ref)
                for ref, bound in zip("BCD", month, strict=True)
            ),
            now(f"{month['mid']} / on ({SCOPE}) {budget}", ref_id="E"),
        ],
        none="no budgets",
    )
    heads = {"Value #A": "Budget", "Value #B": "Lower", "Value #C": "Middle", "Value #D": "Upper", "Value #E": "Taken"}
    named_columns(merged(panel), {**HEADS, "scope": "Budget name", **heads})
    panel.override_by_name(
        "Taken", [*shown_as("percentunit", decimals=1), *coloured(((None, "green"), (0.9, "orange"), (1.0, "red")))]
    )
    board.with_panel(panel.span(13).height(8))
    board.with_panel(
        lines(
            "Forecast of the month, all together",
            description="What this month will have been billed for all accounts, as it was foretold from day to day. "
            "Absent where an account's costs stopped days ago.",
            unit=POUNDS,
            decimals=2,
            queries=[
                over_time(
                    f'max by (bound) ({FORECAST}{{provider="all", account="all", scope="all"}})', legend="{{bound}}"
                )
            ],
        )
        .span(11)
        .height(8)
    )
