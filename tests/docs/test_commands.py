"""Every command that the README and the tutorial tell the reader to type is one that works, in the order given."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.pages import commands as console_commands
from tests.shell import exit_codes

PAGES = ("README.md", "docs/tutorial.md")
STAY = {"export", "serve"}
"""Commands that run until they are stopped; it is only looked whether they are understood."""
CALL_OUT = {"check", "fetch"}
"""Commands that call providers; likewise."""
EXITS = re.compile(r"# exits with (\d)")


def typed(page: str) -> list[str]:
    """The commands of a page."""
    return console_commands((ROOT / page).read_text(encoding="utf-8"))


def prepared(lines: list[str]) -> list[tuple[str, dict[str, str], list[str], int]]:
    """Each command of a page once: its line, the variables that hold from there on, its arguments, its exit code."""
    variables: dict[str, str] = {}
    found = []
    for line in dict.fromkeys(lines):
        program, *arguments = shlex.split(line, comments=True)
        if program == "export":
            variables |= dict([arguments[0].split("=", 1)])
        elif program == "tuppence":
            if arguments[0] in STAY | CALL_OUT:
                arguments.append("--help")
            wanted = int(match[1]) if (match := EXITS.search(line)) else 0
            found.append((line, dict(variables), arguments, wanted))
    return found


def follow(lines: list[str], folder: Path) -> list[tuple[str, int, int]]:
    """Types what a page says and returns the commands that ended otherwise than it says: line, exit code, wanted one.

    `ID` stands for the id of a recommendation; the first that the demonstration leaves is taken.
    """
    commands = prepared(lines)
    before_id = next((place for place, command in enumerate(commands) if "ID" in command[2]), len(commands))
    before, after = commands[:before_id], commands[before_id:]
    done = exit_codes([(variables, arguments) for _, variables, arguments, _ in before], folder=folder)
    if after:
        ids = {"ID": first_id(folder)}
        named = [(variables, [ids.get(word, word) for word in arguments]) for _, variables, arguments, _ in after]
        done += exit_codes(named, folder=folder)
    return [(line, code, wanted) for (line, _, _, wanted), code in zip(commands, done, strict=True) if code != wanted]


def first_id(folder: Path) -> str:
    """The id of the first recommendation of the demonstration."""
    plan = json.loads((folder / "demo-output/recommendations.json").read_text(encoding="utf-8"))
    return str(plan["recommendations"][0]["id"])


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_to_type_works(page: str, tmp_path: Path) -> None:
    assert follow(typed(page), tmp_path) == []


def test_the_tutorial_shows_the_main_commands() -> None:
    shown = {shlex.split(line)[1] for line in typed("docs/tutorial.md") if line.startswith("tuppence ")}
    assert shown >= {"demo", "prices", "recommend", "explain", "report", "export", "serve"}


def test_a_command_that_does_not_exist_is_found(tmp_path: Path) -> None:
    lines = ["tuppence config schema", "tuppence forecast", "tuppence prices --by gallon   # exits with 2"]
    assert follow(lines, tmp_path) == [("tuppence forecast", 2, 0)]


def test_the_thresholds_of_the_demonstration_stand_where_the_tutorial_says() -> None:
    last = (ROOT / "recommender/demo/data/policy.yaml").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert "min_saving_gbp_per_month: 20" in last
