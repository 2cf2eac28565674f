"""Azure, first arrow: retail prices of the wanted regions in dollars and pounds, bandwidth meters, machine shapes.

Promises every page of every list or an exception. Prices need no account; shapes come from the subscription where
one is named (extra `azure`), else from the packaged table, and each says which.

Raw frames, all columns String unless said otherwise:

* ``vm_usd``, ``vm_gbp``: Retail Prices rows of service Virtual Machines (azure_retail.COLUMNS and `asked`, the region);
* ``bandwidth``: rows of service Bandwidth in dollars; `asked` is the region, a zone's meter, or ``between-continents``;
* ``shapes``: region (empty: any), instance_type, vcpus, memory_gib, gpu_model (null: not known), gpus,
  accelerator_model, accelerators, architecture, family, generation, shape_source (numbers are Float64);
* ``egress_overrides``: the table of the settings (price_per_gib Decimal).
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import polars as pl
from pydantic import Field

from exporters.core.config_file import Section
from exporters.core.errors import MissingExtraError, SettingsError, TuppenceError
from exporters.core.geography import select_regions
from exporters.core.http import checked_endpoint, client
from exporters.core.money import NATIVE
from exporters.fetch.azure_bandwidth import bandwidth_queries
from exporters.fetch.azure_currencies import require_same_meters
from exporters.fetch.azure_packaged import packaged_shapes
from exporters.fetch.azure_retail import Query, Retail, read_list
from exporters.fetch.contract import CloudSettings, Fetched, FetchRequest, Finding, Source
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from exporters.fetch.azure_skus import Management

READERS = 4
"""Lists read at the same time; the API throttles at about twenty."""

_SERVICE = "serviceName eq 'Virtual Machines'"


class EgressOverride(Section):
    """A data transfer price that stands in place of the list's, with the reason that is published beside it."""

    destination: Literal["internet", "region", "zone"] = Field(description="Where the bytes go.")
    from_region: str = Field(default="", description="Region code; empty: every region.")
    to_region: str = Field(default="", description="Region code; empty: any.")
    price_per_gib: Decimal = Field(ge=0, description="US dollars per GiB.")
    note: str = Field(min_length=1, description="Why; published with the price.")


FREE_BETWEEN_ZONES = EgressOverride(
    destination="zone",
    price_per_gib=Decimal(0),
    note="Microsoft announced that transfer between availability zones is not charged (Azure documentation, June 2024 "
    "and February 2025); the price list still shows a price",
)


class AzureSettings(CloudSettings):
    """Settings of the Azure source."""

    deadline_seconds: int = Field(
        default=1800, ge=10, description="The longest one refresh may take; twenty regions are some 1,300 requests."
    )
    retail_endpoint: str = Field(default="https://prices.azure.com", description="Base URL of the Retail Prices API.")
    management_endpoint: str = Field(
        default="https://management.azure.com", description="Base URL of Azure Resource Manager."
    )
    subscription_id: str | None = Field(
        default=None, description="Subscription whose list of sizes gives the shapes; none: the packaged table."
    )
    ca_file: str | None = Field(default=None, description="CA bundle for both endpoints, as behind a TLS proxy.")
    throttle_wait_seconds: float = Field(
        default=4.0, gt=0, description="First pause after a throttle that names no time; later ones double."
    )
    egress_overrides: tuple[EgressOverride, ...] = Field(
        default=(FREE_BETWEEN_ZONES,), description="Data transfer prices that stand in place of the list's."
    )


def fetch(settings: AzureSettings, request: FetchRequest) -> Fetched:
    """This will return every raw row of the wanted regions.

    Raises:
        SettingsError: no region, or an endpoint that is not https.
        SourceError, IntegrityError: anything less than everything.
    """
    names = _regions(settings)
    queries = [*_machine_queries(names, request.capacity_types), *bandwidth_queries(names)]
    deadline = Deadline.of(request, source="azure")
    lists = _read_all(settings, request, queries, deadline)
    for usd, gbp in zip(lists["vm_usd"], lists["vm_gbp"], strict=True):
        require_same_meters(usd, gbp, where=f"azure region {usd['asked'][0]}")
    shapes = _shapes(settings, names, deadline)
    request.progress("azure", done=len(queries) + 1, total=len(queries) + 1)
    return Fetched(
        source="azure",
        observed_at=request.now,
        frames={
            **{name: pl.concat(lists[name]).lazy() for name in ("vm_usd", "vm_gbp", "bandwidth")},
            "shapes": shapes.lazy(),
            "egress_overrides": _overrides(settings).lazy(),
        },
    )


def _regions(settings: AzureSettings) -> tuple[str, ...]:
    names = select_regions("azure", names=settings.regions, jurisdictions=settings.jurisdictions)
    if not names or any("'" in name for name in names):
        raise SettingsError(
            "no region of Azure is chosen" if not names else "a region's name holds a quotation mark",
            where="sources.azure.regions",
            next_step="Name regions such as uksouth, or jurisdictions such as GB.",
        )
    return names


def _machine_queries(names: Sequence[str], capacity_types: Sequence[str]) -> list[Query]:
    committed = any(word.startswith("committed-") for word in capacity_types)
    kinds = ("Consumption", "Reservation") if committed else ("Consumption",)
    return [
        Query(frame, name, currency, f"{_SERVICE} and armRegionName eq '{name}' and priceType eq '{kind}'")
        for name in names
        for kind in kinds
        for frame, currency in (("vm_usd", "USD"), ("vm_gbp", "GBP"))
    ]


def _read_all(
    settings: AzureSettings, request: FetchRequest, queries: Sequence[Query], deadline: Deadline
) -> dict[str, list[pl.DataFrame]]:
    """Every list, four at a time, in the order of the queries; the first failure ends the refresh."""
    timeout = min(60.0, deadline.remaining("sources.azure"))
    session = client(verify=trusted_ca_file(settings) or True, timeout_seconds=timeout)
    with session, ThreadPoolExecutor(READERS) as pool:
        retail = Retail(
            session=session,
            endpoint=checked_endpoint(settings.retail_endpoint, setting="sources.azure.retail_endpoint"),
            deadline=deadline,
            throttle_wait_seconds=settings.throttle_wait_seconds,
        )
        futures = [pool.submit(read_list, retail, query) for query in queries]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                request.progress("azure", done=done, total=len(queries) + 1)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    lists: dict[str, list[pl.DataFrame]] = {}
    for query, future in zip(queries, futures, strict=True):
        lists.setdefault(query.frame, []).append(future.result())
    return lists


def _shapes(settings: AzureSettings, names: Sequence[str], deadline: Deadline) -> pl.DataFrame:
    if settings.subscription_id is None:
        return packaged_shapes()
    try:
        from exporters.fetch import azure_skus  # noqa: PLC0415 - the SDK is an extra
    except ImportError as error:
        raise MissingExtraError("azure", "azure") from error
    return azure_skus.fetch_shapes(_management(settings, deadline), names)


def _management(settings: AzureSettings, deadline: Deadline) -> Management:
    from exporters.fetch.azure_skus import Management  # noqa: PLC0415 - the SDK is an extra

    assert settings.subscription_id is not None
    return Management(
        subscription_id=settings.subscription_id,
        endpoint=tls_endpoint(settings.management_endpoint, setting="sources.azure.management_endpoint"),
        ca_file=trusted_ca_file(settings),
        deadline=deadline,
    )


def tls_endpoint(url: str, *, setting: str) -> str:
    """This will return a checked endpoint that is also HTTPS: no token goes in the clear, not even to this machine.

    Raises:
        SettingsError: it is not.
    """
    endpoint = checked_endpoint(url, setting=setting)
    if not endpoint.startswith("https://"):
        raise SettingsError("a token cannot go over plain http", where=setting, next_step="Use an https:// address.")
    return endpoint


def trusted_ca_file(settings: AzureSettings) -> str | None:
    """This will return the CA bundle if one is named.

    Raises:
        SettingsError: it holds no certificates.
    """
    if settings.ca_file is not None:
        try:
            ssl.create_default_context(cafile=settings.ca_file)
        except OSError as error:
            raise SettingsError(
                f"the CA bundle {settings.ca_file} cannot be used ({error.strerror or error})",
                where="sources.azure.ca_file",
                next_step="Name a readable file of PEM certificates.",
            ) from error
    return settings.ca_file


def _overrides(settings: AzureSettings) -> pl.DataFrame:
    rows = [override.model_dump() for override in settings.egress_overrides]
    words = dict.fromkeys(("destination", "from_region", "to_region", "note"), pl.String())
    schema: dict[str, pl.DataType] = {**words, "price_per_gib": NATIVE}
    return pl.DataFrame(rows, schema=schema)


def check(settings: AzureSettings, request: FetchRequest) -> tuple[Finding, ...]:
    """This will look whether prices can be read, and whether the subscription's sizes can."""
    try:
        name = _regions(settings)[0]
    except SettingsError as error:
        return (Finding("regions", "failed", error.what, error.next_step),)
    deadline = Deadline.of(request, source="azure")
    return _check_prices(settings, request, name, deadline), _check_shapes(settings, name, deadline)


def _check_prices(settings: AzureSettings, request: FetchRequest, name: str, deadline: Deadline) -> Finding:
    subject = f"retail prices of {name}"
    condition = (
        f"{_SERVICE} and armRegionName eq '{name}' and priceType eq 'Consumption' and armSkuName eq 'Standard_D4s_v5'"
    )
    try:
        query = Query("vm_usd", name, "USD", condition, one_region=False)
        rows = _read_all(settings, request, [query], deadline)["vm_usd"][0]
    except TuppenceError as error:
        return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)
    if rows.is_empty():
        return Finding(
            subject, "warning", "no price of Standard_D4s_v5", "Check the region's name in sources.azure.regions."
        )
    return Finding(subject, "ok", f"{rows.height} prices of Standard_D4s_v5 at {settings.retail_endpoint}")


def _check_shapes(settings: AzureSettings, name: str, deadline: Deadline) -> Finding:
    subject = "machine sizes (Microsoft.Compute/skus/read)"
    if settings.subscription_id is None:
        return Finding(
            subject,
            "warning",
            "no subscription is named, so shapes come from the packaged table",
            "Set sources.azure.subscription_id for the sizes of your own subscription.",
        )
    try:
        management = _management(settings, deadline)
        from exporters.fetch.azure_skus import probe  # noqa: PLC0415 - the SDK is an extra

        probe(management, name)
    except ImportError:
        missing = MissingExtraError("azure", "azure")
        return Finding(subject, "failed", missing.what, missing.next_step)
    except TuppenceError as error:
        return Finding(subject, "failed", f"{error.where}: {error.what}", error.next_step)
    return Finding(subject, "ok", f"subscription {settings.subscription_id} shows the sizes of {name}")


SOURCE = Source(
    name="azure",
    settings_model=AzureSettings,
    fetch=fetch,
    check=check,
    packaged=True,
)
