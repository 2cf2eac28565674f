"""A bucket as a channel: the report's files under their key, so that a second delivery writes the same ones again."""

from __future__ import annotations

from exporters.core.errors import StoreError
from exporters.store.shelf import open_shelf
from recommender.deliver_settings import ObjectStoreChannel
from recommender.report.deliver.contract import DeliveryError, Outline, Parcel
from recommender.report.deliver.folder import rendered_bytes
from recommender.report.registry import FORMATS


def send(parcel: Parcel, channel: ObjectStoreChannel) -> str:
    """This will put the report's files.

    Raises:
        DeliveryError: the store refused.
    """
    try:
        shelf = open_shelf(channel.url)
        for form in FORMATS:
            if form.name in channel.formats:
                shelf.put(f"{parcel.key}.{form.name}", form.render(parcel.report).encode())
    except StoreError as error:
        raise DeliveryError(
            error.what,
            where=f"channel {channel.name} ({channel.url})",
            next_step="Check the channel's url, and the credentials and permissions of its store.",
        ) from error
    return f"{len(channel.formats)} files in {channel.url}"


def outline(parcel: Parcel, channel: ObjectStoreChannel) -> Outline:
    """This will say what `send` would put."""
    return Outline(channel.url, rendered_bytes(parcel, channel.formats))
