"""The parts of the costs that one looks at every day: why they changed, what is unusual, and whether they are fresh."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.parts import bars, joined_by, matrix, merged, named_columns, now, numbers, rows, shown_as, worded

POUNDS: Final = "currencyGBP"
DAY: Final = 24 * 3_600
SERIES: Final = "provider, account, service"
CHOSEN: Final = 'provider=~"$provider"'
WHOLE_UNTIL: Final = "tuppence_cost_whole_until_timestamp_seconds"
CAUSES: Final = (
    "Causes add up to the change: usage, price, mix, commitments, fx, new and gone services, one-off charges, and what "
    "nobody can tell (docs/explanation/cost-changes.md)."
)


def add_changes(board: Dashboard) -> None:
    """This will add why the last whole day and week cost more or less, and days that are unusual."""
    board.with_row(Row("What changed, and what is unusual"))
    for span, what in (("day", "the last whole day"), ("week", "the last seven whole days")):
        changed = f'tuppence_cost_change_gbp{{{CHOSEN}, span="{span}"}}'
        board.with_panel(
            matrix(
                f"Why {what} cost more or less",
                description=f"The effective cost of {what} against a week before, by account and service, the largest "
                f"of each provider. {CAUSES}",
                unit=POUNDS,
                decimals=2,
                expression=f'max by (what, cause) (label_join({changed}, "what", " ", "account", "service"))',
                row="what",
                column="cause",
            )
            .span(12)
            .height(9)
        )
    panel = rows(
        "Unusual costs of the last whole day",
        description="Services that cost more than the same weekdays before let one expect, with what was expected and "
        "the most that was (docs/explanation/cost-changes.md).",
        unit=POUNDS,
        decimals=2,
        queries=[
            now(f"max by ({SERIES}) (tuppence_cost_anomaly_gbp{{{CHOSEN}}})", ref_id="A"),
            *(
                now(
                    f'max by ({SERIES}) (tuppence_cost_expected_gbp{{{CHOSEN}, bound="{bound}"}}) and on ({SERIES}) '
                    f"max by ({SERIES}) (tuppence_cost_anomaly_gbp)",
                    ref_id=ref,
                )
                for ref, bound in (("B", "mid"), ("C", "upper"))
            ),
        ],
        none="nothing is unusual",
    )
    heads = {"Value #A": "More than expected", "Value #B": "Expected", "Value #C": "At most"}
    named_columns(merged(panel), {"provider": "Provider", "account": "Account", "service": "Service", **heads})
    board.with_panel(panel.span(24).height(6))


def add_freshness(board: Dashboard) -> None:
    """This will add how far each account's costs are whole, and how the last import of each source ended."""
    board.with_row(Row("Freshness"))
    board.with_panel(
        bars(
            "Age of the last whole day",
            description="Time since the end of the last day that is whole, by account that is billed. One to two days "
            "are usual; past three nothing of the account is shown as of this month.",
            unit="s",
            decimals=1,
            query=now(
                f"sort_desc(time() - max by (provider, account) ({WHOLE_UNTIL}{{{CHOSEN}}}))",
                legend="{{provider}} {{account}}",
            ),
            colours=((None, "green"), (2.5 * DAY, "orange"), (3 * DAY, "red")),
        )
        .span(9)
        .height(6)
    )
    panel = rows(
        "Sources of costs",
        description="Whether costs were last brought from each source, and how long ago they were asked for. What was "
        "known stays when that fails.",
        unit="short",
        queries=[
            now("min by (source) (tuppence_cost_import_success)", ref_id="A"),
            now("time() - max by (source) (tuppence_cost_import_timestamp_seconds)", ref_id="B"),
        ],
        none="no source of costs in the settings",
    )
    named_columns(joined_by(panel, "source"), {"source": "Source", "Value #A": "Brought", "Value #B": "Asked ago"})
    panel.override_by_name("Brought", worded({"1": ("yes", "green"), "0": ("no", "red")}))
    panel.override_by_name("Asked ago", shown_as("s", decimals=0))
    board.with_panel(panel.span(9).height(6))
    board.with_panel(
        numbers(
            "Charges left out, by reason",
            description="Charges of the last import that are in no total, because what a cost needs is absent or "
            "cannot be read.",
            unit="short",
            decimals=0,
            query=now("max by (reason) (tuppence_cost_charges_rejected)", legend="{{reason}}"),
            colours=((None, "text"), (1, "orange")),
            none="none",
            names=True,
        )
        .span(6)
        .height(6)
    )
