"""Units of the catalogue: hours, GiB, and the texts providers write them in. Said once, used everywhere."""

from __future__ import annotations

import polars as pl

HOURS_PER_MONTH = 730
"""Hours in a month in every monthly figure: 8,760 / 12, the providers' own convention; printed in every report."""

HOURS_PER_YEAR = 8_760
SECONDS_PER_HOUR = 3_600
MIB_PER_GIB = 1_024
BYTES_PER_GIB = 1_073_741_824


def gib_from_text(column: str) -> pl.Expr:
    """This will read memory sizes such as ``"1,952 GiB"`` or ``"0.5 GiB"`` as GiB (Float64); others become null."""
    number = pl.col(column).str.extract(r"^\s*([\d,]+(?:\.\d+)?)\s*GiB\s*$", 1)
    return number.str.replace_all(",", "").cast(pl.Float64, strict=False)
