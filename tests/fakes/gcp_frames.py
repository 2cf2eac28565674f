"""Google Cloud's raw frames from SKUs in API form, read by the source's own parser, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import polars as pl
from google.cloud import billing_v1
from google.protobuf.json_format import ParseDict

from exporters.fetch.contract import Fetched, Skipped
from exporters.fetch.gcp_catalogue import Listing, merge_currencies, sku_rows, skus_frame
from exporters.fetch.gcp_machines import packaged_machines
from tests.fakes.gcp_skus import Sku

OBSERVED = datetime(2026, 11, 30, tzinfo=UTC)
REGIONS = ("europe-west2", "us-central1")

Machine = tuple[str, str]


def listing(skus: Sequence[Sku], currency: str) -> Listing:
    messages = [
        ParseDict(row, billing_v1.Sku.pb(billing_v1.Sku()), ignore_unknown_fields=True)
        for item in skus
        if (row := item(currency)) is not None
    ]
    return Listing(skus_frame([row for message in messages for row in sku_rows(message)]), ends_cleanly=True)


def fetched(
    skus: Sequence[Sku],
    *,
    regions: Sequence[str] = REGIONS,
    offered: Sequence[Machine] = (),
    shapes: pl.DataFrame | None = None,
    skipped: tuple[Skipped, ...] = (),
) -> Fetched:
    """Raw frames as the source gives them; `offered` are (region, type) beside the packaged ones."""
    machines = packaged_machines()
    extra = pl.DataFrame(list(offered), schema=machines.offerings.schema, orient="row")
    raw = merge_currencies(listing(skus, "USD"), listing(skus, "GBP"), where="test")
    return Fetched(
        source="gcp",
        observed_at=OBSERVED,
        frames={
            "skus": raw.lazy(),
            "shapes": pl.concat([machines.shapes, *([] if shapes is None else [shapes])]).lazy(),
            "offerings": pl.concat([machines.offerings, extra])
            .unique()
            .filter(pl.col("region").is_in(list(regions)))
            .lazy(),
            "regions": pl.DataFrame({"region": list(regions)}).lazy(),
        },
        skipped=skipped,
    )
