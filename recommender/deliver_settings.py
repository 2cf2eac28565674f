"""Settings of delivery: when the weekly report goes out, and the channels that it goes through.

The section `deliver` of the settings file. A new channel is a class here, a module in report/deliver/ and a row of its
registry.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import Field, field_validator, model_validator

from exporters.core.config_file import Section

Form = Literal["html", "md", "json", "csv"]


class Channel(Section):
    """What every channel has."""

    name: str = Field(min_length=1, max_length=63, pattern=r"^[a-z0-9][a-z0-9-]*$", description="In logs and metrics.")
    owners: tuple[str, ...] = Field(
        default=(), description="Owners who get a report of their own through it; '*': each one; empty: one for all."
    )


class FileChannel(Channel):
    """A folder."""

    type: Literal["file"]
    folder: Path = Field(description="Made if it is not there.")
    formats: tuple[Form, ...] = ("html", "md", "json", "csv")


class ObjectStoreChannel(Channel):
    """A bucket."""

    type: Literal["object-store"]
    url: str = Field(description="s3://, gs:// or az://, with a prefix; credentials as their own tools find them.")
    formats: tuple[Form, ...] = ("html", "md", "json", "csv")


class SmtpChannel(Channel):
    """Mail."""

    type: Literal["smtp"]
    host: str = Field(min_length=1)
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="none is allowed only to this machine."
    )
    ca_file: Path | None = Field(default=None, description="CA bundle for a private certificate.")
    username: str | None = None
    password_file: Path | None = Field(default=None, description="File with the password.")
    sender: str = Field(min_length=3, description="The address it comes from.")
    to: tuple[str, ...] = Field(default=(), description="Addresses of the report for all.")
    owner_addresses: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Addresses by owner; an owner without one is reported, not guessed."
    )
    timeout_seconds: float = Field(default=30, gt=0, le=300)

    @model_validator(mode="after")
    def _somebody_gets_it(self) -> SmtpChannel:
        if not self.owners and not self.to:
            raise ValueError("an smtp channel needs 'to', or 'owners' with 'owner_addresses'")
        return self


class HookChannel(Channel):
    """What channels have that post to a webhook; its URL is a secret."""

    url_file: Path = Field(description="File with the webhook's URL.")
    ca_file: Path | None = Field(default=None, description="CA bundle for a private certificate.")
    timeout_seconds: float = Field(default=30, gt=0, le=300)


class SlackChannel(HookChannel):
    """An incoming webhook of Slack."""

    type: Literal["slack"]


class TeamsChannel(HookChannel):
    """A Workflow of Microsoft Teams that takes webhook requests."""

    type: Literal["teams"]


class WebhookChannel(HookChannel):
    """Any other service: the report as JSON, with a key by which it can tell that it has it already."""

    type: Literal["webhook"]
    token_file: Path | None = Field(default=None, description="File with a bearer token.")


AnyChannel = Annotated[
    FileChannel | ObjectStoreChannel | SmtpChannel | SlackChannel | TeamsChannel | WebhookChannel,
    Field(discriminator="type"),
]

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class DeliverSettings(Section):
    """When the report of the week before goes out, and how."""

    day: Day = "monday"
    time: str = Field(default="09:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$", description="By the clock of time_zone.")
    time_zone: str = "Europe/London"
    catch_up_hours: float = Field(
        default=72, ge=0, le=167, description="How long after its time a report that was missed is still sent."
    )
    attempts: int = Field(default=6, ge=1, le=20, description="Tries of one delivery.")
    retry_minutes: int = Field(default=10, ge=1, le=720, description="Between two tries.")
    public_url: str = Field(default="", description="Of the recommender's pages, for links; empty: no links.")
    channels: tuple[AnyChannel, ...] = ()

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError(f"{name!r} is not a time zone, such as Europe/London")
        return name

    @field_validator("time")
    @classmethod
    def _no_hour_that_may_not_be(cls, text: str) -> str:
        if text.startswith("01:"):
            raise ValueError("between 01:00 and 02:00 the clocks change, so that hour may be twice or not at all")
        return text

    @model_validator(mode="after")
    def _channels_are_distinct(self) -> DeliverSettings:
        names = [channel.name for channel in self.channels]
        if len(set(names)) != len(names):
            raise ValueError("a channel is named twice")
        return self
