"""Azure, the shapes: vCPUs, memory, GPUs and architecture of every size that a subscription is shown in a region.

Promises one row a size and region, every page or an error; tokens go only to the configured management endpoint.
Needs the extra `azure`; nothing else imports the Azure SDK for prices.

Source: Resource SKUs (Microsoft.Compute/skus, 2021-07-01) through azure-mgmt-compute's `resource_skus.list`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import polars as pl
from azure.identity import DefaultAzureCredential
from azure.mgmt.compute import ComputeManagementClient

from exporters.core.errors import IntegrityError
from exporters.fetch.azure_session import OnlyToEndpoint, Sdk, as_source_errors
from exporters.fetch.azure_sizes import SHAPE_COLUMNS, devices_of, read_name
from exporters.fetch.deadline import Deadline

RETRIES = 5
_ARCHITECTURES = {"x64": "amd64", "arm64": "arm64"}


@dataclass(frozen=True, slots=True)
class Management:
    """The subscription's side of one refresh.

    Args:
        subscription_id: whose list of sizes is read.
        endpoint: checked base URL of Azure Resource Manager.
        ca_file: a CA bundle for that endpoint; None: the system's.
        deadline: the time left to read everything.
    """

    subscription_id: str
    endpoint: str
    ca_file: str | None
    deadline: Deadline


def fetch_shapes(management: Management, regions: Sequence[str]) -> pl.DataFrame:
    """This will return one row a size and region with the columns of SHAPE_COLUMNS; gpu_model null: not known.

    Raises:
        TerminalSourceError: no credentials, no right to read the subscription, or not an answer of that API.
        TransientSourceError: throttled, cut off, or past the deadline.
        IntegrityError: a region without sizes, or pages that lead elsewhere.
    """
    rows: list[dict[str, object]] = []
    with _client(management) as client:
        for region in regions:
            sizes = [row for sku in _skus(client, management, region) if (row := _shape(sku, region)) is not None]
            if not sizes:
                raise IntegrityError(
                    "the subscription is shown no machine size",
                    where=f"azure region {region}",
                    next_step="Check the region's name, and that the subscription may use it.",
                )
            rows += sizes
    frame = pl.DataFrame(rows, schema=SHAPE_COLUMNS)
    return frame.unique(["region", "instance_type"], maintain_order=True)


def probe(management: Management, region: str) -> None:
    """This will read the first size of a region, to see that credentials, rights and network are there.

    Raises:
        SourceError: as fetch_shapes.
    """
    with _client(management) as client:
        next(_skus(client, management, region), None)


@contextmanager
def _client(management: Management) -> Iterator[Sdk]:
    client = ComputeManagementClient(
        DefaultAzureCredential(),
        management.subscription_id,
        base_url=management.endpoint,
        retry_total=RETRIES,
        per_call_policies=[OnlyToEndpoint(management.endpoint)],
        connection_verify=management.ca_file or True,
    )
    with client:
        yield client


def _skus(client: Sdk, management: Management, region: str) -> Iterator[Sdk]:
    left = management.deadline.remaining(management.endpoint)
    right = f"the role Reader on subscription {management.subscription_id}"
    with as_source_errors(management.endpoint, what="the list of sizes", right=right):
        yield from client.resource_skus.list(filter=f"location eq '{region}'", timeout=left)


def _shape(sku: Sdk, region: str) -> dict[str, object] | None:
    """A size as a row; None for other resources and for a size whose vCPUs or memory are not told."""
    if sku.resource_type != "virtualMachines" or not (sku.name or "").startswith("Standard_"):
        return None
    if region not in {(location or "").casefold() for location in sku.locations or ()}:
        return None
    told = {item.name: item.value for item in sku.capabilities or ()}
    vcpus, memory = _number(told.get("vCPUs")), _number(told.get("MemoryGB"))
    if not vcpus or not memory:
        return None
    name = read_name(sku.name)
    devices = devices_of(sku.name, vcpus=vcpus, reported=_number(told.get("GPUs")))
    return {
        "region": region,
        "instance_type": sku.name.strip(),
        "vcpus": _number(told.get("vCPUsAvailable")) or vcpus,
        "memory_gib": memory,
        **asdict(devices),
        "architecture": _ARCHITECTURES.get((told.get("CpuArchitectureType") or "").lower(), name.architecture),
        "family": name.family,
        "generation": name.generation,
        "shape_source": "api",
    }


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
