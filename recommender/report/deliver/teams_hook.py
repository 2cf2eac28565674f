"""Teams as a channel: the card goes to the webhook of a Workflow, which accepts (202) with an empty answer.

An error inside an answer of 200, such as the retired connectors gave, is an error.
"""

from __future__ import annotations

from recommender.deliver_settings import TeamsChannel
from recommender.report import teams
from recommender.report.deliver.contract import Parcel
from recommender.report.deliver.post import post, refused


def send(parcel: Parcel, channel: TeamsChannel) -> str:
    """This will post the card; Raises: see post."""
    answer = post(teams.render(parcel.report, link=parcel.link), channel)
    if "error" in answer.lower() or "failed" in answer.lower():
        raise refused(answer, channel)
    return "accepted"
