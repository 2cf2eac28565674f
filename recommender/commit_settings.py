"""Settings of advice to buy ahead, and to renew or not: the section `commit` of the settings file."""

from __future__ import annotations

from pydantic import Field

from exporters.core.config_file import Section


class CommitSettings(Section):
    """When capacity is worth buying ahead, and when it is looked at whether to renew it."""

    min_history_days: float = Field(
        default=7, ge=1, le=365, description="Days that must have been observed; below there is not enough data."
    )
    undercut_ratio: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description="Share of the hours in which fewer nodes may have run than are advised to be bought ahead.",
    )
    renew_within_days: int = Field(
        default=60, ge=1, le=366, description="A commitment that ends within these days is judged for renewal."
    )
