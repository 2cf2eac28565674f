"""The assessment's page says what the record says, and no name breaks out of it."""

from __future__ import annotations

from datetime import timedelta
from html.parser import HTMLParser

import pytest

from recommender.advise.assess_gates import Track
from recommender.report.assessment import as_html, as_markdown
from recommender.report.assessment_view import AssessmentPage, Table, page_of
from recommender.report.words import shown
from tests.builders import NOON
from tests.recommender.advise.assessing import assessed, good, ground
from tests.recommender.report.example import HOSTILE
from tests.recommender.world import workload


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def table(page: AssessmentPage, title: str) -> Table:
    return next(one for one in page.tables if one.title.startswith(title))


def test_money_and_shares_are_put_in_words() -> None:
    page = page_of(assessed(ground(good())))
    cost = next(row for row in table(page, "What the clusters cost now").rows if row[0] == "eks-lon")
    assert cost == ("eks-lon", "aws eu-west-2, GB", "1 of 1", "£0.18", "£0.18", "£0.0460", "£0.0460")
    performance = next(row for row in table(page, "How they perform").rows if row[0] == "onprem-lon")
    assert performance[1:3] == ("100%", "0 of 63.7 (<1%)")
    assert table(page, "Workloads that do not").rows == ()


def test_what_is_not_known_says_so() -> None:
    page = page_of(assessed(ground(good())))
    rows = {row[0]: row[1:4] for row in table(page, "From recommend to shadow").rows}
    assert rows["Days on record"] == ("not known", "at least 14 days", "no")
    assert table(page, "Pods that wait").nothing == "Not known: the source of usage does not tell schedulers."
    assert page.verdict.startswith("Not yet from recommend to shadow. Not met: ")


def test_when_every_figure_is_met_it_says_so() -> None:
    track = Track(first_evaluated_at=NOON - timedelta(days=20))
    page = page_of(assessed(ground(good(), track=track), min_live_prices_ratio=0))
    assert page.verdict == "Every figure for the step from recommend to shadow is met."


@pytest.mark.parametrize("report", ["", "report-2026-W48"])
def test_the_report_is_linked_where_there_is_one(report: str) -> None:
    page = page_of(assessed(ground(good())), report=report)
    assert ("report-2026-W48.html" in as_html(page)) == bool(report)
    assert ("(report-2026-W48.md)" in as_markdown(page)) == bool(report)


def test_no_name_breaks_out_of_the_page() -> None:
    page = page_of(assessed(ground(good(HOSTILE), workload(HOSTILE + "2", owner="<b>mallory</b>"))))
    parser = Tags()
    parser.feed(as_html(page))
    assert not {"script", "b"} & parser.tags
    assert any(shown(HOSTILE) in text for text in parser.texts)
    lines = as_markdown(page).splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith(("| ---", "| --:"))]
    assert "<script" not in as_markdown(page)
    for number in heads:
        cells = lines[number].count("|")
        body = [line for line in lines[number + 1 :] if line.startswith("|")]
        assert body[0].replace("\\|", "").count("|") == cells
