"""docker-compose.yml: valid, locked down, and consistent with the command, the image and the files that it mounts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from exporters.core.config_commands import check_document
from exporters.core.config_file import parse_document
from exporters.core.web.serving import serving
from exporters.publish.http import create_app
from exporters.serving import ExporterService
from exporters.settings import ExporterSettings
from recommender.demo.write import SETTINGS_FILE
from recommender.settings import RecommenderSettings
from tests.servers.prometheus import free_port
from tests.shell import exit_codes

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
ONE_SHOT = {
    waited
    for service in SERVICES.values()
    for waited, how in service.get("depends_on", {}).items()
    if how["condition"] == "service_completed_successfully"
}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
HOW_TO = (ROOT / "docs/how-to/compose.md").read_text(encoding="utf-8")


@pytest.fixture(params=SERVICES, ids=str)
def service(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Each service."""
    return SERVICES[request.param]


def mounts(service: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """What is mounted by its place in the container: source and mode."""
    found = {}
    for volume in service.get("volumes", []):
        source, target, *mode = volume.split(":")
        found[target] = (source, *(mode or ["rw"]))
    return found


def on_disk(service: dict[str, Any], path: str) -> Path:
    """The file of the repository that stands at a path of the container."""
    for target, (source, _) in mounts(service).items():
        if source.startswith("./") and PurePosixPath(path).is_relative_to(target):
            return ROOT / source / PurePosixPath(path).relative_to(target)
    raise AssertionError(f"{path} is not mounted")


def yaml_examples(text: str, name: str) -> list[str]:
    """The YAML examples of a page that name a file in their first line."""
    found = re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, flags=re.DOTALL)
    return [body for of, body in found if of == name]


def test_it_is_a_compose_file_by_the_specification() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="the development package compose-spec is not installed")
    specification = compose_spec.PyCompose.from_json(json.dumps(COMPOSE)).to_spec()
    ours = {"sample-data", "exporter", "recommender"}
    assert set(specification.services) == ours | {"prometheus", "alertmanager", "grafana", "postgresql"}


def test_docker_reads_it() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    done = subprocess.run(
        [docker, "compose", "-f", str(FILE), "config", "--quiet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_service_is_locked_down(service: dict[str, Any]) -> None:
    uid = int(service["user"].split(":")[0])
    assert uid > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"][0] == "/tmp"
    assert not {"privileged", "cap_add", "pid", "ipc"} & service.keys()


def test_every_port_is_open_to_this_machine_only(service: dict[str, Any]) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_images_are_pinned_by_a_whole_version(service: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+|postgres:\d+\.\d+", service["image"])


def test_the_image_is_the_version_of_the_project_and_its_user_that_of_the_dockerfile() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    user = re.search(r"^USER (\S+)$", DOCKERFILE, flags=re.MULTILINE)
    assert user is not None
    assert {(one["image"], one["user"]) for one in OURS.values()} == {(f"tuppence:{version}", user[1])}


def test_every_service_that_stays_is_watched() -> None:
    assert {"sample-data"} == ONE_SHOT
    for name, service in SERVICES.items():
        if name in ONE_SHOT:
            assert service["restart"] == "no"
        else:
            assert service["healthcheck"]["test"][0] == "CMD"
            assert service["restart"] == "unless-stopped"


def test_nothing_starts_before_what_it_needs() -> None:
    def waits(name: str) -> dict[str, str]:
        return {waited: how["condition"] for waited, how in SERVICES[name].get("depends_on", {}).items()}

    assert waits("exporter") == {"sample-data": "service_completed_successfully"}
    assert waits("recommender") == {"exporter": "service_healthy"}
    assert waits("prometheus") == {"exporter": "service_healthy", "alertmanager": "service_healthy"}
    assert waits("grafana") == {"prometheus": "service_healthy"}


def test_the_command_understands_what_every_service_asks(tmp_path: Path) -> None:
    entry = re.search(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, flags=re.MULTILINE)
    assert entry is not None
    program, *arguments = json.loads(entry[1])
    assert program == "tuppence"
    asked = [({}, [*arguments, *service["command"], "--help"]) for service in OURS.values()]
    assert exit_codes(asked, folder=tmp_path) == [0] * len(OURS)


@pytest.mark.parametrize("name", sorted(OURS.keys() - ONE_SHOT))
def test_a_service_listens_where_its_neighbours_reach_it(name: str) -> None:
    arguments = OURS[name]["command"]
    assert arguments[arguments.index("--host") + 1] == "0.0.0.0"


def test_the_health_check_tells_a_ready_service_from_one_that_is_not(tmp_path: Path) -> None:
    settings = ExporterSettings.model_validate({"store": {"url": str(tmp_path)}})
    service = ExporterService(settings, load=lambda: settings, fetch=False)
    _, _python, *rest = SERVICES["exporter"]["healthcheck"]["test"]

    def check(port: int) -> int:
        arguments = [part.replace("10210", str(port)) for part in rest]
        return subprocess.run([sys.executable, *arguments], capture_output=True, cwd=ROOT, check=False).returncode

    with serving(create_app(service.app())) as address:
        assert check(address.port) == 1
        service.start()
        assert check(address.port) == 0
    assert check(free_port()) == 1


@pytest.mark.parametrize("name", sorted(OURS.keys() - ONE_SHOT))
def test_the_health_check_asks_the_port_that_is_published(name: str) -> None:
    (port,) = SERVICES[name]["ports"]
    assert SERVICES[name]["healthcheck"]["test"][-1] == port.split(":")[-1]


def test_what_is_mounted_from_the_repository_is_there_and_read_only(service: dict[str, Any]) -> None:
    for source, mode in mounts(service).values():
        if source.startswith("./"):
            assert (ROOT / source).exists()
            assert mode == "ro"
        else:
            assert source in COMPOSE["volumes"]


def test_every_volume_is_used() -> None:
    used = {source for service in SERVICES.values() for source, _ in mounts(service).values()}
    assert set(COMPOSE["volumes"]) <= used


def test_the_sample_settings_lie_where_the_services_look_for_them() -> None:
    folder = SERVICES["sample-data"]["command"][-1]
    for name in ("exporter", "recommender"):
        assert SERVICES[name]["environment"]["TUPPENCE_CONFIG"] == f"{folder}/{SETTINGS_FILE}"
        assert mounts(SERVICES[name])[folder][0] == mounts(SERVICES["sample-data"])[folder][0]
    assert mounts(SERVICES["recommender"])[folder][1] == "ro"


def test_the_sample_is_written_and_names_nothing_outside_its_folder(tmp_path: Path) -> None:
    *arguments, folder = SERVICES["sample-data"]["command"]
    assert folder == "/sample"
    assert exit_codes([({}, [*arguments, str(tmp_path / "sample")])], folder=tmp_path) == [0]
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]
    files = {path.name for path in (tmp_path / "sample").iterdir()}
    assert files == {"tuppence.yaml", "policy.yaml", "usage.parquet", "billing", "snapshots"}
    settings = yaml.safe_load((tmp_path / "sample" / SETTINGS_FILE).read_text(encoding="utf-8"))
    paths = [settings["store"]["url"], settings["prices"]["url"], settings["usage"]["file"]["path"], settings["policy"]]
    paths += settings["costs"]["paths"]
    assert all(Path(path).is_relative_to(tmp_path / "sample") for path in paths)


def test_prometheus_finds_its_configuration_its_rules_and_its_targets() -> None:
    service = SERVICES["prometheus"]
    (path,) = [part.removeprefix("--config.file=") for part in service["command"] if part.startswith("--config.file=")]
    config = yaml.safe_load(on_disk(service, path).read_text(encoding="utf-8"))
    (pattern,) = config["rule_files"]
    rules = PurePosixPath(path).parent / pattern
    folder = PurePosixPath(*(part for part in rules.parent.parts if part not in {"..", "prometheus"}))
    assert list(on_disk(service, str(folder)).glob(rules.name))
    for job in config["scrape_configs"]:
        for target in job["static_configs"][0]["targets"]:
            name, port = target.split(":")
            assert SERVICES[name]["ports"][0].endswith(f":{port}")


def test_grafana_finds_its_data_source_and_its_dashboards() -> None:
    service = SERVICES["grafana"]
    source = yaml.safe_load(
        on_disk(service, "/etc/grafana/provisioning/datasources/prometheus.yaml").read_text(encoding="utf-8")
    )["datasources"][0]
    variable = source["url"].removeprefix("${").removesuffix("}")
    host = service["environment"][variable].removeprefix("http://").split(":")[0]
    assert host in SERVICES
    provider = yaml.safe_load(
        on_disk(service, "/etc/grafana/provisioning/dashboards/tuppence.yaml").read_text(encoding="utf-8")
    )["providers"][0]
    assert list(on_disk(service, provider["options"]["path"]).glob("*.json"))
    assert on_disk(service, service["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]).exists()


def test_grafana_lets_everybody_look_and_nobody_log_in() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert environment["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
    assert environment["GF_AUTH_BASIC_ENABLED"] == "false"


def test_prometheus_hands_its_alerts_to_the_alertmanager_that_is_there() -> None:
    config = yaml.safe_load((ROOT / "dashboards/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    (group,) = config["alerting"]["alertmanagers"][0]["static_configs"]
    (name, port) = group["targets"][0].split(":")
    assert SERVICES[name]["ports"] == [f"127.0.0.1:{port}:{port}"]
    (path,) = [part.split("=")[1] for part in SERVICES[name]["command"] if part.startswith("--config.file=")]
    assert on_disk(SERVICES[name], path).exists()


def test_every_folder_that_a_service_writes_to_is_a_volume() -> None:
    written = {"prometheus": "--storage.tsdb.path=", "alertmanager": "--storage.path="}
    for name, flag in written.items():
        (path,) = [part.removeprefix(flag) for part in SERVICES[name]["command"] if part.startswith(flag)]
        assert mounts(SERVICES[name])[path][0] in COMPOSE["volumes"]


def test_every_secret_is_a_file_and_none_stands_in_the_file_or_in_the_environment() -> None:
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    for service in SERVICES.values():
        assert set(service.get("secrets", [])) <= COMPOSE["secrets"].keys()
        for name, value in service.get("environment", {}).items():
            if re.search(r"(?i)password|secret|token|api_?key", name):
                assert value.removeprefix("/run/secrets/") in service["secrets"]


def test_postgresql_runs_only_when_asked_for_and_nothing_waits_for_it() -> None:
    assert SERVICES["postgresql"]["profiles"] == ["postgresql"]
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["postgresql"]
    assert not [name for name, service in SERVICES.items() if "postgresql" in service.get("depends_on", {})]


def test_the_ledger_of_the_guide_is_the_database_of_the_profile() -> None:
    ledger, override = (
        yaml_examples(HOW_TO, "tuppence.yaml")[1],
        yaml_examples(HOW_TO, "docker-compose.override.yml")[1],
    )
    settings = RecommenderSettings.model_validate(yaml.safe_load(ledger))
    database = SERVICES["postgresql"]["environment"]
    place = urlsplit(settings.ledger.url)
    assert (place.scheme, place.hostname) == ("postgresql", "postgresql")
    assert (place.username, place.path) == (database["POSTGRES_USER"], f"/{database['POSTGRES_DB']}")
    assert place.password is None
    assert str(settings.ledger.password_file) == database["POSTGRES_PASSWORD_FILE"]
    told = yaml.safe_load(override)["services"]["recommender"]
    assert told["secrets"] == SERVICES["postgresql"]["secrets"]
    assert told["depends_on"]["postgresql"]["condition"] == "service_healthy"


def test_the_override_of_the_guide_fits() -> None:
    override = yaml.safe_load(yaml_examples(HOW_TO, "docker-compose.override.yml")[0])
    assert set(override["services"]) == {"exporter", "recommender"}
    for service in override["services"].values():
        assert service["environment"]["TUPPENCE_CONFIG"] in mounts(service)


def test_the_settings_of_the_guide_are_valid_and_both_services_find_the_same_snapshots() -> None:
    text = yaml_examples(HOW_TO, "tuppence.yaml")[0]
    check_document(parse_document(text, source="compose.md", environment={}), [ExporterSettings, RecommenderSettings])
    settings = yaml.safe_load(text)
    store, prices = PurePosixPath(settings["store"]["url"]), PurePosixPath(settings["prices"]["url"])
    exporter, recommender = mounts(SERVICES["exporter"]), mounts(SERVICES["recommender"])
    assert exporter[str(store.parent)][0] == recommender[str(prices.parent)][0]
    assert store.name == prices.name
    override = yaml.safe_load(yaml_examples(HOW_TO, "docker-compose.override.yml")[0])
    assert settings["policy"] in mounts(override["services"]["recommender"])
