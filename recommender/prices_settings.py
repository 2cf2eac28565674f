"""Settings of where the recommender reads prices and what was paid: the section `prices` of the settings file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from exporters.core.config_file import Section
from exporters.core.words import PriceBasis


class PricesSettings(Section):
    """Where the recommender reads prices."""

    url: str = Field(
        default="tuppence-data/snapshots",
        description="Snapshot store: a folder, s3://, gs://, az://, or an exporter's https://…/snapshots.",
    )
    price_basis: PriceBasis = Field(
        default=PriceBasis.LIST,
        description="list: the provider's prices; effective: what the bills in the store say was really paid for them.",
    )
    commitments: Literal["use", "ignore"] = Field(
        default="use",
        description="use: capacity that the store says is bought ahead costs nothing more until it is used up.",
    )
    discount_days: int = Field(
        default=30, ge=7, le=365, description="Whole days of bills that tell how far below list price was really paid."
    )
