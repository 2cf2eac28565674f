"""The parts of the health that come after prices: evaluations, scores on the hub, reports on their way to readers."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import joined_by, lines, named_columns, now, numbers, over_time, rows, shown_as

HOUR: Final = 3_600
DAY: Final = 24 * HOUR
WENT_THROUGH: Final = ((None, "red"), (1.0, "green"))


def add_evaluations(board: Dashboard) -> None:
    """This will add whether and when the recommender gave a plan."""
    board.with_row(Row("Evaluations"))
    board.with_panel(
        numbers(
            "Last evaluation",
            description="1 if the last evaluation gave a plan, 0 if the plan before stays. The recommender's status "
            "page says why.",
            unit="short",
            decimals=0,
            query=now("min(tuppence_recommender_evaluation_success)", legend="gave a plan"),
            colours=WENT_THROUGH,
        )
        .span(6)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Age of the plan and of its usage",
            description="Time since the evaluation of the plan that is served, and since the end of the usage that it "
            "rests on.",
            unit="s",
            decimals=1,
            query=now(
                f"{_age('evaluation', 'plan')} or {_age('usage_end', 'usage')}",
                legend="{{what}}",
            ),
            colours=((None, "green"), (6 * HOUR, "orange"), (DAY, "red")),
            names=True,
        )
        .span(6)
        .height(5)
    )
    _add_failures(board)


def _add_failures(board: Dashboard) -> None:
    board.with_panel(
        lines(
            "Failed evaluations",
            description="Evaluations that gave no plan. Figures stay those of the last good one.",
            unit="short",
            queries=[
                over_time(
                    "sum(increase(tuppence_recommender_evaluation_failures_total[$__rate_interval]))", legend="failed"
                )
            ],
        )
        .span(6)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Nothing is said of",
            description="Workloads and clusters of which nothing is said, by reason. A guess would be worse.",
            unit="short",
            decimals=0,
            query=now("max by (reason) (tuppence_recommender_not_enough_data)", legend="{{reason}}"),
            colours=((None, "text"), (1, "orange")),
            none="none",
            names=True,
        )
        .span(6)
        .height(5)
    )


def _age(metric: str, what: str) -> str:
    """Time since a moment, named by a label."""
    age = f"time() - max(tuppence_recommender_{metric}_timestamp_seconds)"
    return f'label_replace({age}, "what", "{what}", "", "")'


def add_publication(board: Dashboard) -> None:
    """This will add whether the hub has the scores that the mode allows, and whether moves were measured."""
    board.with_row(Row("Scores on the hub, and verification"))
    board.with_panel(
        numbers(
            "Publication of scores",
            description="1 if the hub has the scores that the mode allows, 0 if the last round was held, refused or "
            "cut off.",
            unit="short",
            decimals=0,
            query=now("min(tuppence_recommender_publication_success)", legend="on the hub"),
            colours=WENT_THROUGH,
            none="no hub in the settings",
        )
        .span(8)
        .height(5)
    )
    board.with_panel(
        lines(
            "Objects written to the hub",
            description="Objects whose scores were changed. Nothing is written in the mode recommend.",
            unit="short",
            queries=[
                over_time(
                    "sum(increase(tuppence_recommender_objects_written_total[$__rate_interval]))", legend="written"
                )
            ],
            none="no hub in the settings",
        )
        .span(8)
        .height(5)
    )
    board.with_panel(
        numbers(
            "Verification of moves",
            description="1 if the last verification of moves that were carried out went through, 0 if not. It runs "
            "once a day.",
            unit="short",
            decimals=0,
            query=now("min(tuppence_recommender_verification_success)", legend="went through"),
            colours=WENT_THROUGH,
            none="none has run",
        )
        .span(8)
        .height(5)
    )


def add_deliveries(board: Dashboard) -> None:
    """This will add which channels took the report, and when."""
    board.with_row(Row("Reports to readers"))
    panel = rows(
        "Deliveries by channel",
        description="Reports that each channel took and did not take, by the ledger, and when it last took one (empty: "
        "it never did).",
        unit="short",
        queries=[
            now("max by (channel) (tuppence_report_deliveries_total)", ref_id="A"),
            now("max by (channel) (tuppence_report_delivery_failures_total)", ref_id="B"),
            now("time() - max by (channel) (tuppence_report_last_success_timestamp_seconds)", ref_id="C"),
        ],
        none="no channel in the settings",
    )
    heads = {"channel": "Channel", "Value #A": "Taken", "Value #B": "Not taken", "Value #C": "Last taken ago"}
    named_columns(joined_by(panel, "channel"), heads)
    panel.override_by_name("Last taken ago", shown_as("s", decimals=0))
    board.with_panel(panel.span(24).height(6))
