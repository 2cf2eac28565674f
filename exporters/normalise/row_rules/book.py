"""The row rule of price books: of each offer the newest row in effect, exactly one, with its components if they agree.

The same rule serves contract prices, GPU clouds without an API and the packaged book of the three clouds. The format
and the rule in plain words stand in docs/sources/book.md.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import dataframely as dy
import polars as pl

from exporters.core.frames import OFFER_KEY, ListPrice, Reject, Shape
from exporters.core.money import NATIVE
from exporters.core.words import Architecture, CapacityType, OperatingSystem, RejectReason
from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters, count_rejects, merge_rejects, one_per_key
from exporters.normalise.row_rules.book_components import attach, compose
from exporters.normalise.row_rules.book_egress import choose_egress
from exporters.normalise.row_rules.book_rows import (
    Mistake,
    Parted,
    canonical_gpu,
    effective_from,
    empty,
    money,
    newest,
    no_price,
    not_a_currency,
    not_a_day,
    not_above_zero,
    not_one_of,
    not_zero_or_more,
    note,
    number,
    part_rows,
    unknown_gpu,
    unknown_region,
)

SHAPE_SOURCE = "book"
PACKAGED_SHAPE = "packaged"
SHAPE_KEY = ("provider", "region", "instance_type")


def choose(fetched: Fetched, filters: Filters) -> Chosen:
    """This will turn books into list prices, shapes and egress prices.

    Rule: a row with a mistake is counted under its reason, quoting its file and line. Of the rows of one offer that
    are in effect the newest counts; a wrong row as new as that takes the offer out; two prices of one day are
    ambiguous, and so are two shapes of one machine type in a region. Component books compose the clouds' packaged
    machine types; where a composed machine stands in the price book too, the price book's price counts, and takes the
    components that agree with it.

    Args:
        fetched: frames `prices`, `components`, `egress` and `shapes` of fetch/book.py.
        filters: what the settings let through.
    """
    shapes = fetched.frames["shapes"].collect()
    parted = newest(part_rows(fetched.frames["prices"].collect(), _mistakes()), key=OFFER_KEY)
    book = _book_prices(parted, shapes)
    composed = compose(fetched.frames["components"].collect(), shapes)
    with_parts, disagreements = attach(book.good, composed.prices)
    added = composed.prices.join(book.good, on=OFFER_KEY, how="anti").join(parted.bad, on=OFFER_KEY, how="anti")
    kept_book, kept_added = _let_through(with_parts, filters), _let_through(added, filters)
    lacking = composed.lacking.join(book.good, on=OFFER_KEY, how="anti")
    missing = count_rejects(lacking, reason=pl.col("reason"), example=pl.col("says"), region=pl.col("region"))
    egress = choose_egress(fetched.frames["egress"].collect())
    prices = pl.concat([kept_book.select(ListPrice.column_names()), kept_added.select(ListPrice.column_names())])
    return Chosen(
        prices=ListPrice.validate(prices.sort(OFFER_KEY), cast=True),
        shapes=_shapes(kept_book, kept_added, shapes),
        egress=egress.prices,
        rejects=merge_rejects(
            book.rejects, composed.rejects, missing, disagreements, egress.rejects, _skipped(fetched)
        ),
    )


def _mistakes() -> tuple[Mistake, ...]:
    return (
        *(empty(column) for column in ("provider", "region", "instance_type")),
        not_one_of("operating_system", tuple(word.value for word in OperatingSystem)),
        not_one_of("capacity_type", tuple(word.value for word in CapacityType)),
        unknown_region("region"),
        not_above_zero("vcpus", RejectReason.UNKNOWN_SHAPE),
        not_above_zero("memory_gib", RejectReason.UNKNOWN_SHAPE),
        unknown_gpu(),
        *_devices("gpu_model", "gpus", RejectReason.UNKNOWN_GPU),
        *_devices("accelerator_model", "accelerators", RejectReason.UNKNOWN_SHAPE),
        not_one_of("architecture", tuple(word.value for word in Architecture)),
        not_a_currency(),
        not_a_day(),
        *no_price("price_per_hour"),
    )


def _devices(model: str, count: str, reason: RejectReason) -> tuple[Mistake, ...]:
    """A count must be a number, and stands with a model or not at all."""
    has_count = pl.col(count).cast(pl.Float64, strict=False).fill_null(0.0) > 0
    says = pl.format(f"{model} is '{{}}' and {count} is '{{}}'; write both, or neither", model, count)
    return (not_zero_or_more(count, reason), Mistake((pl.col(model) != "") != has_count, reason, says))


def _book_prices(parted: Parted, shapes: pl.DataFrame) -> Parted:
    """One typed row an offer, with family and generation, and the ListPrice columns that a book does not have."""
    typed = parted.good.with_columns(
        *(number(column) for column in ("vcpus", "memory_gib", "gpus", "accelerators")),
        pl.col("price_per_hour").cast(NATIVE),
        canonical_gpu(),
        effective_from(),
        note(),
        money("price_per_hour"),
        *(pl.lit(None, dtype=NATIVE).alias(f"price_per_{part}_hour") for part in ("vcpu", "gib", "gpu")),
        marginal_price_per_hour=pl.lit(None, dtype=NATIVE),
        provider_gbp_per_hour=pl.lit(None, dtype=pl.Float64),
        sku_id=pl.lit(None, dtype=pl.String),
    )
    single = one_per_key(typed, price="money", example="line")
    facts = pl.struct("vcpus", "memory_gib", "gpu_model", "gpus", "accelerator_model", "accelerators", "architecture")
    two_shapes = facts.n_unique().over(SHAPE_KEY) > 1
    return Parted(
        good=_with_family(single.good.filter(~two_shapes), shapes),
        bad=parted.bad,
        rejects=merge_rejects(
            parted.rejects,
            single.rejects,
            count_rejects(
                single.good.filter(two_shapes),
                reason=pl.lit(RejectReason.AMBIGUOUS.value),
                example=pl.concat_str("line", pl.lit(": the machine type has another shape in another row; mend one")),
                region=pl.col("region"),
            ),
        ),
    )


def _with_family(rows: pl.DataFrame, shapes: pl.DataFrame) -> pl.DataFrame:
    """Family and generation from the packaged machine types, else from the name of the machine type.

    AWS: before the dot, and its generation without the leading letters (c6i, 6i). Google Cloud: before the first dash.
    Azure: letters and features without the size (Standard_D4s_v5, Dsv5). Other providers: before the first dot, dash or
    underscore. Without the table only AWS's generation joins families.
    """
    known = shapes.select("provider", "instance_type", __family="family", __generation="generation")
    name = pl.col("instance_type")
    size = name.str.strip_prefix("Standard_").str.replace(r"^([A-Za-z]+)[\d-]+", "${1}").str.replace_all("_", "")
    by_name = (
        pl.when(pl.col("provider") == "aws")
        .then(name.str.split(".").list.first())
        .when(pl.col("provider") == "gcp")
        .then(name.str.split("-").list.first())
        .when(pl.col("provider") == "azure")
        .then(size)
        .otherwise(name.str.extract(r"^([^.\-_]+)", 1).fill_null(name))
    )
    family = pl.coalesce("__family", by_name)
    bare = pl.when(pl.col("provider") == "aws").then(by_name.str.replace(r"^[a-z]+", ""))
    generation = pl.coalesce("__generation", pl.when(bare != "").then(bare), by_name)
    joined = rows.join(known, on=["provider", "instance_type"], how="left", maintain_order="left")
    return joined.with_columns(family=family, generation=generation).drop("__family", "__generation")


def _let_through(rows: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    families = [
        name
        for name in rows["family"].unique()
        if not filters.families or any(fnmatchcase(name, glob) for glob in filters.families)
    ]
    return rows.filter(
        pl.col("family").is_in(families),
        pl.col("capacity_type").is_in(list(filters.capacity_types or CapacityType)),
        pl.col("operating_system").is_in(list(filters.operating_systems or OperatingSystem)),
    )


def _shapes(book: pl.DataFrame, added: pl.DataFrame, shapes: pl.DataFrame) -> dy.DataFrame[Shape]:
    """The shapes that price-book rows state, and the packaged ones of machines that only components price."""
    stated = book.unique(SHAPE_KEY, keep="first", maintain_order=True).with_columns(shape_source=pl.lit(SHAPE_SOURCE))
    names = added.select(SHAPE_KEY).unique(maintain_order=True).join(stated, on=SHAPE_KEY, how="anti")
    numbers = [number(column) for column in ("vcpus", "memory_gib", "gpus", "accelerators")]
    packaged = names.join(shapes, on=["provider", "instance_type"], how="inner").with_columns(
        *numbers, shape_source=pl.lit(PACKAGED_SHAPE)
    )
    rows = pl.concat([stated.select(Shape.column_names()), packaged.select(Shape.column_names())])
    return Shape.validate(rows.sort(SHAPE_KEY), cast=True)


def _skipped(fetched: Fetched) -> dy.DataFrame[Reject]:
    rows = pl.DataFrame(
        [(item.region, item.why) for item in fetched.skipped],
        schema={"region": pl.String, "why": pl.String},
        orient="row",
    )
    reason = pl.lit(RejectReason.REGION_SKIPPED.value)
    return count_rejects(rows, reason=reason, example=pl.col("why"), region=pl.col("region"))
