"""Messages for Slack and Teams: within the limits of each, and a hostile name stays a name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from recommender.report import slack, teams
from tests.recommender.report.example import HOSTILE, example

LINK = "https://tuppence.example/report/2026-W48"


def _many(number: int, **changes: Any) -> Any:
    report = example()
    one = replace(report.top[0], **changes)
    top = tuple(replace(one, rank=str(n + 1)) for n in range(10))
    return replace(report, owed=(), top=top, rest=(one,) * (number - 10), capacity=())


def test_slack_shows_the_figures_the_advice_and_the_way_to_the_whole() -> None:
    report = example()
    message = json.loads(slack.render(report, link=LINK))
    blocks = message["blocks"]
    assert blocks[0]["text"]["text"] == "Tuppence: Week of 23 November 2026"
    assert [one["text"].split("*")[1] for one in blocks[2]["fields"]] == [one.name for one in report.figures]
    assert blocks[-1]["elements"][0]["url"] == LINK
    text = json.dumps(message, ensure_ascii=False)
    assert report.top[0].saving in text
    assert report.rates[0] in text


def test_slack_cannot_be_made_to_mention_or_to_link_by_a_name() -> None:
    hostile = replace(example(), top=(replace(example().top[0], title="<!channel> <https://evil|x> & co"),))
    text = slack.render(hostile)
    assert "<!channel>" not in text
    assert "&lt;!channel&gt; &lt;https://evil|x&gt; &amp; co" in text


def test_slack_keeps_every_limit_with_many_and_long_names() -> None:
    message = slack.message(_many(50_000, title="<" * 5_000, owner="&" * 253), link=LINK)
    assert len(message["blocks"]) <= 50
    for block in message["blocks"]:
        if block["type"] == "section" and "text" in block:
            assert len(block["text"]["text"]) <= 3_000
    assert "49,990 more in the report." in json.dumps(message)


def test_teams_is_one_adaptive_card_with_the_figures_and_the_way_to_the_whole() -> None:
    report = example()
    message = json.loads(teams.render(report, link=LINK))
    card = message["attachments"][0]["content"]
    assert (message["type"], card["type"], card["version"]) == ("message", "AdaptiveCard", "1.5")
    facts = next(one for one in card["body"] if one["type"] == "FactSet")["facts"]
    assert [one["title"] for one in facts] == [one.name for one in report.figures]
    assert card["actions"][0]["url"] == LINK


def test_teams_reads_no_markdown_out_of_a_name() -> None:
    assert teams.escaped("[x](http://evil) **b** `c`") == r"\[x\]\(http://evil\) \*\*b\*\* \`c\`"


@pytest.mark.parametrize("title", ["£" * 2_000, HOSTILE])
def test_teams_stays_under_its_limit_and_says_what_it_left_out(title: str) -> None:
    text = teams.render(_many(400, title=title, saving_range=title, owner=title), link=LINK)
    assert len(text.encode()) <= teams.MOST_BYTES
    card = json.loads(text)["attachments"][0]["content"]
    shown = sum(one["type"] == "ColumnSet" for one in card["body"])
    assert card["body"][-1]["text"] == teams.escaped(f"{400 - shown} more in the report.")


def test_an_empty_week_says_that_nothing_is_advised() -> None:
    empty = replace(example(), owed=(), top=(), rest=(), notices=())
    assert "Nothing is advised this week." in slack.render(empty)
    assert "Nothing is advised this week" in teams.render(empty)


def test_bursts_and_more_nodes_stand_apart_from_what_saves_with_what_they_change_and_when() -> None:
    burst, extend = example().capacity
    text = slack.render(example())
    for one in (burst, extend):
        assert f"{one.title}\\n*{one.change}* · {one.when} · confidence {one.confidence} · `{one.id}`" in text
    assert text.index("*Owned capacity*") > text.index(example().top[-1].id)
    card = json.loads(teams.render(example()))["attachments"][0]["content"]["body"]
    start = next(number for number, one in enumerate(card) if one.get("text") == "Owned capacity")
    first, second = card[start + 1 :]
    assert first["columns"][0]["items"][0]["text"] == teams.escaped(burst.title)
    assert first["columns"][1]["items"][0]["text"] == teams.escaped(burst.change)
    assert second["columns"][0]["items"][0]["text"] == teams.escaped(extend.title)


def test_of_much_advice_on_capacity_the_rest_is_counted_within_the_limits() -> None:
    report = replace(_many(10, title="£" * 900), capacity=example().capacity * 1_000)
    assert "1,995 more on owned capacity in the report." in slack.render(report)
    assert len(slack.message(report)["blocks"]) <= 50
    text = teams.render(report)
    assert len(text.encode()) <= teams.MOST_BYTES
    assert "more on owned capacity in the report" in text
