"""Builders for small price lists: a machine is one line, everything else has a plain value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import dataframely as dy
import polars as pl
import pytest

from exporters.core.frames import EgressListPrice, FxRate, ListPrice, Offer, Reject, SetAside, Shape
from exporters.normalise.chosen import Chosen
from exporters.normalise.pipeline import Normalised, normalise

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
Rows = Sequence[Mapping[str, Any]]

_PRICE: Mapping[str, Any] = {
    "provider": "aws",
    "region": "eu-west-2",
    "zone": "",
    "operating_system": "linux",
    "capacity_type": "on-demand",
    "currency": "USD",
}
_SHAPE: Mapping[str, Any] = {
    "provider": "aws",
    "region": "",
    "gpu_model": "",
    "gpus": 0.0,
    "accelerator_model": "",
    "accelerators": 0.0,
    "architecture": "amd64",
    "shape_source": "api",
}


def _frame(schema: type[dy.Schema], rows: Rows) -> pl.DataFrame:
    empty = schema.create_empty()
    complete = [{name: row.get(name) for name in empty.columns} for row in rows]
    return pl.DataFrame(complete, schema=empty.schema)


@pytest.fixture(scope="session")
def shape() -> Callable[..., dict[str, Any]]:
    """Shape of a machine type; family and generation are read off an AWS name unless given."""

    def build(instance_type: str, vcpus: float, memory_gib: float, **more: Any) -> dict[str, Any]:
        family = instance_type.split(".", maxsplit=1)[0]
        named = {
            "instance_type": instance_type,
            "vcpus": float(vcpus),
            "memory_gib": float(memory_gib),
            "family": family,
            "generation": family.lstrip("abcdefghijklmnopqrstuvwxyz"),
        }
        return {**_SHAPE, **named, **more}

    return build


@pytest.fixture(scope="session")
def price() -> Callable[..., dict[str, Any]]:
    """List price of a machine, on demand in USD in eu-west-2 unless told otherwise; money as text."""

    def build(instance_type: str, per_hour: str, **more: Any) -> dict[str, Any]:
        money = {
            name: Decimal(value) if value is not None and name.startswith(("price_per", "marginal")) else value
            for name, value in more.items()
        }
        return {**_PRICE, "instance_type": instance_type, "price_per_hour": Decimal(per_hour), **money}

    return build


@pytest.fixture(scope="session")
def chosen() -> Callable[..., Chosen]:
    """What a row rule would have given, from lines of prices, shapes and egress."""

    def build(prices: Rows, shapes: Rows, egress: Rows = ()) -> Chosen:
        return Chosen(
            prices=ListPrice.validate(_frame(ListPrice, prices)),
            shapes=Shape.validate(_frame(Shape, shapes)),
            egress=EgressListPrice.validate(_frame(EgressListPrice, egress)),
            rejects=Reject.create_empty(),
        )

    return build


@pytest.fixture(scope="session")
def fx() -> dy.DataFrame[FxRate]:
    """The rates of 30 October 2026: ECB, 0.8338 GBP and 1.1172 USD to the euro."""
    return FxRate.validate(
        pl.DataFrame(
            {
                "currency": ["EUR", "USD"],
                "gbp_per_unit": [0.8338, 0.746330],
                "rate_date": [date(2026, 10, 30)] * 2,
                "fx_source": ["ecb"] * 2,
            }
        )
    )


@pytest.fixture(scope="session")
def run(fx: dy.DataFrame[FxRate]) -> Callable[..., Normalised]:
    """One refresh of the source `aws` at noon on 30 November 2026; the first one unless `last` is given."""

    def build(rows: Chosen, *, last: Normalised | None = None, **more: Any) -> Normalised:
        return normalise(
            rows,
            **{
                "fx": fx,
                "previous": last.offers if last else Offer.create_empty(),
                "set_aside": last.set_aside if last else SetAside.create_empty(),
                "source": "aws",
                "observed_at": NOW,
                **more,
            },
        )

    return build
