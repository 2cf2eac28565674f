"""The fit: vCPU and GiB prices read off three families of one generation."""

from __future__ import annotations

import polars as pl
import pytest

from exporters.normalise.fit import GROUP, fit_groups

LONDON = {
    # AWS Price List, Linux on demand in eu-west-2, USD: (c, m, r) of each generation in size large.
    "5": (0.101, 0.111, 0.148),
    "7g": (0.0859, 0.0944, 0.1258),
}


def machines(rows, *, provider="aws", devices=0.0):
    """Rows of (family, generation, vcpus, GiB, price)."""
    frame = pl.DataFrame(
        rows, schema=["family", "generation", "vcpus", "memory_gib", "gbp_per_hour"], orient="row"
    ).cast({"vcpus": pl.Float64, "memory_gib": pl.Float64, "gbp_per_hour": pl.Float64})
    return frame.with_columns(
        provider=pl.lit(provider),
        region=pl.lit("eu-west-2"),
        architecture=pl.lit("amd64"),
        operating_system=pl.lit("linux"),
        capacity_type=pl.lit("on-demand"),
        devices=pl.lit(devices),
    )


def three(c, m, r, *, generation="5", names=("c", "m", "r")):
    gib = (4, 8, 16)
    return [
        (f"{name}{generation}", generation, 2, size, usd) for name, size, usd in zip(names, gib, (c, m, r), strict=True)
    ]


@pytest.mark.parametrize("generation", LONDON)
def test_london_shows_a_vcpu_at_about_eleven_gib_and_misses_no_price_by_more_than_3_3_per_cent(generation):
    fit = fit_groups(machines(three(*LONDON[generation], generation=generation))).to_dicts()[0]

    assert fit["vcpu_level"] / fit["gib_level"] == pytest.approx(10.7, abs=0.05)
    assert fit["max_error"] == pytest.approx(0.0326, abs=0.0002)


def test_prices_made_of_two_components_are_read_back_exactly():
    # 2 × 0.04 + {4, 8, 16} × 0.004
    fit = fit_groups(machines(three(0.096, 0.112, 0.144))).to_dicts()[0]

    assert (fit["vcpu_level"], fit["gib_level"]) == (pytest.approx(0.04), pytest.approx(0.004))
    assert fit["max_error"] == pytest.approx(0, abs=1e-12)
    assert fit["offers"] == 3


def test_memory_that_seems_to_cost_less_than_nothing_costs_nothing():
    # With a = 2 / price: p = Σa / Σa² = (10 + 10.2041 + 10.4167) / (100 + 104.1233 + 108.5069) = 0.097945
    fit = fit_groups(machines(three(0.200, 0.196, 0.192))).to_dicts()[0]

    assert fit["gib_level"] == 0
    assert fit["vcpu_level"] == pytest.approx(0.097945, rel=1e-5)


def test_vcpus_that_seem_to_cost_less_than_nothing_cost_nothing():
    fit = fit_groups(machines(three(0.02, 0.05, 0.12))).to_dicts()[0]

    assert fit["vcpu_level"] == 0
    assert fit["gib_level"] > 0


@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_two_families_are_not_enough(lacking):
    rows = three(0.101, 0.111, 0.148)
    del rows[lacking]

    assert fit_groups(machines(rows)).is_empty()


@pytest.mark.parametrize("names", [("t", "m", "r"), ("c", "i", "r"), ("c", "m", "x")])
def test_burstable_storage_and_other_families_do_not_stand_in(names):
    assert fit_groups(machines(three(0.101, 0.111, 0.148, names=names))).is_empty()


def test_machines_with_devices_do_not_stand_in():
    assert fit_groups(machines(three(0.101, 0.111, 0.148), devices=1.0)).is_empty()


@pytest.mark.parametrize(
    ("families", "generation"),
    [(("Fsv2", "Dsv3", "Esv3"), "sv3"), (("Dlsv5", "Dsv5", "Esv5"), "sv5"), (("Falsv6", "Fasv6", "Famsv6"), "Fasv6")],
)
def test_azure_sells_the_three_as_f_d_e_or_dl_d_e_or_fal_fa_fam(families, generation):
    rows = [(name, generation, 2, gib, usd) for name, gib, usd in zip(families, (4, 8, 16), (1, 2, 4), strict=True)]

    assert fit_groups(machines(rows, provider="azure"))["generation"].to_list() == [generation]


def test_confidential_machines_of_azure_do_not_stand_in_for_plain_ones():
    rows = [(name, "asv5", 2, gib, 1) for name, gib in (("Dlasv5", 4), ("DCasv5", 8), ("Easv5", 16))]

    assert fit_groups(machines(rows, provider="azure")).is_empty()


def test_a_machine_with_less_memory_than_its_family_does_not_spoil_the_fit():
    # Azure uksouth, USD: E96s_v5 has 7 GiB a vCPU and costs as if it had 8.
    plain = [("Dlsv5", "sv5", 2, 4, 0.101), ("Dsv5", "sv5", 2, 8, 0.111)]
    memory = [("Esv5", "sv5", 2, 16, 0.148), ("Esv5", "sv5", 4, 32, 0.296), ("Esv5", "sv5", 96, 672, 7.104)]

    with_it = fit_groups(machines(plain + memory, provider="azure")).drop("offers")
    without = fit_groups(machines(plain + memory[:2], provider="azure")).drop("offers")

    assert with_it.equals(without)


@pytest.mark.parametrize("column", GROUP)
def test_groups_are_fitted_apart(column):
    here = machines(three(0.096, 0.112, 0.144))
    there = machines(three(0.192, 0.224, 0.288)).with_columns(
        pl.lit("azure" if column == "provider" else "elsewhere").alias(column)
    )
    if column == "provider":
        there = there.with_columns(family=pl.Series(["Fsv2", "Dsv3", "Esv3"]))

    fits = fit_groups(pl.concat([here, there]))

    assert sorted(fits["vcpu_level"].to_list()) == [pytest.approx(0.04), pytest.approx(0.08)]
