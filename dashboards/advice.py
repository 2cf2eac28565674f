"""The part that shows what the recommender advises: open saving a month, by kind of change and by confidence."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import bars, lines, matrix, now, numbers, over_time

POUNDS: Final = "currencyGBP"
BY_BOTH: Final = 'max by (kind, confidence) (tuppence_recommendation_saving_gbp_per_month{state="open"})'
A_MONTH: Final = "A month is 730 hours. Advice that may cost (compliance, bursts) is not counted as a saving."


def add_advice(board: Dashboard) -> None:
    """This will add the open saving and the number of open recommendations."""
    board.with_row(Row("Advice"))
    _add_open_saving(board)
    _add_open_recommendations(board)


def _add_open_saving(board: Dashboard) -> None:
    board.with_panel(
        numbers(
            "Open saving a month",
            description=f"What all open recommendations together would save. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(f"sum({BY_BOTH})", legend="open saving"),
            colours=((None, "green"),),
        )
        .span(5)
        .height(8)
    )
    board.with_panel(
        bars(
            "Open saving a month by kind and confidence",
            description=f"What open recommendations would save, by kind and by how sure the figures are. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=now(f"sort_desc({BY_BOTH})", legend="{{kind}}, {{confidence}} confidence"),
            colours=((None, "green"),),
        )
        .span(11)
        .height(8)
    )


def _add_open_recommendations(board: Dashboard) -> None:
    board.with_panel(
        matrix(
            "Open recommendations",
            description="How many recommendations are open, by kind of change and confidence. The recommender's pages "
            "show each with its evidence.",
            unit="short",
            decimals=0,
            expression='max by (kind, confidence) (tuppence_recommendations{state="open"})',
            row="kind",
            column="confidence",
        )
        .span(8)
        .height(8)
    )
    board.with_panel(
        lines(
            "Open saving a month over time",
            description=f"How the open saving moved, by kind of change. It falls when advice is followed. {A_MONTH}",
            unit=POUNDS,
            decimals=2,
            query=over_time(f"sum by (kind) ({BY_BOTH})", legend="{{kind}}"),
        )
        .span(24)
        .height(8)
    )
