"""What the description of a Compute Engine SKU says of a charge: its part, its family, whether it is spot. Pure.

A bill needs less than a price list does: which commitment may have covered which usage. Descriptions are those of the
Cloud Billing Catalog: ``N2 Instance Core running in London``, ``Commitment v1: N2 Cpu in London for 1 Year``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_COMMITMENT: Final = re.compile(r"^Commitment(?: - dollar based)?(?: v\d+)?: ")
_PART: Final = (
    ("gpu", re.compile(r"\bGPU\b", re.IGNORECASE)),
    ("ssd", re.compile(r"\bSSD\b", re.IGNORECASE)),
    ("ram", re.compile(r"\bRAM\b", re.IGNORECASE)),
    ("core", re.compile(r"\b(?:Core|CPU)\b", re.IGNORECASE)),
)
_GPU: Final = re.compile(r"nvidia (?:tesla )?(.+?) gpu")
_OF_WORDS: Final = {"cpu": "n1", "ram": "n1", "custom": "n1", "compute": "c2", "memory-optimized": "m1"}
"""N1's commitments name no family; C2's and M1's SKUs are named after their purpose."""

_FAMILY: Final = re.compile(r"^[a-z]\d[a-z]*$")


@dataclass(frozen=True, slots=True)
class Sku:
    """What a description says.

    Args:
        is_fee: whether it is what a commitment costs.
        part: core, ram, gpu or ssd; empty: none of them, or any (a commitment to spend).
        family: n2, c2d, l4; empty: none.
        is_spot: whether it is spot capacity.
    """

    is_fee: bool
    part: str
    family: str
    is_spot: bool


@lru_cache(maxsize=4096)
def read_sku(description: str) -> Sku:
    """This will read a description; what it does not say is empty."""
    is_fee = description.startswith("Commitment")
    text = _COMMITMENT.sub("", description)
    is_spot = "preemptible" in text.lower() or text.lower().startswith("spot ")
    text = re.sub(r"^Spot Preemptible ", "", text)
    part = next((name for name, pattern in _PART if pattern.search(text)), "")
    return Sku(is_fee=is_fee, part=part, family=_family(text.lower(), part), is_spot=is_spot)


def _family(text: str, part: str) -> str:
    if part == "gpu":
        found = _GPU.search(text)
        return found[1] if found else ""
    if part not in {"core", "ram"}:
        return ""
    first = text.split(" ", 1)[0]
    word = _OF_WORDS.get(first, first)
    return word if _FAMILY.match(word) else ""
