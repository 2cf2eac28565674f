"""How the report says things: names without surprises, months of money, days, and the words for fixed values."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta
from decimal import Decimal

from babel.numbers import format_decimal

from exporters.core.clock import LONDON
from exporters.core.money import pence, pounds
from exporters.core.units import HOURS_PER_MONTH
from recommender.advise.record import Kind

KINDS = {
    Kind.PLACEMENT: "move",
    Kind.PURCHASE_OPTION: "buy differently",
    Kind.COMPLIANCE: "owed to a rule",
    Kind.BURST: "burst",
    Kind.BURST_RETURN: "come home",
    Kind.EXTEND: "buy more nodes",
    Kind.COMMIT: "commit to nodes",
}
ORIGINS = {"live": "asked the provider", "cached": "kept from an earlier refresh", "packaged": "shipped with Tuppence"}
RULES = {
    "residency": "Residency",
    "price_cap": "Price cap",
    "gpu_model": "GPU model",
    "architecture": "Processor architecture",
    "machine_size": "Machine size",
    "gang": "Gang in one cluster",
    "capacity": "Room in the pool",
    "capacity_taken": "Room that others use better",
    "quota": "Quota",
    "interruption": "No interruptions",
    "latency": "Distance",
    "local_volume": "Local volumes",
    "cluster_observed": "Clusters not observed enough",
    "price_unknown": "No price",
    "min_saving": "Least saving in pounds",
    "min_saving_ratio": "Least saving in per cent",
    "payback": "Payback in time",
    "cool_down": "Cool-down",
    "minimum_runtime": "Minimum runtime",
    "undo": "No move back",
    "balance": "Saving worth the disruption",
    "simulation": "Nodes in a trial",
    "max_moves_per_week": "Moves per week",
    "dismissed": "Dismissed",
    "snoozed": "Snoozed",
    "implemented": "Carried out already",
}
"""The rules of place and guard in words; a rule without words stands under its id."""
NOBODY = "nobody named"

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def shown(text: str) -> str:
    """This will make characters visible that a reader would not see or that turn the text around: U+202E, newlines."""
    if text.isprintable():
        return text
    return "".join(f"⟨U+{ord(one):04X}⟩" if unicodedata.category(one) in _UNSEEN else one for one in text)


def rule(name: str) -> str:
    """This will name a rule in words, its id behind them."""
    return f"{RULES[name]} ({name})" if name in RULES else name


def sentence(text: str) -> str:
    """This will start a reason with its own case kept for names, and end it with a full stop."""
    return f"{text.rstrip('.')}."


def monthly(gbp_per_hour: float) -> str:
    """This will print an hourly rate as what a month of it costs."""
    return pounds(month_of(gbp_per_hour))


def month_of(gbp_per_hour: float) -> Decimal:
    """This will return what 730 hours of a rate cost, exact to the penny."""
    return pence(gbp_per_hour * HOURS_PER_MONTH)


def change(gbp: Decimal) -> str:
    """This will print a difference in cost without a sign: ``£106.28 less``."""
    return "no change" if gbp == 0 else f"{pounds(abs(gbp))} {'less' if gbp < 0 else 'more'}"


def signed(gbp: Decimal) -> str:
    """This will print a difference with its sign: ``+£106.28``."""
    return f"{'+' if gbp > 0 else ''}{pounds(gbp)}"


def percent(ratio: float) -> str:
    """This will print a ratio as whole per cent; what is not nothing is at least ``<1%``."""
    return "<1%" if 0 < ratio < 0.005 else f"{ratio:.0%}"


def count(number: int, one: str, many: str = "") -> str:
    """This will print a number with its noun: ``1 cluster``, ``1,200 workloads``."""
    return f"{number_text(number)} {one if number == 1 else many or one + 's'}"


def number_text(number: float) -> str:
    """This will print a number with thousands separated."""
    return format_decimal(number, locale="en_GB")


def moment(at: datetime) -> str:
    """This will print a moment by London's clock: ``30 November 2026, 09:00 GMT``."""
    return f"{at.astimezone(LONDON):%-d %B %Y, %H:%M %Z}"


def day(at: datetime) -> str:
    """This will print a day by London's clock."""
    return f"{at.astimezone(LONDON):%-d %B %Y}"


def age(span: timedelta) -> str:
    """This will print how old something is in its largest sensible unit."""
    minutes = int(span.total_seconds() // 60)
    if minutes < 0:
        return "in the future"
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
