"""Google Cloud: the arrow from the Cloud Billing Catalog to raw SKU rows.

Promises every SKU of the asked services in USD and in GBP, merged by SKU and tier, or an error: never a part of the
catalogue. Beside the SKUs stand the machine shapes and which machine type exists in which region, which the
catalogue does not hold: from the Compute Engine API when a project is set, else from the packaged tables.

Raw frames:

* ``skus``: one row a SKU and tier: sku_id, description, resource_family, resource_group, usage_type,
  service_regions (list), currency, usage_unit, tier_start (in usage_unit), price (exact decimal text per usage_unit;
  null: the SKU has no price), effective_time, gbp_currency, gbp_price, currency_conversion_rate (GBP per USD as
  Google applied it).
* ``shapes``: instance_type, vcpus, memory_gib, gpu_model, gpus, accelerator_model, accelerators, architecture, family,
  generation, local_ssd_gib, shape_source.
* ``offerings``: region, instance_type: the types that a region really has.
* ``regions``: region: the regions that were asked for and can be priced.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field

from exporters.core.errors import MissingExtraError, SettingsError, SourceError
from exporters.core.geography import require_known, select_regions
from exporters.core.http import checked_endpoint
from exporters.core.secrets import read_secret
from exporters.core.words import OperatingSystem
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest, Finding, Skipped, Source
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_connection import Connection

COMPUTE_ENGINE = "6F81-5844-456A"
"""Service id of Compute Engine; its SKUs include the network traffic of its machines (Cloud Billing Catalog API)."""

WINDOWS_REFUSED = "windows: no row rule is written for Google's licence SKUs, so Windows machines are not priced"


class GcpSettings(CloudSettings):
    """What the Google Cloud source can be told."""

    endpoint: str = Field(
        default="https://cloudbilling.googleapis.com", description="Cloud Billing API; http:// only to this machine."
    )
    compute_endpoint: str = Field(
        default="https://compute.googleapis.com",
        description="Compute Engine API, used only with `project`; http:// only to this machine.",
    )
    transport: Literal["rest", "grpc"] = Field(default="rest", description="How the Cloud Billing API is spoken to.")
    api_key_file: Path | None = Field(
        default=None, description="File with an API key; without it: application default credentials."
    )
    project: str | None = Field(
        default=None, description="Project whose view of machine types is read; without it: the packaged tables."
    )
    services: tuple[str, ...] = Field(
        default=(COMPUTE_ENGINE,), min_length=1, description="Service ids whose SKUs are listed."
    )
    page_size: int = Field(default=5000, ge=2, le=5000, description="SKUs a page; pounds are read with one fewer.")
    retry_wait_seconds: float = Field(default=1.0, gt=0, description="First pause before a page is tried again.")


def fetch(settings: GcpSettings, request: FetchRequest) -> Fetched:
    """This will return the whole catalogue with shapes and offerings.

    Raises:
        SettingsError: a region, an endpoint or a secret file is wrong.
        MissingExtraError: google-cloud-billing is not installed.
        TransientSourceError: throttled, timed out or cut off beyond the retries or the deadline.
        TerminalSourceError: the credentials or permissions do not suffice.
        IntegrityError: the catalogue is empty, cut short, unreadable, or differs between the currencies.
    """
    _require_sdk()
    from exporters.fetch import gcp_catalogue, gcp_machines  # noqa: PLC0415 - they need the SDK

    wanted = _regions(settings)
    session = gcp_catalogue.open_session(_connection(settings), Deadline.of(request, source="gcp"))
    skus = gcp_catalogue.fetch_skus(
        session, services=settings.services, page_size=settings.page_size, progress=request.progress
    )
    machines = gcp_machines.read_machines(
        session.deadline,
        endpoint=checked_endpoint(settings.compute_endpoint, setting="sources.gcp.compute_endpoint"),
        project=settings.project,
        first_wait=settings.retry_wait_seconds,
        progress=request.progress,
    )
    priced = [region for region in wanted if region in machines.regions]
    return Fetched(
        source="gcp",
        observed_at=request.now,
        frames={
            "skus": skus.lazy(),
            "shapes": machines.shapes.lazy(),
            "offerings": machines.offerings.filter(pl.col("region").is_in(priced)).lazy(),
            "regions": pl.DataFrame({"region": priced}, schema={"region": pl.String}).lazy(),
        },
        skipped=_skipped(set(wanted) - machines.regions, machines.origin, request.operating_systems),
    )


def _regions(settings: GcpSettings) -> tuple[str, ...]:
    require_known(settings.regions, providers=("gcp",), setting="sources.gcp.regions")
    return select_regions("gcp", names=settings.regions, jurisdictions=settings.jurisdictions)


def check(settings: GcpSettings, request: FetchRequest) -> tuple[Finding, ...]:
    """This will ask for one SKU, and for one machine type if a project is set, and say what was seen."""
    try:
        _require_sdk()
    except MissingExtraError as error:
        return (Finding("sdk", "failed", error.what, error.next_step),)
    try:
        _regions(settings)
    except SettingsError as error:
        return (Finding("regions", "failed", f"{error.where}: {error.what}", error.next_step),)
    from exporters.fetch import gcp_catalogue, gcp_machines  # noqa: PLC0415 - they need the SDK

    findings: list[Finding] = []
    try:
        session = gcp_catalogue.open_session(_connection(settings), Deadline.of(request, source="gcp"))
        findings.append(Finding("credentials", "ok", session.identity))
        seen = gcp_catalogue.first_sku(session, service=settings.services[0])
        findings.append(Finding("cloudbilling.services.skus.list", "ok", f"answered with SKU {seen}"))
    except (SourceError, SettingsError) as error:
        subject = "cloudbilling.services.skus.list" if findings else "credentials"
        return (*findings, Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step))
    findings.append(gcp_machines.check_machines(session.deadline, settings.compute_endpoint, settings.project))
    return tuple(findings)


def _skipped(regions: Collection[str], origin: str, operating_systems: Collection[str]) -> tuple[Skipped, ...]:
    why = f"{origin} lists no machine types there; set sources.gcp.project to read them live"
    refused = [Skipped("", WINDOWS_REFUSED)] if OperatingSystem.WINDOWS in operating_systems else []
    return (*(Skipped(region, why) for region in sorted(regions)), *refused)


def _require_sdk() -> None:
    try:
        found = find_spec("google.cloud.billing_v1") is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise MissingExtraError("gcp", "gcp")


def _connection(settings: GcpSettings) -> Connection:
    key_file = settings.api_key_file
    return Connection(
        endpoint=checked_endpoint(settings.endpoint, setting="sources.gcp.endpoint"),
        transport=settings.transport,
        api_key=read_secret(key_file, setting="sources.gcp.api_key_file") if key_file else None,
        first_wait=settings.retry_wait_seconds,
    )


SOURCE = Source(
    name="gcp",
    settings_model=GcpSettings,
    fetch=fetch,
    check=check,
    extra="gcp",
    packaged=True,
)
