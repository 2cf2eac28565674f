"""The settings as a page: docs/reference/settings.md is this module's output, and a test compares them.

``python -m tools.settings_reference > docs/reference/settings.md``

It reads the JSON Schema that `tuppence config schema` prints, so the page, editors and CI know the same keys.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exporters.core.config_commands import settings_schema
from exporters.settings import ExporterSettings
from recommender.settings import RecommenderSettings

Schema = Mapping[str, Any]

_OPENING = """# Settings

One YAML file serves exporter and recommender: `--config`, else `$TUPPENCE_CONFIG`, else `tuppence.yaml` in the working
folder, else the defaults below. `tuppence config check` names every mistake with its line; `tuppence config schema`
prints the JSON Schema from which this page is made.

`${VAR}` and `${VAR:-default}` are replaced by variables of the environment, `$$` is a dollar sign. A setting whose name
ends in `_file` is the path of a file with a secret. `[]` stands for each item of a list, `NAME` for a key of your own.
"""

_WORDS = {"object": "section", "string": "text", "boolean": "true or false", "array": "list", "path": "path"}
_LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minLength": "characters ≥ {}",
    "maxLength": "characters ≤ {}",
    "minItems": "items ≥ {}",
}


def page() -> str:
    """This will return the page in Markdown."""
    schema = settings_schema([ExporterSettings, RecommenderSettings])
    definitions: Schema = schema["$defs"]  # type: ignore[assignment]
    sections: Schema = schema["properties"]  # type: ignore[assignment]
    parts = [_OPENING]
    for name, section in sections.items():
        lines = list(_rows(section, name, definitions, required=False))
        about = _about(section, definitions)
        parts.append("\n".join([f"## `{name}`", "", *([about, ""] if about else []), *_table(lines), ""]))
    return "\n".join(parts)


def _table(lines: list[str]) -> list[str]:
    return ["| setting | type | default | meaning |", "|---|---|---|---|", *lines]


def _about(section: Schema, definitions: Schema) -> str:
    text = section.get("description") or _resolved(section, definitions).get("description", "")
    return _cell(str(text).split("\n\n", maxsplit=1)[0])


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    while "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def _rows(schema: Schema, path: str, definitions: Schema, *, required: bool) -> Iterator[str]:
    """The row of a setting, if it is more than a heading, then the rows of what is inside it."""
    inside = list(_inside(schema, path, definitions))
    plain = _resolved(schema, definitions)
    if not ("properties" in plain and inside):
        default = "required" if required else _default(schema)
        meaning = _cell(schema.get("description", "")) or _limits(schema, definitions)
        limits = _limits(schema, definitions)
        told = f"{meaning} ({limits})" if limits and limits != meaning else meaning
        yield f"| `{path}` | {_kind(schema, definitions)} | {default} | {told} |"
    for inner, inner_path, inner_required in inside:
        yield from _rows(inner, inner_path, definitions, required=inner_required)


def _inside(schema: Schema, path: str, definitions: Schema) -> Iterator[tuple[Schema, str, bool]]:
    plain = _resolved(schema, definitions)
    for name, inner in plain.get("properties", {}).items():
        yield inner, f"{path}.{name}", name in plain.get("required", ())
    for choice in (*plain.get("anyOf", ()), *plain.get("oneOf", ())):
        found = _resolved(choice, definitions)
        word = found.get("properties", {}).get("type", {}).get("const")
        yield from _inside(choice, f"{path}(type: {word})" if word else path, definitions)
    if "items" in plain:
        yield from _inside(plain["items"], f"{path}[]", definitions)
    if isinstance(plain.get("additionalProperties"), Mapping):
        yield from _inside(plain["additionalProperties"], f"{path}.NAME", definitions)


def _kind(schema: Schema, definitions: Schema) -> str:
    plain = _resolved(schema, definitions)
    words = plain.get("enum", [plain["const"]] if "const" in plain else [])
    choices = [*plain.get("anyOf", ()), *plain.get("oneOf", ())]
    if words:
        return ", ".join(f"`{word}`" for word in words)
    if choices:
        kinds = [_kind(choice, definitions) for choice in choices if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "items" in plain:
        return f"list of {_kind(plain['items'], definitions)}"
    if isinstance(plain.get("additionalProperties"), Mapping):
        return f"map to {_kind(plain['additionalProperties'], definitions)}"
    return _WORDS.get(plain.get("format", plain.get("type", "any")), str(plain.get("type", "any")))


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return "–"
    value = schema["default"]
    if value is None or value in ("", [], {}):
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{value}`" if isinstance(value, str) else f"`{text}`" if len(text) <= 60 else "see the page of the part"


def _limits(schema: Schema, definitions: Schema) -> str:
    plain = _resolved(schema, definitions)
    found = [plain, *(_resolved(choice, definitions) for choice in plain.get("anyOf", ()))]
    return ", ".join(
        dict.fromkeys(words.format(one[key]) for one in found for key, words in _LIMITS.items() if key in one)
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
