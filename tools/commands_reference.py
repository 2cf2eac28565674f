"""The commands as a page: docs/reference/commands.md is this module's output, and a test compares them.

``python -m tools.commands_reference > docs/reference/commands.md``
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from tuppence import EXIT_CODES, app

_OPENING = f"""# Commands

`tuppence COMMAND --help` prints the same. Data go to standard output, everything else to standard error.
{EXIT_CODES}
"""


def page() -> str:
    """This will return the page in Markdown."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    parts = [_OPENING, "## Before every command", "", *_options(root), ""]
    for words, command in _commands(root, ()):
        parts += [
            f"## `tuppence {' '.join(words)}`",
            "",
            command.help or "",
            "",
            *_usage(words, command),
            *_options(command),
            "",
        ]
    return "\n".join(parts).rstrip() + "\n"


def _commands(group: TyperGroup, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, (*words, name))
        elif isinstance(command, TyperCommand):
            yield (*words, name), command


def _arguments(command: TyperCommand | TyperGroup) -> list[TyperArgument]:
    return [one for one in command.params if isinstance(one, TyperArgument)]


def _usage(words: tuple[str, ...], command: TyperCommand | TyperGroup) -> list[str]:
    shown = [_argument(one) for one in _arguments(command)]
    if not shown:
        return []
    about = [f"| `{_argument(one)}` | {_cell(one.help)} |" for one in _arguments(command)]
    line = " ".join(["tuppence", *words, *shown])
    return ["```sh", line, "```", "", "| argument | meaning |", "|---|---|", *about, ""]


def _argument(one: TyperArgument) -> str:
    name = one.metavar or one.name.upper()
    return str(name if one.required else f"[{name}]")


def _options(command: TyperCommand | TyperGroup) -> list[str]:
    options = [one for one in command.params if isinstance(one, TyperOption) and not one.hidden]
    if not options:
        return ["No options."]
    rows = [f"| {_names(one)} | {_default(one)} | {_cell(one.help)} |" for one in options]
    return ["| option | default | meaning |", "|---|---|---|", *rows]


def _names(one: TyperOption) -> str:
    words = [*one.opts, *one.secondary_opts]
    value = "" if one.is_flag else f" {one.metavar or _placeholder(one)}"
    return ", ".join(f"`{word}{value}`" for word in words)


def _placeholder(one: TyperOption) -> str:
    return str(one.name).upper()


def _default(one: TyperOption) -> str:
    if one.required:
        return "required"
    value = one.default
    if value is None or callable(value) or value is False or value in ("", ()):
        return "–"
    return f"`{value.value if isinstance(value, Enum) else value}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
