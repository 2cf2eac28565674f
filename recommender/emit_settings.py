"""Settings of the hand-over: names that objects carry, and what each system needs to be told.

The section `emit` of the settings file. A new system is a class here and a field of EmitSettings.
"""

from __future__ import annotations

from pydantic import Field

from exporters.core.config_file import Section


class EmitSettings(Section):
    """How advice is written for schedulers."""

    label_prefix: str = Field(
        default="tuppence.internal",
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        max_length=200,
        description="DNS name before the slash in labels and annotations; the default is of the private domain.",
    )
