"""Names that Kubernetes takes, from any text: the same text always gives the same name, and two texts never one name.

What is a legal name already stands as it is. Anything that had to be changed or cut ends in a hash of the whole text.
Rules: Kubernetes, "Object Names and IDs" (RFC 1123 label and subdomain) and "Labels and Selectors" (values).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final, Literal

from recommender.emit_settings import EmitSettings

LabelName = Literal[
    "jurisdiction",
    "tier",
    "capacity-type",
    "recommendation-id",
    "etag",
    "evaluated-at",
    "expires-at",
    "managed-by",
    "prices",
]
"""What stands after the slash in labels and annotations of ours."""

MANAGER: Final = "tuppence"
"""The value of managed-by, and the field manager of what is written to an API server."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")
_HASH_LETTERS = 8


def label_key(settings: EmitSettings, name: LabelName) -> str:
    """This will return the key of a label or annotation of ours: prefix, slash, name."""
    return f"{settings.label_prefix}/{name}"


def dns_label(*parts: str, limit: int = 63) -> str:
    """This will return a name without dots: namespaces, Services, and what must be a part of a longer name.

    Args:
        parts: joined with hyphens.
        limit: most letters.
    """
    joined = "-".join(parts)
    ambiguous = len(parts) > 1 and any("-" in part for part in parts)
    return _named(joined, parts, legal=_LABEL, limit=limit, also="-", lower=True, ambiguous=ambiguous)


def dns_subdomain(*parts: str, limit: int = 253) -> str:
    """This will return a name that may have dots: most objects' names.

    Args:
        parts: joined with dots.
        limit: most letters.
    """
    ambiguous = len(parts) > 1 and any("." in part for part in parts)
    return _named(".".join(parts), parts, legal=_SUBDOMAIN, limit=limit, also="-.", lower=True, ambiguous=ambiguous)


def file_name(*parts: str, ending: str) -> str:
    """This will return the name of a file, with its ending (without its dot): short enough to be unpacked anywhere."""
    return f"{dns_subdomain(*parts, limit=150)}.{ending}"


def label_value(text: str) -> str:
    """This will return a label's value; empty stays empty."""
    return _named(text, (text,), legal=_VALUE, limit=63, also="-_.", lower=False) if text else ""


def _named(
    joined: str,
    parts: tuple[str, ...],
    *,
    legal: re.Pattern[str],
    limit: int,
    also: str,
    lower: bool,
    ambiguous: bool = False,
) -> str:
    if len(joined) <= limit and not ambiguous and legal.fullmatch(joined):
        return joined
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_HASH_LETTERS]
    kept = re.sub(rf"[^A-Za-z0-9{re.escape(also)}]+", "-", joined.lower() if lower else joined)
    kept = re.sub(r"-*\.[-.]*", ".", kept) if lower else kept
    stem = kept.strip("-_.")[: limit - _HASH_LETTERS - 1].rstrip("-_.")
    return f"{stem}-{digest}" if stem else f"x-{digest}"
