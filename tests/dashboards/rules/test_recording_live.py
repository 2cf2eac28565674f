"""From what kube-state-metrics shows to a workload: scraped, recorded and read by the real things."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from recommender.observe.coverage import Window
from recommender.observe.usage_prometheus import read_usage
from recommender.observe.workloads import observe
from recommender.settings import ClusterSettings, Policy, PrometheusSettings
from tests.dashboards.rules.exposing import exposing
from tests.servers.prometheus import PrometheusServer, running_prometheus

RULES = Path(__file__).parents[3] / "dashboards" / "rules" / "recording.yaml"

KUBE_STATE = """
kube_node_info{node="n1",provider_id="aws:///eu-west-2a/i-1"} 1
kube_node_labels{node="n1",label_node_kubernetes_io_instance_type="g6.2xlarge",label_karpenter_sh_nodepool="gpu-l4",label_karpenter_sh_capacity_type="on-demand",label_nvidia_com_gpu_product="NVIDIA-L4",label_topology_kubernetes_io_zone="eu-west-2a"} 1
kube_node_status_allocatable{node="n1",resource="cpu",unit="core"} 7.9
kube_node_status_allocatable{node="n1",resource="nvidia_com_gpu",unit="integer"} 1
kube_replicaset_owner{namespace="ml",replicaset="tagger-7d",owner_kind="Deployment",owner_name="tagger",owner_is_controller="true"} 1
kube_pod_owner{namespace="ml",pod="tagger-7d-a",uid="1",owner_kind="ReplicaSet",owner_name="tagger-7d",owner_is_controller="true"} 1
kube_pod_owner{namespace="ml",pod="tagger-7d-b",uid="2",owner_kind="ReplicaSet",owner_name="tagger-7d",owner_is_controller="true"} 1
kube_pod_info{namespace="ml",pod="tagger-7d-a",uid="1",node="n1",host_ip="10.0.0.1",priority_class="standard"} 1
kube_pod_info{namespace="ml",pod="tagger-7d-b",uid="2",node="",host_ip="",priority_class="standard"} 1
kube_pod_status_phase{namespace="ml",pod="tagger-7d-a",uid="1",phase="Running"} 1
kube_pod_status_phase{namespace="ml",pod="tagger-7d-a",uid="1",phase="Pending"} 0
kube_pod_status_phase{namespace="ml",pod="tagger-7d-b",uid="2",phase="Pending"} 1
kube_pod_container_resource_requests{namespace="ml",pod="tagger-7d-a",uid="1",container="app",node="n1",resource="cpu",unit="core"} 6
kube_pod_container_resource_requests{namespace="ml",pod="tagger-7d-a",uid="1",container="app",node="n1",resource="memory",unit="byte"} 25769803776
kube_pod_container_resource_requests{namespace="ml",pod="tagger-7d-a",uid="1",container="app",node="n1",resource="nvidia_com_gpu",unit="integer"} 1
kube_pod_labels{namespace="ml",pod="tagger-7d-a",uid="1",label_tuppence_owner="ml-platform",label_tuppence_interruption_tolerance="spot"} 1
kube_namespace_labels{namespace="ml",label_tuppence_residency_class="uk"} 1
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-1",Hostname="n1",namespace="ml",pod="tagger-7d-a",container="app"} 0.75
"""  # noqa: E501 - an exposition has one series a line


def hurried(rules: str) -> str:
    """The same rules, for somebody who cannot wait an hour: a second for a minute, three for an hour."""
    text = rules.replace("interval: 1m", "interval: 1s").replace("interval: 1h", "interval: 1s")
    return text.replace("[1h]", "[3s]").replace("/ 60, 1)", "/ 3, 1)")


@pytest.fixture(scope="module")
def server() -> Iterator[PrometheusServer]:
    with exposing(KUBE_STATE) as target:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["recording.yaml"],
            "scrape_configs": [
                {
                    "job_name": "kube-state-metrics",
                    "honor_labels": True,
                    "static_configs": [{"targets": [target], "labels": {"cluster": "eks-eu-west-2"}}],
                }
            ],
        }
        files = {"recording.yaml": hurried(RULES.read_text(encoding="utf-8"))}
        with running_prometheus(config, files=files) as running:
            running.wait_for(
                "tuppence:workload_gpu_usage_ratio:mean1h and tuppence:workload_gpu_usage_ratio:mean1h > 0"
            )
            running.wait_for("tuppence:workload_priority:info")
            running.wait_for("tuppence:pool_gpu_allocatable:mean1h")
            running.wait_for("tuppence:cluster_coverage_ratio:1h == 1")
            yield running


def test_pods_become_a_workload_with_its_place_its_gpu_and_what_its_labels_say(server: PrometheusServer):
    cluster = ClusterSettings.model_validate(
        {
            "name": "eks-eu-west-2",
            "provider": "aws",
            "region": "eu-west-2",
            "pools": [{"name": "gpu-l4", "capacity_type": "on-demand", "instance_types": ["g6.2xlarge"]}],
        }
    )
    policy = Policy.model_validate({"classes": {"uk": {"residency": ["GB"]}}})
    window = Window.ending(datetime.now(UTC) + timedelta(seconds=1), hours=1)
    usage = read_usage(PrometheusSettings(url=server.url), window)
    assert usage.samples["pending_replicas"].sum() == pytest.approx(1, abs=0.35)

    result = observe(usage, policy, clusters=[cluster], window=window)
    assert result.not_enough_data.is_empty()
    row = result.workloads.row(0, named=True)
    assert result.workloads.height == 1
    assert (row["namespace"], row["workload_kind"], row["workload"]) == ("ml", "Deployment", "tagger")
    assert (row["pool"], row["instance_type"], row["capacity_type"]) == ("gpu-l4", "g6.2xlarge", "on-demand")
    assert (row["gpu_model"], row["owner"], row["interruption_tolerance"]) == ("L4", "ml-platform", "spot")
    assert (row["residency_class"], row["is_system"]) == ("uk", False)
    assert row["memory_gib_request_mean"] / row["vcpu_request_mean"] == pytest.approx(24 / 6)
    assert row["gpu_request_mean"] / row["replicas_mean"] == pytest.approx(1)
    assert row["vcpu_request_mean"] / row["replicas_mean"] == pytest.approx(6)
    assert row["gpu_usage_ratio_mean"] == pytest.approx(0.75)


def test_nodes_become_a_pool_with_what_they_allow_pods(server: PrometheusServer):
    window = Window.ending(datetime.now(UTC) + timedelta(seconds=1), hours=1)
    pools = read_usage(PrometheusSettings(url=server.url), window).pools
    assert pools is not None
    row = pools.row(0, named=True)
    assert (row["pool"], row["capacity_type"], row["gpu_model"]) == ("gpu-l4", "on-demand", "L4")
    assert (row["provider"], row["region"], row["zone"]) == ("aws", "", "eu-west-2a")
    assert row["vcpus_per_node"] == pytest.approx(7.9)
    assert row["gpus_per_node"] == pytest.approx(1)
    assert row["nodes_peak"] == 1


def test_no_rule_fails(server: PrometheusServer):
    groups = httpx2.get(f"{server.url}/api/v1/rules", timeout=10).json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == RULES.read_text(encoding="utf-8").count("- record:")
    assert {rule["name"]: rule["health"] for rule in rules} == {rule["name"]: "ok" for rule in rules}
