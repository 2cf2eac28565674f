"""The whole second arrow: what a row rule chose becomes offers and egress rates in pounds, checked and split.

Every row that goes in either comes out or is counted as a reject or as set aside. Pure: the last snapshot, the rate
table and the moment are handed in; the order of the rows handed in does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import dataframely as dy
import polars as pl

from exporters.core.errors import IntegrityError
from exporters.core.frames import OFFER_KEY, EgressRate, FxRate, ListPrice, Offer, Reject, SetAside, Shape
from exporters.core.words import ANY_REGION, RejectReason
from exporters.normalise.chosen import Chosen, Sorted, count_rejects, merge_rejects
from exporters.normalise.convert import convert_egress, in_pounds, with_rate
from exporters.normalise.sanity import check_count, part_implausible
from exporters.normalise.split import split


@dataclass(frozen=True, slots=True)
class Normalised:
    """One source's refresh, ready for its snapshot.

    Args:
        offers: priced, split and believed.
        egress: egress rates in pounds.
        rejects: what was left out, by reason and region, the row rule's own counts included.
        set_aside: implausible prices that wait for confirmation; to be handed in again next time.
    """

    offers: dy.DataFrame[Offer]
    egress: dy.DataFrame[EgressRate]
    rejects: dy.DataFrame[Reject]
    set_aside: dy.DataFrame[SetAside]


def normalise(
    chosen: Chosen,
    *,
    fx: dy.DataFrame[FxRate],
    previous: dy.DataFrame[Offer],
    set_aside: dy.DataFrame[SetAside],
    source: str,
    observed_at: datetime,
    confirming: dy.DataFrame[Offer] | None = None,
    accept_changes: bool = False,
) -> Normalised:
    """This will turn one source's list prices into offers and egress rates in pounds.

    Args:
        chosen: the result of the source's row rule.
        fx: the rate table of this refresh; the pound itself need not stand in it.
        previous: the offers of the source's last snapshot; empty the first time.
        set_aside: the set-aside prices of that snapshot.
        source: the source's name.
        observed_at: when the source gave the prices (UTC).
        confirming: the last offers of the other sources, any of which may confirm an implausible price.
        accept_changes: skip the comparison with the last snapshot; for a person who has looked at it.

    Raises:
        IntegrityError: too many offers moved implausibly (sanity.py), half of them vanished, or none is left.
    """
    shaped = _with_shapes(chosen.prices, chosen.shapes)
    rated = with_rate(shaped.good, fx, observed_at=observed_at, region="region", example="instance_type")
    compare_with = Offer.create_empty() if accept_changes else previous
    waiting = SetAside.create_empty() if accept_changes else set_aside
    elsewhere = Offer.create_empty() if confirming is None else confirming
    check_count(rated.good, previous=compare_with, source=source)
    plausible = part_implausible(
        rated.good, previous=compare_with, set_aside=waiting, confirming=elsewhere, source=source
    )
    parted = split(plausible.good.with_columns(gbp_per_hour=in_pounds("price_per_hour")))
    egress = convert_egress(chosen.egress, fx, source=source, observed_at=observed_at)
    rejects = merge_rejects(
        chosen.rejects, shaped.rejects, rated.rejects, plausible.rejects, parted.rejects, egress.rejects
    )
    offers = _offers(parted.good, source=source, observed_at=observed_at)
    if offers.is_empty() and not (chosen.prices.is_empty() and egress.good.height):
        raise _nothing_left(rejects, source)
    return Normalised(
        offers=offers, egress=EgressRate.cast(egress.good), rejects=rejects, set_aside=plausible.set_aside
    )


def _with_shapes(prices: dy.DataFrame[ListPrice], shapes: dy.DataFrame[Shape]) -> Sorted:
    """The shape of the price's own region, else the one that holds in every region; sorted, so that sums repeat."""
    named = shapes.filter(pl.col("region") != ANY_REGION)
    anywhere = shapes.filter(pl.col("region") == ANY_REGION).drop("region")
    ordered = prices.sort(OFFER_KEY)
    local = ordered.join(named, on=["provider", "region", "instance_type"], how="left", maintain_order="left")
    lacking = local.filter(pl.col("vcpus").is_null()).select(ordered.columns)
    general = lacking.join(anywhere, on=["provider", "instance_type"], how="left", maintain_order="left")
    unknown = pl.col("vcpus").is_null()
    shaped = pl.concat([local.filter(~unknown), general.filter(~unknown).select(local.columns)])
    return Sorted(
        good=shaped.sort(OFFER_KEY),
        rejects=count_rejects(
            general.filter(unknown),
            reason=pl.lit(RejectReason.UNKNOWN_SHAPE.value),
            example=pl.col("instance_type"),
            region=pl.col("region"),
        ),
    )


def _offers(rows: pl.DataFrame, *, source: str, observed_at: datetime) -> dy.DataFrame[Offer]:
    complete = rows.with_columns(
        marginal_gbp_per_hour=in_pounds("marginal_price_per_hour"),
        source=pl.lit(source),
        observed_at=pl.lit(observed_at, dtype=pl.Datetime("us", "UTC")),
    )
    return Offer.validate(complete.select(Offer.column_names()).sort(OFFER_KEY), cast=True)


def _nothing_left(rejects: dy.DataFrame[Reject], source: str) -> IntegrityError:
    counts = rejects.group_by("reason").agg(pl.col("rows").sum()).sort("reason")
    why = ", ".join(f"{rows} {reason}" for reason, rows in counts.iter_rows()) or "the source gave no prices"
    return IntegrityError(
        f"no offer is left ({why})",
        where=f"sources.{source}",
        next_step=f"The last good prices stay. Look at the rejects with: tuppence fetch {source}, then at the filters.",
    )
