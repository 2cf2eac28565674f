"""Series of budgets, forecasts, commitments and workloads: in pounds at today's rate, or absent."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import dataframely as dy
import polars as pl
import pytest

from exporters.core.frames import FxRate
from exporters.core.standing_frames import Budget, Commitment, CommitmentUse, ProviderForecast, WorkloadCost
from exporters.publish import standing as series
from exporters.store.standing import Standing

TODAY = date(2026, 11, 12)
NOW = datetime(2026, 11, 12, 9, tzinfo=UTC)
FX = FxRate.cast(pl.DataFrame([{"currency": "USD", "gbp_per_unit": 0.75, "rate_date": TODAY, "fx_source": "ecb"}]))


def frame(schema: type[dy.Schema], *rows: dict[str, Any]) -> Any:
    """Rows of a declared frame."""
    return schema.validate(pl.DataFrame(rows, schema=schema.create_empty().schema), cast=True)


def budget(**changes: Any) -> dict[str, Any]:
    """A monthly budget of an account: 400 dollars."""
    row = {"source": "aws", "provider": "aws", "account": "1111", "scope": "team", "period": "month"}
    return row | {"amount": Decimal(400), "currency": "USD", "filters": None, "spent": None, "expected": None} | changes


def paid(account: str = "1111", *, until: date = date(2026, 11, 10), provider: str = "aws", amount: int = 10) -> Any:
    """Days of an account since September, the same amount each."""
    days = [date(2026, 9, 1) + timedelta(days=n) for n in range((until - date(2026, 9, 1)).days + 1)]
    columns = {
        "source": "files",
        "provider": provider,
        "billing_account": account,
        "sub_account": "",
        "charge_category": "Usage",
        "whole_until": until,
    }
    return pl.DataFrame({"charge_day": days}).with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}, billed_gbp=pl.lit(amount).cast(pl.Decimal(38, 18))
    )


def mids(days: pl.DataFrame, *budgets: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """The middle of each forecast."""
    found = series.forecasts(days, Standing(budgets=frame(Budget, *budgets)), FX, today=TODAY).filter(bound="mid")
    return {key: pytest.approx(gbp) for *names, gbp in found.drop("bound").iter_rows() if (key := tuple(names))}


def test_a_budget_is_in_pounds_a_month_and_absent_without_a_rate() -> None:
    budgets = frame(
        Budget,
        budget(),
        budget(scope="year", period="year", amount=Decimal(1200)),
        budget(scope="quarter", period="quarter", amount=Decimal(1200)),
        budget(scope="yen", currency="JPY"),
        budget(scope="company", source="settings", provider="", account="", currency="GBP"),
    )
    assert series.budgets(Standing(budgets=budgets), FX).rows() == [
        ("all", "all", "company", 400.0),
        ("aws", "1111", "quarter", 300.0),
        ("aws", "1111", "team", 300.0),
        ("aws", "1111", "year", 75.0),
    ]


def test_of_a_budget_stated_twice_the_settings_stand() -> None:
    budgets = frame(Budget, budget(), budget(source="settings", amount=Decimal(40)))
    assert series.budgets(Standing(budgets=budgets), FX)["gbp"].to_list() == [30.0]


def test_accounts_providers_all_together_and_budgets_have_forecasts() -> None:
    days = pl.concat([paid(), paid("2222"), paid("sub", provider="azure")])
    assert mids(days, budget(), budget(scope="aws", account="")) == {
        ("all", "all", "all"): 900,
        ("aws", "all", "all"): 600,
        ("azure", "all", "all"): 300,
        ("aws", "1111", "all"): 300,
        ("aws", "2222", "all"): 300,
        ("azure", "sub", "all"): 300,
        ("aws", "1111", "team"): 300,
        ("aws", "all", "aws"): 600,
    }


def test_a_forecast_is_absent_where_an_account_behind_it_has_stopped() -> None:
    days = pl.concat([paid(), paid("sub", provider="azure", until=date(2026, 11, 5))])
    assert set(mids(days)) == {("aws", "all", "all"), ("aws", "1111", "all")}


def test_accounts_that_are_not_whole_equally_far_are_foretold_from_the_day_that_all_are() -> None:
    days = pl.concat([paid(until=date(2026, 11, 11)), paid("2222", until=date(2026, 11, 9))])
    assert mids(days)["aws", "all", "all"] == 600


def test_a_budget_of_some_costs_has_its_providers_forecast_and_not_the_accounts() -> None:
    limited = budget(scope="tagged", filters="TagKeyValue", expected=Decimal(200))
    unknown = budget(scope="service", filters="Service: Amazon EC2")
    found = mids(paid(), limited, unknown)
    assert found["aws", "1111", "tagged"] == 150
    assert ("aws", "1111", "service") not in found


def test_a_providers_forecast_is_of_this_month_and_in_pounds() -> None:
    rows = [
        {"month": date(2026, 11, 1), "currency": "USD", "mid": 100, "lower": 80, "upper": None},
        {"month": date(2026, 12, 1), "currency": "USD", "mid": 500, "lower": None, "upper": None},
        {"month": date(2026, 11, 1), "currency": "GBP", "mid": 10, "lower": 5, "upper": None},
    ]
    named = [{"source": "aws", "provider": "aws", "account": "1111"} | row for row in rows]
    found = series.provider_forecasts(Standing(forecasts=frame(ProviderForecast, *named)), FX, today=TODAY)
    assert dict(found.select("bound", "gbp").rows()) == {"lower": 65.0, "mid": 85.0}


def commitment(**changes: Any) -> dict[str, Any]:
    """A savings plan in force: two dollars an hour."""
    texts = ("plan_type", "region", "instance_family", "instance_type", "gpu_model")
    row = dict.fromkeys(texts, "") | {
        "source": "aws",
        "provider": "aws",
        "account": "1111",
        "commitment_id": "sp-1",
        "unit": "money",
        "kind": "savings-plan",
        "quantity": 2.0,
        "currency": "USD",
        "cost_per_hour": 2.0,
        "starts_at": datetime(2026, 1, 1, tzinfo=UTC),
        "ends_at": datetime(2027, 1, 1, tzinfo=UTC),
        "renews": False,
    }
    return row | changes


def test_commitments_in_force_have_an_end_and_a_price_and_both_rows_of_one_are_one() -> None:
    held = frame(
        Commitment,
        commitment(),
        commitment(commitment_id="cud", unit="vcpu", currency="GBP", cost_per_hour=0.5),
        commitment(commitment_id="cud", unit="gib", currency="GBP", cost_per_hour=0.25),
        commitment(commitment_id="unpriced", cost_per_hour=None),
        commitment(commitment_id="over", ends_at=NOW),
        commitment(commitment_id="queued", starts_at=NOW + timedelta(hours=1)),
    )
    end = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert series.commitments(Standing(commitments=held), FX, now=NOW).rows() == [
        ("aws", "1111", "cud", end, 0.75),
        ("aws", "1111", "sp-1", end, 1.5),
        ("aws", "1111", "unpriced", end, None),
    ]


def test_a_source_tells_of_utilisation_where_charges_do_not() -> None:
    row = {"source": "aws", "account": "1", "first_day": TODAY, "last_day": TODAY, "coverage_ratio": None}
    use = [
        row | {"provider": provider, "scope": "sp-1", "used_ratio": ratio, "unused_cost": None, "currency": "USD"}
        for provider, ratio in (("aws", 0.9), ("azure", 0.8))
    ]
    known = pl.DataFrame({"provider": ["aws"], "account": ["1"], "scope": ["sp-1"], "ratio": [0.95], "part": [1.0]})
    held = Standing(commitment_use=frame(CommitmentUse, *use))
    found = series.commitment_ratios(held, known, "used_ratio")
    assert dict(found.select("provider", "ratio").rows()) == {"aws": 0.95, "azure": 0.8}
    assert series.commitment_ratios(held, known.clear(), "coverage_ratio").is_empty()


def test_workloads_cost_what_they_did_on_the_last_whole_day_of_their_cluster() -> None:
    parts = dict.fromkeys(("memory_cost", "gpu_cost", "network_cost", "other_cost", "vcpu_hours"), 0.0)
    hours = {"memory_gib_hours": 0.0, "gpu_hours": 0.0, "source": "opencost", "workload_kind": "deployment"}
    rows = [
        parts | hours | {"cluster": cluster, "namespace": "web", "workload": name, "day": date(2026, 11, day)}
        | {"currency": "USD", "vcpu_cost": cost, "total_cost": cost}
        for cluster, name, day, cost in (
            ("london", "api", 11, 4.0),
            ("london", "site", 11, 8.0),
            ("london", "api", 10, 100.0),
            ("london", "api", 12, 100.0),
            ("leeds", "api", 10, 2.0),
            ("gone", "api", 8, 2.0),
        )
    ]  # fmt: skip
    held = Standing(workloads=frame(WorkloadCost, *rows))
    found = series.workload_costs(held, FX, today=TODAY, most=5)
    assert found.rows() == [("london", "web", 9.0), ("leeds", "web", 1.5)]
