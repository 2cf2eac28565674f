"""The report as a message for Slack: the first page in Block Kit, with a link to the whole.

Limits are Slack's own (Block Kit reference): 50 blocks a message, 150 characters a header, 3,000 a section, 10 fields a
section of 2,000 each. Names are escaped as Slack asks for: `&`, `<` and `>`, and nothing in them can mention a channel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recommender.report.view import Advice, CapacityAdvice, Report
from recommender.report.words import number_text

MOST_ADVICE = 10
MOST_CAPACITY = 5
_HEADER, _SECTION, _FIELD = 150, 3_000, 2_000

Block = dict[str, Any]


def render(report: Report, *, link: str = "") -> str:
    """This will return the message as JSON.

    Args:
        report: the view model.
        link: of the whole report; empty: there is none to open.
    """
    return json.dumps(message(report, link=link), ensure_ascii=False)


def message(report: Report, *, link: str = "") -> dict[str, Any]:
    """This will return the message: `text` for notifications, `blocks` for the channel."""
    headline = ", ".join(f"{one.name.lower()} {one.value}" for one in report.figures[:2])
    blocks: list[Block] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(f"Tuppence: {report.title}", _HEADER)}},
        _context(f"{report.scope}. {'; '.join(report.rates)}"),
        {"type": "section", "fields": [_field(one.name, one.value, one.note) for one in report.figures[:10]]},
    ]
    if report.notices:
        blocks.append(_section("\n".join(f"• {escaped(one)}" for one in report.notices)))
    blocks.append({"type": "divider"})
    advice = [*report.owed[:MOST_ADVICE], *report.top][:MOST_ADVICE]
    blocks += [_section(_advice(one)) for one in advice]
    if not advice:
        blocks.append(_section("Nothing is advised this week."))
    left = len(report.advice) - len(advice)
    if left:
        blocks.append(_context(f"{number_text(left)} more in the report."))
    blocks += _capacity(report.capacity)
    if link:
        button = {"type": "button", "text": {"type": "plain_text", "text": "Open the report"}, "url": link}
        blocks.append({"type": "actions", "elements": [button]})
    return {"text": escaped(f"Tuppence, {report.title}: {headline}"), "blocks": blocks}


def _capacity(advice: Sequence[CapacityAdvice]) -> list[Block]:
    """Bursts, returns and more nodes; what they change is no saving, so they stand apart."""
    if not advice:
        return []
    left = len(advice) - MOST_CAPACITY
    return [
        {"type": "divider"},
        _section("*Owned capacity*"),
        *(_section(_capacity_advice(one)) for one in advice[:MOST_CAPACITY]),
        *([_context(f"{number_text(left)} more on owned capacity in the report.")] if left > 0 else []),
    ]


def escaped(text: str) -> str:
    """This will escape the three characters that Slack's mrkdwn gives a meaning beyond its line."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _advice(one: Advice) -> str:
    money = (
        f"*{escaped(one.saving)}* a month ({escaped(one.saving_range)})" if one.saving else f"*{one.change}* a month"
    )
    facts = f"{money} · confidence {one.confidence} · effort {one.effort} · owner {escaped(one.owner)} · `{one.id}`"
    return f"*{one.rank}.* {escaped(one.title)}\n{facts}"


def _capacity_advice(one: CapacityAdvice) -> str:
    facts = [f"*{escaped(one.change)}*", *([escaped(one.when)] if one.when else [])]
    return f"{escaped(one.title)}\n{' · '.join([*facts, f'confidence {one.confidence}', f'`{one.id}`'])}"


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text, _SECTION)}}


def _field(name: str, value: str, note: str) -> Block:
    return {"type": "mrkdwn", "text": _cut(f"*{escaped(name)}*\n{escaped(value)} {escaped(note)}", _FIELD)}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": _cut(escaped(text), _FIELD)}]}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
