"""What workloads cost, as a local OpenCost says it: whole days, every entry, parts that add up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.fetch.cost_contract import CostFetched, CostRequest
from exporters.fetch.opencost import OpenCostSettings, check, fetch
from exporters.fetch.opencost_rows import DIRECT, HOURS, LATER, PARTS, Bill, workload_costs
from tests.fakes.opencost import FakeOpenCost, entry, fake_opencost, workload

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = date(2026, 11, 28)
GIB = 1_073_741_824


@pytest.fixture
def opencost() -> Iterator[FakeOpenCost]:
    with fake_opencost() as running:
        yield running


def settings(fake: FakeOpenCost, *, days_per_request: int = 7, **endpoint: Any) -> OpenCostSettings:
    named = {"cluster": "london", "url": fake.url, "currency": "USD", **endpoint}
    return OpenCostSettings.model_validate(
        {"endpoints": [named], "days_per_request": days_per_request, "retry_wait_seconds": 0.01}
    )


def request(first: date = DAY, last: date = DAY, *, seconds: float = 20) -> CostRequest:
    return CostRequest(
        now=NOW, first_day=first, last_day=last, scratch=Path(), deadline=NOW + timedelta(seconds=seconds)
    )


def ask(fake: FakeOpenCost, asked: CostRequest | None = None, **changes: Any) -> CostFetched:
    return fetch(settings(fake, **changes), None, asked or request())


def rows(fetched: CostFetched) -> list[dict[str, Any]]:
    assert fetched.workloads is not None
    return fetched.workloads.sort("day", "namespace", "workload").to_dicts()


def holds(fake: FakeOpenCost, day: date = DAY, **figures: Any) -> str:
    """One workload, `web` in `shop`, with these figures."""
    name, words = workload("cluster-one", "shop", "deployment", "web")
    fake.days.setdefault(day, {})[name] = entry(day, properties=words, **figures)
    return name


def test_a_workload_has_its_parts_hours_and_total_in_the_stated_currency(opencost):
    holds(
        opencost,
        cpuCost=1.5,
        ramCost=0.25,
        gpuCost=3.0,
        networkCost=0.125,
        pvCost=0.5,
        loadBalancerCost=0.6,
        sharedCost=0.1,
        externalCost=0.05,
        cpuCostAdjustment=-0.2,
        cpuCoreHours=48,
        ramByteHours=96 * GIB,
        gpuHours=12,
    )

    assert rows(ask(opencost)) == [
        {
            "source": "opencost",
            "cluster": "london",
            "namespace": "shop",
            "workload_kind": "deployment",
            "workload": "web",
            "day": DAY,
            "currency": "USD",
            "vcpu_cost": 1.5,
            "memory_cost": 0.25,
            "gpu_cost": 3.0,
            "network_cost": 0.125,
            "other_cost": pytest.approx(1.05),
            "total_cost": pytest.approx(5.925),
            "vcpu_hours": 48.0,
            "memory_gib_hours": 96.0,
            "gpu_hours": 12.0,
        }
    ]


def test_it_is_asked_for_whole_utc_days_by_controller_and_no_day_that_is_not_over(opencost):
    ask(opencost, request(date(2026, 11, 21), date(2026, 11, 30)))

    assert [query["window"] for query in opencost.asked] == [
        "2026-11-21T00:00:00Z,2026-11-28T00:00:00Z",
        "2026-11-28T00:00:00Z,2026-11-30T00:00:00Z",
    ]
    assert {query["aggregate"] for query in opencost.asked} == {"cluster,namespace,controllerKind,controller"}
    assert {query["accumulate"] for query in opencost.asked} == {"false"}


def test_a_day_that_has_just_begun_asks_nothing_and_gives_no_rows(opencost):
    fetched = ask(opencost, request(NOW.date(), NOW.date()))

    assert opencost.asked == []
    assert rows(fetched) == []
    assert fetched.charges is None


def test_sets_in_any_order_are_told_apart_by_their_windows(opencost):
    holds(opencost, date(2026, 11, 27), cpuCost=1)
    holds(opencost, date(2026, 11, 28), cpuCost=2)
    opencost.reverse = True

    found = rows(ask(opencost, request(date(2026, 11, 27), DAY)))

    assert [(row["day"].day, row["total_cost"]) for row in found] == [(27, 1.0), (28, 2.0)]


def test_what_is_no_workload_keeps_opencosts_word_for_it_and_a_pod_without_controller_is_its_namespaces(opencost):
    cluster = {"cluster": "cluster-one"}
    opencost.days[DAY] = {
        "cluster-one/__idle__": entry(DAY, properties=cluster, cpuCost=4),
        "cluster-one/__unmounted__/__unallocated__/__unallocated__": entry(
            DAY, properties=cluster | {"namespace": "__unmounted__"}, pvCost=2
        ),
        "cluster-one/shop/__unallocated__/__unallocated__": entry(
            DAY, properties=cluster | {"namespace": "shop"}, cpuCost=1
        ),
    }

    found = [
        (row["namespace"], row["workload_kind"], row["workload"], row["total_cost"]) for row in rows(ask(opencost))
    ]

    assert found == [("__idle__", "", "", 4.0), ("__unmounted__", "", "", 2.0), ("shop", "", "", 1.0)]


def test_entries_of_one_workload_add_up(opencost):
    cluster = {"cluster": "cluster-one"}
    opencost.days[DAY] = {
        f"cluster-one/{node}/__idle__": entry(DAY, properties=cluster, cpuCost=cost, cpuCoreHours=8)
        for node, cost in (("node-1", 1.25), ("node-2", 2.5))
    }

    (row,) = rows(ask(opencost))

    assert (row["total_cost"], row["vcpu_hours"]) == (3.75, 16.0)


def test_days_without_a_word_are_reported_because_they_may_be_lost_history(opencost):
    holds(opencost, cpuCost=1)

    fetched = ask(opencost, request(date(2026, 11, 25), DAY))

    assert len(rows(fetched)) == 1
    assert [item.why for item in fetched.skipped] == [
        "OpenCost of london holds nothing of 3 days between 2026-11-25 and 2026-11-27"
    ]


def test_figures_that_an_older_version_does_not_have_are_nought_as_long_as_the_total_agrees(opencost):
    name = holds(opencost, cpuCost=1.5)
    for field in ("loadBalancerCost", "cpuCostAdjustment", "sharedCost"):
        del opencost.days[DAY][name][field]

    assert [row["total_cost"] for row in rows(ask(opencost))] == [1.5]


def test_parts_may_miss_the_total_by_rounding_only(opencost):
    holds(opencost, cpuCost=0.33333, ramCost=0.33333, totalCost=0.66667)

    assert [row["total_cost"] for row in rows(ask(opencost))] == [pytest.approx(0.66666)]


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"cpuCost": 1.0, "totalCost": 1.001}, "add up to 1.00000, its total is 1.00100"),
        ({"ramCost": None, "totalCost": 0}, "ramCost of .*web' is None, no number"),
        ({"ramCost": float("nan"), "totalCost": 0}, "ramCost of .*web' is nan, no number"),
        ({"totalCost": float("inf")}, "totalCost of .* is inf, no number"),
        ({"cpuCost": "1.0", "totalCost": 1}, "cpuCost of .* is '1.0', no number"),
        ({"cpuCoreHours": -3}, "negative hours"),
    ],
    ids=["does not add up", "null", "NaN", "infinity", "text", "negative hours"],
)
def test_a_figure_that_cannot_be_believed_refuses_the_answer(opencost, figures, said):
    holds(opencost, **figures)

    with pytest.raises(IntegrityError, match=said):
        ask(opencost)


def test_a_missing_field_is_named(opencost):
    name = holds(opencost, cpuCost=1)
    del opencost.days[DAY][name]["ramCost"], opencost.days[DAY][name]["gpuHours"]

    with pytest.raises(IntegrityError, match=r"lacks ramCost, gpuHours"):
        ask(opencost)


def test_two_clusters_behind_one_endpoint_are_refused(opencost):
    for cluster in ("one", "two"):
        name, words = workload(cluster, "shop", "deployment", "web")
        opencost.days.setdefault(DAY, {})[name] = entry(DAY, properties=words, cpuCost=1)

    with pytest.raises(IntegrityError, match=r"several clusters \(one, two\); name one endpoint a cluster"):
        ask(opencost)


def one_set(*days: date, start: str | None = None) -> dict[str, Any]:
    held = {f"c/n{n}/deployment/deployment:x": entry(day, cpuCost=1) for n, day in enumerate(days)}
    for item in held.values():
        item["window"]["start"] = start or item["window"]["start"]
    return held


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([one_set(DAY, DAY - timedelta(days=1))], "one set holds the days 2026-11-27 and 2026-11-28"),
        ([one_set(DAY), one_set(DAY)], "two sets are of 2026-11-28"),
        ([one_set(date(2026, 11, 20))], "2026-11-20T00:00Z to 2026-11-21T00:00Z, no day asked"),
        ([one_set(DAY, start="2026-11-28T06:00:00Z")], "2026-11-28T06:00Z to 2026-11-29T00:00Z, no day asked"),
        ([one_set(DAY, start="yesterday")], "has no window"),
        ([{"x": None}], "'x' has no window"),
        ([["x"]], "a set is no object"),
        ({"sets": []}, "data is no list of sets"),
    ],
    ids=["accumulated", "twice", "other day", "half a day", "no time", "null", "list", "no list"],
)
def test_sets_of_other_days_or_of_another_shape_are_refused(opencost, data, said):
    opencost.answers = [(200, json.dumps({"code": 200, "data": data}))]

    with pytest.raises(IntegrityError, match=said):
        ask(opencost, request(date(2026, 11, 27), DAY))


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (200, '{"code": 400, "message": "bad window"}', TerminalSourceError, "answered code 400 .bad window"),
        (200, '{"code": 500, "message": "prom down"}', TransientSourceError, "answered code 500 .prom down"),
        (200, "<html>Sign in</html>", IntegrityError, "no JSON .*login page"),
        (200, '{"code": 200, "data": [{', IntegrityError, "no JSON"),
        (200, '{"status": "success"}', IntegrityError, "the answer has no code"),
        (403, "Forbidden", TerminalSourceError, "answered 403"),
        (302, "", TerminalSourceError, "answered 302"),
    ],
    ids=["code 400", "code 500", "HTML", "cut", "no code", "403", "redirect"],
)
def test_an_answer_that_is_none_says_what_to_do(opencost, status, body, error, said):
    opencost.answers = [(status, body)]

    with pytest.raises(error, match=said):
        ask(opencost)


def test_a_server_error_is_tried_again(opencost):
    holds(opencost, cpuCost=1)
    opencost.answers = [(503, ""), (500, "")]

    assert len(rows(ask(opencost))) == 1


def test_errors_that_do_not_end_end_with_the_deadline(opencost):
    opencost.answers = [(503, "")] * 50

    with pytest.raises(TransientSourceError, match="answered 503"):
        ask(opencost, request(seconds=0.3))


@pytest.mark.parametrize(
    ("header", "credentials"),
    [
        ("Bearer s3cret", {"bearer_token_file": "secret"}),
        ("Basic YW5uOnMzY3JldA==", {"username": "ann", "password_file": "secret"}),
    ],
    ids=["token", "password"],
)
def test_credentials_come_from_files_and_stand_in_no_message(opencost, tmp_path, header, credentials):
    (tmp_path / "secret").write_text("s3cret\n")
    named = {name: tmp_path / value if name.endswith("_file") else value for name, value in credentials.items()}
    holds(opencost, cpuCost=1)
    opencost.authorization = header
    assert len(rows(ask(opencost, **named))) == 1

    opencost.authorization = "Bearer another"
    with pytest.raises(TerminalSourceError, match="answered 401") as caught:
        ask(opencost, **named)
    assert "s3cret" not in str(caught.value)


def test_credentials_never_travel_in_the_clear_to_another_machine(opencost, tmp_path):
    (tmp_path / "secret").write_text("s3cret")

    with pytest.raises(SettingsError, match="https:// URL"):
        ask(opencost, url="http://opencost.example:9003", bearer_token_file=tmp_path / "secret")


def test_a_ca_file_that_is_none_is_a_mistake_in_the_settings(opencost, tmp_path):
    (tmp_path / "ca.pem").write_text("not a certificate")

    with pytest.raises(SettingsError, match=r"endpoints, london: the CA file .*ca\.pem cannot be used"):
        ask(opencost, ca_file=tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("endpoints", "said"),
    [
        ([{"cluster": "a", "url": "http://x"}], "currency"),
        ([{"cluster": "a", "url": "http://x", "currency": "pounds"}], "currency"),
        ([{"cluster": "a", "url": "http://x", "currency": "USD"}] * 2, "two endpoints name the cluster 'a'"),
        ([{"cluster": "a", "url": "http://x", "currency": "USD", "username": "ann"}], "go together"),
        (
            [
                {"cluster": "a", "url": "http://x", "currency": "USD", "username": "ann", "password_file": "p"}
                | {"bearer_token_file": "t"}
            ],
            "exclude each other",
        ),
    ],
    ids=["no currency", "no code", "twice", "half a login", "two logins"],
)
def test_settings_that_would_guess_are_refused(endpoints, said):
    with pytest.raises(ValidationError, match=said):
        OpenCostSettings.model_validate({"endpoints": endpoints})


def test_a_source_without_endpoints_says_so():
    with pytest.raises(SettingsError, match="no OpenCost is named"):
        fetch(OpenCostSettings(), None, request())
    assert [finding.state for finding in check(OpenCostSettings(), None, request())] == ["failed"]


def test_check_says_what_yesterday_cost(opencost):
    yesterday = date(2026, 11, 29)
    holds(opencost, yesterday, cpuCost=1234.5)

    (finding,) = check(settings(opencost), None, request())

    assert (finding.state, finding.detail) == ("ok", "1 workloads cost 1,234.50 USD on 2026-11-29")


def test_check_warns_of_a_day_that_opencost_does_not_know(opencost):
    (finding,) = check(settings(opencost), None, request())

    assert (finding.state, finding.detail) == ("warning", "OpenCost holds nothing of 2026-11-29")


def test_check_says_which_path_an_older_version_wants(opencost):
    opencost.paths = ("/allocation/compute",)
    holds(opencost, date(2026, 11, 29), cpuCost=1)

    assert [finding.state for finding in check(settings(opencost), None, request())] == ["failed"]
    older = settings(opencost, path="/allocation/compute")
    assert [finding.state for finding in check(older, None, request())] == ["ok"]


amounts = st.floats(-1e6, 1e6).map(lambda amount: round(amount, 5))


@given(
    st.fixed_dictionaries(
        dict.fromkeys((*DIRECT, *LATER), amounts)
        | {name: st.floats(0, 1e12).map(lambda hours: round(hours, 5)) for name in HOURS}
    )
)
def test_whatever_the_parts_are_the_total_is_their_sum_and_opencosts_own(figures):
    bill = Bill(cluster="london", currency="USD", days=(DAY,), where="OpenCost")
    stated = math.fsum(figures[name] for name in (*DIRECT, *LATER))
    held = {"c/shop": entry(DAY, properties={"namespace": "shop"}, **figures, totalCost=round(stated, 5))}

    (row,) = workload_costs([held], bill, theirs=set())

    assert row["total_cost"] == sum(row[part] for part in PARTS)
    assert row["total_cost"] == pytest.approx(stated, abs=1e-4)
