"""The same data in Prometheus and in VictoriaMetrics: the same fleet, workloads, flows and gaps from both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from recommender.cycle import evaluate
from recommender.observe.coverage import Window
from recommender.observe.egress_prometheus import BETWEEN_CLUSTERS, EGRESS, TRANSMIT
from recommender.observe.fleet import pools
from recommender.observe.fleet_prometheus import ALLOCATABLE, NODES, NODES_PEAK
from recommender.observe.usage_prometheus import read_usage
from recommender.observe.workloads import Observed, observe
from recommender.settings import Policy, PrometheusSettings
from tests.recommender.observe.recorded import holding, recorded
from tests.recommender.observe.usage_rows import MONDAY, cluster, samples
from tests.recommender.world import machine, prices
from tests.servers.victoria_metrics import import_text, running_victoria_metrics

WINDOW = Window(start=MONDAY, end=MONDAY + timedelta(hours=48))
HOURS = range(48)
POLICY = Policy.model_validate(
    {
        "rules": [
            {"match": {"workload": "stated"}, "set": {"flows": [{"to": "gcp/europe-west2", "gib_per_hour": 2.0}]}},
            {
                "match": {"workload": "fed"},
                "set": {"flows": [{"to": "internet", "gib_per_hour": 1, "direction": "in"}]},
            },
        ]
    }
)
POOLS = (
    {"name": "general", "capacity_type": "on-demand", "instance_types": ["m6i.large"]},
    {"name": "gpu", "capacity_type": "spot", "instance_types": ["g6.2xlarge"]},
    {"name": "asleep", "capacity_type": "spot", "instance_types": ["m6i.large"]},
)
FLEET = (cluster("c1", pools=POOLS), cluster("c2"), cluster("quiet"))

Record = tuple[str, Mapping[str, str], datetime, float]


def nodes(cluster_name: str, hours: Mapping[int, float], *, vcpus: float, **labels: str) -> list[Record]:
    """Hours in which a pool had nodes, with what they allow pods; GPUs where the labels name a model."""
    name = {"cluster": cluster_name, **labels}
    each = {"vcpus_per_node": vcpus, "memory_gib_per_node": 4 * vcpus}
    each |= {"gpus_per_node": 1.0} if "gpu_model" in labels else {}
    moments = [(MONDAY + timedelta(hours=hour), count) for hour, count in hours.items()]
    return [
        *((NODES, name, moment, count) for moment, count in moments),
        *((NODES_PEAK, name, moment, count + 1) for moment, count in moments),
        *(
            (ALLOCATABLE[what], name, moment, amount * count)
            for what, amount in each.items()
            for moment, count in moments
        ),
    ]


def sent(
    workload: str, source: str, destination: str, gib: float, *, at: str = "c1", kind: str = "Deployment"
) -> list[Record]:
    name = {"cluster": at, "namespace": "shop", "workload_kind": kind, "workload": workload}
    labels = name | {"flow_source": source, "destination": destination}
    return [(EGRESS, labels, MONDAY + timedelta(hours=hour), gib) for hour in HOURS]


def transmitted(workload: str, gib: float, *, at: str = "c1") -> list[Record]:
    name = {"cluster": at, "namespace": "shop", "workload_kind": "Deployment", "workload": workload}
    return [(TRANSMIT, name, MONDAY + timedelta(hours=hour), gib) for hour in HOURS]


def text() -> str:
    rows: list[dict[str, Any]] = [
        row
        for workload in ("web", "stated", "fed", "zoned", "twice")
        for row in samples(HOURS, workload=workload, vcpu_usage=1.25, owner="shop")
    ]
    rows += samples(HOURS, cluster="c2") + samples(HOURS, cluster="quiet") + samples(HOURS, cluster="stray")
    general = {"pool": "general", "instance_type": "m6i.large", "region": "eu-west-2", "provider": "aws"}
    gpu = {"pool": "gpu", "instance_type": "g6.2xlarge", "gpu_model": "NVIDIA-L4", "zone": "eu-west-2a"}
    between = {"cluster": "c1", "to_cluster": "c2", "flow_source": "submariner"}
    more = [
        # the label says nothing of the capacity type, the settings do
        *nodes("c1", dict.fromkeys(HOURS, 3.0), vcpus=1.9, **general, zone="eu-west-2a"),
        *nodes("c1", dict.fromkeys(HOURS, 2.0), vcpus=1.9, **general, zone="eu-west-2b"),
        # the settings say spot, and stand; four nodes for a quarter of the window, none at its end
        *nodes("c1", dict.fromkeys(range(12), 4.0), vcpus=7.8, **gpu, capacity_type="on-demand"),
        *nodes("c1", dict.fromkeys(HOURS, 1.0), vcpus=1.0, pool="forgotten"),
        *nodes("c2", dict.fromkeys(HOURS, 2.0), vcpus=1.9, instance_type="m6i.large"),
        *nodes("stray", dict.fromkeys(HOURS, 6.0), vcpus=3.9, pool="old"),
        *sent("web", "kubecost", "internet", 0.5),
        *sent("web", "kubecost", "region", 3.0),
        *sent("web", "kubecost", "other-region", 0.25),
        *sent("stated", "kubecost", "internet", 9.0),
        *sent("fed", "kubecost", "internet", 0.75),
        *sent("zoned", "beyla", "region", 1.5),
        *sent("twice", "beyla", "region", 1.4),
        *sent("twice", "obi", "region", 1.3),
        *transmitted("web", 8.0),
        *transmitted("web", 6.0, at="c2"),
        *((BETWEEN_CLUSTERS, between, MONDAY + timedelta(hours=hour), 0.125) for hour in HOURS),
    ]
    return recorded(rows, more=more)


def seen(url: str) -> Observed:
    return observe(read_usage(PrometheusSettings(url=url), WINDOW), POLICY, clusters=FLEET, window=WINDOW)


@pytest.fixture(scope="module")
def found() -> Iterator[Observed]:
    with holding(text()) as server:
        yield seen(server.url)


def seen_by_victoria_metrics(found: Observed) -> Observed:
    """What a fresh server gives. A query that meets a background merge may pass over a sample that an export has."""
    for _ in range(3):
        with running_victoria_metrics() as url:
            import_text(url, text())
            other = seen(url)
        if other.flow_bounds.equals(found.flow_bounds):
            break
    return other


@pytest.mark.slow
def test_both_servers_give_the_same_frames(found: Observed):
    other = seen_by_victoria_metrics(found)
    assert found.workloads.height == 7 + 1
    assert found.pools is not None
    assert other.pools is not None
    assert_frame_equal(other.workloads, found.workloads)
    assert_frame_equal(other.flows, found.flows)
    assert_frame_equal(other.flow_bounds, found.flow_bounds)
    assert_frame_equal(other.not_enough_data, found.not_enough_data)
    assert_frame_equal(other.pools, found.pools)


def pool(found: Observed, name: str, **labels: str) -> dict[str, Any]:
    assert found.pools is not None
    wanted = {"cluster": "c1", "pool": name} | labels
    return found.pools.filter(pl.all_horizontal(pl.col(key) == value for key, value in wanted.items())).row(
        0, named=True
    )


def test_nodes_are_counted_by_pool_and_zone_with_what_they_allow_pods(found: Observed):
    a, b = (pool(found, "general", zone=f"eu-west-2{letter}") for letter in "ab")
    assert [(row["nodes"], row["nodes_mean"], row["nodes_peak"]) for row in (a, b)] == [(3, 3, 4), (2, 2, 3)]
    assert (a["vcpus_per_node"], a["memory_gib_per_node"]) == pytest.approx((1.9, 7.6))
    assert a["gpus_per_node"] is None


def test_the_settings_stand_where_both_speak(found: Observed):
    assert pool(found, "general")["capacity_type"] == "on-demand"
    gpu = pool(found, "gpu")
    assert (gpu["capacity_type"], gpu["provider"], gpu["region"]) == ("spot", "aws", "eu-west-2")
    assert (gpu["gpu_model"], gpu["zone"], gpu["in_settings"]) == ("L4", "eu-west-2a", True)


def test_a_pool_that_sleeps_now_has_a_mean_over_the_hours_observed(found: Observed):
    gpu = pool(found, "gpu")
    assert (gpu["nodes"], gpu["nodes_mean"], gpu["nodes_peak"], gpu["gpus_per_node"]) == (0, 1, 5, 1)
    assert gpu["last_seen"] == MONDAY + timedelta(hours=11)


def test_a_pool_of_no_settings_keeps_its_unknown_capacity_type(found: Observed):
    forgotten = pool(found, "forgotten")
    assert (forgotten["capacity_type"], forgotten["in_settings"]) == ("", False)


def test_nodes_without_a_pool_are_of_the_cluster_s_only_pool(found: Observed):
    assert pool(found, "general", cluster="c2")["nodes"] == 2


def test_what_only_one_side_knows_is_said(found: Observed):
    rows = {(row["cluster"], row["workload"], row["reason"]): row["why"] for row in found.not_enough_data.to_dicts()}
    assert rows["stray", "", "not-in-settings"] == (
        "it was observed with 6 nodes (pools old), but the settings do not name it"
    )
    assert (
        rows["c1", "asleep", "pool-not-seen"] == "no node of it was seen from 2026-11-23 00:00 to 2026-11-25 00:00 UTC"
    )
    assert not any(reason == "pool-not-seen" and name == "quiet" for name, _, reason in rows)
    assert rows["c1", "egress", "egress-unknown"] == (
        "0.25 GiB/h went to other regions that the source does not name; 0.125 GiB/h went to cluster c2 by Submariner, "
        "which names no workload"
    )
    assert rows["c2", "egress", "egress-unknown"].startswith("at most 6 GiB/h left the pods of it (container_network_")
    assert rows["c1", "forgotten", "pool-not-in-settings"] == ("1 node of it seen, but the settings do not describe it")
    assert len(rows) == 5


def test_what_was_seen_is_the_current_node_mix_of_the_plan(found: Observed):
    m6i = machine(
        "aws", "eu-west-2", "m6i.large", "on-demand", vcpus=2.0, memory_gib=8.0,
        gbp_per_vcpu_hour=0.03, gbp_per_gib_hour=0.005,
    )  # fmt: skip
    made = evaluate(
        prices=prices([m6i]),
        workloads=found.workloads,
        flows=found.flows,
        pools=pools(FLEET),
        policy=POLICY,
        at=WINDOW.end,
        usage_window=(WINDOW.start, WINDOW.end),
        not_enough_data=found.not_enough_data,
        nodes_seen=found.pools,
    ).plan
    mix = {(one.cluster, one.pool): one for one in made.node_mix}
    # A node of m6i.large costs 2 × 0.03 + 8 × 0.005 = £0.10; five run in two zones of c1 and two in c2.
    general = mix["c1", "general"]
    assert (general.current_nodes, general.current_gbp_per_hour, general.note) == (5, pytest.approx(0.5), None)
    assert mix["c2", "general"].current_gbp_per_hour == pytest.approx(0.2)
    forgotten = mix["c1", "forgotten"]
    assert (forgotten.current_nodes, forgotten.current_gbp_per_hour) == (1, None)
    assert forgotten.note == "the machine type is not known"
    assert made.machines is not None
    # 5 + 2 + 1, and 6 of the cluster that the settings do not name; the sleeping GPU pool has none now.
    assert (made.machines.current_basis, made.machines.current_nodes) == ("seen", 14)
    assert made.machines.current_gbp_per_hour == pytest.approx(0.7)
    assert made.machines.current_nodes_without_price == 7
    assert made.machines.current_nodes_not_in_settings == 7
    told = {(one.cluster, one.workload): one.why for one in made.not_enough_data if one.reason == "nodes-without-price"}
    assert told["stray", "old"] == "6 nodes without a price: the machine type is not known"


def test_measured_flows_are_taken_once_and_the_policy_s_stand(found: Observed):
    rows = found.flows.select("workload", "to", "direction", "gib_per_hour", "flow_source", "confidence").rows()
    assert rows == [
        ("fed", "internet", "in", 1.0, "policy", "stated"),
        ("fed", "internet", "out", 0.75, "kubecost", "measured"),
        ("stated", "gcp/europe-west2", "out", 2.0, "policy", "stated"),
        ("twice", "aws/eu-west-2", "out", pytest.approx(1.3), "obi", "inferred"),
        ("web", "aws/eu-west-2", "out", pytest.approx(3.0), "kubecost", "measured"),
        ("web", "internet", "out", pytest.approx(0.5), "kubecost", "measured"),
        ("zoned", "aws/eu-west-2", "out", pytest.approx(1.5), "beyla", "inferred"),
    ]


def test_what_left_the_interfaces_is_a_bound_and_no_flow(found: Observed):
    rows = found.flow_bounds.select("cluster", "workload", "to", "gib_per_hour", "flow_source", "confidence").rows()
    assert rows == [
        ("c1", "web", "", pytest.approx(8.0), "cadvisor", "upper-bound"),
        ("c2", "web", "", pytest.approx(6.0), "cadvisor", "upper-bound"),
    ]
