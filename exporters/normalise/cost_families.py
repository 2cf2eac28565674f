"""The family of the machine that a charge names, in the words that prices have: m7i, Dsv5, n2.

Pure; a part of the reduction of charges to days. A name that no rule knows stands in lower case, so that it is still
told apart from others.
"""

from __future__ import annotations

import polars as pl

from exporters.fetch.azure_sizes import read_name


def family_of(charges: pl.DataFrame) -> pl.Expr:
    """This will return the family of each charge's machine; empty: it names none.

    Args:
        charges: provider (our words) and machine (empty: none).
    """
    machine = pl.col("machine")
    sizes = charges.filter(pl.col("provider") == "azure")["machine"].unique()
    names = {size: read_name(size).family for size in sizes if size}
    return (
        pl.when(pl.col("provider") == "azure")
        .then(machine.replace(names))
        .when(pl.col("provider") == "aws")
        .then(machine.str.extract(r"^([^.]*)", 1))
        .otherwise(machine.str.to_lowercase().str.extract(r"^([^-]*)", 1))
    )
