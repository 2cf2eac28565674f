"""The row rule of price books: the newest right row of each offer, and every mistake with its line."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.core.frames import Offer, SetAside
from exporters.fetch.book import BookSettings, fetch, fetch_packaged
from exporters.fetch.contract import CloudSettings, FetchRequest
from exporters.fetch.ecb import packaged_rates
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.pipeline import normalise
from exporters.normalise.row_rules.book import choose

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

PRICE = {
    "provider": "acme",
    "region": "london-a",
    "zone": "",
    "instance_type": "h100-1",
    "operating_system": "linux",
    "capacity_type": "on-demand",
    "vcpus": "24",
    "memory_gib": "200",
    "gpu_model": "H100",
    "gpus": "1",
    "architecture": "amd64",
    "currency": "GBP",
    "price_per_hour": "1.95",
    "effective_from": "2026-10-01",
}
M5_LARGE = PRICE | {
    "provider": "aws",
    "region": "eu-west-2",
    "instance_type": "m5.large",
    "vcpus": "2",
    "memory_gib": "8",
    "gpu_model": "",
    "gpus": "0",
    "currency": "USD",
    "price_per_hour": "0.111",
}
N2 = M5_LARGE | {
    "provider": "gcp",
    "region": "europe-west2",
    "instance_type": "n2-standard-4",
    "vcpus": "4",
    "memory_gib": "16",
    "price_per_hour": "0.250248",
}
N2_VCPU = {
    "provider": "gcp",
    "region": "europe-west2",
    "family": "n2",
    "component": "vcpu",
    "gpu_model": "",
    "capacity_type": "on-demand",
    "currency": "USD",
    "price_per_hour": "0.040692",
    "effective_from": "2026-08-03",
}
N2_GIB = N2_VCPU | {"component": "gib", "price_per_hour": "0.005467"}
"""4 × 0.040692 + 16 × 0.005467 = 0.162768 + 0.087472 = 0.25024"""

TIER = {
    "provider": "acme",
    "from_region": "london-a",
    "destination": "internet",
    "to_region": "",
    "tier_start_gib": "0",
    "currency": "GBP",
    "price_per_gib": "0",
    "effective_from": "2026-10-01",
}
PAID_TIER = TIER | {"tier_start_gib": "100", "price_per_gib": "0.05"}

Rows = list[dict[str, str]]


def written(path: Path, rows: Rows) -> tuple[Path, ...]:
    if not rows:
        return ()
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]), encoding="utf-8")
    return (path,)


def chosen(
    folder: Path,
    prices: Rows,
    *,
    components: Rows | None = None,
    egress: Rows | None = None,
    **filters: tuple[str, ...],
) -> Chosen:
    books = BookSettings(
        files=written(folder / "prices.csv", prices),
        component_files=written(folder / "components.csv", components or []),
        egress_files=written(folder / "egress.csv", egress or []),
    )
    request = FetchRequest(now=NOW, scratch=folder, deadline=NOW)
    return choose(fetch(books, request), Filters(**filters))


def rejected(result: Chosen) -> list[tuple[str, str, int, str]]:
    return [(row["reason"], row["region"], row["rows"], row["example"]) for row in result.rejects.to_dicts()]


def test_a_row_becomes_an_offer_with_its_price_exact_and_its_shape_as_stated(tmp_path: Path):
    result = chosen(tmp_path, [M5_LARGE])
    (price,), (shape,) = result.prices.to_dicts(), result.shapes.to_dicts()
    assert (price["price_per_hour"], price["currency"]) == (Decimal("0.111"), "USD")
    assert price["effective_from"] == datetime(2026, 10, 1, tzinfo=UTC)
    assert (shape["vcpus"], shape["memory_gib"], shape["shape_source"]) == (2.0, 8.0, "book")
    assert rejected(result) == []


@pytest.mark.parametrize(
    ("provider", "region", "instance_type", "family", "generation"),
    [
        ("aws", "eu-west-2", "c6i.large", "c6i", "6i"),  # packaged type
        ("aws", "eu-west-2", "m99z.large", "m99z", "99z"),  # unknown type: by its name
        ("gcp", "europe-west2", "n2-standard-4", "n2", "n2"),
        ("gcp", "europe-west2", "n99-standard-4", "n99", "n99"),
        ("azure", "uksouth", "Standard_D4s_v5", "Dsv5", "sv5"),
        ("azure", "uksouth", "Standard_D4s_v99", "Dsv99", "Dsv99"),
        ("acme", "london-a", "gpu.h100-8", "gpu", "gpu"),
        ("acme", "london-a", "8xH100", "8xH100", "8xH100"),
    ],
)
def test_family_and_generation_follow_from_the_machine_type(
    tmp_path: Path, provider: str, region: str, instance_type: str, family: str, generation: str
):
    row = M5_LARGE | {"provider": provider, "region": region, "instance_type": instance_type}
    (shape,) = chosen(tmp_path, [row]).shapes.to_dicts()
    assert (shape["family"], shape["generation"]) == (family, generation)


@pytest.mark.parametrize(
    ("change", "reason", "says"),
    [
        ({"provider": "AWS"}, "malformed", "provider is 'AWS'; write aws"),
        ({"price_per_hour": ""}, "absent", "price_per_hour is empty"),
        ({"price_per_hour": "0"}, "zero", "price_per_hour is 0"),
        ({"price_per_hour": "0.000"}, "zero", "price_per_hour is 0"),
        ({"price_per_hour": "-1"}, "negative", "'-1'"),
        ({"price_per_hour": "NaN"}, "not-a-number", "'NaN'"),
        ({"price_per_hour": "1e3"}, "not-a-number", "'1e3'"),
        ({"price_per_hour": "£1.95"}, "not-a-number", "'£1.95'"),
        ({"price_per_hour": "0.1234567890123"}, "not-a-number", "at most 12 places"),
        ({"currency": "pounds"}, "currency", "ISO 4217"),
        ({"effective_from": "01/10/2026"}, "malformed", "2026-11-30"),
        ({"effective_from": "2026-02-30"}, "malformed", "'2026-02-30'"),
        ({"capacity_type": "reserved"}, "malformed", "on-demand, spot"),
        ({"operating_system": "solaris"}, "malformed", "linux, windows"),
        ({"architecture": "x86_64"}, "malformed", "amd64, arm64"),
        ({"instance_type": ""}, "malformed", "instance_type is empty"),
        ({"vcpus": "0"}, "unknown-shape", "vcpus is '0'"),
        ({"memory_gib": ""}, "unknown-shape", "memory_gib is ''"),
        ({"gpu_model": "H1000"}, "unknown-gpu", "gpu_models.csv"),
        ({"gpus": "0"}, "unknown-gpu", "write both, or neither"),
        ({"gpu_model": ""}, "unknown-gpu", "write both, or neither"),
        ({"gpus": "-1"}, "unknown-gpu", "gpus is '-1'"),
        ({"provider": "aws"}, "unknown-region", "aws has no region 'london-a'"),
    ],
)
def test_a_row_with_a_mistake_is_counted_with_its_line_and_what_to_do(
    tmp_path: Path, change: dict[str, str], reason: str, says: str
):
    result = chosen(tmp_path, [PRICE | {"instance_type": "h100-2"}, PRICE | change])
    assert result.prices["instance_type"].to_list() == ["h100-2"]
    ((why, region, rows, example),) = rejected(result)
    assert (why, region, rows) == (reason, "london-a", 1)
    assert example.startswith("prices.csv line 3: ")
    assert says in example


def test_a_row_with_a_cell_too_many_is_counted_and_the_others_stand(tmp_path: Path):
    result = chosen(tmp_path, [PRICE, PRICE | {"effective_from": "2026-11-01,oops"}])
    assert result.prices.height == 1
    assert rejected(result)[0][:3] == ("malformed", "london-a", 1)


def test_the_newest_row_in_effect_counts_and_a_future_one_waits(tmp_path: Path):
    rows = [
        PRICE | {"price_per_hour": price, "effective_from": day}
        for price, day in (("2.10", "2026-01-01"), ("1.80", "2026-11-30"), ("1.50", "2026-12-01"))
    ]
    result = chosen(tmp_path, rows)
    assert result.prices["price_per_hour"].to_list() == [Decimal("1.8")]
    assert rejected(result) == []


def test_an_older_price_does_not_stand_in_for_a_newer_one_that_is_wrong(tmp_path: Path):
    result = chosen(tmp_path, [PRICE, PRICE | {"effective_from": "2026-11-01", "price_per_hour": "oops"}])
    assert result.prices.height == 0
    assert [row[0] for row in rejected(result)] == ["ambiguous", "not-a-number"]
    assert "prices.csv line 2: not used, because prices.csv line 3" in rejected(result)[0][3]


def test_a_wrong_row_that_is_older_or_still_to_come_harms_nobody(tmp_path: Path):
    old, coming = ({"effective_from": day, "price_per_hour": "oops"} for day in ("2026-09-01", "2026-12-24"))
    result = chosen(tmp_path, [PRICE, PRICE | old, PRICE | coming])
    assert result.prices.height == 1


def test_two_prices_of_one_day_are_ambiguous(tmp_path: Path):
    result = chosen(tmp_path, [PRICE, PRICE | {"price_per_hour": "1.96"}])
    assert result.prices.height == 0
    assert rejected(result)[0][:3] == ("ambiguous", "london-a", 2)


def test_the_same_amount_in_two_currencies_is_ambiguous(tmp_path: Path):
    result = chosen(tmp_path, [PRICE, PRICE | {"currency": "USD"}])
    assert result.prices.height == 0
    assert rejected(result)[0][0] == "ambiguous"


def test_the_same_row_twice_is_one_offer(tmp_path: Path):
    assert chosen(tmp_path, [PRICE, PRICE | {"price_per_hour": "1.950"}]).prices.height == 1


def test_two_shapes_of_one_machine_type_are_ambiguous(tmp_path: Path):
    result = chosen(tmp_path, [PRICE, PRICE | {"capacity_type": "spot", "vcpus": "26"}])
    assert result.prices.height == 0
    assert rejected(result)[0][:3] == ("ambiguous", "london-a", 2)


def test_a_spelling_of_a_gpu_becomes_its_one_word(tmp_path: Path):
    (shape,) = chosen(tmp_path, [PRICE | {"gpu_model": "nvidia-h100-80gb"}]).shapes.to_dicts()
    assert shape["gpu_model"] == "H100"


def test_a_note_and_accelerators_come_along(tmp_path: Path):
    row = PRICE | {
        "gpu_model": "",
        "gpus": "",
        "note": "illustrative",
        "accelerator_model": "TPU-v5e",
        "accelerators": "4",
    }
    result = chosen(tmp_path, [row])
    assert result.prices["note"].to_list() == ["illustrative"]
    (shape,) = result.shapes.to_dicts()
    assert (shape["accelerator_model"], shape["accelerators"], shape["gpus"]) == ("TPU-v5e", 4.0, 0.0)


@pytest.mark.parametrize(
    ("filters", "types"),
    [
        ({"families": ("m*",)}, ["m5.large"]),
        ({"capacity_types": ("spot",)}, []),
        ({"operating_systems": ("windows",)}, []),
        ({}, ["h100-1", "m5.large"]),
    ],
)
def test_filters_apply(tmp_path: Path, filters: dict[str, tuple[str, ...]], types: list[str]):
    assert sorted(chosen(tmp_path, [PRICE, M5_LARGE], **filters).prices["instance_type"]) == types


def test_a_free_tier_is_a_price(tmp_path: Path):
    egress = chosen(tmp_path, [PRICE], egress=[TIER, PAID_TIER]).egress
    assert egress.select("tier_start_gib", "price_per_gib").rows() == [(0.0, Decimal(0)), (100.0, Decimal("0.05"))]


def test_the_tiers_of_a_newer_list_never_mix_with_an_older_one(tmp_path: Path):
    new = TIER | {"price_per_gib": "0.04", "effective_from": "2026-11-01"}
    egress = chosen(tmp_path, [PRICE], egress=[TIER, PAID_TIER, new]).egress
    assert egress.select("tier_start_gib", "price_per_gib").rows() == [(0.0, Decimal("0.04"))]


@pytest.mark.parametrize(
    ("tiers", "reason"),
    [
        ([PAID_TIER], "missing-component"),
        ([TIER, PAID_TIER, PAID_TIER | {"price_per_gib": "0.06"}], "ambiguous"),
        ([TIER, PAID_TIER | {"price_per_gib": "-0.05"}], "negative"),
        ([TIER, PAID_TIER | {"price_per_gib": ""}], "absent"),
        ([TIER, PAID_TIER | {"price_per_gib": "free"}], "not-a-number"),
        ([TIER, PAID_TIER | {"currency": "USD"}], "currency"),
        ([TIER, PAID_TIER | {"tier_start_gib": ""}], "malformed"),
        ([TIER | {"to_region": "paris-b"}], "malformed"),
        ([TIER | {"destination": "moon"}], "malformed"),
        ([TIER | {"provider": "aws"}], "unknown-region"),
    ],
)
def test_a_list_of_tiers_is_whole_or_absent(tmp_path: Path, tiers: Rows, reason: str):
    result = chosen(tmp_path, [PRICE], egress=tiers)
    assert result.egress.height == 0
    assert reason in {row[0] for row in rejected(result)}


def test_components_make_machines_of_their_family(tmp_path: Path):
    result = chosen(tmp_path, [], components=[N2_VCPU, N2_GIB])
    (row,) = result.prices.filter(instance_type="n2-standard-4").to_dicts()
    assert row["price_per_hour"] == Decimal("0.25024")
    assert (row["price_per_vcpu_hour"], row["price_per_gib_hour"]) == (Decimal("0.040692"), Decimal("0.005467"))
    assert row["price_per_gpu_hour"] is None
    (shape,) = result.shapes.filter(instance_type="n2-standard-4").to_dicts()
    assert (shape["vcpus"], shape["memory_gib"], shape["shape_source"]) == (4.0, 16.0, "packaged")


def test_an_a100_machine_is_its_parts_to_the_last_digit(tmp_path: Path):
    # 12 × 0.031611 + 85 × 0.004237 + 2.933908 = 0.379332 + 0.360145 + 2.933908 = 3.673385
    base = N2_VCPU | {"region": "us-central1", "family": "a2"}
    parts = [
        base | {"component": component, "gpu_model": gpu, "price_per_hour": price}
        for component, gpu, price in (
            ("vcpu", "", "0.031611"),
            ("gib", "", "0.004237"),
            ("gpu", "A100-40GB", "2.933908"),
        )
    ]
    (row,) = chosen(tmp_path, [], components=parts).prices.filter(instance_type="a2-highgpu-1g").to_dicts()
    assert row["price_per_hour"] == Decimal("3.673385")
    assert row["price_per_gpu_hour"] == Decimal("2.933908")


def test_a_machine_without_a_component_has_no_price(tmp_path: Path):
    result = chosen(tmp_path, [PRICE], components=[N2_VCPU])
    assert result.prices["provider"].to_list() == ["acme"]
    assert rejected(result)[0][0] == "missing-component"
    assert "the component book has no gib" in rejected(result)[0][3]


def test_a_bundled_local_disk_without_a_component_leaves_the_machine_without_a_price(tmp_path: Path):
    result = chosen(tmp_path, [], components=[part | {"family": "c3"} for part in (N2_VCPU, N2_GIB)])
    types = result.prices["instance_type"].to_list()
    assert "c3-standard-4" in types
    assert "c3-standard-4-lssd" not in types
    assert any("no local SSD" in row[3] for row in rejected(result))


def test_components_in_two_currencies_make_no_machine(tmp_path: Path):
    result = chosen(tmp_path, [PRICE], components=[N2_VCPU, N2_GIB | {"currency": "GBP"}])
    assert result.prices["provider"].to_list() == ["acme"]
    assert {row[0] for row in rejected(result)} == {"currency"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"provider": "Gcp"}, "malformed"),
        ({"component": "disk"}, "malformed"),
        ({"component": "gpu"}, "unknown-gpu"),
        ({"component": "gpu", "gpu_model": "H1000"}, "unknown-gpu"),
        ({"gpu_model": "H100"}, "unknown-gpu"),
        ({"region": "mars-1"}, "unknown-region"),
        ({"price_per_hour": "0"}, "zero"),
    ],
)
def test_a_component_row_with_a_mistake_is_counted(tmp_path: Path, change: dict[str, str], reason: str):
    result = chosen(tmp_path, [PRICE], components=[N2_VCPU | change])
    assert (reason, "components.csv line 2") in {(row[0], row[3].split(":")[0]) for row in rejected(result)}


def test_a_price_takes_the_components_that_agree_with_it(tmp_path: Path):
    result = chosen(tmp_path, [N2 | {"price_per_hour": "0.25024"}], components=[N2_VCPU, N2_GIB])
    (row,) = result.prices.filter(instance_type="n2-standard-4").to_dicts()
    assert row["price_per_vcpu_hour"] == Decimal("0.040692")
    assert rejected(result) == []


def test_a_price_that_its_components_contradict_stands_alone_and_is_counted(tmp_path: Path):
    result = chosen(tmp_path, [N2], components=[N2_VCPU, N2_GIB])
    (row,) = result.prices.filter(instance_type="n2-standard-4").to_dicts()
    assert (row["price_per_hour"], row["price_per_vcpu_hour"]) == (Decimal("0.250248"), None)
    ((reason, _, rows, example),) = rejected(result)
    assert (reason, rows) == ("ambiguous", 1)
    assert "n2-standard-4 on-demand: 0.250248000000 USD in the price book" in example


def test_components_do_not_paper_over_a_price_that_is_wrong(tmp_path: Path):
    result = chosen(tmp_path, [N2 | {"price_per_hour": "oops"}], components=[N2_VCPU, N2_GIB])
    assert "n2-standard-4" not in result.prices["instance_type"].to_list()
    assert "n2-standard-8" in result.prices["instance_type"].to_list()


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Chosen]:
    request = FetchRequest(now=NOW, scratch=tmp_path_factory.mktemp("packaged"), deadline=NOW)
    return {
        provider: choose(fetch_packaged(provider, CloudSettings(), request), Filters())
        for provider in ("aws", "gcp", "azure")
    }


@pytest.mark.parametrize(
    ("provider", "region", "instance_type", "price"),
    [
        ("aws", "eu-west-2", "m5.large", "0.111"),
        ("gcp", "europe-west2", "n2-standard-4", "0.250248"),
        ("azure", "uksouth", "Standard_D4s_v5", "0.222"),
    ],
)
def test_the_packaged_book_has_the_known_list_prices(
    packaged: dict[str, Chosen], provider: str, region: str, instance_type: str, price: str
):
    rows = packaged[provider].prices.filter(region=region, instance_type=instance_type, capacity_type="on-demand")
    assert rows["price_per_hour"].to_list() == [Decimal(price)]


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure"])
def test_the_packaged_book_has_no_wrong_row_and_its_two_books_agree(packaged: dict[str, Chosen], provider: str):
    reasons = set(packaged[provider].rejects["reason"])
    assert reasons <= {"region-skipped", "missing-component"}
    assert packaged[provider].egress.height > 0


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure"])
def test_the_packaged_book_goes_through_to_offers_in_pounds(packaged: dict[str, Chosen], provider: str):
    result = normalise(
        packaged[provider],
        fx=packaged_rates(["USD"], NOW),
        previous=Offer.create_empty(),
        set_aside=SetAside.create_empty(),
        source=provider,
        observed_at=NOW,
    )
    assert result.offers.height == packaged[provider].prices.height


@settings(max_examples=12, deadline=None)
@given(price=st.decimals("0.000000000001", "99999", places=12))
def test_any_price_of_twelve_places_comes_through_exactly(tmp_path_factory: pytest.TempPathFactory, price: Decimal):
    folder = tmp_path_factory.mktemp("book")
    assert chosen(folder, [PRICE | {"price_per_hour": f"{price:f}"}]).prices["price_per_hour"].to_list() == [price]


@settings(max_examples=12, deadline=None)
@given(order=st.permutations(range(4)))
def test_the_order_of_rows_does_not_matter(tmp_path_factory: pytest.TempPathFactory, order: list[int]):
    rows = [PRICE, M5_LARGE, PRICE | {"effective_from": "2026-11-01", "price_per_hour": "2.5"}, N2]
    folder = tmp_path_factory.mktemp("book")
    result = chosen(folder, [rows[index] for index in order])
    assert result.prices.select(pl.col("price_per_hour").cast(pl.Float64)).to_series().to_list() == [
        2.5,
        0.111,
        0.250248,
    ]
