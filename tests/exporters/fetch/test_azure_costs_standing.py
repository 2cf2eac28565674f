"""What Azure expects, what was budgeted and what was bought in advance, through the real SDK over TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.core.standing_frames import Budget, Commitment, CommitmentUse, ProviderForecast
from exporters.fetch.azure_costs import AzureCostSettings, fetch
from exporters.fetch.cost_contract import CostFetched
from tests.fakes.azure import Answer
from tests.fakes.azure_costs import CostCall, FakeCosts, Number, cost_cloud, cost_request, dumps, fake_costs, refusal

SUB = "00000000-0000-0000-0000-00000000000a"
SCOPE = f"/subscriptions/{SUB}"
NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
ORDER = "/providers/microsoft.capacity/reservationOrders/0rder"
PLAN = "/providers/Microsoft.BillingBenefits/savingsPlanOrders/0rder/savingsPlans/plan"


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCosts]:
    with fake_costs(tmp_path) as fake:
        fake.ledger[SCOPE] = []
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


def ask(fake: FakeCosts, *, now: datetime = NOW, **wanted: bool) -> CostFetched:
    switches = dict.fromkeys(("forecast", "budgets", "commitments"), False) | wanted
    told = AzureCostSettings.model_validate({"enabled": True, "scopes": [SCOPE], "split_by": [], **switches})
    return fetch(told, cost_cloud(fake), cost_request(now.date(), now.date(), now=now))


def served(answer: Any) -> Callable[[CostCall], Answer]:
    return lambda _: Answer(body=dumps(answer))


class TestForecast:
    COLUMNS = ("Cost", "UsageDate", "CostStatus", "Currency")

    def tell(self, azure: FakeCosts, *rows: list[Any], columns: tuple[str, ...] = COLUMNS) -> None:
        answer = {"properties": {"columns": [{"name": name} for name in columns], "rows": list(rows)}}
        azure.routes["/forecast"] = served(answer)

    def months(self, azure: FakeCosts, **changes: Any) -> list[tuple[object, ...]]:
        found = ask(azure, forecast=True, **changes).forecasts
        assert found is not None
        ProviderForecast.validate(found)
        return found.select("account", "month", "currency", "mid", "lower", "upper").rows()

    def test_the_month_is_what_was_spent_and_what_is_to_come(self, azure):
        self.tell(
            azure,
            [Number("100.25"), 20261101, "Actual", "GBP"],
            [Number("10.1"), 20261128, "Forecast", "GBP"],
            [Number("10.2"), 20261129, "Forecast", "GBP"],
            [Number("10.3"), 20261130, "Forecast", "GBP"],
        )
        assert self.months(azure) == [(SUB, date(2026, 11, 1), "GBP", Decimal("130.85"), None, None)]

    def test_the_whole_month_is_asked_for_with_what_was_spent_and_without_a_part_of_today(self, azure):
        self.tell(azure)
        self.months(azure)
        (body,) = [call.body for call in azure.calls if call.operation == "forecast"]
        assert body["timePeriod"] == {"from": "2026-11-01T00:00:00Z", "to": "2026-11-30T23:59:59Z"}
        assert (body["includeActualCost"], body["includeFreshPartialCost"]) == (True, False)

    def test_a_month_whose_end_is_missing_is_no_month(self, azure):
        self.tell(azure, [100, 20261101, "Actual", "GBP"], [10, 20261129, "Forecast", "GBP"])
        assert self.months(azure) == []
        assert "does not reach the end" in ask(azure, forecast=True).skipped[0].why

    def test_on_the_last_day_nothing_more_is_to_come(self, azure):
        self.tell(azure, [100, 20261101, "Actual", "GBP"])
        assert self.months(azure, now=datetime(2026, 11, 30, 9, tzinfo=UTC))[0][3] == Decimal(100)

    def test_a_currency_that_ended_in_mid_month_keeps_what_was_spent_in_it(self, azure):
        days = (20261128, 20261129, 20261130)
        self.tell(azure, [7, 20261101, "Actual", "USD"], *([1, day, "Forecast", "GBP"] for day in days))
        assert [row[2:4] for row in self.months(azure)] == [("GBP", Decimal(3)), ("USD", Decimal(7))]

    def test_too_little_history_is_no_failure(self, azure):
        azure.routes["/forecast"] = lambda _: refusal(424, "FailedDependency")
        assert self.months(azure) == []
        assert ask(azure, forecast=True).skipped[0].region == SCOPE

    @pytest.mark.parametrize(
        ("row", "words"),
        [([None, 20261130, "Forecast", "GBP"], "None"), ([1, 20261130, "Guess", "GBP"], "Guess")],
    )
    def test_an_unbelievable_row_is_refused(self, azure, row, words):
        self.tell(azure, row)
        with pytest.raises(IntegrityError, match=words):
            ask(azure, forecast=True)

    def test_a_missing_column_is_named(self, azure):
        self.tell(azure, [1, 20261130, "GBP"], columns=("Cost", "UsageDate", "Currency"))
        with pytest.raises(IntegrityError, match="CostStatus"):
            ask(azure, forecast=True)


def budget(name: str, **changes: Any) -> dict[str, Any]:
    told = {
        "category": "Cost",
        "amount": 1000.1,
        "timeGrain": "Monthly",
        "timePeriod": {"startDate": "2026-01-01T00:00:00Z", "endDate": "2027-01-01T00:00:00Z"},
        "currentSpend": {"amount": 640.05, "unit": "GBP"},
        "forecastSpend": {"amount": 990, "unit": "GBP"},
    } | changes
    return {"id": f"{SCOPE}/providers/Microsoft.CostManagement/budgets/{name}", "name": name, "properties": told}


class TestBudgets:
    def rows(self, azure: FakeCosts, *budgets: dict[str, Any]) -> list[dict[str, Any]]:
        azure.routes["/budgets"] = served({"value": list(budgets)})
        found = ask(azure, budgets=True).budgets
        assert found is not None
        Budget.validate(found)
        return found.to_dicts()

    def test_a_budget_has_its_period_amount_and_currency(self, azure):
        (one,) = self.rows(azure, budget("team"))
        assert (one["account"], one["scope"], one["period"]) == (SUB, "team", "month")
        assert (one["amount"], one["currency"]) == (Decimal("1000.1"), "GBP")
        assert (one["spent"], one["expected"], one["filters"]) == (Decimal("640.05"), Decimal(990), None)

    def test_what_a_budget_is_limited_to_is_said(self, azure):
        only = {"dimensions": {"name": "ResourceGroupName", "operator": "In", "values": ["render"]}}
        assert "render" in self.rows(azure, budget("render", filter=only))[0]["filters"]

    @pytest.mark.parametrize(("grain", "period"), [("Quarterly", "quarter"), ("BillingAnnual", "year")])
    def test_periods_have_our_words(self, azure, grain, period):
        assert self.rows(azure, budget("one", timeGrain=grain))[0]["period"] == period

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"category": "ReservationUtilization", "timeGrain": "Last7Days"}, "not of costs"),
            ({"timeGrain": "Weekly"}, "its period is Weekly"),
            ({"currentSpend": None}, "does not state its currency"),
        ],
    )
    def test_what_is_no_budget_of_costs_is_left_out_by_name(self, azure, changes, why):
        azure.routes["/budgets"] = served({"value": [budget("odd", **changes)]})
        found = ask(azure, budgets=True)
        assert found.budgets is not None
        assert found.budgets.is_empty()
        assert (found.skipped[0].region, why in found.skipped[0].why) == (f"budget odd of {SCOPE}", True)

    def test_a_budget_that_is_over_or_has_not_begun_is_not_in_force(self, azure):
        over = {"startDate": "2025-01-01T00:00:00Z", "endDate": "2026-01-01T00:00:00Z"}
        later = {"startDate": "2026-12-01T00:00:00Z", "endDate": None}
        assert self.rows(azure, budget("over", timePeriod=over), budget("later", timePeriod=later)) == []

    def test_every_page_is_read(self, azure):
        path = f"{azure.url}{SCOPE}/providers/Microsoft.CostManagement/budgets?api-version=2025-03-01&page=2"

        def pages(call: CostCall) -> Answer:
            if "page" in call.query:
                return Answer(body={"value": [budget("second")]})
            return Answer(body={"value": [budget("first")], "nextLink": path})

        azure.routes["/budgets"] = pages
        found = ask(azure, budgets=True).budgets
        assert found is not None
        assert found["scope"].to_list() == ["first", "second"]

    def test_a_refusal_names_the_right(self, azure):
        azure.routes["/budgets"] = lambda _: refusal(403, "AuthorizationFailed")
        with pytest.raises(TerminalSourceError, match="Cost Management Reader"):
            ask(azure, budgets=True)


def reservation(name: str = "one", **changes: Any) -> dict[str, Any]:
    told = {
        "reservedResourceType": "VirtualMachines",
        "instanceFlexibility": "On",
        "quantity": 2,
        "provisioningState": "Succeeded",
        "benefitStartTime": "2026-03-01T10:20:30.8134834Z",
        "expiryDateTime": "2027-03-01T10:20:30.8134834Z",
        "billingScopeId": SCOPE,
        "renew": True,
        "utilization": {
            "aggregates": [
                {"grain": 7, "grainUnit": "days", "value": 50, "valueUnit": "percentage"},
                {"grain": 30, "grainUnit": "days", "value": 87.5, "valueUnit": "percentage"},
            ]
        },
    } | changes
    sku = {"name": told.pop("sku", "Standard_D4s_v5")}
    return {"id": f"{ORDER}/reservations/{name}", "location": "uksouth", "sku": sku, "properties": told}


def plan(**changes: Any) -> dict[str, Any]:
    told = {
        "commitment": {"grain": "Hourly", "currencyCode": "GBP", "amount": Number("1.25")},
        "provisioningState": "Succeeded",
        "benefitStartTime": "2025-06-01T00:00:00Z",
        "expiryDateTime": "2028-06-01T00:00:00Z",
        "billingScopeId": SCOPE,
        "renew": False,
    } | changes
    return {"id": PLAN, "sku": {"name": "Compute_Savings_Plan"}, "properties": told}


ORDERED = {
    "id": ORDER,
    "properties": {
        "term": "P1Y",
        "originalQuantity": 4,
        "planInformation": {"pricingCurrencyTotal": {"currencyCode": "GBP", "amount": 3504}},
    },
}


class TestCommitments:
    def tell(
        self, azure: FakeCosts, *reservations: dict[str, Any], plans: tuple[Any, ...] = (), order: Any = ORDERED
    ) -> None:
        azure.routes["/Microsoft.Capacity/reservations"] = served({"value": list(reservations)})
        azure.routes["/reservationOrders/0rder"] = served(order)
        azure.routes["/Microsoft.BillingBenefits/savingsPlans"] = served({"value": list(plans)})
        days = [{"kind": "SavingsPlan", "properties": {"avgUtilizationPercentage": share}} for share in (80.0, 100.0)]
        azure.routes["/benefitUtilizationSummaries"] = served({"value": days})

    def rows(self, azure: FakeCosts) -> list[dict[str, Any]]:
        found = ask(azure, commitments=True).commitments
        assert found is not None
        Commitment.validate(found)
        return found.to_dicts()

    def test_a_reservation_is_machines_until_its_end_at_its_orders_price(self, azure):
        self.tell(azure, reservation())
        (one,) = self.rows(azure)
        assert (one["kind"], one["unit"], one["quantity"]) == ("reservation", "instance", 2)
        assert (one["instance_type"], one["instance_family"], one["plan_type"]) == (
            "Standard_D4s_v5", "Dsv5", "flexible",
        )  # fmt: skip
        assert (one["region"], one["account"], one["renews"]) == ("uksouth", SUB, True)
        assert one["ends_at"] == datetime(2027, 3, 1, 10, 20, 30, 813483, tzinfo=UTC)
        # £3,504 for four machines over 8,760 hours: 10p a machine-hour, 20p for two
        assert (one["currency"], one["cost_per_hour"]) == ("GBP", pytest.approx(0.2))

    def test_where_the_price_is_not_told_none_is_claimed(self, azure):
        self.tell(azure, reservation(), order={"id": ORDER, "properties": {"term": "P1Y", "originalQuantity": 4}})
        (one,) = self.rows(azure)
        assert (one["currency"], one["cost_per_hour"]) == ("XXX", None)

    def test_a_reservation_of_another_service_covers_no_machine(self, azure):
        self.tell(azure, reservation(reservedResourceType="SqlDatabases", sku="SQLDB_GP_Compute_Gen5"))
        (one,) = self.rows(azure)
        assert (one["plan_type"], one["instance_family"], one["instance_type"]) == (
            "SqlDatabases", "SqlDatabases", "SQLDB_GP_Compute_Gen5",
        )  # fmt: skip

    def test_a_savings_plan_is_money_an_hour(self, azure):
        self.tell(azure, plans=(plan(),))
        (one,) = self.rows(azure)
        assert (one["kind"], one["unit"], one["plan_type"]) == ("savings-plan", "money", "Compute")
        assert (one["quantity"], one["currency"], one["cost_per_hour"]) == (1.25, "GBP", 1.25)

    def test_what_is_over_or_cancelled_is_not_in_force(self, azure):
        over = reservation("over", expiryDateTime="2026-11-01T00:00:00Z")
        self.tell(azure, over, reservation("gone", provisioningState="Cancelled"))
        assert self.rows(azure) == []

    def test_use_is_that_of_thirty_days(self, azure):
        self.tell(azure, reservation(), plans=(plan(),))
        found = ask(azure, commitments=True).commitment_use
        assert found is not None
        CommitmentUse.validate(found)
        assert found.select("scope", "first_day", "last_day", "used_ratio", "currency").rows() == [
            (PLAN, date(2026, 10, 28), date(2026, 11, 26), pytest.approx(0.9), "GBP"),
            (f"{ORDER}/reservations/one", date(2026, 10, 29), date(2026, 11, 27), pytest.approx(0.875), "XXX"),
        ]
        (asked,) = [call.query for call in azure.calls if call.path.endswith("/benefitUtilizationSummaries")]
        assert asked["grainParameter"] == "Daily"
        assert asked["$filter"] == "properties/usageDate ge 2026-10-28 and properties/usageDate le 2026-11-26"

    @pytest.mark.parametrize(
        ("one", "words"),
        [
            (reservation(quantity=0), "quantity"),
            (reservation(sku=""), "sku.name"),
            (reservation(expiryDateTime="soon"), "expiryDateTime"),
            ({**reservation(), "id": "/reservations/one"}, "the order in its id"),
        ],
    )
    def test_a_reservation_that_lacks_what_matters_is_refused(self, azure, one, words):
        self.tell(azure, one)
        with pytest.raises(IntegrityError, match=words):
            self.rows(azure)

    def test_a_plan_that_is_not_by_the_hour_is_refused(self, azure):
        self.tell(azure, plans=(plan(commitment={"grain": "Daily", "currencyCode": "GBP", "amount": 1}),))
        with pytest.raises(IntegrityError, match="hourly"):
            self.rows(azure)

    def test_a_list_of_something_else_is_refused(self, azure):
        self.tell(azure)
        azure.routes["/Microsoft.Capacity/reservations"] = served({"value": [{"name": "one"}]})
        with pytest.raises(TransientSourceError, match="not the expected JSON"):
            self.rows(azure)

    def test_a_refusal_names_the_right(self, azure):
        self.tell(azure)
        azure.routes["/Microsoft.Capacity/reservations"] = lambda _: refusal(403, "AuthorizationFailed")
        with pytest.raises(TerminalSourceError, match="Reservations Reader"):
            self.rows(azure)

    def test_a_link_to_another_host_never_gets_the_token(self, azure):
        self.tell(azure)
        azure.routes["/Microsoft.Capacity/reservations"] = served(
            {"value": [], "nextLink": "https://127.0.0.1:1/steal"}
        )
        with pytest.raises(IntegrityError, match="lies elsewhere"):
            self.rows(azure)


def test_what_is_not_asked_for_stays_as_it_was_known(azure):
    found = ask(azure)
    assert (found.forecasts, found.budgets, found.commitments, found.commitment_use) == (None, None, None, None)
