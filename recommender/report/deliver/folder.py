"""A folder as a channel: the report's files, each whole or not at all."""

from __future__ import annotations

from exporters.core.errors import StoreError
from recommender.deliver_settings import FileChannel
from recommender.report.deliver.contract import DeliveryError, Outline, Parcel
from recommender.report.registry import FORMATS
from recommender.report.write import write_report


def send(parcel: Parcel, channel: FileChannel) -> str:
    """This will write the report's files.

    Raises:
        DeliveryError: the folder cannot be written.
    """
    try:
        written = write_report(parcel.report, channel.folder, names=channel.formats, stem=parcel.key)
    except StoreError as error:
        raise DeliveryError(error.what, where=error.where, next_step=error.next_step) from error
    return f"{len(written)} files in {channel.folder}"


def outline(parcel: Parcel, channel: FileChannel) -> Outline:
    """This will say what `send` would write."""
    return Outline(str(channel.folder), rendered_bytes(parcel, channel.formats))


def rendered_bytes(parcel: Parcel, names: tuple[str, ...]) -> int:
    """This will return the size of the report in some formats, together."""
    return sum(len(form.render(parcel.report).encode()) for form in FORMATS if form.name in names)
