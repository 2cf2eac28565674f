"""The tree keeps the shape that the design gives it: layers, sizes, words at the top of each module, small core."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from statistics import median

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PRODUCT = ("exporters", "recommender", "dashboards", "tuppence.py")
MOST_LINES_OF_A_FILE = 450
MOST_LINES_OF_A_FUNCTION = 60
MEDIAN_LINES_OF_A_FILE = 130
MOST_CORE_DISTRIBUTIONS = 45


def modules() -> list[Path]:
    found = [ROOT / "tuppence.py"]
    for name in PRODUCT[:-1]:
        found += sorted((ROOT / name).rglob("*.py"))
    return found


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(ROOT)}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_too_long() -> None:
    assert {str(path.relative_to(ROOT)): lines(path) for path in modules() if lines(path) > MOST_LINES_OF_A_FILE} == {}


def test_files_are_small_on_the_whole() -> None:
    assert median(lines(path) for path in modules() if path.name != "__init__.py") <= MEDIAN_LINES_OF_A_FILE


def test_no_function_is_too_long() -> None:
    long = {name: size for path in modules() for name, size in functions(path) if size > MOST_LINES_OF_A_FUNCTION}
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_is_named_for_nothing() -> None:
    assert [path.name for path in modules() if path.stem in {"utils", "helpers", "manager", "common", "misc"}] == []


def test_the_layers_hold() -> None:
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_the_command_starts_without_any_optional_package() -> None:
    clouds, others = ("boto3", "botocore", "google", "azure", "grpc"), ("lightkube", "altair", "vl_convert", "pandas")
    blocked = f"import sys; sys.modules |= dict.fromkeys({(*clouds, *others)});"
    result = subprocess.run(
        [sys.executable, "-c", blocked + "import tuppence; print('started')"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.strip() == "started", result.stderr


def locked(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_locks_pin_every_distribution_with_hashes_and_name_no_host() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = locked(name)
        pins = re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*])?==", text, flags=re.MULTILINE)
        assert len(pins) > MOST_CORE_DISTRIBUTIONS
        assert len(re.findall(r"--hash=sha256:", text)) >= len(pins)
        assert not re.search(r"^\s*-(i|-index-url|-extra-index-url|-find-links)|://", text, flags=re.MULTILINE)


def test_the_two_locks_agree() -> None:
    def pins(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*])?==(\S+)", locked(name), flags=re.MULTILINE))

    product, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert {name: version for name, version in product.items() if development.get(name) != version} == {}


def test_the_core_install_is_small_and_has_no_pandas() -> None:
    """Counts what is reached from the core requirements, extras left out, in the environment of the tests."""

    def needs(name: str) -> set[str]:
        try:
            found = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            return set()
        return {
            item.name.lower().replace("_", "-")
            for item in found
            if not item.marker or item.marker.evaluate({"extra": ""})
        }

    reached: set[str] = set()
    waiting = {"tuppence"}
    while waiting:
        name = waiting.pop()
        new = needs(name) - reached
        reached |= new
        waiting |= new
    assert "pandas" not in reached
    assert len(reached) <= MOST_CORE_DISTRIBUTIONS, sorted(reached)
