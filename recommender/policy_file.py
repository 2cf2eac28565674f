"""The edge that writes numbers into a settings file: each figure in its place, all else, comments too, as it was.

A file is written whole or not at all, and only when it then reads as it did before with only the figures changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from exporters.core.errors import SettingsError, StoreError

Keys = Sequence[str]


def edited(text: str, values: Mapping[tuple[str, ...], float], *, source: str) -> str:
    """This will return YAML with some figures changed, or added where the file left them to their defaults.

    Args:
        text: the file.
        values: figures by their keys from the top of the file.
        source: its name for messages.

    Raises:
        SettingsError: a figure cannot be changed in place, such as one from a variable or from an alias.
    """
    wanted = _apart(yaml.safe_load(text) or {})
    assert isinstance(wanted, dict), "settings are a mapping; they were read before"
    changed = text
    for keys, value in values.items():
        changed = _with(changed, keys, figure(value), source=source)
        _put(wanted, keys, float(figure(value)))
    if yaml.safe_load(changed) != wanted:
        raise _by_hand(source, "it would not read as it did before with only these figures changed")
    return changed


def figure(value: float) -> str:
    """This will write a figure of six digits without an exponent, which YAML 1.1 may take for a word."""
    return f"{float(f'{value:.6g}'):.15f}".rstrip("0").rstrip(".")


def written(path: Path, text: str) -> None:
    """This will put a text in the place of a file, whole or not at all; the file keeps its permissions.

    Raises:
        StoreError: the disk refused.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreError(
            f"the settings file cannot be written ({error.strerror})",
            where=str(path),
            next_step="Make it writable and run the command again, or edit it by hand as the diff says.",
        ) from error


def _with(text: str, keys: Keys, value: str, *, source: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return text + _nested(keys, value, indent=0)
    node: yaml.Node = root
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            raise _by_hand(source, f"{'.'.join(keys[:depth])} is no mapping")
        found = next((child for name, child in node.value if name.value == key), None)
        if found is None:
            return _added(text, node, keys[depth:], value, source=source)
        node = found
    if not isinstance(node, yaml.ScalarNode) or "$" in node.value:
        raise _by_hand(source, f"{'.'.join(keys)} is no plain figure there")
    return text[: node.start_mark.index] + value + text[node.end_mark.index :]


def _added(text: str, node: yaml.MappingNode, keys: Keys, value: str, *, source: str) -> str:
    """The keys as the first ones of a mapping, so that whatever follows it stays where it is."""
    start = node.start_mark.index
    if node.flow_style:
        inner = value
        for key in reversed(keys[1:]):
            inner = f"{{{key}: {inner}}}"
        more = ", " if node.value else ""
        return f"{text[: start + 1]}{keys[0]}: {inner}{more}{text[start + 1 :]}"
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        raise _by_hand(source, f"there is no line of its own for {'.'.join(keys)}")
    return text[:line] + _nested(keys, value, indent=node.start_mark.column) + text[line:]


def _nested(keys: Keys, value: str, *, indent: int) -> str:
    *outer, last = keys
    lines = [f"{' ' * (indent + 2 * depth)}{key}:" for depth, key in enumerate(outer)]
    return "\n".join([*lines, f"{' ' * (indent + 2 * len(outer))}{last}: {value}"]) + "\n"


def _apart(tree: object) -> object:
    """A copy in which what aliases share is there twice."""
    if isinstance(tree, dict):
        return {key: _apart(value) for key, value in tree.items()}
    return [_apart(value) for value in tree] if isinstance(tree, list) else tree


def _put(tree: dict[str, object], keys: Keys, value: float) -> None:
    for key in keys[:-1]:
        inner = tree.setdefault(key, {})
        assert isinstance(inner, dict), "the text was changed there before"
        tree = inner
    tree[keys[-1]] = value


def _by_hand(source: str, why: str) -> SettingsError:
    return SettingsError(
        f"the figures cannot be put in their places: {why}",
        where=source,
        next_step="Edit the file by hand as tuppence calibrate shows.",
    )
