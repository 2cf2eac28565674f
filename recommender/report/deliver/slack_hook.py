"""Slack as a channel: the message goes to an incoming webhook, whose only good answer is ``ok``."""

from __future__ import annotations

from recommender.deliver_settings import SlackChannel
from recommender.report import slack
from recommender.report.deliver.contract import Outline, Parcel
from recommender.report.deliver.post import host, post, refused


def send(parcel: Parcel, channel: SlackChannel) -> str:
    """This will post the message; Raises: see post."""
    answer = post(slack.render(parcel.report, link=parcel.link), channel)
    if answer.strip() != "ok":
        raise refused(answer, channel)
    return "ok"


def outline(parcel: Parcel, channel: SlackChannel) -> Outline:
    """This will say what `send` would post; Raises: see host."""
    return Outline(host(channel), len(slack.render(parcel.report, link=parcel.link).encode()))
