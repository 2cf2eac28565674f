"""What Helm makes of the chart: objects that Kubernetes' own types take, locked down, with the rights of a mode only.

Helm and the decoder are built from source, which takes minutes on a machine that has never built them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporters.core.config_commands import check_document
from exporters.core.config_file import parse_document
from exporters.settings import ExporterSettings
from recommender.emit.live.modes import Mode
from recommender.emit.live.rbac import rights
from recommender.settings import RecommenderSettings
from tests.deploy.chart import CHART, ROOT, VALUES, values
from tests.servers.chart_tools import ChartTools, built_chart_tools

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1300)]

Objects = list[dict[str, Any]]


@pytest.fixture(scope="session")
def tools() -> Iterator[ChartTools]:
    with built_chart_tools() as built:
        yield built


@pytest.fixture(scope="session", params=VALUES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest, tools: ChartTools) -> Objects:
    """The objects of one of the examples."""
    return tools.objects(CHART, "--values", str(request.param))


def rendered(tools: ChartTools, name: str) -> Objects:
    return tools.objects(CHART, "--values", str(values(name)))


def of_kind(objects: Objects, *kinds: str) -> Objects:
    return [one for one in objects if one["kind"] in kinds]


def pods(objects: Objects) -> dict[str, dict[str, Any]]:
    """The pod of each service by its component."""
    found = of_kind(objects, "Deployment", "StatefulSet")
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"] for one in found}


def settings_of(objects: Objects) -> tuple[ExporterSettings, RecommenderSettings]:
    (one,) = [each for each in of_kind(objects, "ConfigMap") if "tuppence.yaml" in each["data"]]
    text = one["data"]["tuppence.yaml"].replace("/etc/tuppence/policy.yaml", "policy.yaml")
    document = parse_document(text, source="tuppence.yaml", environment={})
    check_document(document, [ExporterSettings, RecommenderSettings])
    tree = yaml.safe_load(text)
    halves = [
        {key: tree[key] for key in tree if key in half.model_fields} for half in (ExporterSettings, RecommenderSettings)
    ]
    return ExporterSettings.model_validate(halves[0]), RecommenderSettings.model_validate(halves[1])


@pytest.mark.parametrize("path", VALUES, ids=lambda path: path.name)
def test_helm_finds_no_fault(tools: ChartTools, path: Path) -> None:
    done = tools.lint(CHART, "--values", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_decoder_finds_a_field_that_does_not_exist(tools: ChartTools) -> None:
    wrong = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {port: []}\n"
    assert 'unknown field "spec.port"' in tools.complaints(wrong)
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec: {endpoints: [{honourLabels: true}]}\n"
    assert "honourLabels" in tools.complaints(monitor)


def test_every_pod_is_locked_down(release: Objects) -> None:
    for pod in pods(release).values():
        inside = pod["securityContext"]
        assert (inside["runAsNonRoot"], inside["runAsUser"]) == (True, 10210)
        assert inside["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert {"readinessProbe", "livenessProbe"} <= container.keys()
        assert not container["image"].endswith(":latest")


def test_every_mount_has_its_volume_and_every_volume_its_mount(release: Objects) -> None:
    for one in of_kind(release, "Deployment", "StatefulSet"):
        pod = one["spec"]["template"]["spec"]
        claimed = {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])}
        mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def test_every_selector_finds_its_pod(release: Objects) -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind(release, "Deployment", "StatefulSet")]
    for one in of_kind(release, "Service", "PodDisruptionBudget"):
        wanted = one["spec"]["selector"].get("matchLabels", one["spec"]["selector"])
        assert len([found for found in labels if wanted.items() <= found.items()]) == 1
    services = [one["metadata"]["labels"] for one in of_kind(release, "Service")]
    for one in of_kind(release, "ServiceMonitor"):
        wanted = one["spec"]["selector"]["matchLabels"]
        assert len([found for found in services if wanted.items() <= found.items()]) == 1


def test_every_scrape_keeps_the_labels_of_the_prices(release: Objects) -> None:
    for one in of_kind(release, "ServiceMonitor"):
        assert all(endpoint["honorLabels"] is True for endpoint in one["spec"]["endpoints"])


def test_a_service_is_scraped_under_the_name_by_which_the_rules_know_it(release: Objects) -> None:
    config = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    known = {job["job_name"] for job in config["scrape_configs"]}
    for one in of_kind(release, "ServiceMonitor"):
        (endpoint,) = one["spec"]["endpoints"]
        (rule,) = endpoint["relabelings"]
        assert rule["targetLabel"] == "job"
        assert rule["replacement"] in known
        assert rule["replacement"].endswith(one["metadata"]["labels"]["app.kubernetes.io/component"])


def test_the_settings_are_valid_and_both_services_see_the_same_store(release: Objects) -> None:
    exporter, recommender = settings_of(release)
    assert exporter.store.url == recommender.prices.url


def test_no_secret_is_made(release: Objects) -> None:
    assert of_kind(release, "Secret") == []


def test_rules_and_dashboards_arrive_as_they_are(tools: ChartTools) -> None:
    objects = rendered(tools, "eks")
    rules = {json.dumps(one["spec"], sort_keys=True) for one in of_kind(objects, "PrometheusRule")}
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / "dashboards/rules").glob("*.yaml")]
    assert rules == {json.dumps(one, sort_keys=True) for one in files}
    boards = {
        name: text
        for one in of_kind(objects, "ConfigMap")
        if one["metadata"]["labels"].get("grafana_dashboard") == "1"
        for name, text in one["data"].items()
    }
    assert boards == {
        path.name: path.read_text(encoding="utf-8") for path in (ROOT / "dashboards/grafana/dashboards").glob("*.json")
    }


def by_place(objects: Sequence[dict[str, Any]]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """The objects in an order of their own; Helm has another one than the program."""
    places = [(one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")) for one in objects]
    return sorted(zip(places, objects, strict=True), key=lambda pair: pair[0])


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.PILOT, Mode.PUBLISH])
def test_the_rights_are_those_of_the_mode_and_no_more(tools: ChartTools, mode: Mode) -> None:
    objects = rendered(tools, mode.word)
    _, settings = settings_of(objects)
    wanted = rights(mode, settings.emit.hub, namespace="tuppence", account="finops-tuppence-recommender")
    made = of_kind(objects, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    for one in made:
        del one["metadata"]["labels"]
    assert by_place(made) == by_place([one for one in wanted if one["kind"] != "ServiceAccount"])
    assert {name: pod["automountServiceAccountToken"] for name, pod in pods(objects).items()} == {
        "exporter": False,
        "recommender": True,
    }
    assert settings.recommend.mode == mode.word


@pytest.mark.parametrize("name", ["eks", "gke", "aks", "far-hub", "exporter-only"])
def test_recommending_and_a_hub_elsewhere_need_no_rights_and_no_token_here(tools: ChartTools, name: str) -> None:
    objects = rendered(tools, name)
    assert of_kind(objects, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding") == []
    assert not any(pod["automountServiceAccountToken"] for pod in pods(objects).values())


def test_a_volume_that_one_node_holds_keeps_both_pods_together(tools: ChartTools) -> None:
    beside = pods(rendered(tools, "shadow"))["recommender"]["affinity"]["podAffinity"]
    (term,) = beside["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "exporter"
    assert "affinity" not in pods(rendered(tools, "gke"))["recommender"]
    assert "affinity" not in pods(rendered(tools, "eks"))["recommender"]


def test_the_recommender_cannot_change_prices(tools: ChartTools) -> None:
    found = {
        name: [
            mount.get("readOnly", False) for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "prices"
        ]
        for name, pod in pods(rendered(tools, "gke")).items()
    }
    assert found == {"exporter": [False], "recommender": [True]}


def test_a_bucket_needs_no_volume(tools: ChartTools) -> None:
    assert of_kind(rendered(tools, "eks"), "PersistentVolumeClaim") == []


def test_identities_of_the_clouds_stand_on_the_service_account_and_the_pod(tools: ChartTools) -> None:
    def annotations(name: str) -> set[str]:
        return {
            key
            for one in of_kind(rendered(tools, name), "ServiceAccount")
            for key in one["metadata"].get("annotations", {})
        }

    assert annotations("eks") == {"eks.amazonaws.com/role-arn"}
    assert annotations("gke") == {"iam.gke.io/gcp-service-account"}
    assert annotations("aks") == {"azure.workload.identity/client-id"}
    (exporter,) = of_kind(rendered(tools, "aks"), "Deployment")
    assert exporter["spec"]["template"]["metadata"]["labels"]["azure.workload.identity/use"] == "true"


def test_behind_tls_the_container_asks_itself_and_the_scrape_uses_https(tools: ChartTools) -> None:
    objects = rendered(tools, "aks")
    for name, port in (("exporter", "10210"), ("recommender", "10211")):
        (container,) = pods(objects)[name]["containers"]
        command = container["readinessProbe"]["exec"]["command"]
        assert command == ["python", "-m", "exporters.core.web.healthcheck", port]
    assert {one["spec"]["endpoints"][0]["scheme"] for one in of_kind(objects, "ServiceMonitor")} == {"https"}
    exporter, recommender = settings_of(objects)
    assert str(exporter.exporter_web.config_file) == str(recommender.recommender_web.config_file)


def test_the_password_of_the_ledger_is_a_mounted_file(tools: ChartTools) -> None:
    objects = rendered(tools, "aks")
    _, settings = settings_of(objects)
    pod = pods(objects)["recommender"]
    (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "ledger-password"]
    assert str(settings.ledger.password_file).startswith(mount["mountPath"])
    (volume,) = [one for one in pod["volumes"] if one["name"] == "ledger-password"]
    assert volume["secret"] == {"secretName": "ledger-password", "defaultMode": 0o440}


def test_without_the_operator_nothing_of_it_is_made(tools: ChartTools) -> None:
    objects = tools.objects(CHART, kinds=())
    assert of_kind(objects, "ServiceMonitor", "PrometheusRule") == []
    assert of_kind(tools.objects(CHART, "--set", "monitoring.operator=always", kinds=()), "PrometheusRule")


def test_traffic_is_let_in_to_two_ports_and_out_to_what_is_named(tools: ChartTools) -> None:
    (policy,) = of_kind(rendered(tools, "eks"), "NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for port in policy["spec"]["ingress"][0]["ports"]] == [10210, 10211]
    out = [port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]]
    assert out == [53, 53, 443, 6443, 9090]
    (policy,) = of_kind(rendered(tools, "gke"), "NetworkPolicy")
    addresses = [one["ipBlock"]["cidr"] for rule in policy["spec"]["egress"] for one in rule.get("to", [])]
    assert "169.254.169.254/32" in addresses


def test_changed_settings_restart_the_pods(tools: ChartTools) -> None:
    def checksum(*arguments: str) -> str:
        (one,) = of_kind(tools.objects(CHART, *arguments), "Deployment")
        return str(one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"])

    assert checksum() == checksum()
    assert checksum() != checksum("--set", "settings.store.retention_days=30")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mode=shadow"], "name the hub with hub.inCluster or hub.existingSecret"),
        (["mode=pilot,hub.inCluster=true"], "hub.pilotNamespaces"),
        (["hub.inCluster=true,hub.existingSecret=x"], "not both"),
        (["store.kind=objectStore"], "set store.url"),
        (["store.url=s3://x/y"], "set store.kind to objectStore"),
        (["ledger.existingSecret=x"], "without ledger.url"),
        (["mode=live"], "mode"),
        (["mdoe=shadow"], "mdoe"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused_with_the_remedy(tools: ChartTools, arguments: list[str], said: str) -> None:
    done = tools.template(CHART, "--set", *arguments)
    assert done.returncode != 0
    assert said in done.stderr


def test_the_notes_say_what_to_do_next(tools: ChartTools) -> None:
    text = (CHART / "templates/NOTES.txt").read_text(encoding="utf-8")
    named = set(re.findall(r"-(exporter|recommender)\b", text))
    assert named == set(pods(tools.objects(CHART)))
