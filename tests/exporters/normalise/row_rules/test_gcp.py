"""Google Cloud's row rule: machines from components, to the last digit, or no price."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporters.core.errors import IntegrityError
from exporters.core.frames import FxRate, Offer, SetAside
from exporters.fetch.contract import Fetched, Skipped
from exporters.fetch.gcp_machines import packaged_machines
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.pipeline import normalise
from exporters.normalise.row_rules.gcp import choose
from exporters.normalise.row_rules.gcp_components import families
from tests.fakes.gcp import sku
from tests.fakes.gcp_frames import OBSERVED, REGIONS, fetched
from tests.fakes.gcp_skus import AMERICAS, LONDON, Sku, catalogue, compute_skus, gpu, network_skus, pair, trap_skus
from tests.properties import examples

SPOT = {"usage": "Preemptible"}


def run(skus: Sequence[Sku], filters: Filters | None = None, **more: object) -> Chosen:
    return choose(fetched(skus, **more), filters or Filters())  # type: ignore[arg-type]


def price(chosen: Chosen, region: str, machine: str, capacity: str = "on-demand", column: str = "price_per_hour"):
    rows = chosen.prices.filter(
        pl.col("region") == region, pl.col("instance_type") == machine, pl.col("capacity_type") == capacity
    )
    assert rows.height <= 1
    return rows[column][0] if rows.height else None


def rejects(chosen: Chosen, reason: str, region: str) -> int:
    return chosen.rejects.filter(pl.col("reason") == reason, pl.col("region") == region)["rows"].sum()


def without(name: str) -> list[Sku]:
    """The catalogue without one SKU."""
    return [item for item in catalogue() if (row := item("USD")) is not None and row["skuId"] != name]


@pytest.fixture(scope="module")
def whole() -> Chosen:
    return run(catalogue())


@pytest.mark.parametrize(
    ("region", "machine", "usd"),
    [
        ("europe-west2", "n2-standard-4", "0.250248"),
        ("us-central1", "n2-standard-4", "0.194236"),
        ("us-central1", "a2-highgpu-1g", "3.673385"),
        ("europe-west2", "n2d-standard-4", "0.217708"),
        ("europe-west2", "n1-standard-4", "0.24479"),
        ("us-central1", "c3-standard-4", "0.201608"),
        ("us-central1", "g2-standard-4", "0.706824239"),
    ],
)
def test_known_list_prices_come_out_to_the_last_digit(whole, region, machine, usd):
    assert price(whole, region, machine) == Decimal(usd)


def test_spot_comes_from_spot_skus_only(whole):
    assert price(whole, "europe-west2", "n2-standard-4", "spot") == Decimal("0.050624")
    assert price(whole, "europe-west2", "n2d-standard-4", "spot") is None


def test_the_component_prices_stand_beside_the_machine_price(whole):
    machine = whole.prices.filter(
        pl.col("instance_type") == "a2-highgpu-1g", pl.col("capacity_type") == "on-demand"
    ).row(0, named=True)
    assert machine["price_per_vcpu_hour"] == Decimal("0.031611")
    assert machine["price_per_gib_hour"] == Decimal("0.004237")
    assert machine["price_per_gpu_hour"] == Decimal("2.933908")
    assert machine["sku_id"] == "A2-AM-CORE+A2-AM-RAM+A100"
    assert machine["currency"] == "USD"


def test_googles_own_pounds_are_the_same_sum_in_its_pound_list(whole):
    assert price(whole, "us-central1", "a2-highgpu-1g", column="provider_gbp_per_hour") == pytest.approx(2.938708)


def test_a_machine_whose_pound_price_lacks_a_component_keeps_its_dollars(whole):
    rows = [*without("A100"), gpu("A100", "Nvidia Tesla A100 GPU", "2.933908", gbp=False)]
    rows += [sku(f"FILL{i}", "Something", "1") for i in range(200)]
    chosen = run(rows)
    assert price(chosen, "us-central1", "a2-highgpu-1g") == Decimal("3.673385")
    assert price(chosen, "us-central1", "a2-highgpu-1g", column="provider_gbp_per_hour") is None


def test_a_pound_list_that_quotes_another_currency_gives_no_pounds():
    rows = [
        *without("N2-LON-RAM"),
        sku("USD-ONLY", "N2 Instance Ram running in London", "0.005458", unit="GiBy.h", currency="USD"),
    ]
    chosen = run(rows)
    assert price(chosen, "europe-west2", "n2-standard-4") == Decimal("0.250248")
    assert price(chosen, "europe-west2", "n2-standard-4", column="provider_gbp_per_hour") is None
    assert price(chosen, "europe-west2", "n2d-standard-4", column="provider_gbp_per_hour") == pytest.approx(0.1741664)


def test_an_a100_with_80_gb_has_its_own_price_and_its_local_ssd(whole):
    exact = 12 * Decimal("0.031611") + 170 * Decimal("0.004237") + Decimal("3.92808") + Decimal("0.08") * 375 / 730
    assert price(whole, "us-central1", "a2-ultragpu-1g") == round(exact, 12)


def test_shared_core_machines_are_billed_as_parts_of_a_vcpu(whole):
    assert price(whole, "europe-west2", "e2-medium") == Decimal("0.04316778")
    assert price(whole, "europe-west2", "e2-micro") == Decimal("0.0281037") / 4 + Decimal("0.00376602")


def test_a_shared_core_machine_that_shows_two_vcpus_is_billed_the_same_and_split_over_both():
    shown = packaged_machines().shapes.with_columns(
        vcpus=pl.when(pl.col("instance_type").is_in(["e2-micro", "e2-small", "e2-medium"])).then(2.0).otherwise("vcpus")
    )
    raw = fetched(catalogue())
    live = Fetched("gcp", raw.observed_at, {**raw.frames, "shapes": shown.lazy()})
    chosen = choose(live, Filters())
    assert price(chosen, "europe-west2", "e2-micro") == Decimal("0.0281037") / 4 + Decimal("0.00376602")
    assert price(chosen, "europe-west2", "e2-micro", column="price_per_vcpu_hour") == Decimal("0.0035129625")


def test_a_machine_that_is_one_sku_has_no_component_prices(whole):
    assert price(whole, "us-central1", "f1-micro") == Decimal("0.0076")
    assert price(whole, "us-central1", "f1-micro", column="price_per_vcpu_hour") is None


def test_skus_that_only_look_like_components_change_nothing(whole):
    plain = run([*compute_skus(), *network_skus()])
    assert plain.prices.equals(whole.prices)
    assert len(trap_skus()) > 5


def test_a_sole_tenancy_premium_never_stands_in_for_the_core():
    rows = [*without("G2-AM-CORE")]
    assert price(run(rows), "us-central1", "g2-standard-4") is None


def test_the_order_of_the_skus_does_not_matter(whole):
    rows = catalogue()
    random.Random(7).shuffle(rows)
    assert run(rows).prices.equals(whole.prices)


def test_a_machine_with_a_missing_component_has_no_price_and_is_counted():
    chosen = run(without("N2-LON-RAM"))
    assert price(chosen, "europe-west2", "n2-standard-4") is None
    assert price(chosen, "us-central1", "n2-standard-4") == Decimal("0.194236")
    assert price(chosen, "europe-west2", "n2-standard-4", "spot") == Decimal("0.050624")
    assert rejects(chosen, "missing-component", "europe-west2") > rejects(
        run(catalogue()), "missing-component", "europe-west2"
    )


def test_a_machine_with_local_ssd_has_no_price_without_the_price_of_the_ssd():
    chosen = run(without("SSD"))
    assert price(chosen, "us-central1", "c3-standard-4-lssd") is None
    assert price(chosen, "us-central1", "c3-standard-4") == Decimal("0.201608")


def test_the_same_description_with_two_prices_is_ambiguous_and_nothing_is_guessed():
    virginia = ("us-east4",)
    rows = [
        *catalogue(),
        *pair("N2-VA", "N2 Instance", "Virginia", "0.035605", "0.004772", virginia),
        sku("N2-NVA-CORE", "N2 Instance Core running in Northern Virginia", "0.0357", regions=virginia),
        *pair("E2-VA", "E2 Instance", "Virginia", "0.024", "0.0032", virginia),
    ]
    chosen = run(rows, regions=(*REGIONS, "us-east4"))
    assert rejects(chosen, "ambiguous", "us-east4") == 2
    assert price(chosen, "us-east4", "n2-standard-4") is None
    assert price(chosen, "us-east4", "e2-standard-4") == Decimal("0.1472")


def test_two_skus_of_the_same_price_are_one():
    rows = [*catalogue(), sku("AGAIN", "N2 Instance Core running in London", "0.04073")]
    chosen = run(rows)
    assert price(chosen, "europe-west2", "n2-standard-4") == Decimal("0.250248")
    assert rejects(chosen, "ambiguous", "europe-west2") == 0


@pytest.mark.parametrize(("text", "reason"), [("0", "zero"), ("-0.04", "negative")])
def test_a_zero_or_negative_component_is_its_own_reject(text, reason):
    rows = [*without("N2-LON-CORE"), sku("BAD", "N2 Instance Core running in London", text)]
    chosen = run(rows)
    assert price(chosen, "europe-west2", "n2-standard-4") is None
    assert rejects(chosen, reason, "europe-west2") == 1


def test_an_absent_component_price_is_its_own_reject():
    chosen = run([*without("N2-LON-CORE"), sku("NONE", "N2 Instance Core running in London")])
    assert rejects(chosen, "absent", "europe-west2") == 1
    assert price(chosen, "europe-west2", "n2-standard-4") is None


def test_a_component_in_rupiah_is_rejected_by_currency_and_never_read_as_dollars():
    rows = [*without("E2-LON-CORE"), sku("IDR", "E2 Instance Core running in London", "327.17", currency="IDR")]
    chosen = run(rows)
    assert rejects(chosen, "currency", "europe-west2") == 1
    assert price(chosen, "europe-west2", "e2-standard-4") is None
    assert price(chosen, "europe-west2", "n2-standard-4") == Decimal("0.250248")


def test_a_component_in_an_unknown_unit_is_rejected_by_unit():
    rows = [*without("N2-LON-RAM"), sku("MONTH", "N2 Instance Ram running in London", "3.98", unit="GiBy.mo")]
    chosen = run(rows)
    assert rejects(chosen, "unit", "europe-west2") == 1
    assert price(chosen, "europe-west2", "n2-standard-4") is None


def test_a_free_allowance_before_the_price_is_not_the_price():
    micro = sku(
        "F1", "Micro Instance with burstable CPU running in Americas", (0.0, "0"), (720.0, "0.0076"), regions=AMERICAS
    )
    chosen = run([*without("F1"), micro])
    assert price(chosen, "us-central1", "f1-micro") == Decimal("0.0076")
    assert rejects(chosen, "zero", "us-central1") == 0


def test_a_component_with_two_paid_tiers_is_ambiguous():
    core = sku("TWO", "N2 Instance Core running in London", (0.0, "0.04"), (100.0, "0.03"))
    chosen = run([*without("N2-LON-CORE"), core])
    assert rejects(chosen, "ambiguous", "europe-west2") == 2
    assert price(chosen, "europe-west2", "n2-standard-4") is None


def test_a_b200_slice_is_the_whole_host_and_its_spot_is_what_the_description_says():
    a4 = {"offered": [("us-central1", "a4-highgpu-8g")]}
    slices = [
        gpu("B200", "A4 Nvidia B200 (1 gpu slice)", "16.11"),
        gpu("B200-SPOT", "Spot Preemptible A4 Nvidia B200 (1 gpu slice)", "4.9542"),
        sku(
            "SSD-SPOT",
            "SSD backed Local Storage attached to Spot Preemptible VMs",
            "0.04",
            regions=AMERICAS,
            unit="GiBy.mo",
            group="LocalSSD",
            **SPOT,
        ),
    ]
    chosen = run([*catalogue(), *slices], **a4)
    ssd = Decimal("0.08") * 12000 / 730
    assert price(chosen, "us-central1", "a4-highgpu-8g") == round(8 * Decimal("16.11") + ssd, 12)
    assert price(chosen, "us-central1", "a4-highgpu-8g", "spot") == round(8 * Decimal("4.9542") + ssd / 2, 12)
    for column in ("price_per_vcpu_hour", "price_per_gib_hour", "price_per_gpu_hour"):
        assert price(chosen, "us-central1", "a4-highgpu-8g", column=column) is None


def test_an_m2_pays_the_upgrade_premium_on_vcpu_and_memory():
    premium = "Memory Optimized Upgrade Premium for Memory-optimized Instance"
    rows = [*catalogue(), *pair("M2-AM", premium, "Americas", "0.0101", "0.0015", AMERICAS)]
    chosen = run(rows, offered=[("us-central1", "m2-ultramem-208"), ("us-central1", "m1-ultramem-40")])
    expected = 208 * (Decimal("0.0348") + Decimal("0.0101")) + 5888 * (Decimal("0.0051") + Decimal("0.0015"))
    assert price(chosen, "us-central1", "m2-ultramem-208") == expected
    assert price(chosen, "us-central1", "m2-ultramem-208", column="price_per_vcpu_hour") == Decimal("0.0449")
    assert price(chosen, "us-central1", "m1-ultramem-40") == 40 * Decimal("0.0348") + 961 * Decimal("0.0051")


def test_an_m2_without_the_premium_has_no_price_rather_than_the_m1_price():
    assert (
        price(run(catalogue(), offered=[("us-central1", "m2-ultramem-208")]), "us-central1", "m2-ultramem-208") is None
    )


def test_the_big_m4_is_not_priced_as_an_m4():
    rows = [
        *catalogue(),
        *pair("M4", "M4 Instance", "Americas", "0.03", "0.004", AMERICAS),
        *pair("M4U", "M4Ultramem224 Instance", "Americas", "0.05", "0.006", AMERICAS),
    ]
    chosen = run(rows, offered=[("us-central1", "m4-ultramem-224"), ("us-central1", "m4-megamem-28")])
    assert price(chosen, "us-central1", "m4-ultramem-224") == 224 * Decimal("0.05") + 5952 * Decimal("0.006")


def test_commitments_are_read_where_they_are_asked_for():
    year = {"usage": "Commit1Yr"}
    rows = [
        *without("N2-CUD"),
        sku("C-CORE", "Commitment v1: N2 Cpu in London for 1 Year", "0.02566", **year),
        sku("C-RAM", "Commitment v1: N2 Ram in London for 1 Year", "0.00344", unit="GiBy.h", group="RAM", **year),
        sku("C3-CORE", "Commitment v1: N2 Cpu in London for 3 Years", "0.0183", usage="Commit3Yr"),
        sku("LIE", "Commitment v1: N2D AMD Cpu in London for 3 Year", "0.01", **year),
        sku("LIE-RAM", "Commitment v1: N2D AMD Ram in London for 1 Year", "0.001", unit="GiBy.h", **year),
        sku("N1-C", "Commitment v1: Cpu in London for 1 Year", "0.0257", **year),
        sku("N1-R", "Commitment v1: Ram in London for 1 Year", "0.0035", unit="GiBy.h", **year),
    ]
    chosen = run(rows, Filters(capacity_types=("on-demand", "committed-1y", "committed-3y")))
    assert price(chosen, "europe-west2", "n2-standard-4", "committed-1y") == 4 * Decimal("0.02566") + 16 * Decimal(
        "0.00344"
    )
    assert price(chosen, "europe-west2", "n2-standard-4", "committed-3y") is None
    assert price(chosen, "europe-west2", "n2d-standard-4", "committed-1y") is None
    assert price(chosen, "europe-west2", "n1-standard-4", "committed-1y") == 4 * Decimal("0.0257") + 15 * Decimal(
        "0.0035"
    )
    assert price(chosen, "europe-west2", "n2-standard-4", "spot") is None


def test_a_committed_machine_with_gpu_and_local_ssd_takes_all_its_commitments():
    year = {"usage": "Commit3Yr", "regions": AMERICAS}
    rows = [
        *catalogue(),
        sku("C1", "Commitment v1: A2 Cpu in Americas for 3 Years", "0.01", **year),
        sku("C2", "Commitment v1: A2 Ram in Americas for 3 Years", "0.001", unit="GiBy.h", **year),
        sku("C3", "Commitment v1: Nvidia Tesla A100 80GB GPU running in Americas for 3 Years", "1.5", **year),
        sku("C4", "Commitment v1: Local SSD in Americas for 3 Years", "0.036", unit="GiBy.mo", **year),
    ]
    chosen = run(rows, Filters(capacity_types=("committed-3y",)))
    exact = 12 * Decimal("0.01") + 170 * Decimal("0.001") + Decimal("1.5") + Decimal("0.036") * 375 / 730
    assert price(chosen, "us-central1", "a2-ultragpu-1g", "committed-3y") == round(exact, 12)
    assert price(chosen, "us-central1", "a2-highgpu-1g", "committed-3y") is None


def test_only_machine_types_that_exist_in_the_region_are_priced():
    london = pair("A2-LON", "A2 Instance", "London", "0.0358", "0.0048", LONDON)
    a100 = gpu("A100-LON", "Nvidia Tesla A100 GPU", "3.5", suffix="running in London", regions=LONDON)
    assert price(run([*catalogue(), *london, a100]), "europe-west2", "a2-highgpu-1g") is None


def test_a_type_without_a_shape_or_a_known_gpu_is_counted_and_not_priced():
    strange = (
        packaged_machines()
        .shapes.filter(pl.col("instance_type") == "g2-standard-4")
        .with_columns(instance_type=pl.lit("g2-standard-5"), gpu_model=pl.lit("nvidia-z900"))
    )
    offered = [("us-central1", "q9-standard-4"), ("us-central1", "g2-standard-5")]
    chosen = run(catalogue(), offered=offered, shapes=strange)
    assert rejects(chosen, "unknown-shape", "us-central1") == 1
    assert rejects(chosen, "unknown-gpu", "us-central1") == 1
    assert price(chosen, "us-central1", "g2-standard-5") is None


def test_a_type_whose_local_ssd_is_unknown_is_an_unknown_shape():
    unknown = (
        packaged_machines()
        .shapes.filter(pl.col("instance_type") == "c3-standard-4")
        .with_columns(instance_type=pl.lit("c3-standard-5-lssd"), local_ssd_gib=pl.lit(None, pl.Float64))
    )
    chosen = run(catalogue(), offered=[("us-central1", "c3-standard-5-lssd")], shapes=unknown)
    assert rejects(chosen, "unknown-shape", "us-central1") == 1
    assert price(chosen, "us-central1", "c3-standard-5-lssd") is None


def test_families_are_filtered_by_glob_and_spot_by_capacity_type():
    chosen = run(catalogue(), Filters(families=("n2*",), capacity_types=("on-demand",)))
    assert set(chosen.shapes["family"]) == {"n2", "n2d"}
    assert set(chosen.prices["capacity_type"]) == {"on-demand"}


def test_windows_alone_gives_no_linux_price():
    assert run(catalogue(), Filters(operating_systems=("windows",))).prices.height == 0


def test_a_region_without_any_price_is_an_integrity_error_that_names_it():
    with pytest.raises(IntegrityError, match="europe-west4"):
        run(catalogue(), regions=(*REGIONS, "europe-west4"))


def test_a_catalogue_wholly_in_another_currency_is_an_integrity_error():
    rows = [sku("IDR", "E2 Instance Core running in London", "327", currency="IDR")]
    with pytest.raises(IntegrityError, match="europe-west2"):
        run(rows, regions=LONDON)


def test_skipped_regions_are_rejects_with_the_reason():
    chosen = run(catalogue(), skipped=(Skipped("mars-north1", "no machine types there"),))
    row = chosen.rejects.filter(pl.col("region") == "mars-north1").row(0, named=True)
    assert (row["reason"], row["rows"], row["example"]) == ("region-skipped", 1, "no machine types there")


def test_the_parts_in_pounds_are_the_sold_components_and_add_up(whole):
    fx = FxRate.validate(
        pl.DataFrame(
            {"currency": ["USD"], "gbp_per_unit": [0.75], "rate_date": [OBSERVED.date()], "fx_source": ["ecb"]}
        )
    )
    done = normalise(
        whole,
        fx=fx,
        previous=Offer.create_empty(),
        set_aside=SetAside.create_empty(),
        source="gcp",
        observed_at=OBSERVED,
    )
    parts = pl.col("vcpus") * pl.col("gbp_per_vcpu_hour") + pl.col("memory_gib") * pl.col("gbp_per_gib_hour")
    gpus = pl.col("gpus") * pl.col("gbp_per_gpu_hour").fill_null(0.0)
    missed = done.offers.select(((parts + gpus) / pl.col("gbp_per_hour") - 1).abs().max()).item()
    assert done.offers.height == whole.prices.height
    assert missed < 1e-9
    a2 = done.offers.row(by_predicate=pl.col("instance_type") == "a2-highgpu-1g", named=True)
    assert a2["split_method"] == "components"
    assert a2["gbp_per_gpu_hour"] == pytest.approx(2.933908 * 0.75, rel=1e-12)
    assert done.egress.filter(pl.col("destination") == "zone")["gbp_per_gib"].unique().to_list() == [0.0075]


def test_every_price_has_exactly_one_shape(whole):
    assert set(whole.prices["instance_type"]) == set(whole.shapes["instance_type"])
    assert not whole.shapes["instance_type"].is_duplicated().any()
    a2 = whole.shapes.filter(pl.col("instance_type") == "a2-highgpu-1g").row(0, named=True)
    assert (a2["gpu_model"], a2["gpus"], a2["family"], a2["shape_source"]) == ("A100-40GB", 1.0, "a2", "packaged")


def test_every_packaged_machine_type_belongs_to_one_billing_family():
    prefixes = families().with_columns(pl.col("machines").str.split("|")).explode("machines")
    assert not prefixes["machines"].is_duplicated().any()
    types = packaged_machines().offerings["instance_type"].unique()
    assert [name for name in types if not any(name.startswith(prefix) for prefix in prefixes["machines"])] == []


@settings(max_examples=examples(20, 100))
@given(
    units=st.integers(0, 40),
    nanos=st.integers(1, 999_999_999),
    ram_nanos=st.integers(1, 999_999_999),
)
def test_a_machine_is_the_exact_sum_of_its_parts_whatever_they_cost(units, nanos, ram_nanos):
    core = Decimal(units) + Decimal(nanos).scaleb(-9)
    ram = Decimal(ram_nanos).scaleb(-9)
    chosen = run(pair("N1", "N1 Predefined Instance", "London", str(core), str(ram), LONDON), regions=LONDON)
    for row in chosen.prices.join(chosen.shapes, on="instance_type").to_dicts():
        exact = Decimal(str(row["vcpus"])) * core + Decimal(str(row["memory_gib"])) * ram
        assert row["price_per_hour"] == exact
        assert row["price_per_vcpu_hour"] == core
