"""The API: filters, order, pages, validators; a misspelt filter is an error and never shows all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recommender.report.example import example_plan
from tests.recommender.serve.conftest import Served

LIST = "/api/v1/recommendations"


def ranks(served: Served, **params: Any) -> list[int]:
    answer = served.client.get(LIST, params=params)
    assert answer.status_code == 200, answer.text
    return [item["rank"] for item in answer.json()["items"]]


def test_the_plan_is_served_as_it_is(with_plan: Served) -> None:
    assert with_plan.client.get("/api/v1/plan").json() == example_plan().document()


def test_the_list_is_in_the_order_of_rank_with_its_total(with_plan: Served) -> None:
    document = with_plan.client.get(LIST).json()
    assert document["total"] == 5
    assert [item["rank"] for item in document["items"]] == [1, 2, 3, 4, 5]
    assert document["generated_at"] == "2026-11-30T12:00:00+00:00"


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"kind": "compliance"}, [1]),
        ({"kind": "purchase-option"}, [5]),
        ({"owner": "shop-team"}, [1, 3, 5]),
        ({"owner": "nobody"}, []),
        ({"cluster": "gke-bel"}, [1]),
        ({"effort": "low"}, [5]),
        ({"confidence": "high", "kind": "placement"}, [2, 3, 4]),
        ({"min_saving_gbp_per_month": 105.12}, [2, 3, 4]),
        ({"sort": "-saving"}, [2, 3, 4, 5, 1]),
        ({"sort": "saving"}, [1, 5, 3, 4, 2]),
        ({"sort": "owner", "kind": "placement"}, [2, 4, 3]),
    ],
)
def test_filters_and_order(with_plan: Served, params: dict[str, Any], expected: list[int]) -> None:
    assert ranks(with_plan, **params) == expected


def test_pages_follow_each_other(with_plan: Served) -> None:
    first = with_plan.client.get(LIST, params={"limit": 2, "sort": "rank"})
    assert [item["rank"] for item in first.json()["items"]] == [1, 2]
    assert first.json()["total"] == 5
    following = first.links["next"]["url"]
    second = with_plan.client.get(following)
    assert [item["rank"] for item in second.json()["items"]] == [3, 4]
    last = with_plan.client.get(second.links["next"]["url"])
    assert [item["rank"] for item in last.json()["items"]] == [5]
    assert "next" not in last.links


@pytest.mark.parametrize(
    "params",
    [{"ovner": "shop-team"}, {"limit": 0}, {"limit": 501}, {"offset": -1}, {"sort": "price"}, {"kind": "burst"}],
)
def test_what_is_not_understood_is_an_error(with_plan: Served, params: dict[str, Any]) -> None:
    assert with_plan.client.get(LIST, params=params).status_code == 422


def test_one_recommendation_is_found_by_its_id(with_plan: Served) -> None:
    wanted = example_plan().recommendations[2]
    found = with_plan.client.get(f"{LIST}/{wanted.id}")
    assert found.json()["title"] == wanted.title
    missing = with_plan.client.get(f"{LIST}/0000000000000000")
    assert (missing.status_code, "superseded" in missing.json()["error"]) == (404, True)


@pytest.mark.parametrize("path", ["/api/v1/plan", LIST, f"{LIST}?kind=placement"])
def test_what_has_not_changed_is_not_sent_again(with_plan: Served, path: str) -> None:
    first = with_plan.client.get(path)
    again = with_plan.client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = with_plan.client.get(path, headers={"if-none-match": '"another"'})
    assert other.status_code == 200


def test_advice_on_owned_capacity_is_a_list_of_its_own(with_plan: Served) -> None:
    everything = with_plan.client.get("/api/v1/capacity").json()
    assert [one["kind"] for one in everything["items"]] == ["burst", "extend"]
    bursts = with_plan.client.get("/api/v1/capacity", params={"kind": "burst", "cluster": "onprem-lon"}).json()
    assert (bursts["total"], bursts["items"][0]["cost_delta_gbp_per_hour"]) == (1, 9 * 0.184)
    assert with_plan.client.get("/api/v1/capacity", params={"cluster": "eks-lon"}).json()["total"] == 0


def test_a_burst_is_found_by_its_id(with_plan: Served) -> None:
    (burst, _) = with_plan.client.get("/api/v1/capacity").json()["items"]
    assert with_plan.client.get(f"/api/v1/recommendations/{burst['id']}").json() == burst


def test_who_asks_the_wrong_list_for_bursts_is_told_where_they_are(with_plan: Served) -> None:
    answer = with_plan.client.get("/api/v1/recommendations", params={"kind": "burst"})
    assert answer.status_code == 422
    assert "/api/v1/capacity" in answer.text
    assert with_plan.client.get("/api/v1/capacity", params={"clutser": "x"}).status_code == 422
