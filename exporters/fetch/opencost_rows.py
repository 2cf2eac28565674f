"""OpenCost's allocation sets as rows of workloads: which day, which workload, and whether the parts add up. Pure.

A set is a day; its entries carry the day as their window, and sets may come in any order. OpenCost's words for what
is no workload stay as namespaces: `__idle__` (capacity that nobody asked for) and `__unmounted__` (volumes of no pod).
An entry without a controller is the part of its namespace that has none.
Source: OpenCost, core/pkg/opencost: AllocationJSON, Allocation.TotalCost, AllocationProperties.GenerateKey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from exporters.core.clock import parse_utc
from exporters.core.errors import IntegrityError
from exporters.core.standing_frames import WorkloadCost
from exporters.core.units import BYTES_PER_GIB

UNALLOCATED: Final = "__unallocated__"
IDLE: Final = "__idle__"
UNMOUNTED: Final = "__unmounted__"

DIRECT: Final = {
    "cpuCost": "vcpu_cost",
    "ramCost": "memory_cost",
    "gpuCost": "gpu_cost",
    "networkCost": "network_cost",
    "pvCost": "other_cost",
}
"""Parts that every version states."""

LATER: Final = (
    "loadBalancerCost",
    "sharedCost",
    "externalCost",
    "cpuCostAdjustment",
    "ramCostAdjustment",
    "gpuCostAdjustment",
    "networkCostAdjustment",
    "pvCostAdjustment",
    "loadBalancerCostAdjustment",
)
"""Parts that older versions leave out; what is missing is nought, and the total would tell if it were not."""

HOURS: Final = {"cpuCoreHours": "vcpu_hours", "ramByteHours": "memory_gib_hours", "gpuHours": "gpu_hours"}
PARTS: Final = ("vcpu_cost", "memory_cost", "gpu_cost", "network_cost", "other_cost")
SUMS: Final = (*PARTS, "total_cost", *HOURS.values())

ROUNDED_TO: Final = 1e-5
"""OpenCost rounds each figure of an answer to five places."""

TOLERANCE: Final = ROUNDED_TO / 2 * (len(DIRECT) + len(LATER) + 1)
"""How far parts and total may differ by rounding alone: half of the last place for each of them."""

DAY: Final = timedelta(days=1)
KEY: Final = tuple(WorkloadCost.primary_key())


@dataclass(frozen=True, slots=True)
class Bill:
    """What an answer should be.

    Args:
        cluster: our name of the cluster.
        currency: ISO 4217 code of its prices.
        days: the days that were asked for.
        where: the endpoint, for messages.
    """

    cluster: str
    currency: str
    days: Sequence[date]
    where: str


def workload_costs(sets: Iterable[Any], bill: Bill, *, theirs: set[str]) -> list[dict[str, Any]]:
    """This will return rows of WorkloadCost, money in the currency of the bill.

    Args:
        sets: objects of entries by name.
        bill: what was asked.
        theirs: OpenCost's own names of the cluster so far; new ones are added.

    Raises:
        IntegrityError: an entry is of another day, lacks a field, is no number, does not add up, or there are two
            sets of one day or two clusters behind one endpoint.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    taken: set[date] = set()
    for entries in sets:
        if not isinstance(entries, Mapping):
            raise _wrong("a set is no object", bill)
        days = {_day(name, entry, bill) for name, entry in entries.items()}
        if len(days) > 1:
            raise _wrong(f"one set holds the days {min(days)} and {max(days)}: it accumulates, or has no step", bill)
        if days & taken:
            raise _wrong(f"two sets are of {min(days)}", bill)
        taken |= days
        for name, entry in entries.items():
            row = _row(name, entry, bill, theirs)
            _add(rows, row)
    if len(theirs) > 1:
        raise _wrong(f"it knows several clusters ({', '.join(sorted(theirs))}); name one endpoint a cluster", bill)
    return list(rows.values())


def _add(rows: dict[tuple[Any, ...], dict[str, Any]], row: dict[str, Any]) -> None:
    """Entries that are one workload by our names (two nodes' idle, say) add up."""
    key = tuple(row[name] for name in KEY)
    known = rows.setdefault(key, row)
    if known is not row:
        for name in SUMS:
            known[name] += row[name]


def _day(name: str, entry: object, bill: Bill) -> date:
    try:
        window = entry["window"] if isinstance(entry, Mapping) else {}
        start, end = (parse_utc(str(window[edge])) for edge in ("start", "end"))
    except (KeyError, TypeError, ValueError) as error:
        raise _wrong(f"the entry {name!r} has no window", bill) from error
    if end - start != DAY or start.date() not in bill.days or (start.hour, start.minute, start.second) != (0, 0, 0):
        raise _wrong(f"the entry {name!r} is of {start:%Y-%m-%dT%H:%MZ} to {end:%Y-%m-%dT%H:%MZ}, no day asked", bill)
    return start.date()


def _row(name: str, entry: Mapping[str, Any], bill: Bill, theirs: set[str]) -> dict[str, Any]:
    wanted = (*DIRECT, *HOURS, "totalCost")
    if absent := [field for field in wanted if field not in entry]:
        raise _wrong(f"the entry {name!r} lacks {', '.join(absent)}", bill)
    numbers = {field: _number(name, field, entry[field], bill) for field in (*wanted, *LATER) if field in entry}
    row: dict[str, Any] = dict.fromkeys(SUMS, 0.0)
    for field, ours in (DIRECT | HOURS).items():
        row[ours] = numbers[field]
    row["other_cost"] += sum(numbers.get(field, 0.0) for field in LATER)
    row["memory_gib_hours"] /= BYTES_PER_GIB
    row["total_cost"] = sum(row[part] for part in PARTS)
    stated = numbers["totalCost"]
    if abs(row["total_cost"] - stated) > TOLERANCE + abs(stated) * 1e-9:
        raise _wrong(f"the parts of {name!r} add up to {row['total_cost']:.5f}, its total is {stated:.5f}", bill)
    if any(row[hours] < 0 for hours in HOURS.values()):
        raise _wrong(f"the entry {name!r} has negative hours", bill)
    properties = entry.get("properties") or {}
    if cluster := properties.get("cluster"):
        theirs.add(cluster)
    namespace, kind, workload = _names(name, properties)
    return row | {
        "source": "opencost",
        "cluster": bill.cluster,
        "namespace": namespace,
        "workload_kind": kind,
        "workload": workload,
        "day": _day(name, entry, bill),
        "currency": bill.currency,
    }


def _names(name: str, properties: Mapping[str, Any]) -> tuple[str, str, str]:
    """Namespace, kind and controller, from the properties; what is no workload says so at the end of its name."""
    segments = name.split("/")
    for special in (IDLE, UNMOUNTED):
        if special in segments or properties.get("namespace") == special:
            return special, "", ""
    namespace, kind, workload = (
        "" if (word := properties.get(field) or "") == UNALLOCATED else str(word)
        for field in ("namespace", "controllerKind", "controller")
    )
    return namespace or UNALLOCATED, kind.lower() if workload else "", workload


def _number(name: str, field: str, value: object, bill: Bill) -> float:
    """OpenCost writes null for what it could not reckon (NaN, infinity); that is no nought."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise _wrong(f"{field} of {name!r} is {value!r}, no number", bill)


def _wrong(what: str, bill: Bill) -> IntegrityError:
    step = "See what OpenCost's own page shows of that day; what was known stays."
    return IntegrityError(what, where=bill.where, next_step=step)
