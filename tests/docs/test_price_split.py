"""The page on the split shows figures that come out of the split."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from exporters.core.frames import EgressListPrice, ListPrice, Offer, Reject, SetAside, Shape
from exporters.normalise.chosen import Chosen
from exporters.normalise.fit import fit_groups
from exporters.normalise.levels import LAST_RESORT_DEVICE_SHARE, LAST_RESORT_RATIO
from exporters.normalise.pipeline import normalise
from tests.builders import NOON, USD_RATE, fx_table

PAGE = (Path(__file__).parents[2] / "docs/explanation/price-split.md").read_text()


def table(first_heading_after_machine):
    """The rows of the page's table whose header begins ``machine | … | <heading>``, as lists of cells."""
    lines = PAGE.splitlines()
    start = next(
        i for i, line in enumerate(lines) if line.startswith("| machine |") and first_heading_after_machine in line
    )
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def devices_of(text):
    count, model = text.split(" ", 1)
    kind = "accelerator" if model.startswith("Inferentia") else "gpu"
    return {f"{kind}_model": model, f"{kind}s": float(count)}


@pytest.fixture(scope="module")
def offers():
    """Both tables of the page, read as a price list."""
    plain = [(name, vcpus, gib, usd, {}) for name, vcpus, gib, usd, *_ in table("miss")]
    carrying = [(name, vcpus, gib, usd, devices_of(what)) for name, vcpus, gib, what, usd, *_ in table("host")]
    place = {"provider": "aws", "region": "eu-west-2", "instance_type": ""}
    prices, shapes = [], []
    for name, vcpus, gib, usd, devices in plain + carrying:
        here = place | {"instance_type": name}
        family = name.split(".")[0]
        prices.append(
            here
            | {"zone": "", "operating_system": "linux", "capacity_type": "on-demand"}
            | {"currency": "USD", "price_per_hour": usd}
        )
        shapes.append(
            here
            | {"vcpus": float(vcpus), "memory_gib": float(gib), "gpu_model": "", "gpus": 0.0}
            | {"accelerator_model": "", "accelerators": 0.0, "architecture": "amd64", "shape_source": "api"}
            | {"family": family, "generation": re.sub(r"^[a-z]+", "", family)}
            | devices
        )
    complete = pl.concat([ListPrice.create_empty().cast(pl.String), pl.DataFrame(prices)], how="diagonal")
    chosen = Chosen(
        prices=ListPrice.validate(complete, cast=True),
        shapes=Shape.validate(pl.DataFrame(shapes), cast=True),
        egress=EgressListPrice.create_empty(),
        rejects=Reject.create_empty(),
    )
    return normalise(
        chosen,
        fx=fx_table(),
        previous=Offer.create_empty(),
        set_aside=SetAside.create_empty(),
        source="aws",
        observed_at=NOON,
    ).offers


def in_usd(offers, name, column):
    return offers.filter(instance_type=name)[column].item() / USD_RATE


def test_the_fit_misses_what_the_page_says_and_the_scaled_prices_are_the_published_ones(offers):
    fit = fit_groups(offers.with_columns(devices=pl.col("gpus") + pl.col("accelerators"))).to_dicts()[0]

    rows = table("miss")
    assert len(rows) == 3
    for name, vcpus, gib, usd, fitted, miss, per_vcpu, per_gib in rows:
        before = (float(vcpus) * fit["vcpu_level"] + float(gib) * fit["gib_level"]) / USD_RATE
        assert fitted == f"{before:.5f}"
        assert miss == f"{100 * (before / float(usd) - 1):+.1f} %"
        assert per_vcpu == f"{in_usd(offers, name, 'gbp_per_vcpu_hour'):.6f}"
        assert per_gib == f"{in_usd(offers, name, 'gbp_per_gib_hour'):.6f}"
    assert f"as much as {fit['vcpu_level'] / fit['gib_level']:.1f} GiB" in PAGE
    assert f"by more than {100 * fit['max_error']:.1f} %" in PAGE


def test_devices_get_what_the_page_says(offers):
    rows = table("host")
    assert len(rows) == 4
    for name, vcpus, gib, _, _, host, per_device in rows:
        parts = float(vcpus) * in_usd(offers, name, "gbp_per_vcpu_hour") + float(gib) * in_usd(
            offers, name, "gbp_per_gib_hour"
        )
        column = "gbp_per_accelerator_hour" if name.startswith("inf") else "gbp_per_gpu_hour"
        assert host == f"{parts:.5f}"
        assert per_device == f"{in_usd(offers, name, column):.5f}"


def test_the_last_resorts_are_the_ones_the_page_names():
    assert f"takes {LAST_RESORT_RATIO}." in PAGE
    assert f"gives its GPUs {LAST_RESORT_DEVICE_SHARE:.0%}".replace("%", " %") in PAGE
