"""From the sums of a billing export to charges: billed, effective and list cost, and what commitments did. Pure.

* Billed: cost plus credits. Promotions stand apart, as FOCUS has it, because they are no discount on a price.
* Effective: the same, but what a commitment costs lies on the usage that it covered. A fee of the older kind is spread
  over the usage with credits for it, of the same account, day, region, part and family, in proportion to the credits;
  what was committed beyond the usage covered is unused. Of the newer kind, a credit takes the used part off the fee.
* List: that of the usage; a fee has none, because the usage that it covers has its own.
* Nothing is lost: over a day of an account the effective costs add up to the billed ones.

Source: Google Cloud, "Structure of Standard data export"; "Spend-based CUD program improvements" for the newer kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import polars as pl

from exporters.core.cost_frames import COST, Charge, CommitmentStatus
from exporters.core.errors import IntegrityError
from exporters.fetch.gcp_costs_sku import Sku, read_sku

NOUGHT: Final = Decimal(0)
PLACE: Final = Decimal("1e-12")
CATEGORY: Final = {"regular": "Usage", "tax": "Tax"}
"""Other cost types (adjustment, rounding_error) are adjustments."""

Row = Mapping[str, Any]
Scope = tuple[Any, ...]


def usage_charges(rows: Iterable[Row], *, where: str) -> pl.DataFrame:
    """This will return the answer to the query for a usage cost export as Charge.

    Raises:
        IntegrityError: a sum has lines without a cost, or a row has no account, currency or invoice month.
    """
    kept = [dict(row) for row in rows]
    for row in kept:
        _refuse_holes(row, ("billing_account", "currency", "invoice_month", "cost"), where)
        row["read"] = read_sku(row["sku"])
        row["is_fee"] = row["read"].is_fee and row["cost_type"] == "regular"
    moved = _spread(kept)
    charges: list[dict[str, Any]] = []
    for number, row in enumerate(kept):
        charges.extend(_of_fee(row, moved[number]) if row["is_fee"] else _of_usage(row, moved[number]))
        if row["promotion"]:
            charges.append(_charge(row, "Credit", billed=row["promotion"], effective=row["promotion"], listed=NOUGHT))
    return _frame(charges)


def focus_charges(rows: Iterable[Row], *, where: str) -> pl.DataFrame:
    """This will return the answer to the query for Google's FOCUS view as Charge.

    Raises:
        IntegrityError: a sum has lines without a cost, or a row has no account, currency or billing period.
    """
    charges: list[dict[str, Any]] = []
    for row in rows:
        _refuse_holes(row, ("billing_account", "currency", "billing_period", "billed_cost", "effective_cost"), where)
        charge = _charge(
            row,
            row["charge_category"],
            billed=row["billed_cost"],
            effective=row["effective_cost"],
            listed=row["list_cost"],
        )
        charges.append(
            charge
            | {
                "billing_period": row["billing_period"],
                "pricing_category": row["pricing_category"] or None,
                "commitment_status": row["commitment_status"] or None,
                "contracted_cost": row["contracted_cost"],
            }
        )
    return _frame(charges)


def _refuse_holes(row: Row, names: Iterable[str], where: str) -> None:
    if holes := [name for name in names if row[name] in {None, ""}]:
        raise IntegrityError(
            f"charges of {row['service']} on {row['day']} have no {', '.join(holes)}",
            where=where,
            next_step="Look at those rows in BigQuery; what was known stays.",
        )
    if row["without_cost"]:
        raise IntegrityError(
            f"{row['without_cost']} charges of {row['service']} on {row['day']} have no cost",
            where=where,
            next_step="Look at those rows in BigQuery; what was known stays.",
        )


def _net(row: Row) -> Decimal:
    """What stands on the invoice, promotions apart."""
    return Decimal(row["cost"] + row["all_credits"] - row["promotion"])


def _scopes_of_fee(row: Row) -> tuple[Scope, ...]:
    """Where a fee may lie, the narrowest first: one for machines in its region, one to spend anywhere."""
    sku: Sku = row["read"]
    day = (row["billing_account"], row["invoice_month"], row["day"], row["currency"])
    region = (*day, row["region"])
    if sku.part:
        return (*region, sku.part, sku.family), (*region, sku.part)
    return ("spend", *region), ("spend", *day)


def _scopes_of_usage(row: Row) -> dict[Scope, Decimal]:
    """Which fees may reach a usage, with the weight that it has among the others: its credit for such commitments."""
    sku: Sku = row["read"]
    day = (row["billing_account"], row["invoice_month"], row["day"], row["currency"])
    region = (*day, row["region"])
    machines = dict.fromkeys(((*region, sku.part, sku.family), (*region, sku.part)), Decimal(-row["resource_credit"]))
    spent = dict.fromkeys((("spend", *region), ("spend", *day)), Decimal(-row["spend_credit"]))
    return {scope: weight for scope, weight in (machines | spent).items() if weight > 0}


def _spread(rows: list[dict[str, Any]]) -> list[Decimal]:
    """By row: what fees add to a usage, and what of a fee has gone to usage (positive on both)."""
    moved = [NOUGHT] * len(rows)
    covered: dict[Scope, dict[int, Decimal]] = defaultdict(dict)
    fees: dict[Scope, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        if not row["is_fee"]:
            for scope, weight in _scopes_of_usage(row).items():
                covered[scope][number] = weight
    for number, row in enumerate(rows):
        if row["is_fee"] and not row["fee_offset"] and _net(row) > 0:
            fees[next((scope for scope in _scopes_of_fee(row) if scope in covered), ())].append(number)
    for scope, numbers in fees.items():
        if not scope:
            continue
        share = _used_share([rows[number] for number in numbers], [rows[number] for number in covered[scope]])
        for number in numbers:
            moved[number] = (_net(rows[number]) * share).quantize(PLACE)
        for number, part in _shares(sum((moved[one] for one in numbers), NOUGHT), covered[scope]).items():
            moved[number] += part
    return moved


def _used_share(fees: list[dict[str, Any]], usage: list[dict[str, Any]]) -> Decimal:
    """How much of what was committed was used, by quantity where both are counted in the same unit; else all of it."""
    units = {row["unit"] for row in (*fees, *usage)}
    committed = sum(row["quantity"] or 0.0 for row in fees)
    used = sum(row["covered_quantity"] or 0.0 for row in usage)
    parts = {row["read"].part for row in (*fees, *usage)}
    if len(units) != 1 or len(parts) != 1 or parts == {""} or committed <= 0 or used <= 0:
        return Decimal(1)
    return min(Decimal(1), Decimal(str(used)) / Decimal(str(committed)))


def _shares(pool: Decimal, weights: Mapping[int, Decimal]) -> dict[int, Decimal]:
    """The pool in proportion to the weights, to the last place: what rounding leaves lies on the last of them."""
    total = sum(weights.values(), NOUGHT)
    shares = {number: (pool * weight / total).quantize(PLACE) for number, weight in weights.items()}
    last = next(reversed(shares))
    shares[last] += pool - sum(shares.values(), NOUGHT)
    return shares


def _of_usage(row: Row, added: Decimal) -> list[dict[str, Any]]:
    sku: Sku = row["read"]
    category = CATEGORY.get(row["cost_type"], "Adjustment")
    billed = _net(row)
    charge = _charge(row, category, billed=billed, effective=billed + added, listed=row["list_cost"])
    if category != "Usage":
        return [charge]
    charge["pricing_category"] = "Committed" if row["is_covered"] else "Dynamic" if sku.is_spot else "Standard"
    charge["commitment_status"] = CommitmentStatus.USED.value if row["is_covered"] else None
    charge["consumed_quantity"], charge["consumed_unit"] = row["quantity"], row["unit"] or None
    if sku.part == "core" and row["unit"] == "hour" and (row["quantity"] or 0) >= 0:
        charge["vcpu_hours"] = row["quantity"]
    return [charge]


def _of_fee(row: Row, gone: Decimal) -> list[dict[str, Any]]:
    """The purchase, whose effective cost is nought, and what was not used of it; a fee taken back is no capacity."""
    billed = _net(row)
    left = billed - gone
    kept = left if billed < 0 else NOUGHT
    purchase = _charge(row, "Purchase", billed=billed, effective=kept, listed=NOUGHT)
    if left <= 0:
        return [purchase]
    unused = _charge(row, "Usage", billed=NOUGHT, effective=left, listed=NOUGHT)
    status = {"pricing_category": "Committed", "commitment_status": CommitmentStatus.UNUSED.value}
    return [purchase, unused | status]


def _charge(row: Row, category: str, *, billed: Decimal, effective: Decimal, listed: Decimal | None) -> dict[str, Any]:
    start = datetime.combine(row["day"], time(), UTC)
    sku: Sku = row.get("read") or read_sku("")
    family = sku.family.upper() if sku.part in {"core", "ram"} else ""
    return {
        "charge_start": start,
        "charge_end": start + timedelta(days=1),
        "billing_period": _month(row["invoice_month"]) if "invoice_month" in row else None,
        "provider": "gcp",
        "billing_account": row["billing_account"],
        "sub_account": row["project"] or None,
        "service": row["service"],
        "region": row["region"] or None,
        "machine": row.get("machine") or family or None,
        "charge_category": category,
        "commitment_discount_id": row["commitment"] or None,
        "currency": row["currency"],
        "billed_cost": billed,
        "effective_cost": effective,
        "list_cost": listed,
        "owner": row["owner"] or None,
    }


def _month(text: str) -> date:
    return datetime.strptime(text + "01", "%Y%m%d").replace(tzinfo=UTC).date()


def _frame(charges: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {name: column.dtype for name, column in Charge.columns().items()}
    exact = [name for name, kind in schema.items() if kind == COST]
    # Decimals are handed over as text, because a frame takes the scale of Python's decimals from the first of them.
    texts = [charge | {name: _text(charge.get(name)) for name in exact} for charge in charges]
    frame = pl.DataFrame(texts, schema=schema | dict.fromkeys(exact, pl.String), orient="row")
    return frame.with_columns(pl.col(exact).cast(COST))


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")
