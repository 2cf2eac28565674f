"""The figures of a report, worked out by hand, and what must be said before they are believed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from recommender.advise.plan import Plan, RateUsed, SnapshotUsed
from recommender.guard.steady import BALANCE, worth_rules
from recommender.place.constraints import CONSTRAINTS
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.report.words import RULES
from recommender.settings import Steady
from tests.builders import NOON, USD_RATE
from tests.recommender.world import plan, workload


def told(*rows: dict[str, Any], **changes: Any) -> Report:
    return report_of(plan(*rows, **changes))


def with_inputs(plan_: Plan, **changes: Any) -> Plan:
    return plan_.model_copy(update={"inputs": plan_.inputs.model_copy(update=changes)})


def figure(report: Report, name: str) -> tuple[str, str]:
    return next((one.value, one.note) for one in report.figures if one.name == name)


def test_the_open_saving_is_the_sum_of_the_savings_with_its_range() -> None:
    # Two like it: (0.184 − 0.04) × 730 = 105.12 each; seven days give a seventh up and down: 90.10 to 120.14.
    report = told(workload("web"), workload("api"))
    assert [one.saving for one in report.top] == ["£105.12", "£105.12"]
    value, note = figure(report, "Open saving")
    assert value == "£210.24"
    assert "£180.20 to £240.28" in note
    assert "78% of the cost now" in note
    assert figure(report, "Cost now")[0] == "£268.64"


def test_advice_owed_to_a_rule_stands_apart_and_is_in_no_saving() -> None:
    abroad = workload(cluster="gke-bel", instance_type="n2-standard-4")
    report = told(abroad)
    assert [one.kind for one in report.owed] == ["owed to a rule"]
    # 4 × 0.02 + 16 × 0.003 = 0.128 there, 0.04 on the own racks.
    assert report.owed[0].change == "£64.24 less"
    assert report.owed[0].saving == ""
    assert report.top == ()
    assert figure(report, "Open saving")[0] == "£0.00"
    assert figure(report, "Owed to a rule") == ("1", "£64.24 less a month")


def test_ten_stand_first_and_the_others_after_them() -> None:
    report = told(
        *(workload(f"web-{number}", vcpu_request_mean=1.0, memory_gib_request_mean=4.0) for number in range(12))
    )
    assert len(report.top) == 10
    assert len(report.rest) == 2
    assert [one.rank for one in report.advice] == [str(number) for number in range(1, 13)]


def test_owners_add_up_to_the_figures_at_the_top() -> None:
    report = told(workload("web", owner="shop"), workload("api", owner=""), workload("cart", owner="shop"))
    assert [(one.name, one.workloads, one.current, one.saving, one.advice) for one in report.owners] == [
        ("shop", "2", "£268.64", "£210.24", "2"),
        ("nobody named", "1", "£134.32", "£105.12", "1"),
        ("All", "3", "£402.96", "£315.36", "3"),
    ]


def test_owned_capacity_shows_its_use_before_and_after_and_both_costs() -> None:
    (metal,) = told(workload("web")).owned
    # 4 of 64 vCPUs on two nodes are 6.25 %, and the node agent's next to nothing.
    assert (metal.used, metal.planned) == ("<1%", "6%")
    assert metal.marginal == "£0.3200"
    # 32 × 0.01 + 128 × 0.002 = 0.576 a node-hour; two nodes for 730 hours.
    assert (metal.full, metal.full_month) == ("£0.5760", "£840.96")


def test_a_refusal_shows_what_its_rule_costs() -> None:
    report = told(workload("pinned", local_volume=True))
    assert report.top == ()
    assert [(one.rule, one.cost) for one in report.rule_costs] == [("Local volumes (local_volume)", "£105.12")]
    assert report.refused[0].cost == "£105.12"
    assert report.refused[0].workload == "eks-lon/shop/pinned"


def test_packaged_prices_are_named_before_any_figure() -> None:
    made = plan(workload())
    packaged = SnapshotUsed(id="aws/1", source="aws", taken_at=NOON - timedelta(days=148), origin="packaged")
    report = report_of(with_inputs(made, snapshots=(packaged,)))
    assert "Prices of aws are list prices shipped with Tuppence" in report.notices[0]
    assert [(one.state, one.age) for one in report.sources] == [("! packaged, not live", "148 days")]


def test_sources_are_fresh_old_or_left_out() -> None:
    def used(source: str, hours: float) -> SnapshotUsed:
        return SnapshotUsed(id=f"{source}/1", source=source, taken_at=NOON - timedelta(hours=hours), origin="live")

    made = with_inputs(
        plan(workload()), snapshots=(used("fx", 1), used("aws", 36.5)), stale_snapshots=(used("gcp", 72),)
    )
    report = report_of(made)
    assert {one.name: (one.level, one.age) for one in report.sources} == {
        "aws": ("warn", "36 h"),
        "exchange rates": ("good", "60 min"),
        "gcp": ("bad", "3 days"),
    }
    assert report.notices == ("Prices of gcp are too old and were left out; see “How fresh the prices are”.",)


def test_usage_that_ended_long_ago_is_said_to() -> None:
    made = plan(workload())
    old = made.inputs.usage_window.model_copy(update={"end": NOON - timedelta(days=9)})
    assert report_of(with_inputs(made, usage_window=old)).notices == ("The usage ends 9 days before this evaluation.",)
    assert report_of(made).notices == ()


def test_the_exchange_rate_stands_with_its_date_and_source() -> None:
    made = plan(workload())
    rate = RateUsed(currency="USD", gbp_per_unit=USD_RATE, rate_date="2026-10-30", fx_source="ecb")
    assert report_of(with_inputs(made, exchange_rates=(rate,))).rates == ("1 USD = £0.7463 (ecb, 30 October 2026)",)


def test_a_breach_without_a_way_out_is_said_first() -> None:
    abroad = workload(cluster="gke-bel", instance_type="n2-standard-4", local_volume=True)
    report = told(abroad)
    assert report.advice == ()
    assert "1 workload runs against a hard rule" in report.notices[0]
    assert "gke-bel is in EEA, class uk allows GB" in report.notices[0]


def test_an_empty_plan_is_a_report_that_says_so() -> None:
    report = told()
    assert report.advice == ()
    assert report.owners == ()
    assert figure(report, "Open saving")[1] == "a month, £0.00 to £0.00"


def test_every_rule_has_words() -> None:
    rules = {rule.id for rule in (*CONSTRAINTS, *worth_rules(Steady()), BALANCE)} - {"no_saving"}
    assert rules - RULES.keys() == set()
