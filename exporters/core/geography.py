"""Regions of the clouds: country, jurisdiction, continent, and the place names that price lists use.

One table, core/data/regions.csv. Jurisdiction is the word that residency rules use: GB, EEA, or else the
ISO 3166-1 country code.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

import polars as pl

from exporters.core.errors import SettingsError

DEFAULT_JURISDICTIONS = ("GB", "EEA")

EEA_COUNTRIES = frozenset(
    {
        "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE",
        "IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK",
    }
)  # fmt: skip
"""The 27 member states of the European Union with Iceland, Liechtenstein and Norway (EEA Agreement)."""


@cache
def regions() -> pl.DataFrame:
    """This will return every known region: provider, region, country, jurisdiction, place, location_name, continent."""
    with files("exporters.core.data").joinpath("regions.csv").open("rb") as table:
        return pl.read_csv(table, infer_schema=False)


def jurisdiction_of(country: str) -> str:
    """This will return the jurisdiction of an ISO 3166-1 country code: EEA, or the country itself."""
    return "EEA" if country in EEA_COUNTRIES else country


def select_regions(
    provider: str, *, names: Sequence[str] = (), jurisdictions: Sequence[str] = DEFAULT_JURISDICTIONS
) -> tuple[str, ...]:
    """This will return a provider's regions: the named ones, or all in the jurisdictions when none is named."""
    if names:
        return tuple(dict.fromkeys(names))
    chosen = regions().filter(pl.col("provider") == provider, pl.col("jurisdiction").is_in(list(jurisdictions)))
    return tuple(chosen["region"].sort())


def require_known(names: Sequence[str], *, providers: Sequence[str], setting: str) -> None:
    """This will refuse a region that none of the providers has, such as one that is misspelt.

    Raises:
        SettingsError: with the nearest name, or all of them.
    """
    known = regions().filter(pl.col("provider").is_in(list(providers)))["region"].sort().to_list()
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise SettingsError(
                f"{name!r} is not a known region of {', '.join(providers)}",
                where=setting,
                next_step=f"Did you mean {close[0]!r}?" if close else f"Known regions: {', '.join(known)}",
            )


@cache
def gpu_aliases() -> pl.DataFrame:
    """This will return every spelling of a GPU model: alias, gpu_model, manufacturer, memory_gib."""
    with files("exporters.core.data").joinpath("gpu_models.csv").open("rb") as table:
        return pl.read_csv(table, schema_overrides={"memory_gib": pl.Float64})
