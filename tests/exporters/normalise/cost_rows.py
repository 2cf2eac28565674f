"""Days of costs for tests of comparing them: rows of PoundCost with whole_until, alike but where a test says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from exporters.core.cost_frames import PoundCost

LAST = date(2024, 9, 26)
"""A Thursday; the day that is compared with Thursday, 19 September."""
BEFORE = LAST - timedelta(days=7)
OF_AWS = pl.DataFrame({"provider": ["aws"], "billing_account": ["1111"], "last_day": [LAST]})

Row = dict[str, Any]


def cost(day: date = LAST, amount: object = 1, **changes: Any) -> Row:
    """This will return a row of usage: hours of m7i in London, paid in pounds; `rate` is pounds per unit.

    Args:
        day: its day.
        amount: its native cost, billed and effective.
        changes: of other columns; rate, quantity and unit are short for three of them.
    """
    native, rate = Decimal(str(amount)), Decimal(str(changes.pop("rate", 1)))
    effective = Decimal(str(changes.pop("effective", amount)))
    row: Row = {
        "source": "files",
        "provider": "aws",
        "billing_account": "1111",
        "billing_period": day.replace(day=1),
        "charge_day": day,
        "sub_account": "2222",
        "service": "EC2",
        "region": "eu-west-2",
        "instance_family": "m7i",
        "charge_category": "Usage",
        "pricing_category": "Standard",
        "commitment_discount_id": "",
        "commitment_status": "",
        "owner": "",
        "consumed_unit": changes.pop("unit", "Hours"),
        "has_vcpu_hours": False,
        "currency": "GBP",
        "billed_cost": native,
        "effective_cost": effective,
        "list_cost": native,
        "contracted_cost": native,
        "consumed_quantity": float(changes.pop("quantity", 1)),
        "vcpu_hours": 0.0,
        "rows": 1,
        "rows_without_list_cost": 0,
        "gbp_per_unit": rate,
        "fx_date": day,
        "fx_source": "none",
        "billed_gbp": native * rate,
        "effective_gbp": effective * rate,
        "list_gbp": native * rate,
        "reached": LAST,
        "is_whole": True,
    }
    return row | changes


def known(rows: Iterable[Row], *, whole_until: date = LAST) -> pl.DataFrame:
    """This will return rows of accounts that were known a month before (a row of nought) and are whole until a day."""
    schema = PoundCost.create_empty().schema
    of_before = cost(
        date(2024, 8, 1), 0, service="Known", quantity=0, billing_period=date(2024, 8, 1), reached=date(2024, 8, 31)
    )
    of_month = cost(date(2024, 9, 1), 0, service="Known", quantity=0)
    listed = [of_before, of_month, *rows]
    return pl.DataFrame(listed, schema=schema).with_columns(whole_until=pl.lit(whole_until))


def series(amounts: Sequence[object], *, until: date = LAST, **changes: Any) -> list[Row]:
    """This will return a row a day, the last on the day named; None: no charge on that day."""
    first = until - timedelta(days=len(amounts) - 1)
    return [
        cost(first + timedelta(days=number), amount, **changes)
        for number, amount in enumerate(amounts)
        if amount is not None
    ]
