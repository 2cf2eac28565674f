"""What the details of a charge by the hour say of its machine: JSON as exports of FOCUS have it, read once added up.

Thousands of charges of a machine share their details, so that charges are added up by them before a word is read.
"""

from __future__ import annotations

from typing import Final

import polars as pl

_VCPUS: Final = r'(?i)"(?:x_)?(?:CoreCount|vCPUs)"\s*:\s*"?(\d+(?:\.\d+)?)'
"""FOCUS 1.1 SkuPriceDetails has CoreCount, and x_ before names of its own; Azure's x_SkuDetails has VCPUs."""
_MACHINE: Final = r'"(?:x_)?(?:InstanceType|ServiceType)"\s*:\s*"([^"]+)"'
"""FOCUS 1.1 SkuPriceDetails has InstanceType; Azure's x_SkuDetails has ServiceType."""


def machine_in(details: pl.Expr) -> pl.Expr:
    """This will return the machine that details name; null: they name none."""
    return details.str.extract(_MACHINE, 1)


def vcpus_in(details: pl.Expr) -> pl.Expr:
    """This will return the vCPUs of the machine that details name; null: they do not say."""
    return details.str.extract(_VCPUS, 1).cast(pl.Float64, strict=False)
