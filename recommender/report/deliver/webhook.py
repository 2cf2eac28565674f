"""Any service as a channel: the report's document as JSON, with a key by which the service knows what it has already.

Because of the key a report whose answer did not come may be sent again.
"""

from __future__ import annotations

import json

from recommender.deliver_settings import WebhookChannel
from recommender.report.deliver.contract import DeliveryError, DeliveryUnsureError, Outline, Parcel
from recommender.report.deliver.post import host, post, refused


def send(parcel: Parcel, channel: WebhookChannel) -> str:
    """This will post the report.

    The body: `dedup_key`, `week`, `scope`, `title`, `link`, `report` (the plan's document).

    Raises:
        DeliveryError: it was not taken, or nobody knows: then the key makes another try safe.
    """
    try:
        answer = post(_body(parcel), channel, token_file=channel.token_file, key=parcel.key)
    except DeliveryUnsureError as error:
        raise DeliveryError(
            error.what, where=error.where, next_step="It will be tried again under the same key."
        ) from error
    if _says_no(answer):
        raise refused(answer, channel)
    return "accepted"


def outline(parcel: Parcel, channel: WebhookChannel) -> Outline:
    """This will say what `send` would post; Raises: see host."""
    return Outline(host(channel), len(_body(parcel).encode()))


def _body(parcel: Parcel) -> str:
    document = {
        "dedup_key": parcel.key,
        "week": parcel.report.week,
        "scope": parcel.scope,
        "title": parcel.report.title,
        "link": parcel.link,
        "report": parcel.report.document,
    }
    return json.dumps(document, ensure_ascii=False, sort_keys=True)


def _says_no(answer: str) -> bool:
    """An answer of success with an error inside, as many services give it."""
    try:
        said = json.loads(answer)
    except ValueError:
        return False
    return isinstance(said, dict) and (
        said.get("ok") is False or said.get("success") is False or bool(said.get("error"))
    )
