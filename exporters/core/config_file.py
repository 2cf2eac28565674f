"""Settings files: YAML in, checked models out. A mistake is reported with its file, line, path and what to do.

One file serves both packages, so the top-level sections of both are known here by the models that the caller passes.
``${VAR}`` and ``${VAR:-default}`` are replaced before validation; ``$$`` is a dollar sign. Secrets come from files: any
setting whose name ends in ``_file`` is read where it is used, never printed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from exporters.core.errors import SettingsError

_VARIABLE = re.compile(r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})")

SettingPath = tuple[str | int, ...]


class Section(BaseModel):
    """A part of the settings: frozen, and a key that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


Root = TypeVar("Root", bound=Section)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed settings file.

    Args:
        source: the file's name for messages.
        tree: the values, variables replaced.
        lines: the line (from 1) of each key and list item by its path.
    """

    source: str
    tree: Mapping[str, object]
    lines: Mapping[SettingPath, int]


def read_document(path: Path | None, environment: Mapping[str, str] = os.environ) -> Document:
    """This will read a settings file; no path gives an empty document, so that defaults hold.

    Raises:
        SettingsError: the file cannot be read, is not YAML, or names an unset variable.
    """
    if path is None:
        return Document(source="defaults", tree={}, lines={})
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the settings file cannot be read ({error})",
            where=str(path),
            next_step="Check the path and its permissions.",
        ) from error
    return parse_document(text, source=str(path), environment=environment)


def parse_document(text: str, *, source: str, environment: Mapping[str, str]) -> Document:
    """This will parse settings text; see read_document."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _not_yaml(str(error.problem), source=source, line=line) from error
    except yaml.reader.ReaderError as error:
        raise _not_yaml(
            f"it holds the control character U+{ord(text[error.position]):04X}",
            source=source,
            line=text.count("\n", 0, error.position) + 1,
        ) from error
    if root is None:
        return Document(source=source, tree={}, lines={})
    if not isinstance(root, yaml.MappingNode):
        raise SettingsError(
            "the file must be a mapping of sections",
            where=f"{source}, line 1",
            next_step="See: tuppence config schema",
        )
    lines: dict[SettingPath, int] = {}
    try:
        tree = _plain(root, (), lines, source, environment)
    except RecursionError as error:
        raise _not_yaml("an alias stands inside of what it names", source=source, line=1) from error
    assert isinstance(tree, dict)
    return Document(source=source, tree=tree, lines=lines)


def _not_yaml(what: str, *, source: str, line: int) -> SettingsError:
    return SettingsError(
        f"this is not YAML: {what}", where=f"{source}, line {line}", next_step="Mend the line and try again."
    )


def _plain(
    node: yaml.Node,
    path: SettingPath,
    lines: dict[SettingPath, int],
    source: str,
    environment: Mapping[str, str],
) -> object:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines, source, environment)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, (*path, i), lines, source, environment) for i, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    expanded = _expand(node.value, source=source, line=node.start_mark.line + 1, path=path, environment=environment)
    plain_style = node.style is None and expanded != node.value
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, expanded, (True, False)) if plain_style else node.tag  # type: ignore[no-untyped-call]
    try:
        return loader.construct_object(yaml.ScalarNode(tag, expanded, node.start_mark, node.end_mark))
    except (yaml.YAMLError, ValueError) as error:
        word = tag.rpartition(":")[2]
        raise _not_yaml(f"{node.value!r} is no {word}", source=source, line=node.start_mark.line + 1) from error


def _mapping(
    node: yaml.MappingNode,
    path: SettingPath,
    lines: dict[SettingPath, int],
    source: str,
    environment: Mapping[str, str],
) -> dict[str, object]:
    values: dict[str, object] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        line = key_node.start_mark.line + 1
        if key in values:
            raise SettingsError(
                f"the key {_dotted((*path, key))!r} stands twice",
                where=f"{source}, line {line}",
                next_step="Remove one of them.",
            )
        values[key] = _plain(value_node, (*path, key), lines, source, environment)
        lines[(*path, key)] = line
    return values


def _expand(text: str, *, source: str, line: int, path: SettingPath, environment: Mapping[str, str]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name, default = match.group(1), match.group(2)
        if name is None:
            return "$"
        if name in environment:
            return environment[name]
        if default is not None:
            return default
        raise SettingsError(
            f"the variable ${{{name}}} in {_dotted(path)!r} is not set",
            where=f"{source}, line {line}",
            next_step=f"Set {name} in the environment, or write ${{{name}:-default}}.",
        )

    return _VARIABLE.sub(value_of, text)


def validate(document: Document, model: type[Root], *, known: frozenset[str]) -> Root:
    """This will check the sections of one root model and return it; other known sections are left to their own.

    Raises:
        SettingsError: all mistakes of the file in one message, each with its line and path.
    """
    mistakes = [
        f"{_place(document, (key,))}: {key!r} is not a known section (known: {', '.join(sorted(known))})"
        for key in document.tree
        if key not in known
    ]
    own = {key: value for key, value in document.tree.items() if key in model.model_fields}
    try:
        checked = model.model_validate(own)
    except ValidationError as error:
        mistakes += [_mistake(document, item["loc"], item["msg"], item["type"]) for item in error.errors()]
        raise _settings_error(document, mistakes) from error
    if mistakes:
        raise _settings_error(document, mistakes)
    return checked


def _settings_error(document: Document, mistakes: Sequence[str]) -> SettingsError:
    return SettingsError("; ".join(mistakes), where=document.source, next_step="Mend it and run: tuppence config check")


def _mistake(document: Document, location: SettingPath, message: str, kind: str) -> str:
    text = "this key is not known" if kind == "extra_forbidden" else message
    return f"{_place(document, location)}: {_dotted(location)}: {text}"


def _place(document: Document, path: SettingPath) -> str:
    """The line of the longest known prefix of a path."""
    for length in range(len(path), 0, -1):
        if (line := document.lines.get(path[:length])) is not None:
            return f"line {line}"
    return "not in the file"


def _dotted(path: SettingPath) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
