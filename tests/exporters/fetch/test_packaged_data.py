"""The packaged tables hold what is promised without an account: right figures, unique keys, parts that add up."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from decimal import Decimal
from importlib.resources import files

import pytest

OFFER_KEY = ("provider", "region", "zone", "instance_type", "operating_system", "capacity_type")
EGRESS_KEY = ("provider", "from_region", "destination", "to_region", "tier_start_gib")
COMPONENT_KEY = ("provider", "region", "family", "component", "gpu_model", "capacity_type")
SHAPE_TABLES = ("aws_shapes.csv", "gcp_shapes.csv", "azure_shapes.csv")
TABLES = ("price_book.csv", "component_book.csv", "egress_book.csv", "missing.csv", *SHAPE_TABLES)

Table = list[dict[str, str]]


def rows_of(name: str, package: str = "exporters.fetch") -> Table:
    text = files(package).joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def book() -> Table:
    return rows_of("price_book.csv")


@pytest.fixture(scope="module")
def prices(book: Table) -> dict[tuple[str, str, str, str], Decimal]:
    keys = ("provider", "region", "instance_type", "capacity_type")
    return {tuple(row[key] for key in keys): Decimal(row["price_per_hour"]) for row in book}


@pytest.fixture(scope="module")
def shapes() -> dict[str, dict[str, str]]:
    return {row["instance_type"]: row for name in SHAPE_TABLES for row in rows_of(name)}


@pytest.fixture(scope="module")
def regions() -> dict[tuple[str, str], dict[str, str]]:
    return {(row["provider"], row["region"]): row for row in rows_of("regions.csv", "exporters.core")}


@pytest.fixture(scope="module")
def gpu_models() -> Table:
    return rows_of("gpu_models.csv", "exporters.core")


@pytest.mark.parametrize(
    ("key", "usd"),
    [
        (("aws", "eu-west-2", "m5.large", "on-demand"), "0.111"),
        (("aws", "eu-west-1", "m5.large", "on-demand"), "0.107"),
        (("aws", "eu-west-2", "g5.xlarge", "on-demand"), "1.277"),
        (("aws", "eu-west-1", "g4dn.xlarge", "on-demand"), "0.587"),
        (("azure", "uksouth", "Standard_D4s_v5", "on-demand"), "0.222"),
        (("gcp", "europe-west2", "n2-standard-4", "on-demand"), "0.250248"),
        (("gcp", "europe-west2", "n2-standard-4", "spot"), "0.050624"),
        (("gcp", "europe-west4", "a2-highgpu-1g", "on-demand"), "3.747972"),
    ],
)
def test_known_list_prices_are_there_to_the_last_digit(prices, key, usd):
    assert prices[key] == Decimal(usd)


def test_every_price_is_finite_positive_usd_of_linux(book):
    for row in book:
        price = Decimal(row["price_per_hour"])
        assert price.is_finite(), row
        assert price > 0, row
        assert (row["currency"], row["operating_system"], row["zone"]) == ("USD", "linux", ""), row
        assert re.fullmatch(r"2026-\d\d-\d\d", row["effective_from"]), row


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("price_book.csv", OFFER_KEY),
        ("component_book.csv", COMPONENT_KEY),
        ("egress_book.csv", EGRESS_KEY),
        ("aws_shapes.csv", ("instance_type",)),
        ("gcp_shapes.csv", ("instance_type",)),
        ("azure_shapes.csv", ("instance_type",)),
    ],
)
def test_keys_are_unique(table, key):
    seen = Counter(tuple(row[column] for column in key) for row in rows_of(table))
    assert [found for found, times in seen.items() if times > 1] == []


def test_every_region_of_the_books_is_in_the_geography(book, regions):
    named = {(row["provider"], row["region"]) for row in (*book, *rows_of("component_book.csv"))}
    for row in rows_of("egress_book.csv"):
        named |= {(row["provider"], row[end]) for end in ("from_region", "to_region") if row[end]}
    assert named - set(regions) == set()


def test_spot_is_never_dearer_than_on_demand(prices):
    for (provider, region, name, capacity), spot in prices.items():
        if capacity == "spot":
            assert spot <= prices[provider, region, name, "on-demand"], (provider, region, name)


def test_a_region_without_spot_prices_says_so(book, regions):
    listed = {(row["provider"], row["region"]) for row in rows_of("missing.csv") if row["what"] == "spot"}
    sold = {(row["provider"], row["region"]) for row in book}
    with_spot = {(row["provider"], row["region"]) for row in book if row["capacity_type"] == "spot"}
    assert ("azure", "uksouth") in listed
    assert sold - with_spot == listed


def test_aws_spot_is_marked_illustrative_and_nothing_else_is(book):
    for row in book:
        averaged = row["provider"] == "aws" and row["capacity_type"] == "spot"
        assert (row["note"] == "illustrative") == averaged, row


def test_gcp_components_add_up_to_every_offer_of_their_families_exactly(book):
    parts: dict[tuple[str, ...], dict[str, Decimal]] = defaultdict(dict)
    for row in rows_of("component_book.csv"):
        family = (row["provider"], row["region"], row["family"], row["capacity_type"])
        parts[family][row["component"] + row["gpu_model"]] = Decimal(row["price_per_hour"])
    composed = 0
    for row in book:
        family = (row["provider"], row["region"], row["instance_type"].split("-")[0], row["capacity_type"])
        if family not in parts:
            continue
        found = parts[family]
        price = Decimal(row["vcpus"]) * found["vcpu"] + Decimal(row["memory_gib"]) * found["gib"]
        if row["gpu_model"]:
            price += Decimal(row["gpus"]) * found["gpu" + row["gpu_model"]]
        assert price == Decimal(row["price_per_hour"]), row
        composed += 1
    assert composed > 600


def test_the_a100_component_is_the_public_sku(book):
    found = {
        row["price_per_hour"]
        for row in rows_of("component_book.csv")
        if (row["region"], row["gpu_model"], row["capacity_type"]) == ("europe-west4", "A100-40GB", "on-demand")
    }
    # "Nvidia Tesla A100 GPU" is 2.933908 in us-central1; europe-west4 has the same price
    assert found == {"2.933908"}


@pytest.mark.parametrize("generation", ["6i", "7i", "7g"])
@pytest.mark.parametrize("region", ["eu-west-2", "eu-west-1"])
def test_the_three_families_that_the_split_fits_are_there(prices, region, generation):
    for family in "cmr":
        for size in ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge"):
            assert ("aws", region, f"{family}{generation}.{size}", "on-demand") in prices


def test_azure_families_of_a_generation_differ_in_memory_only(shapes):
    ratios = {
        row["family"]: Decimal(row["memory_gib"]) / Decimal(row["vcpus"])
        for name, row in shapes.items()
        if row["generation"] == "sv5" and name in {"Standard_D4ls_v5", "Standard_D4s_v5", "Standard_E4s_v5"}
    }
    assert ratios == {"Dlsv5": 2, "Dsv5": 4, "Esv5": 8}


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("g6f.large", "gpus", "0.125"),
        ("p5.48xlarge", "gpus", "8"),
        ("inf2.xlarge", "accelerators", "1"),
        ("inf2.xlarge", "gpus", "0"),
        ("trn1.2xlarge", "accelerator_model", "Trainium"),
        ("f2.6xlarge", "accelerator_model", "Virtex UltraScale+ (VU47P)"),
        ("f2.6xlarge", "accelerators", "1"),
        ("f2.12xlarge", "accelerators", "2"),
        ("f2.48xlarge", "accelerators", "8"),
        ("f2.48xlarge", "gpus", "0"),
        ("p4d.24xlarge", "gpu_model", "A100-40GB"),
        ("p4de.24xlarge", "gpu_model", "A100-80GB"),
        ("m7g.large", "architecture", "arm64"),
        ("c6i.large", "generation", "6i"),
        ("a3-highgpu-8g", "local_ssd_gib", "6000"),
        ("a2-ultragpu-1g", "gpu_model", "A100-80GB"),
        ("e2-medium", "vcpus", "1"),
        ("Standard_E16-4s_v5", "vcpus", "4"),
        ("Standard_NV6ads_A10_v5", "gpus", "0.166666666667"),
        ("Standard_NV12ads_A10_v5", "gpus", "0.333333333333"),
        ("Standard_NV18ads_A10_v5", "gpus", "0.5"),
        ("Standard_D2ps_v5", "architecture", "arm64"),
        ("Standard_ND96isr_MI300X_v5", "gpus", "8"),
    ],
)
def test_shapes_count_what_a_machine_really_has(shapes, name, column, value):
    assert shapes[name][column] == value


def test_a_machine_has_gpus_exactly_when_it_has_a_model(shapes):
    for row in shapes.values():
        assert bool(row["gpu_model"]) == (Decimal(row["gpus"]) > 0), row
        assert Decimal(row["vcpus"]) > 0, row
        assert Decimal(row["memory_gib"]) > 0, row
        assert row["family"], row
        assert row["generation"], row


def test_offers_have_the_shapes_of_the_shape_tables(book, shapes):
    for row in book:
        for column in ("vcpus", "memory_gib", "gpu_model", "gpus", "architecture"):
            assert row[column] == shapes[row["instance_type"]][column], row


def test_every_gpu_model_is_a_canonical_name(book, shapes, gpu_models):
    canonical = {row["gpu_model"] for row in gpu_models}
    named = {row["gpu_model"] for row in (*book, *shapes.values(), *rows_of("component_book.csv"))} - {""}
    assert named - canonical == set()


def test_an_alias_means_one_model_whatever_its_case(gpu_models):
    meanings: dict[str, set[str]] = defaultdict(set)
    for row in gpu_models:
        meanings[row["alias"].casefold()].add(row["gpu_model"])
        assert Decimal(row["memory_gib"]) > 0
    assert {alias: models for alias, models in meanings.items() if len(models) > 1} == {}
    assert all(model.casefold() in meanings for model in {row["gpu_model"] for row in gpu_models})


@pytest.mark.parametrize(
    ("alias", "model"),
    [
        ("NVIDIA-A100-SXM4-40GB", "A100-40GB"),
        ("A100 81920", "A100-80GB"),
        ("Tesla-T4", "T4"),
        ("Radeon Pro V520", "V520"),
        ("NVIDIA-H100-80GB-HBM3", "H100"),
        ("Tesla A100 80GB", "A100-80GB"),
    ],
)
def test_spellings_of_drivers_and_providers_are_known(gpu_models, alias, model):
    assert {row["gpu_model"] for row in gpu_models if row["alias"] == alias} == {model}


@pytest.mark.parametrize(
    ("provider", "region", "country", "jurisdiction"),
    [
        ("aws", "eu-west-2", "GB", "GB"),
        ("aws", "eu-central-2", "CH", "CH"),
        ("gcp", "europe-west2", "GB", "GB"),
        ("gcp", "europe-north1", "FI", "EEA"),
        ("azure", "norwayeast", "NO", "EEA"),
        ("azure", "uksouth", "GB", "GB"),
        ("azure", "mexicocentral", "MX", "MX"),
        ("azure", "brazilsoutheast", "BR", "BR"),
    ],
)
def test_regions_stand_in_the_right_country_and_jurisdiction(regions, provider, region, country, jurisdiction):
    row = regions[provider, region]
    assert (row["country"], row["jurisdiction"]) == (country, jurisdiction)


def test_all_regions_of_the_three_clouds_are_listed(regions):
    count = Counter(provider for provider, _ in regions)
    assert count["aws"] >= 36
    assert count["gcp"] == 43
    assert count["azure"] >= 57
    assert all(len(row["country"]) == 2 and row["place"] and row["continent"] for row in regions.values())


def test_a_gcp_place_name_means_one_region(regions):
    places = Counter(
        place for (provider, _), row in regions.items() if provider == "gcp" for place in row["place"].split("|")
    )
    assert [place for place, times in places.items() if times > 1] == []
    assert "Northern Virginia" in regions["gcp", "us-east4"]["place"].split("|")


def test_internet_tiers_fall_as_the_month_goes_on():
    tiers: dict[tuple[str, str], list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for row in rows_of("egress_book.csv"):
        if row["destination"] == "internet":
            key = (row["provider"], row["from_region"])
            tiers[key].append((Decimal(row["tier_start_gib"]), Decimal(row["price_per_gib"])))
    assert len(tiers) == 17
    for ladder in tiers.values():
        paid = [price for _, price in sorted(ladder) if price > 0]
        assert paid == sorted(paid, reverse=True)
        assert min(start for start, _ in ladder) == 0


@pytest.mark.parametrize(
    ("provider", "region", "destination", "to_region", "start", "usd"),
    [
        ("aws", "eu-west-2", "internet", "", "0", "0.09"),
        ("aws", "eu-west-2", "internet", "", "153600", "0.05"),
        ("aws", "eu-west-2", "zone", "", "0", "0.02"),
        ("aws", "eu-west-2", "region", "eu-west-1", "0", "0.02"),
        ("gcp", "europe-west2", "internet", "", "1024", "0.11"),
        ("gcp", "europe-west2", "zone", "", "0", "0.01"),
        ("azure", "uksouth", "internet", "", "0", "0"),
        ("azure", "uksouth", "internet", "", "100", "0.087"),
        ("azure", "uksouth", "zone", "", "0", "0"),
    ],
)
def test_known_egress_prices_are_there(provider, region, destination, to_region, start, usd):
    found = {tuple(row[key] for key in EGRESS_KEY): row["price_per_gib"] for row in rows_of("egress_book.csv")}
    assert found[provider, region, destination, to_region, start] == usd


def test_egress_only_costs_nothing_where_the_row_says_why():
    for row in rows_of("egress_book.csv"):
        price = Decimal(row["price_per_gib"])
        assert price >= 0, row
        assert price > 0 or "free" in row["note"] or "no charge" in row["note"], row


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_small_sorted_and_plain(name):
    raw = files("exporters.fetch").joinpath("data", name).read_bytes()
    assert len(raw) < 300_000
    assert b"\r" not in raw
    rows = [tuple(row.values()) for row in rows_of(name)]
    assert rows == sorted(rows)


def test_all_tables_together_stay_small():
    assert sum(len(files("exporters.fetch").joinpath("data", name).read_bytes()) for name in TABLES) < 700_000
