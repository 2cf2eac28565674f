"""Fixed words: the values that stand in columns, labels and settings. One spelling each, everywhere."""

from __future__ import annotations

from enum import StrEnum

NO_ZONE = ""
"""In a zone column: the price holds for the whole region."""

ANY_REGION = ""
"""In a shape's region column: the shape is the same in every region."""


class CapacityType(StrEnum):
    """How capacity is bought; the first two values are Karpenter's."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    COMMITTED_1Y = "committed-1y"
    COMMITTED_3Y = "committed-3y"
    OWNED = "owned"


class PriceBasis(StrEnum):
    """Which prices count: the provider's list, or what the bills say is really paid."""

    LIST = "list"
    EFFECTIVE = "effective"


class OperatingSystem(StrEnum):
    """Operating systems with a written row rule."""

    LINUX = "linux"
    WINDOWS = "windows"


class Architecture(StrEnum):
    """Processor architectures, in Kubernetes' words (label kubernetes.io/arch)."""

    AMD64 = "amd64"
    ARM64 = "arm64"


class SplitMethod(StrEnum):
    """How a machine's price was split into its parts (docs: how a price is split)."""

    COMPONENTS = "components"
    FITTED = "fitted"
    REMAINDER = "remainder"
    FALLBACK = "fallback"
    RATE_CARD = "rate-card"


class Origin(StrEnum):
    """Where the served prices of a source come from."""

    LIVE = "live"
    CACHED = "cached"
    PACKAGED = "packaged"


class RejectReason(StrEnum):
    """Why a row or an offer was not published. Each is counted; none is guessed around."""

    ZERO = "zero"
    NEGATIVE = "negative"
    ABSENT = "absent"
    NOT_A_NUMBER = "not-a-number"
    AMBIGUOUS = "ambiguous"
    MALFORMED = "malformed"
    UNIT = "unit"
    CURRENCY = "currency"
    UNKNOWN_REGION = "unknown-region"
    UNKNOWN_SHAPE = "unknown-shape"
    UNKNOWN_GPU = "unknown-gpu"
    MISSING_COMPONENT = "missing-component"
    UNSPLITTABLE = "unsplittable"
    IMPLAUSIBLE = "implausible"
    NO_RATE = "no-exchange-rate"
    REGION_SKIPPED = "region-skipped"


class EgressDestination(StrEnum):
    """Where bytes go when they leave a region or a zone."""

    INTERNET = "internet"
    REGION = "region"
    ZONE = "zone"
