"""Pods that wait for another scheduler are served by cluster and scheduler, and an unanswered watch is no zero."""

from __future__ import annotations

import polars as pl

from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from tests.builders import NOON
from tests.recommender.serve.conftest import Served
from tests.recommender.serve.test_metrics import samples

NAME = "tuppence_pods_pending_on_other_scheduler"


def test_pods_are_added_up_by_cluster_and_scheduler_and_gone_when_nothing_is_told(with_plan: Served) -> None:
    workload = {"cluster": "c1", "namespace": "shop", "workload_kind": "Deployment", "minutes": 10}
    rows = [
        workload | {"workload": "web", "scheduler": "kai", "pods": 2},
        workload | {"workload": "api", "scheduler": "kai", "pods": 3},
        workload | {"workload": "api", "scheduler": "volcano", "pods": 1},
    ]
    pending = PendingOnOtherScheduler.validate(pl.DataFrame(rows, schema=PendingOnOtherScheduler.create_empty().schema))
    state = with_plan.last.state
    assert state.served is not None
    with_plan.last.succeeded(state.served.plan, at=NOON, duration_seconds=1.0, pending=pending)
    assert samples(with_plan, NAME) == {
        (("cluster", "c1"), ("scheduler", "kai")): 5.0,
        (("cluster", "c1"), ("scheduler", "volcano")): 1.0,
    }
    with_plan.last.succeeded(state.served.plan, at=NOON, duration_seconds=1.0)
    assert samples(with_plan, NAME) == {}
