"""The report as a message for Microsoft Teams: the first page as an Adaptive Card, for the webhook of a Workflow.

Office 365 connectors and their MessageCard are retired; a Workflow takes a message with one Adaptive Card attached.
Version 1.5, which Teams shows; the message stays under the 28 KB that Teams accepts, and says what that left out.
Names are escaped where a TextBlock would read them as Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from recommender.report.view import Advice, CapacityAdvice, Report
from recommender.report.words import number_text

MOST_ADVICE = 10
MOST_CAPACITY = 5
MOST_BYTES = 28 * 1024

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!~|<>])")
_LONGEST = 300

Element = dict[str, Any]


def render(report: Report, *, link: str = "") -> str:
    """This will return the message as JSON.

    Args:
        report: the view model.
        link: of the whole report; empty: there is none to open.
    """
    shown = min(MOST_ADVICE, len(report.owed) + len(report.top))
    while True:
        made = message(report, link=link, most_advice=shown, most_capacity=min(MOST_CAPACITY, shown))
        text = json.dumps(made, ensure_ascii=False)
        if len(text.encode()) <= MOST_BYTES or shown == 0:
            return text
        shown -= 1


def message(
    report: Report, *, link: str = "", most_advice: int = MOST_ADVICE, most_capacity: int = MOST_CAPACITY
) -> dict[str, Any]:
    """This will return the message with its card."""
    advice = [*report.owed[:most_advice], *report.top][:most_advice]
    left = len(report.advice) - len(advice)
    body: list[Element] = [
        _text(f"Tuppence: {report.title}", size="Large", weight="Bolder"),
        _text(f"{report.scope}. {'; '.join(report.rates)}", isSubtle=True, size="Small"),
        {
            "type": "FactSet",
            "facts": [{"title": one.name, "value": f"{one.value} {one.note}"} for one in report.figures],
        },
        *(_text(one, color="Warning") for one in report.notices),
        *(_advice(one) for one in advice),
    ]
    if left:
        body.append(_text(f"{number_text(left)} more in the report.", isSubtle=True))
    elif not advice:
        body.append(_text("Nothing is advised this week."))
    body += _capacity(report.capacity, most=most_capacity)
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.5",
        "lang": "en-GB",
        "msteams": {"width": "Full"},
        "body": body,
    }
    if link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the report", "url": link}]
    return {
        "type": "message",
        "attachments": [
            {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        ],
    }


def escaped(text: str) -> str:
    """This will keep a TextBlock from reading a name as Markdown, and cut what nobody could read in a chat."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return _MARKDOWN.sub(r"\\\1", cut)


def _capacity(advice: Sequence[CapacityAdvice], *, most: int) -> list[Element]:
    """Bursts, returns and more nodes; what they change is no saving, so they stand apart."""
    if not advice:
        return []
    left = len(advice) - most
    return [
        _text("Owned capacity", weight="Bolder", separator=True),
        *(_capacity_advice(one) for one in advice[:most]),
        *([_text(f"{number_text(left)} more on owned capacity in the report.", isSubtle=True)] if left > 0 else []),
    ]


def _advice(one: Advice) -> Element:
    money = f"{one.saving} a month" if one.saving else f"{one.change} a month"
    facts = f"confidence {one.confidence}, effort {one.effort}, owner {one.owner}"
    return _row(f"{one.rank}. {one.title}", facts, money, one.saving_range)


def _capacity_advice(one: CapacityAdvice) -> Element:
    facts = "; ".join(part for part in (one.when, f"confidence {one.confidence}") if part)
    return _row(one.title, facts, one.change, "")


def _row(title: str, facts: str, money: str, money_range: str) -> Element:
    """A line of advice: what to do on the left, what it changes on the right."""
    right = [_text(money, weight="Bolder", horizontalAlignment="Right")]
    if money_range:
        right.append(_text(money_range, isSubtle=True, size="Small", horizontalAlignment="Right"))
    left = [_text(title), _text(facts, isSubtle=True, size="Small")]
    return {
        "type": "ColumnSet",
        "separator": True,
        "columns": [
            {"type": "Column", "width": "stretch", "items": left},
            {"type": "Column", "width": "auto", "items": right},
        ],
    }


def _text(text: str, **more: str | bool) -> Element:
    return {"type": "TextBlock", "text": escaped(text), "wrap": True, **more}
