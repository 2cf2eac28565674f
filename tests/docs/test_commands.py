"""Every command that the README and the tutorial tell the reader to type is one that works, in the order given."""

from __future__ import annotations

import json
import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from tests.docs.pages import ROOT, pages
from tests.docs.pages import commands as console_commands
from tests.shell import exit_codes
from tuppence import app

PAGES = ("README.md", "docs/tutorial.md")
STAY = {"export", "serve"}
"""Commands that run until they are stopped; it is only looked whether they are understood."""
CALL_OUT = {"check", "fetch"}
"""Commands that call providers; likewise."""
PROGRAM = typer.main.get_command(app)
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


INSIDE = re.compile(r"^(?:\$ )?(?:\.venv/bin/|.* -- )?(tuppence [a-z].*)$", flags=re.MULTILINE)
SPOKEN = re.compile(r"`(tuppence [a-z][^`]*)`")


def mentioned(text: str) -> list[list[str]]:
    """The arguments of every command that a page names, in a block or in a sentence, without what it is piped into."""
    blocks = "\n".join(re.findall(r"^```(?:sh|console)?\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
    indented = "\n".join(line.strip() for line in text.splitlines() if line.startswith("    tuppence "))
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [*INSIDE.findall(blocks), *INSIDE.findall(indented), *SPOKEN.findall(outside)]
    return [_arguments(line) for line in dict.fromkeys(lines)]


def _arguments(line: str) -> list[str]:
    words = shlex.split(line, comments=True)[1:]
    return list(takewhile(lambda word: word not in {"|", ">", "&&", "…", "\\"}, words))


def stranger(arguments: list[str]) -> str:
    """The first word of a command that the program does not know as a command or an option; the empty text: none."""
    command = PROGRAM
    words = iter(arguments)
    while isinstance(command, TyperGroup):
        if (word := next(words, "")) not in command.commands:
            return word or "no command"
        command = command.commands[word]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    options = [word.split("=", 1)[0] for word in words if re.match(r"--?[a-z]", word)]
    return next((option for option in options if option not in known), "")


def test_no_page_names_a_command_or_an_option_that_does_not_exist() -> None:
    asked = {tuple(arguments): page.name for page in pages() for arguments in mentioned(page.read_text("utf-8"))}
    assert len(asked) > 60
    wrong = [(page, arguments, word) for arguments, page in asked.items() if (word := stranger(list(arguments)))]
    assert wrong == []


def test_a_stranger_among_the_words_of_a_command_is_found() -> None:
    assert stranger(["mode", "rbac", "shadow", "--namespace", "x"]) == ""
    assert stranger(["mode", "rback", "shadow"]) == "rback"
    assert stranger(["prices", "--colour", "red"]) == "--colour"
    assert stranger(["mode"]) == "no command"


def test_a_command_is_found_in_a_block_behind_another_program_and_in_a_sentence() -> None:
    text = (
        "Run `tuppence mode rbac MODE`, then\n\n    tuppence config check\n\n"
        "```sh\nkubectl exec deploy/x -- tuppence check\ntuppence check aws --permissions > policy.json\n```\n"
    )
    assert mentioned(text) == [
        ["check"],
        ["check", "aws", "--permissions"],
        ["config", "check"],
        ["mode", "rbac", "MODE"],
    ]


def test_the_tutorial_shows_the_main_commands() -> None:
    shown = {shlex.split(line)[1] for line in typed("docs/tutorial.md") if line.startswith("tuppence ")}
    assert shown >= {"demo", "prices", "recommend", "explain", "report", "export", "serve"}


def test_a_command_that_does_not_exist_is_found(tmp_path: Path) -> None:
    lines = ["tuppence config schema", "tuppence forecast", "tuppence prices --by gallon   # exits with 2"]
    assert follow(lines, tmp_path) == [("tuppence forecast", 2, 0)]


def test_the_thresholds_of_the_demonstration_stand_where_the_tutorial_says() -> None:
    last = (ROOT / "recommender/demo/data/policy.yaml").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert "min_saving_gbp_per_month: 20" in last
