"""The commands `config check` and `config schema`, over the root models that the caller mounts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer

from exporters.core.config_file import Document, Section, read_document, validate
from exporters.core.errors import SettingsError
from exporters.core.output import errors_explained, stderr
from exporters.core.sections import ALL_SECTIONS
from exporters.core.settings_file import ConfigOption, settings_path


def config_app(models: Sequence[type[Section]]) -> typer.Typer:
    """This will return the `config` command group for the given halves of the settings."""
    app = typer.Typer(no_args_is_help=True, help="Check the settings file, or print its schema.")

    @app.command()
    def check(config: ConfigOption = None) -> None:
        """Check the settings file; say every mistake with its line."""
        with errors_explained():
            path = settings_path(config)
            check_document(read_document(path), models)
            stderr.print(f"{path or 'the defaults'}: ok")

    @app.command()
    def schema() -> None:
        """Print the JSON Schema of the settings file, for editors and for CI."""
        typer.echo(json.dumps(settings_schema(models), indent=2, sort_keys=True))

    return app


def check_document(document: Document, models: Sequence[type[Section]]) -> None:
    """This will check every half, and raise all their mistakes at once.

    Raises:
        SettingsError: what is wrong, each with its line.
    """
    mistakes: list[str] = []
    for model in models:
        try:
            validate(document, model, known=ALL_SECTIONS)
        except SettingsError as error:
            mistakes += [part for part in error.what.split("; ") if part not in mistakes]
    if mistakes:
        raise SettingsError(
            "; ".join(mistakes), where=document.source, next_step="Mend it and run: tuppence config check"
        )


def settings_schema(models: Sequence[type[Section]]) -> dict[str, object]:
    """This will return one JSON Schema for the whole settings file."""
    properties: dict[str, object] = {}
    definitions: dict[str, object] = {}
    for model in models:
        schema = model.model_json_schema()
        properties.update(schema["properties"])
        definitions.update(schema.get("$defs", {}))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tuppence settings",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": definitions,
    }
