"""A small catalogue in API form, like real SKUs, with list prices of 2023 (opencost) and July 2026 (Cyclenerd)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fakes.gcp import sku

AMERICAS = ("us-central1", "us-east1", "us-west1")
LONDON = ("europe-west2",)

Sku = Callable[[str], dict[str, Any] | None]


def pair(name: str, label: str, place: str, core: str, ram: str, regions: tuple[str, ...], **more: Any) -> list[Sku]:
    """The core and RAM SKU of a family in a place."""
    ram_group = more.get("group", "RAM")
    return [
        sku(f"{name}-CORE", f"{label} Core running in {place}", core, regions=regions, **more),
        sku(
            f"{name}-RAM",
            f"{label} Ram running in {place}",
            ram,
            regions=regions,
            unit="GiBy.h",
            **{**more, "group": ram_group},
        ),
    ]


def compute_skus() -> list[Sku]:
    """Predefined machines of several families in London and Iowa, on-demand and spot."""
    spot = {"usage": "Preemptible"}
    return [
        *pair("N2-LON", "N2 Instance", "London", "0.04073", "0.005458", LONDON),
        *pair("N2-LON-SPOT", "Spot Preemptible N2 Instance", "London", "0.00824", "0.001104", LONDON, **spot),
        *pair("N2D-LON", "N2D AMD Instance", "London", "0.035435", "0.004748", LONDON),
        *pair("E2-LON", "E2 Instance", "London", "0.0281037", "0.00376602", LONDON),
        *pair("N1-LON", "N1 Predefined Instance", "London", "0.04073", "0.005458", LONDON, group="N1Standard"),
        *pair("N2-AM", "N2 Instance", "Americas", "0.031611", "0.004237", AMERICAS),
        *pair("A2-AM", "A2 Instance", "Americas", "0.031611", "0.004237", AMERICAS),
        *pair("G2-AM", "G2 Instance", "Americas", "0.024988", "0.002927", AMERICAS),
        *pair("C3-AM", "C3 Instance", "Americas", "0.03465", "0.003938", AMERICAS),
        *pair("M1-AM", "Memory-optimized Instance", "Americas", "0.0348", "0.0051", AMERICAS),
        gpu("A100", "Nvidia Tesla A100 GPU", "2.933908"),
        gpu("A100-80", "Nvidia Tesla A100 80GB GPU", "3.92808"),
        gpu("L4", "Nvidia L4 GPU", "0.560040239"),
        sku("SSD", "SSD backed Local Storage", "0.08", regions=AMERICAS, unit="GiBy.mo", group="LocalSSD"),
        sku("F1", "Micro Instance with burstable CPU running in Americas", "0.0076", regions=AMERICAS, group="F1Micro"),
    ]


def gpu(name: str, label: str, price: str, *, suffix: str = "running in Americas", **more: Any) -> Sku:
    """A GPU SKU in Iowa and its neighbours."""
    return sku(name, f"{label} {suffix}", price, **{"regions": AMERICAS, "group": "GPU", **more})


def trap_skus() -> list[Sku]:
    """SKUs that look like a component and are none."""
    return [
        *pair("SOLE-G2", "Sole Tenancy Premium for G2 Instance", "Americas", "0.0025", "0.0003", AMERICAS),
        *pair("CUSTOM-N2", "N2 Custom Instance", "London", "0.0428", "0.0057", LONDON),
        sku("EXT-N2", "N2 Custom Extended Instance Ram running in London", "0.011", unit="GiBy.h", group="RAM"),
        gpu("A100-RES", "Reserved Nvidia Tesla A100 GPU", "0"),
        gpu(
            "A100-DWS",
            "Nvidia Tesla A100 GPU",
            "1.2",
            suffix="attached to DWS Defined Duration VMs running in Americas",
        ),
        sku("CAL-A2", "A2 Instance Core in Americas in Calendar Mode", "0.02", regions=AMERICAS),
        sku("DWS-A2", "DWS Calendar Mode A2 Instance Core running in Americas", "0.01", regions=AMERICAS),
        sku("N2-CUD", "Commitment v1: N2 Cpu in London for 1 Year", "0.025", usage="Commit1Yr"),
        sku("WIN", "Licensing Fee for Windows Server 2019 Datacenter Edition (CPU cost)", "0.046", group="Google"),
    ]


def network_skus() -> list[Sku]:
    """Traffic from London and Iowa by place name."""
    internet = {"unit": "GiBy", "group": "PremiumInternetEgress", "family": "Network"}
    region = {"unit": "GiBy", "group": "InterregionEgress", "family": "Network"}
    tiers = ((0.0, "0"), (1.0, "0.12"), (1024.0, "0.11"), (10240.0, "0.08"))
    return [
        sku("NET-LON-EMEA", "Network Internet Data Transfer Out from London to EMEA", *tiers, **internet),
        sku("NET-LON-CN", "Network Internet Data Transfer Out from London to China", (0.0, "0.23"), **internet),
        sku(
            "NET-AM-AM",
            "Network Internet Data Transfer Out from Americas to Americas",
            *tiers,
            regions=AMERICAS,
            **internet,
        ),
        sku("REG-LON-FRA", "Network Inter Region Data Transfer Out from London to Frankfurt", "0.02", **region),
        sku("REG-LON-AM", "Network Inter Region Data Transfer Out from London to Americas", "0.05", **region),
        sku(
            "REG-AM-LON",
            "Network Inter Region Data Transfer Out from Americas to London",
            "0.05",
            regions=AMERICAS,
            **region,
        ),
        sku(
            "ZONE",
            "Network Inter Zone Data Transfer Out",
            "0.01",
            regions=(*LONDON, *AMERICAS),
            unit="GiBy",
            group="InterzoneEgress",
            family="Network",
        ),
    ]


def catalogue() -> list[Sku]:
    """All of them."""
    return [*compute_skus(), *trap_skus(), *network_skus()]
