"""The kinds of channels. A new one is a class in deliver_settings.py, a module here with `send`, and a case below."""

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
from recommender.report.deliver.contract import Parcel


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
