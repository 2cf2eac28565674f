"""The dashboard "Tuppence: savings": what is open, what was accepted, what it really saved, how good forecasts were."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.frame import Addresses, label_variable, new_dashboard
from dashboards.parts import bars, lines, matrix, now, numbers, over_time

UID: Final = "tuppence-savings"
POUNDS: Final = "currencyGBP"
HOUR: Final = 3_600
SAVING: Final = "tuppence_recommendation_saving_gbp_per_month"
CHOSEN: Final = 'kind=~"$kind"'
A_MONTH: Final = "A month is 730 hours. Advice that may cost (compliance, bursts) is not counted as a saving."
DAYS_MEASURED: Final = "In the days in which each verified move was measured (docs/explanation/ledger.md)."


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "savings",
        uid=UID,
        description="What advice would save a month, what of it was accepted, and what it really saved.",
        addresses=addresses,
        since="now-30d",
    )
    board.with_variable(label_variable("kind", "Kind", values_of="tuppence_recommendations"))
    board.with_row(Row("Advice"))
    _add_open_and_accepted(board)
    _add_advice(board)
    board.with_row(Row("What it really saved"))
    _add_realised(board)
    board.with_row(Row("How good the figures were"))
    _add_accuracy(board)
    return board.build()


def _of(state: str) -> str:
    return f'max by (kind, confidence) ({SAVING}{{state="{state}", {CHOSEN}}})'


def _add_open_and_accepted(board: Builder) -> None:
    board.with_panel(
        numbers(
            "Open saving a month",
            description=f"What all open recommendations together would save. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(f"sum({_of('open')})", legend="open"),
            colours=((None, "green"),),
            none="none",
        )
        .span(6)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Accepted saving a month",
            description="What recommendations would save that somebody has accepted and not yet carried out. "
            f"{A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(f"sum({_of('accepted')})", legend="accepted"),
            colours=((None, "blue"),),
            none="none accepted",
        )
        .span(6)
        .height(5)
    )
    board.with_panel(
        bars(
            "Expected saving a month by kind",
            description="The open saving times what measured moves of the kind really save, as the policy has it. "
            f"{A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(
                f"sort_desc(max by (kind) (tuppence_recommendation_saving_expected_gbp_per_month{{{CHOSEN}}}))",
                legend="{{kind}}",
            ),
            colours=((None, "green"),),
            none="none",
        )
        .span(12)
        .height(5)
    )


def _add_advice(board: Builder) -> None:
    board.with_panel(
        bars(
            "Open saving a month by kind and confidence",
            description=f"What open recommendations would save, by kind and by how sure the figures are. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(f"sort_desc({_of('open')})", legend="{{kind}}, {{confidence}} confidence"),
            colours=((None, "green"),),
            none="none",
        )
        .span(12)
        .height(8)
    )
    board.with_panel(
        matrix(
            "Recommendations by kind and state",
            description="How many recommendations there are, by kind of change and where they are in their life. The "
            "recommender's pages show each with its evidence.",
            unit="short",
            decimals=0,
            expression="sum by (kind, state) (max by (kind, state, confidence) "
            f"(tuppence_recommendations{{{CHOSEN}}}))",
            row="kind",
            column="state",
        )
        .span(7)
        .height(8)
    )
    board.with_panel(
        numbers(
            "First advice lapses in",
            description="Time until the first open or accepted recommendation of a kind lapses. Each evaluation that "
            "still advises it moves it on.",
            unit="s",
            decimals=1,
            query=now(
                f"min by (kind, state) (tuppence_recommendation_next_expiry_timestamp_seconds{{{CHOSEN}}}) - time()",
                legend="{{kind}}, {{state}}",
            ),
            colours=((None, "red"), (HOUR, "orange"), (6 * HOUR, "green")),
            none="no advice",
            names=True,
        )
        .span(5)
        .height(8)
    )
    board.with_panel(
        lines(
            "Open saving a month over time",
            description=f"How the open saving moved, by kind of change. It falls when advice is followed. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            queries=[over_time(f"sum by (kind) ({_of('open')})", legend="{{kind}}")],
        )
        .span(24)
        .height(8)
    )


def _add_realised(board: Builder) -> None:
    realised, predicted = "max(tuppence_saving_realised_gbp)", "max(tuppence_saving_predicted_gbp)"
    shown = (
        ("Realised saving", f"What verified recommendations saved; may be negative. {DAYS_MEASURED}", realised),
        (
            "Predicted for the same hours",
            f"What their proposals would make of the same hours. {DAYS_MEASURED}",
            predicted,
        ),
    )
    for title, description, expression in shown:
        board.with_panel(
            numbers(
                title,
                description=description,
                unit=POUNDS,
                decimals=2,
                query=now(expression, legend="£"),
                none="no ledger",
            )
            .span(5)
            .height(7)
        )
    board.with_panel(
        numbers(
            "Realised of predicted",
            description="What was realised of what was predicted. Below 90 %, look at tuppence calibrate before a step "
            "up in mode.",
            unit="percentunit",
            decimals=0,
            query=now(f"{realised} / ({predicted} > 0)", legend="of predicted"),
            colours=((None, "red"), (0.8, "orange"), (0.9, "green")),
            none="nothing verified yet",
        )
        .span(4)
        .height(7)
    )
    board.with_panel(
        lines(
            "Realised and predicted over time",
            description="Both grow as moves are verified; the gap is what predictions promised too much. "
            f"{DAYS_MEASURED}",
            unit=POUNDS,
            decimals=2,
            queries=[
                over_time(realised, legend="realised"),
                over_time(predicted, legend="predicted", ref_id="B"),
            ],
        )
        .span(10)
        .height(7)
    )


def _add_accuracy(board: Builder) -> None:
    board.with_panel(
        lines(
            "Forecast error over time",
            description="Sum of errors by sum of demand one hour ahead, by model, median over all series; the naive "
            "ones (persistence, seasonal-naive) are what a forecast must beat.",
            unit="percentunit",
            decimals=1,
            queries=[over_time("max by (model) (tuppence_forecast_wape_ratio)", legend="{{model}}")],
            none="no forecast",
        )
        .span(14)
        .height(8)
    )
    board.with_panel(
        numbers(
            "Error of the best forecast against persistence",
            description="Error of the best model by that of saying that demand stays as it is. Below 100 % a forecast "
            "earns its keep.",
            unit="percentunit",
            decimals=0,
            query=now(
                'min(tuppence_forecast_wape_ratio) / (max(tuppence_forecast_wape_ratio{model="persistence"}) > 0)',
                legend="of persistence",
            ),
            colours=((None, "green"), (0.9, "orange"), (1, "red")),
            none="no forecast",
        )
        .span(10)
        .height(8)
    )
