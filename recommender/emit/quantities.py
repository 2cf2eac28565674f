"""Kubernetes quantities: amounts written in whole steps, the way they must not miss, and stated quotas read exactly.

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


def cpu(vcpus: float, *, up: bool = True) -> str:
    """This will write vCPUs, rounded up to a thousandth, or down."""
    millis = _whole(vcpus * 1000, up=up)
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def memory(gib: float, *, up: bool = True) -> str:
    """This will write GiB, rounded up to a mebibyte, or down."""
    mebibytes = _whole(gib * 1024, up=up)
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def whole(count: float, *, up: bool = True) -> str:
    """This will write GPUs: Kubernetes counts them whole, so a fraction takes one more, or is left out."""
    return str(_whole(count, up=up))


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


def _whole(amount: float, *, up: bool) -> int:
    return math.ceil(amount - _DUST) if up else math.floor(amount + _DUST)
