"""Kubernetes quantities."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.emit.quantities import cpu, memory, quantity, whole


def test_requests_are_written_so_that_nothing_is_rounded_down() -> None:
    assert [cpu(vcpus) for vcpus in (4.0, 0.5, 0.0004, 0.1 + 0.2, 0.0)] == ["4", "500m", "1m", "300m", "0"]
    assert [memory(gib) for gib in (16.0, 0.5, 0.0001, 0.0)] == ["16Gi", "512Mi", "1Mi", "0Gi"]
    assert [whole(gpus) for gpus in (0.125, 1.0, 2.0000000001, 0.0)] == ["1", "1", "2", "0"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("200", "200"),
        (200, "200"),
        ("500m", "0.5"),
        ("1.5Gi", "1610612736"),
        ("2k", "2000"),
        ("1e3", "1000"),
        ("1E", "1e18"),
        ("12E2", "1200"),
        ("0", "0"),
    ],
)
def test_quantities_are_read_exactly(text: object, amount: str) -> None:
    assert quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "many", "1 Gi", "1GiB", "--1", "1e", "0x10", True, None, 1.5, [], "1Ki\n"])
def test_what_is_no_quantity_is_not_read(text: object) -> None:
    assert quantity(text) is None


@given(st.floats(min_value=0, max_value=1e6))
def test_what_is_written_is_never_less_than_what_is_needed(amount: float) -> None:
    written = quantity(cpu(amount)), quantity(memory(amount))
    assert written[0] is not None
    assert written[1] is not None
    assert float(written[0]) >= amount - 1e-8
    assert float(written[1]) / 2**30 >= amount - 1e-8
