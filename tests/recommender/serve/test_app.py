"""Pages and probes on a real port: what a person and Kubernetes see, with a plan, without one, and after a failure."""

from __future__ import annotations

import httpx2
import pytest

from exporters.core.clock import FixedClock
from exporters.core.errors import PricesUnavailableError
from exporters.core.web.serving import serving
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan
from tests.builders import NOON
from tests.recommender.report.example import HOSTILE, example_plan
from tests.recommender.serve.conftest import Served
from tests.servers.chromium import complaints, overflow_px, running_chromium

FAILURE = PricesUnavailableError("it holds no prices", where="store", next_step="Run tuppence fetch.")


def test_before_the_first_plan_it_is_healthy_but_not_ready(served: Served) -> None:
    assert served.client.get("/-/healthy").status_code == 200
    ready = served.client.get("/-/ready")
    assert (ready.status_code, ready.text) == (
        503,
        "There is no plan yet: the first evaluation has not succeeded.\n",
    )
    assert "There is no plan yet" in served.client.get("/").text
    assert served.client.get("/report").status_code == 503


def test_with_a_plan_it_is_ready_and_lists_the_advice_with_links_to_the_reasons(with_plan: Served) -> None:
    assert with_plan.client.get("/-/ready").status_code == 200
    page = with_plan.client.get("/").text
    report = with_plan.client.get("/report").text
    for one in example_plan().recommendations:
        assert f'href="/recommendations/{one.id}"' in page
        assert f'id="why-{one.id}"' in report
    assert "£105.12" in page
    assert "✓ the last evaluation succeeded" in page


def test_a_failed_evaluation_keeps_the_plan_and_shows_the_error(with_plan: Served) -> None:
    with_plan.last.failed(FAILURE, at=NOON, duration_seconds=0.1)
    page = with_plan.client.get("/").text
    assert "! the last evaluation failed; the plan before it is served" in page
    assert "it holds no prices. Run tuppence fetch." in page
    assert "£105.12" in page
    assert with_plan.client.get("/-/ready").status_code == 200


def test_an_error_without_a_plan_is_shown_and_told_to_programs(served: Served) -> None:
    served.last.failed(FAILURE, at=NOON, duration_seconds=0.1)
    assert "✗ no evaluation has succeeded" in served.client.get("/").text
    answer = served.client.get("/api/v1/plan")
    assert answer.status_code == 503
    assert "Run tuppence fetch." in answer.json()["error"]


@pytest.mark.parametrize(("path", "style"), [("/", "'self'"), ("/recommendations", "'self'"), ("/report", "'sha256-")])
def test_pages_allow_nothing_but_their_own_style(with_plan: Served, path: str, style: str) -> None:
    headers = with_plan.client.get(path).headers
    assert headers["content-security-policy"].startswith(f"default-src 'none'; style-src {style}")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_hostile_name_stays_text_on_the_status_page(with_plan: Served) -> None:
    page = with_plan.client.get("/").text
    assert "<script" not in page
    assert HOSTILE not in page
    assert "⟨U+202E⟩" in page


def test_reload_answers_with_what_is_wrong() -> None:
    def broken() -> None:
        raise FAILURE

    app = create_app(Recommender(last=LastPlan(), clock=FixedClock(NOON), reload=broken))
    with serving(app) as address:
        answer = httpx2.post(f"{address.url}/-/reload")
        assert (answer.status_code, "it holds no prices" in answer.text) == (500, True)
        assert httpx2.get(f"{address.url}/-/reload").status_code == 405


def test_both_pages_show_in_a_browser_under_their_own_policy(with_plan: Served) -> None:
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": 360, "height": 740})
        said = complaints(page)
        page.goto(str(with_plan.client.base_url))
        assert overflow_px(page) == 0
        # The style is applied: the rule under the title is drawn by it alone.
        assert page.evaluate("getComputedStyle(document.querySelector('header')).borderBottomWidth") == "3px"
        page.get_by_role("link", name="Move shop/web").click()
        assert "/recommendations/" in page.url
        assert overflow_px(page) == 0
        assert page.evaluate("getComputedStyle(document.querySelector('header')).borderBottomWidth") == "3px"
        assert said == []


def test_the_status_page_lists_bursts_with_links_to_the_reasons(with_plan: Served) -> None:
    (burst, _) = with_plan.client.get("/api/v1/capacity").json()["items"]
    assert f'href="/recommendations/{burst["id"]}"' in with_plan.client.get("/").text
    assert f'id="why-{burst["id"]}"' in with_plan.client.get("/report").text
