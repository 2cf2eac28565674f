"""Builds the packaged tables in exporters/fetch/data from a folder of dated public price lists.

    python tools/build_packaged_data.py DATA_FOLDER

The same folder gives the same bytes. The README beside the tables says what each is and where it comes from; the
geography and GPU tables in exporters/core/data are kept by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import packaged_aws
import packaged_azure
import packaged_egress
import packaged_gcp
from packaged_table import (
    ACCELERATORS,
    COMPONENT_BOOK,
    EGRESS_BOOK,
    MISSING,
    PRICE_BOOK,
    SHAPES,
    Row,
    Shape,
    shape_row,
    write_csv,
)

OUT = Path(__file__).resolve().parent.parent / "exporters" / "fetch" / "data"


def build(data: Path, out: Path) -> dict[str, int]:
    """Write every table, and give the number of its rows."""
    aws_shapes = packaged_aws.shapes(data)
    aws_offers, aws_lost = packaged_aws.offers(data, aws_shapes)
    gcp_shapes, gcp_offers, components, gcp_lost = packaged_gcp.offers(data)
    azure_shapes, azure_offers, azure_lost = packaged_azure.offers(data)
    tables: dict[str, tuple[tuple[str, ...], list[Row]]] = {
        "price_book.csv": (PRICE_BOOK, [*aws_offers, *gcp_offers, *azure_offers]),
        "component_book.csv": (COMPONENT_BOOK, components),
        "egress_book.csv": (EGRESS_BOOK, packaged_egress.rates(data)),
        "missing.csv": (MISSING, [*aws_lost, *gcp_lost, *azure_lost]),
        "aws_shapes.csv": ((*SHAPES, *ACCELERATORS), _rows(aws_shapes)),
        "gcp_shapes.csv": ((*SHAPES, *ACCELERATORS, "local_ssd_gib"), _rows(gcp_shapes)),
        "azure_shapes.csv": (SHAPES, _rows(azure_shapes)),
    }
    return {name: write_csv(out / name, columns, rows) for name, (columns, rows) in tables.items()}


def _rows(shapes: dict[str, Shape]) -> list[Row]:
    return [shape_row(name, shape) for name, shape in shapes.items()]


def main(arguments: list[str]) -> int:
    """Run from the command line: 0 done, 2 wrong usage."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.stderr.write("usage: python tools/build_packaged_data.py DATA_FOLDER (an existing folder)\n")
        return 2
    for name, rows in build(Path(arguments[0]), OUT).items():
        sys.stdout.write(f"{name}: {rows} rows, {(OUT / name).stat().st_size / 1000:.0f} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
