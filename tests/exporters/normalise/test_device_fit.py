"""One family, one GPU, hosts of several sizes: the GPU has one price, not one a size."""

from __future__ import annotations

import pytest

# USD, AWS us-east-1 list: g5 is 0.80 for the A10G and 0.0515 a vCPU with its 4 GiB, to the last digit.
G5 = {
    "g5.xlarge": ("1.006", 4),
    "g5.2xlarge": ("1.212", 8),
    "g5.4xlarge": ("1.624", 16),
    "g5.8xlarge": ("2.448", 32),
    "g5.16xlarge": ("4.096", 64),
}
PLAIN = {"c5.large": ("0.085", 4), "m5.large": ("0.096", 8), "r5.large": ("0.126", 16)}
RATE = 0.746330


@pytest.fixture
def split(run, chosen, price, shape):
    """USD per GPU-hour and method of each machine of a family beside c5, m5 and r5 of us-east-1."""

    def build(family, *, gpu_model="A10G", gpus=None):
        prices = [price(name, usd) for name, (usd, _) in {**PLAIN, **family}.items()]
        shapes = [shape(name, 2, gib) for name, (_, gib) in PLAIN.items()]
        shapes += [
            shape(name, vcpus, 4 * vcpus, gpu_model=gpu_model, gpus=(gpus or {}).get(name, 1.0))
            for name, (_, vcpus) in family.items()
        ]
        offers = run(chosen(prices, shapes)).offers.filter(gpu_model=gpu_model)
        return {
            row["instance_type"]: (row["gbp_per_gpu_hour"] / RATE, row["split_method"]) for row in offers.to_dicts()
        }

    return build


def test_every_size_of_a_family_gives_its_gpu_the_same_price(split):
    got = split(G5)
    assert {name: method for name, (_, method) in got.items()} == dict.fromkeys(G5, "fitted")
    assert [usd for usd, _ in got.values()] == pytest.approx([0.80] * 5, rel=1e-6)


def test_the_order_of_the_rows_changes_nothing(split):
    backwards = dict(reversed(G5.items()))
    assert split(backwards) == {name: pytest.approx(value) for name, value in split(G5).items()}


def test_sizes_with_the_same_host_per_gpu_tell_nothing_and_leave_the_remainder(split):
    family = {"g5.12xlarge": ("5.672", 48), "g5.48xlarge": ("22.688", 192)}
    got = split(family, gpus={"g5.12xlarge": 1.0, "g5.48xlarge": 4.0})
    assert {method for _, method in got.values()} == {"remainder"}


def test_a_family_whose_sizes_follow_no_line_leaves_the_remainder(split):
    got = split({**G5, "g5.16xlarge": ("9.9", 64)})
    assert {method for _, method in got.values()} == {"remainder"}


def test_a_size_a_little_off_the_line_still_adds_up(split):
    """Azure NCasT4_v3 in one region: 0.526, 0.752, 1.204 and, with four GPUs, 4.352 USD; the line would give 4.816."""
    family = {"nc.4": ("0.526", 4), "nc.8": ("0.752", 8), "nc.16": ("1.204", 16), "nc.64": ("4.352", 64)}
    got = split(family, gpu_model="T4", gpus={"nc.64": 4.0})
    assert {method for _, method in got.values()} == {"fitted"}
    assert max(usd for usd, _ in got.values()) < 1.25 * min(usd for usd, _ in got.values())
