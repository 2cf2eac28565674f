"""Kubernetes quantities: requests written so that nothing is rounded down, and stated quotas read exactly.

Source: Kubernetes, "resource.Quantity": decimal suffixes n u m k M G T P E, binary Ki Mi Gi Ti Pi Ei, exponents.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

_QUANTITY = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(?:([eE][+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i))?")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DUST: Final = 1e-6
"""Sums of requests are binary floats; what is less than a millionth of a unit too much is not a further unit."""


def cpu(vcpus: float) -> str:
    """This will write vCPUs, rounded up to a thousandth."""
    millis = math.ceil(vcpus * 1000 - _DUST)
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def memory(gib: float) -> str:
    """This will write GiB, rounded up to a mebibyte."""
    mebibytes = math.ceil(gib * 1024 - _DUST)
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def whole(count: float) -> str:
    """This will write GPUs: Kubernetes counts them whole, so a fraction takes one more."""
    return str(math.ceil(count - _DUST))


def quantity(text: object) -> Decimal | None:
    """This will read a quantity in its base unit (cores, bytes, devices); None: it is none."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        return None
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    value = Decimal(f"{number}{exponent or ''}")
    if suffix in _BINARY:
        return value * Decimal(2) ** _BINARY[suffix]
    return value.scaleb(_DECIMAL[suffix]) if suffix else value
