"""How the clouds bill the made-up company: accounts, currencies, negotiated discounts, and what is no machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Payer:
    """How a cloud bills the company.

    Args:
        provider: as exports name it.
        account: of the bill.
        currency: of the bill.
        discount: what was negotiated off list, of machines.
        machines: the service that machines stand under.
        others: service, unit, quantity a day, list price a unit, in the bill's currency.
        support: a month, in the bill's currency.
        credit: a month, in the bill's currency.
    """

    provider: str
    account: str
    currency: str
    discount: float
    machines: str
    others: tuple[tuple[str, str, float, float], ...]
    support: float = 0.0
    credit: float = 0.0


PAYERS: Final = {
    "aws": Payer(
        "AWS",
        "210987654321",
        "USD",
        0.12,
        "Amazon Elastic Compute Cloud",
        (
            ("Amazon Elastic Block Store", "GB-Months", 410.0, 0.0928),
            ("Amazon Simple Storage Service", "GB-Months", 640.0, 0.024),
            ("AWS Data Transfer", "GB", 520.0, 0.09),
        ),
        support=1_450.0,
    ),
    "azure": Payer(
        "Microsoft",
        "7654321",
        "GBP",
        0.17,
        "Virtual Machines",
        (("Storage Accounts", "GB/Month", 300.0, 0.0171), ("Bandwidth", "GB", 140.0, 0.064)),
    ),
    "gcp": Payer(
        "Google Cloud",
        "01A2B3-C4D5E6-F70819",
        "GBP",
        0.08,
        "Compute Engine",
        (("Cloud Storage", "GiB-Months", 380.0, 0.0185), ("Networking", "GiB", 210.0, 0.093)),
        credit=-120.0,
    ),
}
