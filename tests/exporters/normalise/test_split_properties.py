"""Money adds up: for any list of machines, prices and components, and in whatever order they come."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from exporters.core.errors import IntegrityError
from exporters.normalise.chosen import Chosen
from tests.properties import examples

money = st.decimals(min_value=Decimal("0.000001"), max_value=Decimal(500), places=6)
component = st.none() | st.decimals(min_value=0, max_value=Decimal(3), places=9)


@st.composite
def machine(draw):
    """One machine with one or two prices: any family, size, devices, components, system and way of buying."""
    family = draw(st.sampled_from(["c5", "m5", "r5", "c7g", "m7g", "r7g", "t3", "g5", "p5", "inf2"]))
    vcpus = draw(st.sampled_from([0.25, 1.0, 2.0, 4.0, 36.0, 96.0, 192.0]))
    gib_per_vcpu = draw(st.sampled_from([0.5, 2.0, 4.0, 8.0, 16.0]))
    kind = draw(st.sampled_from(["none", "none", "none", "gpu", "accelerator", "both"]))
    count = draw(st.sampled_from([0.125, 1.0, 8.0]))
    gpu, accelerator = kind in {"gpu", "both"}, kind in {"accelerator", "both"}
    shape = {
        "vcpus": vcpus,
        "memory_gib": vcpus * gib_per_vcpu,
        "family": family,
        "generation": family[1:],
        "architecture": "arm64" if family.endswith("g") else "amd64",
        "gpu_model": draw(st.sampled_from(["L4", "H100"])) if gpu else "",
        "gpus": count if gpu else 0.0,
        "accelerator_model": "Trainium" if accelerator else "",
        "accelerators": count if accelerator else 0.0,
    }
    price = {
        "region": draw(st.sampled_from(["eu-west-1", "eu-west-2"])),
        "operating_system": draw(st.sampled_from(["linux", "windows"])),
        "price_per_vcpu_hour": draw(component),
        "price_per_gib_hour": draw(component),
        "price_per_gpu_hour": draw(component),
    }
    ways = draw(st.sets(st.sampled_from(["on-demand", "spot", "committed-1y", "owned"]), min_size=1, max_size=2))
    return shape, price, {way: draw(money) for way in sorted(ways)}


def rows_of(machines, price, shape):
    prices, shapes = [], []
    for number, (size, about, ways) in enumerate(machines):
        name = f"{size['family']}.{number}"
        shapes.append(shape(name, **size))
        prices += [price(name, usd, capacity_type=way, **about) for way, usd in ways.items()]
    return prices, shapes


def refresh(run, rows):
    """The refresh, or None where no machine could be split."""
    try:
        return run(rows)
    except IntegrityError:
        return None


@settings(max_examples=examples(10, 60))
@given(st.lists(machine(), min_size=1, max_size=25))
def test_parts_are_never_negative_and_add_up_to_the_price(run, chosen, price, shape, machines):
    prices, shapes = rows_of(machines, price, shape)

    result = refresh(run, chosen(prices, shapes))

    if result is None:
        assert all(size["gpus"] and size["accelerators"] for size, _, _ in machines)
        return
    assert result.offers.height + result.rejects["rows"].sum() == len(prices)
    for row in result.offers.iter_rows(named=True):
        parts = [
            row["vcpus"] * row["gbp_per_vcpu_hour"],
            row["memory_gib"] * row["gbp_per_gib_hour"],
            row["gpus"] * (row["gbp_per_gpu_hour"] or 0),
            row["accelerators"] * (row["gbp_per_accelerator_hour"] or 0),
        ]
        assert min(parts) >= 0
        assert abs(sum(parts) / row["gbp_per_hour"] - 1) <= 1e-9
        assert (row["gbp_per_gpu_hour"] is None) == (row["gpus"] == 0)
        assert (row["gbp_per_accelerator_hour"] is None) == (row["accelerators"] == 0)


@settings(max_examples=examples(10, 60))
@given(st.lists(machine(), min_size=2, max_size=25), st.randoms(use_true_random=False))
def test_the_order_of_prices_and_shapes_does_not_matter(run, chosen, price, shape, machines, random):
    prices, shapes = rows_of(machines, price, shape)
    rows = chosen(prices, shapes)
    shuffled = Chosen(
        prices=rows.prices.sample(fraction=1, shuffle=True, seed=random.randrange(1000)),
        shapes=rows.shapes.sample(fraction=1, shuffle=True, seed=random.randrange(1000)),
        egress=rows.egress,
        rejects=rows.rejects,
    )

    once, again = refresh(run, rows), refresh(run, shuffled)

    assert (once is None) == (again is None)
    if once is not None and again is not None:
        assert_frame_equal(once.offers, again.offers, rel_tol=1e-12)
        assert_frame_equal(once.rejects, again.rejects)


@settings(max_examples=examples(10, 60))
@given(
    vcpu=st.decimals(min_value=Decimal("0.001"), max_value=1, places=6),
    gib=st.decimals(min_value=Decimal("0.0001"), max_value=Decimal("0.1"), places=6),
    gpu=st.decimals(min_value=Decimal("0.5"), max_value=20, places=6),
)
def test_prices_made_of_any_components_are_taken_apart_into_them(run, chosen, price, shape, vcpu, gib, gpu):
    sizes = {"c5.large": (2, 4), "m5.large": (2, 8), "r5.large": (2, 16)}
    host = Decimal(4) * vcpu + Decimal(16) * gib
    rows = [price(name, v * vcpu + g * gib) for name, (v, g) in sizes.items()] + [price("g5.xlarge", host * 2 + gpu)]
    shapes = [shape(name, v, g) for name, (v, g) in sizes.items()]
    shapes.append(shape("g5.xlarge", 4, 16, gpu_model="A10G", gpus=1.0))

    offers = run(chosen(rows, shapes)).offers
    parts = offers.select((pl.col("^gbp_per_.*_hour$") / pl.col("gbp_per_unit")), "instance_type").to_dicts()

    for row in parts:
        assert abs(row["gbp_per_vcpu_hour"] / float(vcpu) - 1) < 1e-6
        assert abs(row["gbp_per_gib_hour"] / float(gib) - 1) < 1e-6
    left = next(row["gbp_per_gpu_hour"] for row in parts if row["instance_type"] == "g5.xlarge")
    assert abs(left / float(host + gpu) - 1) < 1e-6
