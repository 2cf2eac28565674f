"""The Azure row rule: of the look-alikes of one size, the one row that is its price, and nothing guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.core.errors import IntegrityError
from exporters.fetch.azure import AzureSettings
from exporters.fetch.azure_packaged import packaged_shapes
from exporters.fetch.azure_retail import COLUMNS
from exporters.fetch.contract import Fetched, Skipped
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules.azure import choose
from tests.fakes.azure import Row, bandwidth, in_pounds, vm, zone_1_ladder

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHAPES = packaged_shapes()
D4S = vm("D4s_v5", 0.222)


def raw(rows: list[Row]) -> pl.DataFrame:
    """Rows in the API's form as the source hands them on: text columns, and the region that was asked."""
    columns = {
        column: [None if row.get(field) is None else str(row[field]).replace("True", "true") for row in rows]
        for field, column in COLUMNS.items()
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(COLUMNS.values(), pl.String))
    return frame.with_columns(asked=pl.col("region"))


def fetched(
    rows: list[Row],
    *,
    pounds: list[Row] | None = None,
    shapes: pl.DataFrame = SHAPES,
    skipped: tuple[Skipped, ...] = (),
) -> Fetched:
    overrides = AzureSettings().egress_overrides
    egress = [
        row
        for region in sorted({row["armRegionName"] for row in rows})
        for row in (*zone_1_ladder(region), bandwidth("Standard Inter-Region Data Transfer", 0.02, region=region))
    ]
    return Fetched(
        source="azure",
        observed_at=NOW,
        frames={
            "vm_usd": raw(rows).lazy(),
            "vm_gbp": raw([in_pounds(row) for row in rows] if pounds is None else pounds).lazy(),
            "bandwidth": raw(egress).lazy(),
            "shapes": shapes.lazy(),
            "egress_overrides": pl.DataFrame([override.model_dump() for override in overrides]).lazy(),
        },
        skipped=skipped,
    )


def rule(rows: list[Row], filters: Filters | None = None, **changes: object) -> Chosen:
    return choose(fetched(rows, **changes), filters or Filters())


def prices(chosen: Chosen) -> dict[tuple[str, str, str], str]:
    """(size, operating system, capacity type) → the price's digits without trailing zeros."""
    return {
        (row["instance_type"].removeprefix("Standard_"), row["operating_system"], row["capacity_type"]): str(
            row["price_per_hour"].normalize()
        )
        for row in chosen.prices.iter_rows(named=True)
    }


def rejects(chosen: Chosen) -> dict[str, int]:
    """Reason → rows."""
    return dict(chosen.rejects.group_by("reason").agg(pl.col("rows").sum()).iter_rows())


LOOK_ALIKES = [
    D4S,
    vm("D4s_v5", 0.041, skuName="D4s v5 Spot"),
    vm("D4s_v5", 0.0444, skuName="D4s v5 Low Priority"),
    vm("D4s_v5", 0.406, productName="Virtual Machines Dsv5 Series Windows"),
    vm("D4s_v5", 0.075, skuName="D4s v5 Spot", productName="Virtual Machines Dsv5 Series Windows"),
    vm("D4s_v5", 0.1624, skuName="D4s v5 Low Priority", productName="Virtual Machines Dsv5 Series Windows"),
]


class TestLookAlikes:
    def test_the_six_rows_of_a_size_give_linux_and_windows_on_demand_and_spot(self):
        assert prices(rule(LOOK_ALIKES)) == {
            ("D4s_v5", "linux", "on-demand"): "0.222",
            ("D4s_v5", "linux", "spot"): "0.041",
            ("D4s_v5", "windows", "on-demand"): "0.406",
            ("D4s_v5", "windows", "spot"): "0.075",
        }

    def test_the_order_of_the_rows_does_not_matter(self):
        assert prices(rule(LOOK_ALIKES[::-1])) == prices(rule(LOOK_ALIKES))

    @pytest.mark.parametrize(
        "changes",
        [
            {"productName": "Dsv5 Series Cloud Services"},
            {"productName": "Eadsv5 Series CloudServices"},
            {"productName": "Dsv5 Series Dedicated Host"},
            {"productName": "Dsv5 Series DedicatedHost"},
            {"productName": "Virtual Machines DSv2 promo Series"},
            {"productName": "Virtual Machines NC Promo Series"},
            {"productName": "Virtual Machines A Series Basic"},
            {"armSkuName": "Basic_A0"},
            {"armSkuName": ""},
            {"armSkuName": "Standard_D4s_v5_Promo"},
            {"armSkuName": "Dsv5_Type1"},
            {"skuName": "D4s v5 Expired"},
            {"meterName": "D4s v5 Low Priority"},
            {"type": "DevTestConsumption"},
            {"tierMinimumUnits": 100.0},
            {"effectiveStartDate": "2026-12-01T00:00:00Z"},
            {"effectiveEndDate": "2026-11-01T00:00:00Z"},
        ],
        ids=lambda changes: "=".join(str(part) for part in next(iter(changes.items()))),
    )
    def test_another_product_of_the_same_name_is_not_the_price(self, changes):
        other = vm("D4s_v5", 0.111) | {"meterId": "another"} | changes
        chosen = rule([D4S, other])
        assert prices(chosen) == {("D4s_v5", "linux", "on-demand"): "0.222"}
        assert rejects(chosen) == {}

    def test_a_product_that_ends_in_win_is_windows(self):
        linux = vm("ND96isr_H100_v5", 98.32, productName="Virtual Machines NDsrH100v5 Srs")
        windows = vm("ND96isr_H100_v5", 102.736, productName="Virtual Machines NDsrH100v5 Srs Win")
        assert prices(rule([linux, windows])) == {
            ("ND96isr_H100_v5", "linux", "on-demand"): "98.32",
            ("ND96isr_H100_v5", "windows", "on-demand"): "102.736",
        }

    def test_spot_and_on_demand_are_never_inferred_from_each_other(self):
        only_spot = vm("D8s_v5", 0.08, skuName="D8s v5 Spot")
        assert prices(rule([D4S, only_spot])) == {
            ("D4s_v5", "linux", "on-demand"): "0.222",
            ("D8s_v5", "linux", "spot"): "0.08",
        }

    def test_a_size_with_spaces_around_its_name_is_the_same_size(self):
        assert list(prices(rule([vm("D4s_v5", 0.222, armSkuName="Standard_D4s_v5  ")]))) == [
            ("D4s_v5", "linux", "on-demand")
        ]


class TestWhichOfSeveral:
    def test_the_newest_price_in_force_holds(self):
        older = vm("D4s_v5", 0.3, effectiveStartDate="2020-01-01T00:00:00Z", meterId="old")
        announced = vm("D4s_v5", 0.1, effectiveStartDate="2026-11-30T12:00:01Z", meterId="new")
        assert prices(rule([older, announced, D4S])) == {("D4s_v5", "linux", "on-demand"): "0.222"}

    def test_a_price_holds_from_the_second_it_begins(self):
        begun = vm("D4s_v5", 0.1, effectiveStartDate="2026-11-30T12:00:00.0000000Z", meterId="new")
        assert prices(rule([D4S, begun])) == {("D4s_v5", "linux", "on-demand"): "0.1"}

    def test_the_primary_meter_breaks_a_tie(self):
        secondary = vm("D4s_v5", 0.25, isPrimaryMeterRegion=False, meterId="secondary")
        assert prices(rule([secondary, D4S])) == {("D4s_v5", "linux", "on-demand"): "0.222"}

    def test_two_prices_left_are_ambiguous_and_neither_is_published(self):
        chosen = rule([D4S, vm("D4s_v5", 0.25, meterId="other"), vm("D2s_v5", 0.111)])
        assert prices(chosen) == {("D2s_v5", "linux", "on-demand"): "0.111"}
        assert rejects(chosen) == {"ambiguous": 2}

    def test_equal_prices_fold(self):
        assert prices(rule([D4S, vm("D4s_v5", 0.222, meterId="other")])) == {("D4s_v5", "linux", "on-demand"): "0.222"}


class TestBadPrices:
    @pytest.mark.parametrize(
        ("price", "reason"),
        [(0.0, "zero"), (-0.2, "negative"), (None, "absent"), ("NaN", "not-a-number"), ("Infinity", "not-a-number")],
    )
    def test_each_kind_is_its_own_reject(self, price, reason):
        chosen = rule([D4S, vm("D8s_v5", 1.0) | {"retailPrice": price}], pounds=[])
        assert prices(chosen) == {("D4s_v5", "linux", "on-demand"): "0.222"}
        assert rejects(chosen) == {reason: 1}

    def test_a_zero_row_does_not_hide_a_good_one(self):
        chosen = rule([D4S, vm("D4s_v5", 0.0, effectiveStartDate="2026-01-01T00:00:00Z", meterId="free")])
        assert prices(chosen) == {("D4s_v5", "linux", "on-demand"): "0.222"}
        assert rejects(chosen) == {"zero": 1}

    def test_another_unit_is_a_reject(self):
        chosen = rule([D4S, vm("D8s_v5", 44.4, unitOfMeasure="100 Hours")])
        assert rejects(chosen) == {"unit": 1}
        assert chosen.rejects.filter(pl.col("reason") == "unit")["example"].to_list() == ["D8s v5: 100 Hours"]

    def test_a_region_without_a_linux_price_is_an_integrity_error_that_names_it(self):
        windows = vm("D4s_v5", 0.4, region="ukwest", productName="Virtual Machines Dsv5 Series Windows")
        with pytest.raises(IntegrityError, match="ukwest"):
            rule([D4S, windows])

    @settings(max_examples=20)
    @given(st.decimals(min_value="0.000000000001", max_value=200, places=12))
    def test_a_price_keeps_every_digit(self, price):
        row = vm("D4s_v5", 0.222) | {"retailPrice": format(price, "f")}
        assert rule([row], pounds=[]).prices["price_per_hour"].to_list() == [price]


class TestPounds:
    def pounds_of(self, pounds: list[Row]) -> list[float | None]:
        return rule([D4S], pounds=pounds).prices["provider_gbp_per_hour"].to_list()

    def test_the_pound_list_stands_beside_the_dollar_price(self):
        assert self.pounds_of([vm("D4s_v5", 0.1776, currencyCode="GBP")]) == [0.1776]

    @pytest.mark.parametrize(
        "pounds",
        [
            [],
            [vm("D4s_v5", 0.17, meterId="another meter")],
            [vm("D4s_v5", 0.17, skuId="another sku")],
            [vm("D4s_v5", 0.17), vm("D4s_v5", 0.18)],
            [vm("D4s_v5", 0.0)],
            [vm("D4s_v5", 0.17, productName="Virtual Machines Dsv5 Series Windows", skuId=D4S["skuId"])],
        ],
        ids=["missing", "other meter", "other SKU", "two prices", "zero", "Windows"],
    )
    def test_a_meter_without_one_pound_price_has_none(self, pounds):
        assert self.pounds_of(pounds) == [None]

    def test_a_pound_price_that_was_replaced_is_not_used(self):
        old = vm("D4s_v5", 0.17, effectiveStartDate="2019-01-01T00:00:00Z")
        assert self.pounds_of([old, vm("D4s_v5", 0.1776)]) == [0.1776]


class TestReservations:
    ONE_YEAR = vm("D4s_v3", 1288.0, type="Reservation", reservationTerm="1 Year")
    THREE_YEARS = vm("D4s_v3", 2619.0, type="Reservation", reservationTerm="3 Years")
    ON_DEMAND = vm("D4s_v3", 0.232)

    def test_the_total_is_spread_over_the_hours_of_the_term(self):
        # 1288 / 8760 = 0.14703196347..., 2619 / 26280 = 0.09965753424...
        found = prices(rule([self.ON_DEMAND, self.ONE_YEAR, self.THREE_YEARS]))
        assert found[("D4s_v3", "linux", "committed-1y")].startswith("0.14703196347")
        assert found[("D4s_v3", "linux", "committed-3y")].startswith("0.09965753424")

    def test_the_total_is_said_in_the_note(self):
        chosen = rule([self.ON_DEMAND, self.ONE_YEAR], Filters(capacity_types=("committed-1y",)))
        assert chosen.prices["note"].to_list() == ["reservation total 1288.0 USD spread over 1 Year"]

    def test_the_pound_total_is_spread_too(self):
        chosen = rule([self.ON_DEMAND, self.ONE_YEAR], Filters(capacity_types=("committed-1y",)))
        assert chosen.prices["provider_gbp_per_hour"][0] == pytest.approx(1288 * 0.8 / 8760)

    @pytest.mark.parametrize(
        "changes",
        [{"reservationTerm": "5 Years"}, {"reservationTerm": None}, {"productName": "Virtual Machines X Windows"}],
    )
    def test_other_terms_and_windows_are_not_committed_prices(self, changes):
        assert prices(rule([self.ON_DEMAND, self.ONE_YEAR | changes])) == {("D4s_v3", "linux", "on-demand"): "0.232"}

    @settings(max_examples=20)
    @given(st.decimals(min_value=1, max_value=10_000_000, places=2), st.sampled_from(["1 Year", "3 Years"]))
    def test_the_hours_add_up_to_the_total(self, total, term):
        reservation = self.ONE_YEAR | {"retailPrice": format(total, "f"), "reservationTerm": term}
        chosen = rule([self.ON_DEMAND, reservation], pounds=[]).prices.filter(pl.col("capacity_type") != "on-demand")
        hours = {"1 Year": 8760, "3 Years": 26280}[term]
        assert abs(chosen["price_per_hour"][0] * hours - total) < Decimal("0.0000001")


class TestShapes:
    def test_only_sizes_that_have_a_price_are_handed_on(self):
        assert rule([D4S]).shapes["instance_type"].to_list() == ["Standard_D4s_v5"]

    def test_a_size_of_unknown_shape_has_no_offer(self):
        chosen = rule([D4S, vm("D4zz_v9", 0.2)])
        assert prices(chosen) == {("D4s_v5", "linux", "on-demand"): "0.222"}
        assert rejects(chosen) == {"unknown-shape": 1}

    @pytest.mark.parametrize("model", [None, "G9000"])
    def test_a_size_of_unknown_gpu_has_no_offer(self, model):
        row = SHAPES.filter(pl.col("instance_type") == "Standard_D4s_v5")
        odd = row.with_columns(instance_type=pl.lit("Standard_NX9s_v9"), gpu_model=pl.lit(model, dtype=pl.String))
        chosen = rule([D4S, vm("NX9s_v9", 2.0)], shapes=pl.concat([row, odd]))
        assert rejects(chosen) == {"unknown-gpu": 1}

    def test_a_size_that_a_region_does_not_list_has_no_offer_there(self):
        api = SHAPES.filter(pl.col("instance_type") == "Standard_D4s_v5").with_columns(region=pl.lit("uksouth"))
        chosen = rule([D4S, vm("D4s_v5", 0.23, region="ukwest")], shapes=api)
        assert chosen.prices["region"].to_list() == ["uksouth"]
        assert rejects(chosen) == {"unknown-shape": 1}


class TestFilters:
    ROWS = (*LOOK_ALIKES, vm("E4s_v5", 0.296), vm("F4s_v2", 0.202))

    @pytest.mark.parametrize(
        ("filters", "sizes"),
        [
            (Filters(families=("Dsv5",)), {"D4s_v5"}),
            (Filters(families=("?sv5",)), {"D4s_v5", "E4s_v5"}),
            (Filters(families=("Esv*", "F*")), {"E4s_v5", "F4s_v2"}),
            (Filters(families=("dsv5",)), set()),
        ],
    )
    def test_families_are_globs(self, filters, sizes):
        assert {size for size, _, _ in prices(rule(list(self.ROWS), filters))} == sizes

    def test_capacity_types_and_operating_systems_are_let_through_by_name(self):
        filters = Filters(capacity_types=("spot",), operating_systems=("windows",))
        assert list(prices(rule(list(self.ROWS), filters))) == [("D4s_v5", "windows", "spot")]

    def test_what_is_filtered_out_is_not_counted_as_rejected(self):
        rows = [D4S, vm("E4s_v5", 0.0)]
        assert rejects(rule(rows, Filters(families=("Dsv5",)))) == {}

    def test_a_skipped_region_is_counted_with_its_reason(self):
        chosen = rule([D4S], skipped=(Skipped("ukwest", "not opted in"),))
        row = chosen.rejects.row(by_predicate=pl.col("reason") == "region-skipped", named=True)
        assert (row["region"], row["example"]) == ("ukwest", "not opted in")
