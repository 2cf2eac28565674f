"""Price-list items, machine types and spot prices in the form the AWS APIs give them, for the fake and the row rule."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

_HEADER_LINE = (
    "SKU,OfferTermCode,RateCode,TermType,PriceDescription,EffectiveDate,StartingRange,EndingRange,Unit,"
    "PricePerUnit,Currency,RelatedTo,LeaseContractLength,PurchaseOption,OfferingClass,Product Family,"
    "serviceCode,Location,Location Type,Instance Type,Current Generation,Instance Family,vCPU,"
    "Physical Processor,Clock Speed,Memory,Storage,Network Performance,Processor Architecture,Storage Media,"
    "Volume Type,Max Volume Size,Max IOPS/volume,Max IOPS Burst Performance,Max throughput/volume,Provisioned,"
    "Tenancy,EBS Optimized,Operating System,License Model,Group,Group Description,Transfer Type,From Location,"
    "From Location Type,To Location,To Location Type,usageType,operation,AvailabilityZone,CapacityStatus,"
    "ClassicNetworkingSupport,Dedicated EBS Throughput,ECU,Elastic Graphics Type,"
    "Enhanced Networking Supported,From Region Code,GPU,GPU Memory,Instance,Instance Capacity - 10xlarge,"
    "Instance Capacity - 12xlarge,Instance Capacity - 16xlarge,Instance Capacity - 18xlarge,"
    "Instance Capacity - 24xlarge,Instance Capacity - 2xlarge,Instance Capacity - 32xlarge,"
    "Instance Capacity - 4xlarge,Instance Capacity - 8xlarge,Instance Capacity - 9xlarge,"
    "Instance Capacity - large,Instance Capacity - medium,Instance Capacity - metal,"
    "Instance Capacity - xlarge,instanceSKU,Intel AVX2 Available,Intel AVX Available,Intel Turbo Available,"
    "MarketOption,Normalization Size Factor,Physical Cores,Pre Installed S/W,Processor Features,Product Type,"
    "Region Code,Resource Type,serviceName,SnapshotArchiveFeeType,To Region Code,Volume API Name,"
    "VPCNetworkingSupport"
)
OFFER_HEADER = tuple(next(csv.reader([_HEADER_LINE])))
"""The 91 columns of an AmazonEC2 offer file of September 2025."""

CSV_NAMES = {
    "Location Type": "locationType",
    "Instance Type": "instanceType",
    "Instance Family": "instanceFamily",
    "vCPU": "vcpu",
    "Physical Processor": "physicalProcessor",
    "Memory": "memory",
    "GPU": "gpu",
    "Tenancy": "tenancy",
    "Operating System": "operatingSystem",
    "License Model": "licenseModel",
    "Pre Installed S/W": "preInstalledSw",
    "CapacityStatus": "capacitystatus",
    "MarketOption": "marketoption",
    "operation": "operation",
    "usageType": "usagetype",
    "Region Code": "regionCode",
    "Transfer Type": "transferType",
    "From Location Type": "fromLocationType",
    "From Region Code": "fromRegionCode",
    "To Location": "toLocation",
    "To Location Type": "toLocationType",
    "To Region Code": "toRegionCode",
}
"""Offer-file header → attribute of GetProducts."""


def machine(
    instance_type: str,
    region: str,
    price: str | None,
    *,
    sku: str | None = None,
    family: str = "Compute Instance",
    currency: str = "USD",
    unit: str = "Hrs",
    effective: str = "2026-07-01T00:00:00Z",
    earlier: Mapping[str, str] | None = None,
    reserved: Sequence[tuple[str, str, str, str]] = (),
    **attributes: str,
) -> Json:
    """One AmazonEC2 product, Linux on-demand unless changed.

    `earlier` holds further OnDemand terms by effective date; `reserved` lease, class, purchase option and hourly price.
    """
    name = sku or f"{region}.{instance_type}".upper().replace("-", "").replace(".", "")
    facts = {
        "regionCode": region,
        "locationType": "AWS Region",
        "instanceType": instance_type,
        "instanceFamily": "General purpose",
        "physicalProcessor": "Intel Xeon Platinum 8175",
        "vcpu": "2",
        "memory": "8 GiB",
        "tenancy": "Shared",
        "operatingSystem": "Linux",
        "licenseModel": "No License required",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
        "usagetype": f"BoxUsage:{instance_type}",
    }
    terms = {effective: price, **(earlier or {})}
    on_demand = {
        f"{name}.T{n}": {
            "effectiveDate": date,
            "termAttributes": {},
            "priceDimensions": {f"{name}.T{n}.D": _dimension(amount, currency, unit)},
        }
        for n, (date, amount) in enumerate(terms.items())
    }
    leases = {
        f"{name}.R{n}": {
            "effectiveDate": effective,
            "termAttributes": {"LeaseContractLength": lease, "OfferingClass": offering, "PurchaseOption": option},
            "priceDimensions": {f"{name}.R{n}.D": _dimension(amount, currency, unit)},
        }
        for n, (lease, offering, option, amount) in enumerate(reserved)
    }
    return {
        "product": {"sku": name, "productFamily": family, "attributes": facts | attributes},
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": on_demand} | ({"Reserved": leases} if leases else {}),
        "version": "20260720000000",
    }


def transfer(
    kind: str,
    usage: str,
    start: str,
    tiers: Sequence[tuple[str, str, str]],
    *,
    to: str = "",
    sku: str | None = None,
    unit: str = "GB",
    currency: str = "USD",
    **attributes: str,
) -> Json:
    """One AWSDataTransfer product; tiers are begin, end, price."""
    name = sku or f"{usage}.{kind}".upper().replace("-", "").replace(" ", "")
    dimensions = {
        f"{name}.T.D{n}": _dimension(price, currency, unit) | {"beginRange": begin, "endRange": end}
        for n, (begin, end, price) in enumerate(tiers)
    }
    facts = {
        "transferType": kind,
        "fromRegionCode": start,
        "fromLocationType": "AWS Region",
        "toRegionCode": to,
        "toLocationType": "AWS Region" if to else "Other",
        "usagetype": usage,
        "operation": "",
    }
    return {
        "product": {"sku": name, "productFamily": "Data Transfer", "attributes": facts | attributes},
        "serviceCode": "AWSDataTransfer",
        "terms": {"OnDemand": {f"{name}.T": {"effectiveDate": "2026-07-01T00:00:00Z", "priceDimensions": dimensions}}},
    }


def _dimension(price: str | None, currency: str, unit: str) -> Json:
    amounts = {} if price is None else {currency: price}
    return {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": amounts}


def offer_file(items: Iterable[Json], *, header: Sequence[str] = OFFER_HEADER) -> bytes:
    """The same items as an offer file; dates lose their time, as there."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    writer.writerows(
        [["FormatVersion", "v1.0"], ["Disclaimer", 'prices, in a "test"'], ["Publication Date", "2026-07-20T00:00:00Z"]]
    )
    writer.writerows([["Version", "20260720000000"], ["OfferCode", "AmazonEC2"], header])
    for item in items:
        product = item["product"]
        attributes = product["attributes"]
        base = {name: attributes.get(attribute, "") for name, attribute in CSV_NAMES.items()}
        base |= {"SKU": product["sku"], "Product Family": product["productFamily"]}
        for term_type, terms in item["terms"].items():
            for term in terms.values():
                for price in term["priceDimensions"].values():
                    row = base | _price_cells(term_type, term, price)
                    writer.writerow([row.get(name, "") for name in header])
    return text.getvalue().encode()


def _price_cells(term_type: str, term: Json, price: Json) -> dict[str, str]:
    lease = term.get("termAttributes", {})
    currency, amount = next(iter(price["pricePerUnit"].items()), ("", ""))
    return {
        "TermType": term_type,
        "EffectiveDate": term["effectiveDate"][:10],
        "StartingRange": price["beginRange"],
        "EndingRange": price["endRange"],
        "Unit": price["unit"],
        "PricePerUnit": amount,
        "Currency": currency,
        **{name: lease.get(name, "") for name in ("LeaseContractLength", "OfferingClass", "PurchaseOption")},
    }


def instance_type(name: str, *, vcpus: int = 2, mib: int = 8192, architecture: str = "x86_64", **more: Any) -> Json:
    """One InstanceTypeInfo."""
    return {
        "InstanceType": name,
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "MemoryInfo": {"SizeInMiB": mib},
        "ProcessorInfo": {"SupportedArchitectures": [architecture]},
        **more,
    }


def gpu(name: str, mib: int, count: int, *, partition: float = 1.0, logical: int | None = None) -> Json:
    """A GpuInfo of one device."""
    one = {"Name": name, "Manufacturer": "NVIDIA", "Count": count, "MemoryInfo": {"SizeInMiB": mib}}
    return {"Gpus": [one | {"GpuPartitionSize": partition, "LogicalGpuCount": count if logical is None else logical}]}


def spot_price(
    zone: str,
    zone_id: str,
    name: str,
    price: str,
    at: str = "2026-07-20T10:00:00.000Z",
    product: str = "Linux/UNIX",
) -> Json:
    """One SpotPrice."""
    return {
        "AvailabilityZone": zone,
        "AvailabilityZoneId": zone_id,
        "InstanceType": name,
        "ProductDescription": product,
        "SpotPrice": price,
        "Timestamp": at,
    }
