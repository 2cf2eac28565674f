"""The pages of reference say what the code says, and nothing that the code has is missing from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from exporters.settings import ExporterSettings
from recommender.place.constraints import CONSTRAINTS
from recommender.settings import RecommenderSettings
from tests.docs.pages import ROOT
from tools import commands_reference, constraints_reference, settings_reference
from tuppence import app

PAGES = {
    "settings": settings_reference,
    "commands": commands_reference,
    "constraints": constraints_reference,
}


def text_of(name: str) -> str:
    return (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_module_writes(name: str) -> None:
    module: ModuleType = PAGES[name]
    page: Callable[[], str] = module.page
    assert text_of(name) == page(), f"run: make reference (python -m {module.__name__} > docs/reference/{name}.md)"


def fields(model: type[BaseModel], path: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        here = f"{path}.{name}" if path else name
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from fields(inner, here)
        else:
            yield here


@pytest.mark.parametrize("model", [ExporterSettings, RecommenderSettings])
def test_every_setting_has_its_row(model: type[BaseModel]) -> None:
    shown = set(re.findall(r"^\| `([^`]+)` \|", text_of("settings"), flags=re.MULTILINE))
    assert set(fields(model)) <= shown


def test_settings_inside_lists_maps_and_choices_are_shown() -> None:
    shown = text_of("settings")
    for path in (
        "clusters[].pools[].capacity_type",
        "policy.classes.NAME.residency",
        "policy.rules[].match.namespace",
        "deliver.channels[](type: smtp).host",
        "sources.onprem.rate_cards[].machines[].idle_watts",
    ):
        assert f"| `{path}` |" in shown


def test_a_row_tells_type_default_and_limits() -> None:
    shown = text_of("settings")
    assert "| `exporter_web.port` | integer | `10210` | Port to listen on; 0: any free one. (≥ 0, ≤ 65535) |" in shown
    assert "| `clusters[].provider` | text | required |" in shown
    assert "| `recommend.mode` | `recommend`, `shadow`, `pilot`, `publish` | `recommend` |" in shown


def every_command(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from every_command(command, (*words, name))
        else:
            yield (*words, name)


def test_every_command_has_its_chapter() -> None:
    chapters = re.findall(r"^## `tuppence (.+)`$", text_of("commands"), flags=re.MULTILINE)
    assert chapters == [" ".join(words) for words in every_command(typer.main.get_command(app))]


def test_every_constraint_stands_on_its_page_in_the_order_in_which_it_is_told() -> None:
    first = text_of("constraints").split("## Guards", 1)[0]
    assert re.findall(r"^\| `(\w+)` \|", first, flags=re.MULTILINE) == [rule.id for rule in CONSTRAINTS]
