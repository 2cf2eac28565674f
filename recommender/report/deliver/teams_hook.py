"""Teams as a channel: the card goes to the webhook of a Workflow, which accepts (202) with an empty answer.

An error inside an answer of 200, such as the retired connectors gave, is an error.
"""

from __future__ import annotations

from recommender.deliver_settings import TeamsChannel
from recommender.report import teams
from recommender.report.deliver.contract import Outline, Parcel
from recommender.report.deliver.post import host, post, refused


def send(parcel: Parcel, channel: TeamsChannel) -> str:
    """This will post the card; Raises: see post."""
    answer = post(teams.render(parcel.report, link=parcel.link), channel)
    if "error" in answer.lower() or "failed" in answer.lower():
        raise refused(answer, channel)
    return "accepted"


def outline(parcel: Parcel, channel: TeamsChannel) -> Outline:
    """This will say what `send` would post; Raises: see host."""
    return Outline(host(channel), len(teams.render(parcel.report, link=parcel.link).encode()))
