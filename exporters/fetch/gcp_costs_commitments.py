"""Google Cloud's resource-based commitments: vCPUs, GiB and GPUs that are paid for in a region, used or not.

Those that hold now or will hold are stated; expired and cancelled ones are not. Licences and local SSDs have no unit
that machines are counted in and are reported as skipped. What a commitment costs is not in this API: unknown.
Source: Compute Engine API, regionCommitments.aggregatedList; memory is in MB of 1,024 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import dataframely as dy
import polars as pl

from exporters.core.clock import parse_utc
from exporters.core.geography import gpu_aliases
from exporters.core.standing_frames import Commitment, CommitmentKind, CommitmentUnit
from exporters.core.units import MIB_PER_GIB
from exporters.fetch.contract import Skipped
from exporters.fetch.gcp_costs_rest import Rest, unlike

PAGE_SIZE: Final = "500"
HOLDS: Final = frozenset({"ACTIVE", "NOT_YET_ACTIVE", "CREATING"})
UNITS: Final = {"VCPU": CommitmentUnit.VCPU, "MEMORY": CommitmentUnit.GIB, "ACCELERATOR": CommitmentUnit.GPU}
OF_PURPOSE: Final = {
    "GENERAL_PURPOSE": "n1",
    "COMPUTE_OPTIMIZED": "c2",
    "MEMORY_OPTIMIZED": "m1",
    "ACCELERATOR_OPTIMIZED": "a2",
    "GRAPHICS_OPTIMIZED": "g2",
}
"""Types that name no series stand for the first one of their purpose."""

_SERIES: Final = re.compile(r"^[A-Z]\d+[A-Z]*$")


def commitments(rest: Rest, projects: Iterable[str], now: datetime, skipped: list[Skipped]) -> dy.DataFrame[Commitment]:
    """This will return the commitments of projects that hold at a moment or later.

    Raises:
        SourceError: a page did not arrive.
        IntegrityError: a region did not answer, or a commitment cannot be read.
    """
    rows: list[dict[str, Any]] = []
    for project in projects:
        where = f"{rest.endpoint} commitments of project {project}"
        path = f"compute/v1/projects/{project}/aggregated/commitments"
        for page in rest.pages(path, {"maxResults": PAGE_SIZE, "returnPartialSuccess": "false"}):
            if page.get("unreachables"):
                raise unlike(f"regions did not answer: {', '.join(page['unreachables'][:5])}", where)
            try:
                for scope, held in page.get("items", {}).items():
                    for one in held.get("commitments", ()):
                        rows.extend(_rows(project, scope.removeprefix("regions/"), one, now, skipped))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise unlike(f"a commitment cannot be read ({error!r})", where) from error
    schema = {name: column.dtype for name, column in Commitment.columns().items()}
    return Commitment.validate(pl.DataFrame(rows, schema=schema, orient="row"))


def _rows(
    project: str, region: str, one: Mapping[str, Any], now: datetime, skipped: list[Skipped]
) -> list[dict[str, Any]]:
    ends_at = parse_utc(one["endTimestamp"])
    if one["status"] not in HOLDS or ends_at <= now:
        return []
    if one.get("category") == "LICENSE":
        skipped.append(Skipped(region, f"commitment {one['name']} is to licences, which are no capacity"))
        return []
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for resource in one.get("resources", ()):
        unit = UNITS.get(resource["type"])
        if unit is None:
            skipped.append(Skipped(region, f"commitment {one['name']} has {resource['type']}, which is not counted"))
            continue
        gpu = _gpu_model(resource["acceleratorType"]) if unit is CommitmentUnit.GPU else ""
        amount = int(resource["amount"]) / (MIB_PER_GIB if unit is CommitmentUnit.GIB else 1)
        # Two models of GPUs in one commitment would share its key.
        identity = f"projects/{project}/regions/{region}/commitments/{one['name']}"
        taken = any(key[0] == unit.value and key[1] != gpu for key in rows)
        row = rows.setdefault(
            (unit.value, gpu),
            {
                "source": "gcp",
                "provider": "gcp",
                "account": project,
                "commitment_id": f"{identity} ({gpu})" if taken else identity,
                "unit": unit.value,
                "kind": CommitmentKind.CUD.value,
                "plan_type": one["plan"],
                "region": region,
                "instance_family": family_of_type(one["type"]),
                "instance_type": "",
                "gpu_model": gpu,
                "quantity": 0.0,
                "currency": "USD",
                "cost_per_hour": None,
                "starts_at": parse_utc(one["startTimestamp"]),
                "ends_at": ends_at,
                "renews": bool(one.get("autoRenew", False)),
            },
        )
        row["quantity"] += amount
    return list(rows.values())


def family_of_type(kind: str) -> str:
    """This will return the machine family of a commitment type: n2 of GENERAL_PURPOSE_N2; empty: it names none."""
    series = next((word for word in kind.split("_") if _SERIES.match(word)), "")
    return series.lower() or OF_PURPOSE.get(kind, "")


def _gpu_model(accelerator: str) -> str:
    name = accelerator.rsplit("/", 1)[-1]
    known = gpu_aliases().filter(pl.col("alias") == name)
    return str(known["gpu_model"][0]) if known.height else name
