"""The kinds of channels.

A new one is a class in deliver_settings.py, a module here with `send` and `outline`, and a case in each one below.
"""

from __future__ import annotations

from typing import assert_never

from recommender.deliver_settings import (
    AnyChannel,
    FileChannel,
    ObjectStoreChannel,
    SlackChannel,
    SmtpChannel,
    TeamsChannel,
    WebhookChannel,
)
from recommender.report.deliver import folder, object_store, slack_hook, smtp, teams_hook, webhook
from recommender.report.deliver.contract import Outline, Parcel


def send(parcel: Parcel, channel: AnyChannel) -> str:
    """This will try one delivery and return what the other side answered.

    Raises:
        SettingsError: the channel is not set up for this parcel.
        DeliveryError: it surely was not taken.
        DeliveryUnsureError: nobody knows.
    """
    match channel:
        case FileChannel():
            return folder.send(parcel, channel)
        case ObjectStoreChannel():
            return object_store.send(parcel, channel)
        case SmtpChannel():
            return smtp.send(parcel, channel)
        case SlackChannel():
            return slack_hook.send(parcel, channel)
        case TeamsChannel():
            return teams_hook.send(parcel, channel)
        case WebhookChannel():
            return webhook.send(parcel, channel)
        case _:
            assert_never(channel)


def outline(parcel: Parcel, channel: AnyChannel) -> Outline:
    """This will say what one delivery would do, and do nothing.

    Raises:
        SettingsError: the channel is not set up for this parcel.
    """
    match channel:
        case FileChannel():
            return folder.outline(parcel, channel)
        case ObjectStoreChannel():
            return object_store.outline(parcel, channel)
        case SmtpChannel():
            return smtp.outline(parcel, channel)
        case SlackChannel():
            return slack_hook.outline(parcel, channel)
        case TeamsChannel():
            return teams_hook.outline(parcel, channel)
        case WebhookChannel():
            return webhook.outline(parcel, channel)
        case _:
            assert_never(channel)
