"""The list of advice and one recommendation, as a person reads them: filter, order, pages, evidence, hostile names."""

from __future__ import annotations

import re
from decimal import Decimal
from html import unescape
from typing import Any

import pytest

from recommender.advise.record import State
from tests.builders import NOON
from tests.recommender.report.example import HOSTILE, example_plan
from tests.recommender.serve.conftest import Served

LIST = "/recommendations"
ROW = re.compile(r'<th scope="row" class="advice"><a href="/recommendations/([0-9a-f]+)">')


def ids(served: Served, **params: Any) -> list[str]:
    answer = served.client.get(LIST, params=params)
    assert answer.status_code == 200, answer.text
    return ROW.findall(answer.text)


def ranked(*ranks: int) -> list[str]:
    by_rank = {one.rank: one.id for one in example_plan().recommendations}
    return [by_rank[rank] for rank in ranks]


def capacity() -> list[str]:
    return [one.id for one in example_plan().capacity]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, [*ranked(1, 2, 3, 4, 5), *capacity()]),
        ({"kind": "compliance"}, ranked(1)),
        ({"kind": "burst"}, capacity()[:1]),
        ({"owner": "shop-team"}, [*ranked(1, 3, 5), *capacity()[:1]]),
        ({"cluster": "gke-bel"}, ranked(1)),
        ({"effort": "low"}, ranked(5)),
        ({"text": "SHOP/WEB"}, ranked(3)),
        ({"text": "[.*"}, []),
        ({"sort": "-saving", "kind": "placement"}, ranked(2, 3, 4)),
        ({"state": "dismissed"}, []),
        (
            {"owner": "", "kind": "", "cluster": "", "confidence": "", "effort": "low", "text": "", "state": "live"},
            ranked(5),
        ),
    ],
)
def test_the_list_shows_what_is_asked_for(with_plan: Served, params: dict[str, Any], expected: list[str]) -> None:
    assert ids(with_plan, **params) == expected


@pytest.mark.parametrize("params", [{"ovner": "x"}, {"page": 0}, {"state": "gone"}, {"sort": "price"}])
def test_a_misspelt_filter_is_an_error_and_never_shows_all(with_plan: Served, params: dict[str, Any]) -> None:
    answer = with_plan.client.get(LIST, params=params, headers={"accept": "text/html"})
    assert (answer.status_code, "<h1>Unprocessable" in answer.text) == (422, True)


def test_a_long_list_is_cut_into_pages_that_lead_to_each_other(served: Served) -> None:
    first = example_plan().recommendations[1]
    many = tuple(first.model_copy(update={"id": f"{n:016x}", "rank": n}) for n in range(1, 121))
    served.last.succeeded(
        example_plan().model_copy(update={"recommendations": many, "capacity": ()}), at=NOON, duration_seconds=1
    )
    page = served.client.get(LIST, params={"kind": "placement", "sort": "owner"})
    assert len(ROW.findall(page.text)) == 50
    assert "Page 1 of 3" in page.text
    following = unescape(re.findall(r'href="([^"]*)" rel="next"', page.text)[0])
    second = served.client.get(following)
    assert ROW.findall(second.text) == [f"{n:016x}" for n in range(51, 101)]
    last = served.client.get(LIST, params={"page": 99})
    assert ROW.findall(last.text) == [f"{n:016x}" for n in range(101, 121)]
    assert 'rel="next"' not in last.text


def test_one_recommendation_shows_everything_that_it_rests_on(with_plan: Served) -> None:
    one = next(one for one in example_plan().recommendations if one.target.workload == "web")
    page = with_plan.client.get(f"{LIST}/{one.id}").text
    price = one.prices[0]
    assert one.monthly is not None
    assert one.monthly.saving.p50 == Decimal("105.12")
    for shown in ("£105.12", one.explanation[0], price.instance_type, price.snapshot_id):
        assert shown in unescape(page)
    assert price.currency == "GBP"
    assert "in pounds at its source" in page
    assert one.guards is not None
    assert "at least £20.00" in page
    assert any(refusal.why.rstrip(".") in unescape(page) for refusal in one.refused)


def test_a_burst_has_a_page_with_what_moves_and_why(with_plan: Served) -> None:
    burst = example_plan().capacity[0]
    page = unescape(with_plan.client.get(f"{LIST}/{burst.id}").text)
    assert burst.shortage is not None
    assert f"owned nodes admit {burst.shortage.capacity:g}" in page
    assert burst.moves[0].workload in page
    assert "this is no saving" in page


def test_what_is_not_known_is_not_found(with_plan: Served) -> None:
    answer = with_plan.client.get(f"{LIST}/0000000000000000", headers={"accept": "text/html"})
    assert (answer.status_code, "it may have been superseded" in answer.text) == (404, True)


def test_before_the_first_plan_the_list_says_so(served: Served) -> None:
    answer = served.client.get(LIST, headers={"accept": "text/html"})
    assert (answer.status_code, "There is no plan yet" in answer.text) == (503, True)


def test_a_hostile_name_stays_text_on_every_page(with_plan: Served) -> None:
    hostile = next(one for one in example_plan().recommendations if one.target.workload == HOSTILE)
    for path in (LIST, f"{LIST}?text=script", f"{LIST}/{hostile.id}"):
        page = with_plan.client.get(path).text
        assert "<script" not in page
        assert "<b>mallory" not in page
        assert "\u202e" not in page
        assert "⟨U+202E⟩" in page


def test_what_is_typed_into_the_filter_stays_text(with_plan: Served) -> None:
    page = with_plan.client.get(LIST, params={"text": '"><script>alert(1)</script>', "owner": "'\"><img>"}).text
    assert "<script" not in page
    assert "<img" not in page


def test_advice_that_the_plan_gives_no_more_is_listed_in_its_state(served: Served) -> None:
    gone = example_plan().recommendations[3].model_copy(update={"state": State.DISMISSED})
    plan = example_plan().model_copy(update={"recommendations": example_plan().recommendations[:2]})
    served.last.succeeded(plan, at=NOON, duration_seconds=1, kept=[gone])
    assert ids(served, state="dismissed") == [gone.id]
    assert ids(served, kind="placement", state="live") == ranked(2)
