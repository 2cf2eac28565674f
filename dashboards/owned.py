"""The part that shows capacity which is paid for in any case: how full it is, and what more of it would be worth."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from dashboards.frame import IN_CLUSTERS
from dashboards.parts import matrix, merged, named_columns, now, numbers, rows

POUNDS: Final = "currencyGBP"
POOL: Final = "cluster, pool, instance_type"


def add_owned(board: Dashboard) -> None:
    """This will add use and shadow prices of owned pools, and pods that wait for another scheduler."""
    board.with_row(Row("Owned capacity and schedulers"))
    board.with_panel(
        matrix(
            "Used of owned pools, now and as planned",
            description="Mean requests by all that a pool that is paid for has, of the scarcest resource.",
            unit="percentunit",
            decimals=0,
            expression="max by (place, plan) (label_join("
            f'tuppence_owned_used_ratio{{{IN_CLUSTERS}}}, "place", " ", "cluster", "pool"))',
            row="place",
            column="plan",
        )
        .span(9)
        .height(8)
    )
    _add_shadow_prices(board)
    board.with_panel(
        numbers(
            "Pods that wait for another scheduler",
            description="Pods that had waited for a scheduler which is not the default one at the last evaluation. "
            "docs/how-to/roll-out.md says what to do.",
            unit="short",
            decimals=0,
            query=now(
                f"max by (cluster, scheduler) (tuppence_pods_pending_on_other_scheduler{{{IN_CLUSTERS}}})",
                legend="{{cluster}} {{scheduler}}",
            ),
            colours=((None, "text"), (1, "red")),
            none="none",
            names=True,
        )
        .span(5)
        .height(8)
    )


def _add_shadow_prices(board: Dashboard) -> None:
    panel = rows(
        "What one more hour of owned capacity is worth",
        description="What one more requested vCPU, GiB or GPU in a pool that is paid for would save an hour (its "
        "shadow price). Zero: it has room.",
        unit=POUNDS,
        decimals=4,
        queries=[
            now(f"max by ({POOL}) (tuppence_owned_shadow_price_gbp_per_{unit}_hour{{{IN_CLUSTERS}}})", ref_id=ref_id)
            for unit, ref_id in (("vcpu", "A"), ("gib", "B"), ("gpu", "C"))
        ],
    )
    heads = {
        "cluster": "Cluster",
        "pool": "Pool",
        "instance_type": "Machine",
        "Value #A": "£ per vCPU-hour",
        "Value #B": "£ per GiB-hour",
        "Value #C": "£ per GPU-hour",
    }
    board.with_panel(named_columns(merged(panel), heads).span(10).height(8))
