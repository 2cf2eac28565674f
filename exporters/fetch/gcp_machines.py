"""Which machine types exist in which region, and what they consist of: what a GCP price needs beside its SKUs.

Without a project the packaged tables serve: data/gcp_shapes.csv, and data/gcp_offerings.csv, whose rows pair a list of
machine types with the list of regions that all have them. With a project, Compute Engine's machineTypes.aggregatedList
is read whole. Which local SSD a machine includes stands only in the packaged table; a live type that includes some and
is not in it keeps a null local_ssd_gib and is refused later, since its size per partition is not in the API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from google.api_core import exceptions as api_errors
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession

from exporters.core.errors import IntegrityError, SettingsError, SourceError
from exporters.core.geography import gpu_aliases
from exporters.core.http import checked_endpoint
from exporters.core.units import MIB_PER_GIB
from exporters.core.words import Architecture
from exporters.fetch.contract import Finding, Progress
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_session import (
    COMPUTE_SCOPE,
    as_source_errors,
    default_credentials,
    page_retry,
    page_timeout,
)

MACHINES_A_PAGE = 500

SHAPE = {
    "instance_type": pl.String,
    "vcpus": pl.Float64,
    "memory_gib": pl.Float64,
    "gpu_model": pl.String,
    "gpus": pl.Float64,
    "accelerator_model": pl.String,
    "accelerators": pl.Float64,
    "architecture": pl.String,
    "family": pl.String,
    "generation": pl.String,
    "local_ssd_gib": pl.Float64,
}


@dataclass(frozen=True, slots=True)
class Machines:
    """Shapes (frame ``shapes``) and offerings (frame ``offerings``) with where they come from, for messages."""

    shapes: pl.DataFrame
    offerings: pl.DataFrame
    origin: str

    @property
    def regions(self) -> frozenset[str]:
        """The regions that have any machine type."""
        return frozenset(self.offerings["region"].unique())


def read_machines(
    deadline: Deadline, *, endpoint: str, project: str | None, first_wait: float, progress: Progress
) -> Machines:
    """This will return the machine types that the project sees, or the packaged ones if there is no project."""
    if project is None:
        return packaged_machines()
    return fetch_machines(deadline, endpoint=endpoint, project=project, first_wait=first_wait, progress=progress)


def packaged_machines() -> Machines:
    """This will return the packaged shapes and offerings."""
    return Machines(
        shapes=packaged_shapes().with_columns(shape_source=pl.lit("packaged")),
        offerings=packaged_offerings(),
        origin="the packaged table",
    )


@cache
def packaged_shapes() -> pl.DataFrame:
    """This will return data/gcp_shapes.csv; empty cells are no GPU, no accelerator, no local SSD."""
    with files("exporters.fetch").joinpath("data", "gcp_shapes.csv").open("rb") as table:
        shapes = pl.read_csv(table, infer_schema=False)
    texts = ("gpu_model", "accelerator_model")
    numbers = ("vcpus", "memory_gib", "gpus", "accelerators", "local_ssd_gib")
    return shapes.with_columns(
        *(pl.col(name).fill_null("") for name in texts),
        *(pl.col(name).cast(pl.Float64).fill_null(0.0) for name in numbers),
    ).select(*SHAPE)


@cache
def packaged_offerings() -> pl.DataFrame:
    """This will return data/gcp_offerings.csv as one row a region and machine type."""
    with files("exporters.fetch").joinpath("data", "gcp_offerings.csv").open("rb") as table:
        groups = pl.read_csv(table, infer_schema=False)
    return (
        groups.select(pl.col("regions", "instance_types").str.split("|"))
        .explode("regions")
        .explode("instance_types")
        .rename({"regions": "region", "instance_types": "instance_type"})
    )


def fetch_machines(
    deadline: Deadline, *, endpoint: str, project: str, first_wait: float, progress: Progress
) -> Machines:
    """This will return what the project sees in Compute Engine, every zone and page of it.

    Raises:
        SourceError: a page did not arrive.
        IntegrityError: the list is empty or leaves zones out.
    """
    session = _authorised(endpoint)
    rows: list[dict[str, Any]] = []
    token, pages = "", 0
    while True:
        page = _page(session, deadline, endpoint=endpoint, project=project, token=token, first_wait=first_wait)
        try:
            rows.extend(_machine_rows(page.get("items", {})))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _not_whole(f"a machine type cannot be read ({error!r})", endpoint) from error
        pages += 1
        progress("gcp machine types", done=pages, total=None)
        token = page.get("nextPageToken", "")
        if not token:
            break
    if not rows:
        raise _not_whole("it names no machine type", endpoint)
    return live_machines(rows)


def check_machines(deadline: Deadline, endpoint: str, project: str | None) -> Finding:
    """This will ask for one page of machine types if a project is set."""
    subject = "compute.machineTypes.list"
    if project is None:
        return Finding(
            subject,
            "warning",
            "no project is set: shapes and availability come from the packaged tables",
            "Set sources.gcp.project to read them live.",
        )
    try:
        checked = checked_endpoint(endpoint, setting="sources.gcp.compute_endpoint")
        _page(_authorised(checked), deadline, endpoint=checked, project=project, token="", first_wait=1.0, size=1)
    except (SourceError, SettingsError, IntegrityError) as error:
        return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)
    return Finding(subject, "ok", f"answered for project {project}")


def live_machines(rows: Iterable[Mapping[str, Any]]) -> Machines:
    """This will turn machine types by zone into shapes and offerings.

    A type that has different shapes in different zones is left out of the shapes, and so is refused later.
    """
    seen = pl.DataFrame(list(rows), schema={"region": pl.String, "bundles_local_ssd": pl.Boolean, **LIVE}, orient="row")
    models = gpu_aliases().select(gpu_type="alias", gpu_model="gpu_model")
    known = packaged_shapes().select("instance_type", "local_ssd_gib", "generation")
    family = pl.col("instance_type").str.extract(r"^([^-]+)", 1)
    distinct = seen.drop("region").unique(maintain_order=True).filter(pl.len().over("instance_type") == 1)
    shapes = (
        distinct.join(models, on="gpu_type", how="left")
        .join(known, on="instance_type", how="left")
        .with_columns(
            gpu_model=pl.when(pl.col("gpus") > 0).then(pl.coalesce("gpu_model", "gpu_type")).otherwise(pl.lit("")),
            accelerator_model=pl.lit(""),
            accelerators=pl.lit(0.0),
            family=family,
            generation=pl.coalesce("generation", family),
            local_ssd_gib=pl.when("bundles_local_ssd").then("local_ssd_gib").otherwise(0.0),
            shape_source=pl.lit("api"),
        )
        .select(*SHAPE, "shape_source")
    )
    return Machines(
        shapes=shapes, offerings=seen.select("region", "instance_type").unique(maintain_order=True), origin="the API"
    )


LIVE = {
    "instance_type": pl.String,
    "vcpus": pl.Float64,
    "memory_gib": pl.Float64,
    "gpu_type": pl.String,
    "gpus": pl.Float64,
    "architecture": pl.String,
}


def _machine_rows(items: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for scope, held in items.items():
        region = scope.removeprefix("zones/").rpartition("-")[0]
        for machine in held.get("machineTypes", ()):
            gpus = machine.get("accelerators", ())
            arm = machine.get("architecture") == "ARM64"
            yield {
                "region": region,
                "instance_type": machine["name"],
                "vcpus": float(machine["guestCpus"]),
                "memory_gib": machine["memoryMb"] / MIB_PER_GIB,
                "gpu_type": "+".join(gpu["guestAcceleratorType"] for gpu in gpus),
                "gpus": float(sum(gpu["guestAcceleratorCount"] for gpu in gpus)),
                "architecture": (Architecture.ARM64 if arm else Architecture.AMD64).value,
                "bundles_local_ssd": "bundledLocalSsds" in machine or "lssd" in machine["name"],
            }


def _authorised(endpoint: str) -> AuthorizedSession:
    """A session with the default credentials; with none at all for http:// to this machine."""
    plain = endpoint.startswith("http://")
    credentials = AnonymousCredentials() if plain else default_credentials(COMPUTE_SCOPE)  # type: ignore[no-untyped-call]
    return AuthorizedSession(credentials)  # type: ignore[no-untyped-call]


def _page(
    session: AuthorizedSession,
    deadline: Deadline,
    *,
    endpoint: str,
    project: str,
    token: str,
    first_wait: float,
    size: int = 0,
) -> Mapping[str, Any]:
    where = f"{endpoint} machineTypes of project {project}"
    params = {"maxResults": str(size or MACHINES_A_PAGE), "returnPartialSuccess": "false"}
    if token:
        params["pageToken"] = token

    def ask() -> Mapping[str, Any]:
        response = session.get(
            f"{endpoint}/compute/v1/projects/{project}/aggregated/machineTypes",
            params=params,
            timeout=page_timeout(deadline, where=where),
        )
        if response.status_code != 200:
            raise api_errors.from_http_response(response)  # type: ignore[no-untyped-call]
        page = response.json()
        if not isinstance(page, dict):
            raise _not_whole("the answer is JSON but no list of machine types", where)
        return page

    with as_source_errors(where):
        page = page_retry(deadline, first_wait=first_wait, where=where)(ask)()
    if page.get("unreachables"):
        raise _not_whole(f"zones did not answer: {', '.join(page['unreachables'][:5])}", where)
    return page


def _not_whole(what: str, where: str) -> IntegrityError:
    return IntegrityError(
        f"the list of machine types is not whole: {what}",
        where=where,
        next_step="It will be read again at the next refresh; the last good prices stay.",
    )
