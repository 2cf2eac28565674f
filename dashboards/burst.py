"""The dashboard "Tuppence: burst": whether owned capacity lasts for the next hour, what overflows, and at what £/h."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard as Builder
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.frame import IN_CLUSTERS, Addresses, add_cluster_variables, new_dashboard
from dashboards.parts import (
    bars,
    coloured,
    dashed,
    lines,
    matrix,
    merged,
    named_columns,
    now,
    numbers,
    over_time,
    rows,
    shown_as,
    worded,
)

UID: Final = "tuppence-burst"
POUNDS: Final = "currencyGBP"
CLASS: Final = "cluster, resource, resource_class"
OWNED: Final = f"and on ({CLASS}) tuppence_capacity"
ROUTE: Final = "cluster, resource, resource_class, to_cluster, state"
RESOURCES: Final = (("gpu", "GPUs", "short"), ("vcpu", "vCPUs", "short"), ("memory_gib", "GiB of memory", "gbytes"))


def dashboard(addresses: Addresses) -> Dashboard:
    """This will return the dashboard."""
    board = new_dashboard(
        "burst",
        uid=UID,
        description="Whether owned capacity lasts for the next hour; if not, what overflows, where to, and at what "
        "£/h.",
        addresses=addresses,
        since="now-24h",
    )
    add_cluster_variables(board)
    board.with_row(Row("The next hour"))
    _add_needed(board)
    _add_classes(board)
    board.with_row(Row("What overflows"))
    _add_overflow(board)
    board.with_row(Row("Demand, forecast and capacity"))
    for resource, words, unit in RESOURCES:
        _add_demand(board, resource, words, unit)
    return board.build()


def _add_needed(board: Builder) -> None:
    board.with_panel(
        numbers(
            "Classes that need a burst",
            description="Resource classes of owned capacity where demand, or its P90 of the next hour, was beyond what "
            "the nodes admit in enough of the last evaluations.",
            unit="short",
            decimals=0,
            query=now(f"sum(max by ({CLASS}) (tuppence_burst_needed{{{IN_CLUSTERS}}}))", legend="classes"),
            colours=((None, "green"), (1, "red")),
        )
        .span(4)
        .height(7)
    )
    board.with_panel(
        numbers(
            "Cost of bursts £/h",
            description="What open and accepted bursts cost more an hour. It is never counted as a saving.",
            unit=POUNDS,
            decimals=2,
            query=now(
                f"sum(max by ({ROUTE}) (tuppence_burst_cost_delta_gbp_per_hour{{{IN_CLUSTERS}}}))", legend="£/h more"
            ),
            colours=((None, "orange"),),
            none="no burst",
        )
        .span(4)
        .height(7)
    )


def _add_classes(board: Builder) -> None:
    demand = f"max by ({CLASS}) (tuppence_demand{{{IN_CLUSTERS}}} {OWNED})"
    capacity = f"max by ({CLASS}) (tuppence_capacity{{{IN_CLUSTERS}}})"
    panel = rows(
        "Owned capacity by class",
        description="Demand in the last sample, what is expected within the hour, and what the owned nodes admit, gang "
        "by gang. P90 is not exceeded nine times in ten. docs/explanation/burst.md says when a burst is needed.",
        unit="short",
        decimals=0,
        queries=[
            now(demand, ref_id="A"),
            now(f'max by ({CLASS}) (tuppence_demand_forecast{{{IN_CLUSTERS}, bound="p50"}} {OWNED})', ref_id="B"),
            now(f'max by ({CLASS}) (tuppence_demand_forecast{{{IN_CLUSTERS}, bound="p90"}} {OWNED})', ref_id="C"),
            now(capacity, ref_id="D"),
            now(f"{demand} / ({capacity} > 0)", ref_id="E"),
            now(f"max by ({CLASS}) (tuppence_burst_needed{{{IN_CLUSTERS}}})", ref_id="F"),
        ],
    )
    heads = {
        "cluster": "Cluster",
        "resource": "Resource",
        "resource_class": "Class",
        "Value #A": "Demand",
        "Value #B": "P50",
        "Value #C": "P90",
        "Value #D": "Capacity",
        "Value #E": "Demand of capacity",
        "Value #F": "Burst",
    }
    named_columns(merged(panel), heads)
    used = coloured(((None, "green"), (0.8, "orange"), (1, "red")))
    panel.override_by_name("Demand of capacity", [*shown_as("percentunit", decimals=0), *used])
    panel.override_by_name("Burst", worded({"0": ("no", "green"), "1": ("needed", "red")}))
    board.with_panel(panel.span(16).height(7))


def _add_overflow(board: Builder) -> None:
    panel = rows(
        "Replicas that leave",
        description="What open and accepted bursts take out of owned capacity, where it goes, and what that costs more "
        "an hour. The recommender's pages name each workload.",
        unit=POUNDS,
        decimals=2,
        queries=[
            now(f"max by ({ROUTE}) (tuppence_burst_replicas{{{IN_CLUSTERS}}})", ref_id="A"),
            now(f"max by ({ROUTE}) (tuppence_burst_cost_delta_gbp_per_hour{{{IN_CLUSTERS}}})", ref_id="B"),
        ],
        none="no burst",
    )
    heads = {
        "cluster": "From",
        "resource": "Resource",
        "resource_class": "Class",
        "to_cluster": "To",
        "state": "State",
        "Value #A": "Replicas",
        "Value #B": "£/h more",
    }
    named_columns(merged(panel), heads).override_by_name("Replicas", shown_as("short", decimals=0))
    board.with_panel(panel.span(10).height(8))
    board.with_panel(
        matrix(
            "Advice on owned capacity",
            description="Recommendations to burst, to come home, to buy or commit to more, by state.",
            unit="short",
            decimals=0,
            expression='sum by (kind, state) (max by (kind, state, confidence) (tuppence_recommendations{kind=~"burst|'
            'burst-return|extend|commit"}))',
            row="kind",
            column="state",
        )
        .span(6)
        .height(8)
    )
    board.with_panel(
        bars(
            "Forecast error by model",
            description="Sum of errors by sum of demand one hour ahead, median over all series. The model chosen is "
            "the one to beat. docs/explanation/forecast.md.",
            unit="percentunit",
            decimals=1,
            query=now("sort(max by (model) (tuppence_forecast_wape_ratio))", legend="{{model}}"),
            colours=((None, "green"), (0.1, "orange"), (0.2, "red")),
            none="no forecast",
        )
        .span(8)
        .height(8)
    )


def _add_demand(board: Builder, resource: str, words: str, unit: str) -> None:
    chosen = f'{IN_CLUSTERS}, resource="{resource}"'
    name = "{{cluster}} {{resource_class}}"
    panel = lines(
        f"{words}: demand, forecast and capacity",
        description=f"{words} requested by replicas with and without a node, what is expected within the hour "
        "(dashed), and what owned nodes admit. Clusters without owned nodes are not shown: they grow.",
        unit=unit,
        decimals=0,
        queries=[
            over_time(f"max by ({CLASS}) (tuppence_demand{{{chosen}}} {OWNED})", legend=f"{name} demand"),
            over_time(
                f"max by ({CLASS}, bound) (tuppence_demand_forecast{{{chosen}}} {OWNED})",
                legend=f"{name} {{{{bound}}}}",
                ref_id="B",
            ),
            over_time(f"max by ({CLASS}) (tuppence_capacity{{{chosen}}})", legend=f"{name} capacity", ref_id="C"),
        ],
    )
    board.with_panel(panel.override_by_query("B", dashed()).span(24).height(8))
