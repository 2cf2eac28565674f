"""Azure's egress rates: whole ladders from the newest list, borrowed or overridden only where it says so."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from exporters.fetch.azure import AzureSettings
from exporters.fetch.azure_bandwidth import BETWEEN_CONTINENTS, bandwidth_queries
from exporters.fetch.azure_retail import COLUMNS
from exporters.fetch.contract import Fetched
from exporters.normalise.row_rules.azure_egress import choose_egress
from tests.fakes.azure import ZONE_1, Row, bandwidth, zone_1_ladder

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ZONES_IN = "Standard Inter-Availability Zone Data Transfer In"
ZONES_OUT = "Standard Inter-Availability Zone Data Transfer Out"


def rates(
    asked: dict[str, list[Row]],
    *,
    regions: tuple[str, ...] = ("uksouth",),
    overrides: list[dict[str, object]] | None = None,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The egress rates and the rejects by reason; `asked` maps what was asked to its rows."""
    rows = [row | {"asked": word} for word, found in asked.items() for row in found]
    columns = {c: [None if row.get(f) is None else str(row[f]) for row in rows] for f, c in COLUMNS.items()}
    frame = pl.DataFrame(
        columns | {"asked": [row["asked"] for row in rows]},
        schema=dict.fromkeys([*COLUMNS.values(), "asked"], pl.String),
    )
    given = AzureSettings() if overrides is None else AzureSettings.model_validate({"egress_overrides": overrides})
    schema = {"destination": pl.String, "from_region": pl.String, "to_region": pl.String,
              "price_per_gib": pl.Decimal(32, 12), "note": pl.String}  # fmt: skip
    table = pl.DataFrame([override.model_dump() for override in given.egress_overrides], schema=schema)
    fetched = Fetched(
        source="azure",
        observed_at=NOW,
        frames={
            "vm_usd": pl.LazyFrame({"asked": list(regions)}),
            "bandwidth": frame.lazy(),
            "egress_overrides": table.lazy(),
        },
    )
    egress, rejects = choose_egress(fetched)
    return egress, dict(rejects.group_by("reason").agg(pl.col("rows").sum()).iter_rows())


def ladder(egress: pl.DataFrame, destination: str, *, to: str = "", start: str = "uksouth") -> dict[float, str]:
    """Tier start in GiB → price, without trailing zeros."""
    rows = egress.filter(
        pl.col("destination") == destination, pl.col("to_region") == to, pl.col("from_region") == start
    ).sort("tier_start_gib")
    return {row["tier_start_gib"]: f"{row['price_per_gib'].normalize():f}" for row in rows.iter_rows(named=True)}


ZONE_1_TIERS = {0.0: "0", 100.0: "0.087", 10335.0: "0.083", 51295.0: "0.07", 153695.0: "0.05", 512095.0: "0.05"}


class TestInternet:
    def test_the_tiers_of_the_default_route_are_the_rates(self):
        egress, _ = rates({"uksouth": zone_1_ladder()})
        assert ladder(egress, "internet") == ZONE_1_TIERS

    def test_the_cheaper_route_that_must_be_chosen_is_not_used(self):
        other = bandwidth(
            "Standard Data Transfer Out", 0.08, productName="Bandwidth - Routing Preference: Internet", meterId="isp"
        )
        egress, _ = rates({"uksouth": [*zone_1_ladder(), other]})
        assert ladder(egress, "internet") == ZONE_1_TIERS

    def test_older_tiers_of_the_same_meter_are_left_behind(self):
        old = [
            bandwidth("Standard Data Transfer Out", price, tier=tier, effectiveStartDate="2021-07-01T00:00:00Z")
            for tier, price in [(0, 0.0), (5, 0.087), (10240, 0.083)]
        ]
        egress, rejects = rates({"uksouth": [*old, *zone_1_ladder()]})
        assert ladder(egress, "internet") == ZONE_1_TIERS
        assert "ambiguous" not in rejects

    def test_tiers_that_are_announced_wait_for_their_day(self):
        coming = zone_1_ladder(effectiveStartDate="2027-01-01T00:00:00Z")
        egress, _ = rates({"uksouth": [*zone_1_ladder(), *[row | {"retailPrice": 0.01} for row in coming]]})
        assert ladder(egress, "internet") == ZONE_1_TIERS

    def test_a_tier_with_two_prices_takes_the_whole_ladder_out(self):
        egress, rejects = rates(
            {"uksouth": [*zone_1_ladder(), bandwidth("Standard Data Transfer Out", 0.09, tier=100)]}
        )
        assert ladder(egress, "internet") == {}
        assert rejects["ambiguous"] == 7

    def test_a_ladder_without_its_first_tier_is_not_published(self):
        egress, rejects = rates({"uksouth": zone_1_ladder()[1:]})
        assert ladder(egress, "internet") == {}
        assert rejects["absent"] >= 5

    @pytest.mark.parametrize(
        ("price", "reason"), [(-0.01, "negative"), ("NaN", "not-a-number"), (None, "not-a-number")]
    )
    def test_a_bad_price_takes_the_whole_ladder_out(self, price, reason):
        rows = zone_1_ladder()
        rows[2] |= {"retailPrice": price}
        egress, rejects = rates({"uksouth": rows})
        assert ladder(egress, "internet") == {}
        assert rejects[reason] == 6

    def test_another_unit_is_a_reject(self):
        egress, rejects = rates({"uksouth": zone_1_ladder(unitOfMeasure="1 TB")})
        assert ladder(egress, "internet") == {}
        assert rejects["unit"] == 6

    def test_a_region_without_a_meter_takes_its_zones_ladder_and_says_so(self):
        by_zone = [*zone_1_ladder("uksouth"), *zone_1_ladder("westeurope")]
        egress, _ = rates({"polandcentral": [], ZONE_1: by_zone}, regions=("polandcentral",))
        assert ladder(egress, "internet", start="polandcentral") == ZONE_1_TIERS
        notes = egress.filter(pl.col("destination") == "internet")["note"].unique().to_list()
        assert notes == [f"the list has no meter of this region; rate of its bandwidth zone ({ZONE_1})"]

    def test_a_region_with_a_meter_of_its_own_keeps_it(self):
        own = [bandwidth("Standard Data Transfer Out", 0.1, region="belgiumcentral", meterId="own")]
        egress, _ = rates({"belgiumcentral": own, ZONE_1: zone_1_ladder()}, regions=("belgiumcentral",))
        assert ladder(egress, "internet", start="belgiumcentral") == {0.0: "0.1"}


class TestBetweenRegions:
    INTRA = bandwidth("Standard Inter-Region Data Transfer", 0.02)

    def test_the_same_continent_has_the_regions_own_rate(self):
        egress, _ = rates({"uksouth": [self.INTRA]})
        assert ladder(egress, "region", to="westeurope") == {0.0: "0.02"}
        assert ladder(egress, "region", to="eastus") == {}
        assert ladder(egress, "region", to="uksouth") == {}

    def test_clouds_of_other_countries_are_not_neighbours(self):
        egress, _ = rates({"eastus": [self.INTRA | {"armRegionName": "eastus"}]}, regions=("eastus",))
        assert "usgovvirginia" not in egress["to_region"].to_list()

    def test_any_other_region_has_the_rate_between_continents(self):
        between = [
            bandwidth("Inter Continent Data Transfer Out - NAM or EU To Any", 0.05, region="", meterId="a"),
            bandwidth("Inter Continent Data Transfer Out - ASIA To Any", 0.08, region="", meterId="b"),
        ]
        egress, _ = rates({"uksouth": [self.INTRA], BETWEEN_CONTINENTS: between})
        assert ladder(egress, "region") == {0.0: "0.05"}

    def test_no_rate_between_continents_is_not_filled_with_another(self):
        egress, _ = rates({"uksouth": [self.INTRA]})
        assert ladder(egress, "region") == {}

    def test_what_is_absent_is_counted(self):
        _, rejects = rates({"uksouth": []})
        assert rejects == {"absent": 2}


class TestBetweenZones:
    LISTED = (bandwidth(ZONES_IN, 0.01), bandwidth(ZONES_OUT, 0.01))

    def test_the_announced_freedom_is_published_with_its_reason(self):
        egress, _ = rates({"uksouth": list(self.LISTED)})
        assert ladder(egress, "zone") == {0.0: "0"}
        assert "announced" in egress.filter(pl.col("destination") == "zone")["note"][0]

    def test_without_the_override_both_ends_add_up(self):
        egress, _ = rates({"uksouth": list(self.LISTED)}, overrides=[])
        assert ladder(egress, "zone") == {0.0: "0.02"}

    def test_one_end_alone_is_not_a_rate(self):
        egress, _ = rates({"uksouth": [self.LISTED[0]]}, overrides=[])
        assert ladder(egress, "zone") == {}

    def test_an_override_of_one_region_replaces_only_that(self):
        contract = {"destination": "internet", "from_region": "uksouth", "price_per_gib": "0.04", "note": "contract 7"}
        asked = {"uksouth": zone_1_ladder(), "ukwest": zone_1_ladder("ukwest")}
        egress, _ = rates(asked, regions=("uksouth", "ukwest"), overrides=[contract])
        assert ladder(egress, "internet") == {0.0: "0.04"}
        assert ladder(egress, "internet", start="ukwest") == ZONE_1_TIERS

    def test_an_override_of_one_pair_leaves_the_others(self):
        pair = {"destination": "region", "to_region": "ukwest", "price_per_gib": "0.005", "note": "peering"}
        egress, _ = rates({"uksouth": [TestBetweenRegions.INTRA]}, overrides=[pair])
        assert ladder(egress, "region", to="ukwest") == {0.0: "0.005"}
        assert ladder(egress, "region", to="westeurope") == {0.0: "0.02"}


class TestQuestions:
    def test_each_region_its_zone_and_the_continents_are_asked_once(self):
        asked = [query.asked for query in bandwidth_queries(["uksouth", "ukwest", "eastasia"])]
        assert asked[:3] == ["uksouth", "ukwest", "eastasia"]
        assert sorted(asked[3:]) == sorted([ZONE_1, "fe167397-a38d-43c3-9bb3-8e2907e56a41", BETWEEN_CONTINENTS])
