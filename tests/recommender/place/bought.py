"""Commitments for tests: five machines of m5.xlarge in London for a year, unless a test says otherwise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dataframely as dy
import polars as pl

from exporters.core.standing_frames import Commitment
from recommender.frames import BoughtAhead
from recommender.observe.commitments import bought_ahead
from tests.builders import NOON, fx_table


def commitment(commitment_id: str = "ri-1", **changes: Any) -> dict[str, Any]:
    """This will return a row of Commitment."""
    return {
        "source": "aws-costs",
        "provider": "aws",
        "account": "111122223333",
        "commitment_id": commitment_id,
        "unit": "instance",
        "kind": "reservation",
        "plan_type": "standard",
        "region": "eu-west-2",
        "instance_family": "",
        "instance_type": "m5.xlarge",
        "gpu_model": "",
        "quantity": 5.0,
        "currency": "GBP",
        "cost_per_hour": 0.6,
        "starts_at": NOON - timedelta(days=165),
        "ends_at": NOON + timedelta(days=200),
        "renews": False,
    } | changes


def commitments(*rows: dict[str, Any]) -> dy.DataFrame[Commitment]:
    """This will return statements of the given rows."""
    return Commitment.validate(pl.DataFrame(list(rows), schema=Commitment.create_empty().schema))


def bought(*rows: dict[str, Any]) -> dy.DataFrame[BoughtAhead]:
    """This will return what had not ended at noon."""
    return bought_ahead(commitments(*rows), fx_table(), at=NOON)
