"""Where an object comes from: the annotations that everything handed over carries.

The advice's ids, when it was evaluated, when it must not be applied any more, and the prices behind it, each with its
time and exchange rate. Kubernetes refuses an object whose annotations take more than 256 KiB; these stay below 4 KiB,
so that they can be read, and say how many prices they leave out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.plan import Inputs
from recommender.advise.record import PriceEvidence, Recommendation
from recommender.emit.contract import Subject
from recommender.emit.names import MANAGER, LabelName, label_key, label_value
from recommender.emit_settings import EmitSettings

MOST_BYTES: Final = 4096
"""Of all annotations of an object together, keys and values."""

_PRICES_BYTES: Final = 2400
_MOST_IDS: Final = 20

_PRICE_FIELDS: Final = (
    "source",
    "snapshot_id",
    "origin",
    "region",
    "zone",
    "instance_type",
    "capacity_type",
    "price_per_hour",
    "currency",
    "gbp_per_hour",
    "gbp_per_unit",
    "fx_date",
    "fx_source",
    "observed_at",
)

Advice = Recommendation | CapacityRecommendation


def provenance(subject: Subject, advice: Iterable[Advice] = (), *, expires_at: datetime) -> dict[str, str]:
    """This will return the annotations of an object.

    Args:
        subject: what is handed over.
        advice: the recommendations that the object carries out; none: it serves a class, and what stands instead of
            the prices are the snapshots and exchange rates of the evaluation.
        expires_at: from when the object must not be applied any more.
    """
    ordered = sorted(advice, key=lambda one: one.id)
    prices = prices_of(ordered) if ordered else snapshots_of(subject.plan.inputs)
    found: dict[LabelName, str] = {
        "evaluated-at": instant(subject.at),
        "expires-at": instant(expires_at),
        "prices": _fitting(prices),
    }
    if ordered:
        found["recommendation-id"] = _listed([one.id for one in ordered])
        found["etag"] = _listed([one.etag for one in ordered])
    return {label_key(subject.settings, name): text for name, text in sorted(found.items())}


def labels(settings: EmitSettings, advice: Iterable[Advice] = ()) -> dict[str, str]:
    """This will return the labels of an object: who manages it, and the id where it carries out one recommendation."""
    ids = sorted({one.id for one in advice})
    own = {label_key(settings, "managed-by"): MANAGER}
    return own if len(ids) != 1 else own | {label_key(settings, "recommendation-id"): label_value(ids[0])}


def metadata(
    subject: Subject,
    name: str,
    *,
    namespace: str = "",
    advice: Sequence[Advice] = (),
    expires_at: datetime,
    also_labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """This will return the metadata of a whole object.

    Args:
        subject: what is handed over.
        name: of the object.
        namespace: empty: the object has none.
        advice: see provenance.
        expires_at: see provenance.
        also_labels: labels beside ours.
    """
    placed = {"namespace": namespace} if namespace else {}
    return {
        "name": name,
        **placed,
        "labels": dict(sorted({**(also_labels or {}), **labels(subject.settings, advice)}.items())),
        "annotations": provenance(subject, advice, expires_at=expires_at),
    }


def prices_of(advice: Iterable[Advice]) -> list[dict[str, Any]]:
    """This will return the prices that advice rests on, each once, ordered, as JSON values."""
    found = {_as_text(one): one for each in advice for one in each.prices}
    return [_price(found[key]) for key in sorted(found)]


def snapshots_of(inputs: Inputs) -> list[dict[str, Any]]:
    """This will return the snapshots of prices and the exchange rates of an evaluation, as JSON values."""
    snapshots = [
        {"source": one.source, "snapshot_id": one.id, "origin": one.origin, "observed_at": instant(one.taken_at)}
        for one in sorted(inputs.snapshots, key=lambda one: one.id)
    ]
    rates = [
        {
            "currency": one.currency,
            "gbp_per_unit": one.gbp_per_unit,
            "fx_date": one.rate_date.isoformat(),
            "fx_source": one.fx_source,
        }
        for one in sorted(inputs.exchange_rates, key=lambda one: one.currency)
    ]
    return [*snapshots, *rates]


def instant(moment: datetime) -> str:
    """This will return a moment as RFC 3339 in UTC, to the second, as Kubernetes writes times."""
    return moment.astimezone(UTC).replace(microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")


def _price(one: PriceEvidence) -> dict[str, Any]:
    values = one.model_dump(mode="json", exclude_none=True) | {"observed_at": instant(one.observed_at)}
    return {name: values[name] for name in _PRICE_FIELDS if name in values}


def _as_text(one: PriceEvidence) -> str:
    return _compact(_price(one))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _listed(texts: list[str]) -> str:
    more = len(texts) - _MOST_IDS
    return ",".join(texts[:_MOST_IDS]) + (f" and {more} more" if more > 0 else "")


def _fitting(prices: list[dict[str, Any]]) -> str:
    """As many prices as fit, and how many were left out."""
    kept = list(prices)
    while kept and len(_told(kept, len(prices) - len(kept))) > _PRICES_BYTES:
        kept.pop()
    return _told(kept, len(prices) - len(kept))


def _told(kept: list[dict[str, Any]], left_out: int) -> str:
    return _compact([*kept, {"left_out": left_out}] if left_out else kept)
