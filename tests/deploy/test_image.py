"""The Dockerfile, by the rules that hadolint checks, and by what the lock and the project say."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from exporters.core.web import healthcheck

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def instructions() -> list[tuple[str, str]]:
    """Each instruction with what stands behind it, continued lines joined, comments left out."""
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in joined.splitlines()]


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, FROM first."""
    found: list[list[tuple[str, str]]] = []
    for one in instructions():
        if one[0] == "FROM":
            found.append([])
        if found:
            found[-1].append(one)
    return found


def behind(word: str) -> list[str]:
    """What stands behind each instruction of a kind in the last stage."""
    return [rest for name, rest in stages()[-1] if name == word]


def test_there_are_two_stages_on_one_base_of_a_whole_version() -> None:
    (base,) = [rest.removeprefix("BASE=") for word, rest in instructions() if word == "ARG" and rest.startswith("BASE")]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", base)
    assert [stage[0][1].split(" ")[0] for stage in stages()] == ["${BASE}", "${BASE}"]


def test_nothing_is_added_from_an_address_and_no_package_manager_runs() -> None:
    assert not [rest for word, rest in instructions() if word == "ADD"]
    assert not re.search(r"apt|apk |curl|wget|sudo", " ".join(rest for word, rest in instructions() if word == "RUN"))


def test_every_package_comes_from_the_lock_with_its_hash() -> None:
    installs = [json.loads(rest) for word, rest in instructions() if word == "RUN" and "pip" in rest]
    (locked, builder, wheel, own) = installs
    assert locked[1:] == ["install", "--require-hashes", "-r", "requirements.lock"]
    assert builder[1:] == ["install", "--require-hashes", "-r", "requirements-build.lock"]
    assert "--no-build-isolation" in wheel
    assert own[1:] == ["install", "--no-deps", "--no-index", "--find-links", "/wheels", "tuppence"]
    assert len({one[0] for one in (locked, own)}) == 1
    assert builder[0] == wheel[0] != locked[0]
    assert not [rest for word, rest in stages()[-1] if word == "RUN" and "pip" in rest]


def test_the_lock_of_the_builder_is_what_the_project_is_built_with() -> None:
    (backend,) = PROJECT["build-system"]["requires"]
    name, least = backend.split(">=")
    lock = (ROOT / "requirements-build.lock").read_text(encoding="utf-8")
    found = re.search(rf"^{name}==([\d.]+) ", lock, flags=re.MULTILINE)
    assert found is not None
    assert [int(part) for part in found[1].split(".")][:2] >= [int(part) for part in least.split(".")]
    packages = re.findall(r"^[a-z][\w.-]*==.*(?:\n    .*)*", lock, flags=re.MULTILINE)
    assert len(packages) >= 4
    assert all("--hash=sha256:" in one for one in packages)


def test_no_instruction_needs_a_shell() -> None:
    for word, rest in instructions():
        if word in {"RUN", "ENTRYPOINT"}:
            assert all(isinstance(part, str) for part in json.loads(rest)), f"{word} {rest}"


def test_it_runs_as_a_number_that_is_not_root_and_writes_to_two_folders() -> None:
    (user,) = behind("USER")
    assert re.fullmatch(r"[1-9]\d{4}:[1-9]\d{4}", user)
    (run,) = [json.loads(rest) for rest in behind("RUN")]
    assert run[-2:] == ["/data", "/sample"]
    assert f"--owner={user.split(':')[0]}" in run
    assert [word for word, _ in stages()[-1]].index("USER") < [word for word, _ in stages()[-1]].index("ENTRYPOINT")


def test_the_entry_point_is_the_command_that_the_project_installs() -> None:
    (entry,) = [json.loads(rest) for rest in behind("ENTRYPOINT")]
    assert entry[0] in PROJECT["project"]["scripts"]


def test_the_health_check_asks_the_ports_that_are_exposed() -> None:
    (check,) = behind("HEALTHCHECK")
    command = json.loads(check.split("CMD ", 1)[1])
    assert command[:3] == ["python", "-m", healthcheck.__name__]
    assert command[3:] == behind("EXPOSE")[0].split()
    timeout = re.search(r"--timeout=(\d+)s", check)
    assert timeout is not None
    # Two schemes are tried on the port of the service; the other port refuses at once.
    assert int(timeout[1]) > 2 * healthcheck.TIMEOUT_SECONDS


def test_the_labels_are_those_of_the_project() -> None:
    labels = dict(part.split("=", 1) for part in shlex.split(behind("LABEL")[0]))
    prefix = "org.opencontainers.image"
    assert labels[f"{prefix}.version"] == PROJECT["project"]["version"]
    assert labels[f"{prefix}.description"].startswith("What a vCPU-hour, a GPU-hour and a GiB of egress cost in pounds")
    assert labels[f"{prefix}.licenses"] == PROJECT["project"]["license"]
    assert labels[f"{prefix}.base.name"] == f"docker.io/library/{re.search(r'BASE=(.+)', TEXT)[1]}"  # type: ignore[index]


def ignored(path: str) -> bool:
    """Whether the builder is not sent a path at the root; the last line that matches decides."""
    verdict = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#") and fnmatch(path, line.removeprefix("!")):
            verdict = not line.startswith("!")
    return verdict


def test_what_is_copied_is_there_and_reaches_the_builder() -> None:
    copied = [part for word, rest in stages()[0] if word == "COPY" for part in rest.split()[:-1]]
    assert len(copied) >= 8
    for name in copied:
        assert (ROOT / name).exists()
        assert not ignored(name)


@pytest.mark.parametrize("name", [".git", "secrets", "tuppence.yaml", ".env", "tests", ".venv", "demo-output"])
def test_what_is_nobodys_business_does_not_reach_the_builder(name: str) -> None:
    assert ignored(name)


def test_what_is_copied_is_all_that_the_wheel_holds() -> None:
    wanted = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    copied = {part for word, rest in stages()[0] if word == "COPY" for part in rest.split()[:-1]}
    assert set(wanted) <= copied
