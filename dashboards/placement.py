"""The dashboard "Tuppence: placement": what clusters cost, what they would cost as advised, and what stands against it.

Scores are those that schedulers read; refusals and guards say why more is not advised.
"""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.frame import CLUSTERS, IN_CLUSTERS, Addresses, add_cluster_variables, new_dashboard
from dashboards.owned import add_owned
from dashboards.parts import (
    bars,
    coloured,
    joined_by,
    lines,
    matrix,
    named_columns,
    now,
    numbers,
    over_time,
    rows,
)

UID: Final = "tuppence-placement"
POUNDS: Final = "currencyGBP"
CURRENT: Final = f"max by (cluster) (tuppence_cluster_current_gbp_per_hour{{{IN_CLUSTERS}}})"
ENDS: Final = f"tuppence_placement_score_valid_until_timestamp_seconds{{{IN_CLUSTERS}}}"
PLANNED: Final = f"max by (cluster) (tuppence_cluster_planned_gbp_per_hour{{{IN_CLUSTERS}}})"
CASH: Final = "In cash: owned and committed capacity counts at what one more hour really costs."


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "placement",
        uid=UID,
        description="What each cluster costs and would cost as advised, how it is scored, and what is refused and why.",
        addresses=addresses,
    )
    add_cluster_variables(board)
    board.with_row(Row("Cost now and as advised"))
    _add_totals(board)
    _add_clusters(board)
    board.with_row(Row("Scores that schedulers read"))
    _add_scores(board)
    board.with_row(Row("What stands against it"))
    _add_refused(board)
    add_owned(board)
    return board.build()


def _add_totals(board: Builder) -> None:
    totals = (
        ("Current £/h", "What the priced workloads of the chosen clusters cost where they are.", f"sum({CURRENT})"),
        ("Advised £/h", "What the chosen clusters would cost under the plan.", f"sum({PLANNED})"),
        (
            "Lower bound £/h",
            "What no plan for the whole fleet can beat: rules and room kept, guards left out.",
            "max(tuppence_recommender_lower_bound_gbp_per_hour)",
        ),
    )
    for title, description, expression in totals:
        board.with_panel(
            numbers(
                title,
                description=f"{description} {CASH}",
                unit=POUNDS,
                decimals=2,
                query=now(expression, legend="£/h"),
            )
            .span(5)
            .height(4)
        )
    board.with_panel(
        numbers(
            "Workloads against a hard rule",
            description="Workloads that run where a hard rule, such as residency, does not let them. The report names "
            "them and the rule.",
            unit="short",
            decimals=0,
            query=now("max(tuppence_recommender_breaches)", legend="workloads"),
            colours=((None, "green"), (1, "red")),
        )
        .span(5)
        .height(4)
    )
    board.with_panel(
        numbers(
            "First score lapses in",
            description="Time until the first of the scores may be believed no longer. Each evaluation moves it on; a "
            "missing input lets it run out.",
            unit="s",
            decimals=1,
            query=now(f"min({ENDS}) - time()", legend="lapses in"),
            colours=((None, "red"), (900, "orange"), (3_600, "green")),
            none="no score",
        )
        .span(4)
        .height(4)
    )


def _add_clusters(board: Builder) -> None:
    panel = rows(
        "Clusters",
        description="Where each cluster is, what it costs and would cost an hour. An empty jurisdiction is not known, "
        f"and nothing is moved there. {CASH}",
        unit=POUNDS,
        decimals=2,
        queries=[
            now(f"max by (cluster, provider, region, jurisdiction) ({CLUSTERS})", ref_id="A"),
            now(CURRENT, ref_id="B"),
            now(PLANNED, ref_id="C"),
            now(f"{PLANNED} - {CURRENT}", ref_id="D"),
        ],
    )
    heads = {
        "cluster": "Cluster",
        "provider": "Provider",
        "region": "Region",
        "jurisdiction": "Jurisdiction",
        "Value #B": "Current £/h",
        "Value #C": "Advised £/h",
        "Value #D": "Change",
    }
    named_columns(joined_by(panel, "cluster"), heads)
    panel.override_by_name("Change", coloured(((None, "green"), (0.005, "orange"))))
    board.with_panel(panel.span(14).height(9))
    board.with_panel(
        lines(
            "Current and advised £/h over time",
            description=f"The chosen clusters together. The lines meet when advice is followed. {CASH}",
            unit=POUNDS,
            decimals=2,
            queries=[
                over_time(f"sum({CURRENT})", legend="current"),
                over_time(f"sum({PLANNED})", legend="advised", ref_id="B"),
            ],
        )
        .span(10)
        .height(9)
    )


def _add_scores(board: Builder) -> None:
    scored = f"tuppence_placement_score{{{IN_CLUSTERS}}}"
    board.with_panel(
        matrix(
            "Score by class and cluster",
            description="1 to 100, higher is cheaper or freer; -100: forbidden, or without a price. An empty cell is a "
            "score that lapsed, which Open Cluster Management reads as 0.",
            unit="short",
            decimals=0,
            expression=f"max by (score, cluster) ({scored})",
            row="score",
            column="cluster",
            low_is_good=False,
        )
        .span(14)
        .height(14)
    )
    board.with_panel(
        lines(
            "Clusters that may be chosen, by score",
            description="Clusters with a score above 0. At one, a scheduler has no choice left; at none, nothing is "
            "placed by this score.",
            unit="short",
            decimals=0,
            queries=[over_time(f"count by (score) (max by (score, cluster) ({scored}) > 0)", legend="{{score}}")],
        )
        .span(10)
        .height(14)
    )


def _add_refused(board: Builder) -> None:
    board.with_panel(
        bars(
            "Refused offers by rule",
            description="Pairs of a workload and an offer that each rule refuses; of several rules the first counts. "
            "What the rules are: docs/explanation/placement.md.",
            unit="short",
            decimals=0,
            query=now("sort_desc(max by (rule) (tuppence_refused_offers))", legend="{{rule}}"),
        )
        .span(8)
        .height(11)
    )
    board.with_panel(
        bars(
            "Saving a month that a guard keeps back",
            description="What offers would save that only this guard keeps back, the best of each workload. Guards do "
            "not add up. A month is 730 hours.",
            unit=POUNDS,
            decimals=2,
            query=now("sort_desc(max by (rule) (tuppence_saving_withheld_gbp_per_month))", legend="{{rule}}"),
            colours=((None, "orange"),),
            none="none",
        )
        .span(8)
        .height(11)
    )
    board.with_panel(
        bars(
            "Open saving a month by owner",
            description="What open advice would save, by owner of the workload; without a name: nobody is named as "
            "owner. The 20 largest, then the others together.",
            unit=POUNDS,
            decimals=2,
            query=now("sort_desc(max by (owner) (tuppence_owner_saving_gbp_per_month))", legend="{{owner}}"),
            colours=((None, "green"),),
            none="none",
        )
        .span(8)
        .height(11)
    )
