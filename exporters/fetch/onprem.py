"""On-prem capacity into the flow: rate cards from the settings become raw rows, one a machine type and site.

Promises the rate card as it was written, nothing computed: the full and the marginal price per hour are the row rule's
(normalise/row_rules/onprem.py). All money of a card is in its one currency; years, watts, GiB and hours stand in the
names. What an owner must state has no default, because a forgotten cost would make owned hardware look cheap.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Self

import polars as pl
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from exporters.core.config_file import Section
from exporters.core.errors import SettingsError
from exporters.core.geography import gpu_aliases, jurisdiction_of
from exporters.core.words import Architecture
from exporters.fetch.contract import Fetched, FetchRequest, Finding, Source, SourceSettings

PROVIDER = "onprem"

Word = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S+$")]
Money = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[Decimal, Field(gt=0, allow_inf_nan=False)]


def _known_gpu(model: str) -> str:
    known = {str(alias).casefold(): str(name) for alias, name in gpu_aliases().select("alias", "gpu_model").iter_rows()}
    if model and model.casefold() not in known:
        words = ", ".join(sorted(set(known.values())))
        raise ValueError(f"{model!r} is not in the table of GPUs (core/data/gpu_models.csv); its words are: {words}")
    return known[model.casefold()] if model else ""


class Machine(Section):
    """One machine type at a site: what it is, and what one machine of it costs."""

    instance_type: Word = Field(description="Name of the machine type; nodes carry it as their instance type.")
    vcpus: Positive = Field(description="Hardware threads that Kubernetes sees.")
    memory_gib: Positive = Field(description="Memory, GiB.")
    gpu_model: Annotated[str, AfterValidator(_known_gpu)] = Field(
        default="", description="A word or spelling of core/data/gpu_models.csv, such as H100; empty: no GPU."
    )
    gpus: Money = Field(default=Decimal(0), description="GPUs in the machine.")
    architecture: Architecture = Field(default=Architecture.AMD64, description="amd64 or arm64.")
    purchase_price: Positive = Field(description="What one machine cost, with everything in it.")
    gpu_purchase_price: Money | None = Field(default=None, description="Of the purchase price, all GPUs together.")
    memory_purchase_price: Money | None = Field(default=None, description="Of the purchase price, all memory.")
    life_years: Positive = Field(description="Years over which it is written off, in a straight line.")
    residual_value: Money = Field(default=Decimal(0), description="What it is worth after that.")
    idle_watts: Money = Field(description="Power drawn when on and idle.")
    full_watts: Positive = Field(description="Power drawn at full load.")
    powered_off_when_idle: bool = Field(
        default=False, description="Whether the machine is off when nothing runs, so that one more hour costs it all."
    )
    hosting_per_year: Money = Field(description="Rack or space, network and insurance of one machine; 0 if none.")
    support_per_year: Money | None = Field(default=None, description="Maintenance contract of one machine.")
    support_ratio: Money | None = Field(default=None, description="The same as a share of the purchase price a year.")
    staff_per_year: Money = Field(description="People who run it, per machine; 0 if none.")
    target_utilisation: Annotated[Decimal, Field(gt=0, le=1)] = Field(
        description="Share of its hours in which it is expected to work, over 0, at most 1."
    )

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if (self.support_per_year is None) == (self.support_ratio is None):
            raise ValueError("give exactly one of support_per_year and support_ratio (0 if there is none)")
        if self.residual_value > self.purchase_price:
            raise ValueError("residual_value is higher than purchase_price")
        if self.idle_watts > self.full_watts:
            raise ValueError("idle_watts is higher than full_watts")
        if bool(self.gpu_model) != (self.gpus > 0):
            raise ValueError("gpu_model and gpus go together: a model with a number over 0, or neither")
        self._check_shares()
        return self

    def _check_shares(self) -> None:
        if self.gpu_purchase_price is not None and not self.gpu_model:
            raise ValueError("gpu_purchase_price stands without gpu_model")
        if self.gpu_model and (self.gpu_purchase_price is None) != (self.memory_purchase_price is None):
            raise ValueError("give both gpu_purchase_price and memory_purchase_price, or neither")
        if (self.gpu_purchase_price or 0) + (self.memory_purchase_price or 0) > self.purchase_price:
            raise ValueError("gpu_purchase_price and memory_purchase_price come to more than purchase_price")


class RateCard(Section):
    """One site and the machines in it."""

    site: Word = Field(description="Region code of the site, such as london-1.")
    country: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] = Field(
        description="ISO 3166-1 code; the jurisdiction follows from it (GB; EEA for its members; else the country)."
    )
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = Field(
        default="GBP", description="ISO 4217; all money of the card."
    )
    price_per_kwh: Positive = Field(description="Electricity, all charges in it.")
    pue: Annotated[Decimal, Field(ge=1, le=5)] = Field(
        description="Power usage effectiveness: energy of the whole site over energy of its IT (ISO/IEC 30134-2)."
    )
    egress_price_per_gib: Money | None = Field(
        default=None, description="One GiB leaving the site; 0: the line is paid by capacity; unset: not known."
    )
    machines: Annotated[tuple[Machine, ...], Field(min_length=1)] = Field(description="Machine types at the site.")

    @model_validator(mode="after")
    def _each_machine_once(self) -> Self:
        names = [machine.instance_type for machine in self.machines]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"machine types stand twice at {self.site}: {', '.join(twice)}")
        return self


class OnpremSettings(SourceSettings):
    """Rate cards of one's own hardware (section `sources.onprem`)."""

    rate_cards: tuple[RateCard, ...] = Field(default=(), description="One a site.")

    @model_validator(mode="after")
    def _each_site_once(self) -> Self:
        sites = [card.site for card in self.rate_cards]
        if twice := sorted({site for site in sites if sites.count(site) > 1}):
            raise ValueError(f"sites stand on two rate cards: {', '.join(twice)}")
        return self


def fetch(settings: OnpremSettings, request: FetchRequest) -> Fetched:
    """This will return the rate cards as raw frames; numbers and money as exact decimal text.

    Frames:
        machines: one row a site and machine type: the card's site, currency, price_per_kwh and pue, then the fields
            of Machine under their own names; an unset optional is null.
        egress: one row a site with an egress price: site, currency, egress_price_per_gib.
        regions: one row a site; see site_regions.

    Raises:
        SettingsError: the source is on and has no rate card.
    """
    if not settings.rate_cards:
        raise SettingsError(
            "the source is on, but has no rate card",
            where="sources.onprem.rate_cards",
            next_step="Write one (docs/sources/onprem.md has an example), or set enabled: false.",
        )
    machines = [
        {"site": card.site, "currency": card.currency, "price_per_kwh": card.price_per_kwh, "pue": card.pue}
        | machine.model_dump()
        for card in settings.rate_cards
        for machine in card.machines
    ]
    egress = [
        {"site": card.site, "currency": card.currency, "egress_price_per_gib": card.egress_price_per_gib}
        for card in settings.rate_cards
        if card.egress_price_per_gib is not None
    ]
    columns = ("site", "currency", "price_per_kwh", "pue", *Machine.model_fields)
    return Fetched(
        source=PROVIDER,
        observed_at=request.now,
        frames={
            "machines": _text_frame(machines, columns).lazy(),
            "egress": _text_frame(egress, ("site", "currency", "egress_price_per_gib")).lazy(),
            "regions": site_regions(settings).lazy(),
        },
    )


def site_regions(settings: OnpremSettings) -> pl.DataFrame:
    """This will return where the sites are: provider, region, country, jurisdiction."""
    return pl.DataFrame(
        [(PROVIDER, card.site, card.country, jurisdiction_of(card.country)) for card in settings.rate_cards],
        schema=dict.fromkeys(("provider", "region", "country", "jurisdiction"), pl.String),
        orient="row",
    )


def check(settings: OnpremSettings, request: FetchRequest) -> tuple[Finding, ...]:
    """This will say how many machine types each site has; mistakes in a card are found when the settings are read."""
    del request
    if not settings.rate_cards:
        next_step = "Write a rate card (docs/sources/onprem.md), or set enabled: false."
        return (Finding("rate cards", "failed", "there is none", next_step),)
    return tuple(
        Finding(
            f"rate card {card.site}",
            "ok",
            f"machine types: {len(card.machines)}; {card.currency}; {card.country} ({jurisdiction_of(card.country)})",
        )
        for card in settings.rate_cards
    )


def _text_frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pl.DataFrame:
    text = [{name: _text(row[name]) for name in columns} for row in rows]
    return pl.DataFrame(text, schema=dict.fromkeys(columns, pl.String))


def _text(value: object) -> str | None:
    if value is None:
        return None
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


SOURCE = Source(
    name=PROVIDER,
    settings_model=OnpremSettings,
    fetch=fetch,
    check=check,
)
