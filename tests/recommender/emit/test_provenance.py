"""The annotations that everything handed over carries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from recommender.emit.provenance import MOST_BYTES, instant, labels, metadata, prices_of, provenance
from recommender.emit_settings import EmitSettings
from tests.builders import NOON
from tests.recommender.emit.subjects import example

LATER = NOON + timedelta(hours=2)
PREFIX = "tuppence.internal"


def test_an_object_for_a_recommendation_names_it_with_its_etag_prices_and_expiry() -> None:
    given = example()
    one = given.plan.recommendations[0]
    found = provenance(given, [one], expires_at=LATER)
    assert found[f"{PREFIX}/recommendation-id"] == one.id
    assert found[f"{PREFIX}/etag"] == one.etag
    assert found[f"{PREFIX}/expires-at"] == instant(LATER)
    assert found[f"{PREFIX}/evaluated-at"] == instant(NOON)
    prices = json.loads(found[f"{PREFIX}/prices"])
    assert prices
    assert {"snapshot_id", "observed_at", "gbp_per_hour", "currency", "gbp_per_unit", "fx_date"} <= prices[0].keys()


def test_an_object_for_a_class_names_the_snapshots_and_rates_of_the_evaluation() -> None:
    given = example()
    found = provenance(given, expires_at=LATER)
    assert f"{PREFIX}/recommendation-id" not in found
    told = json.loads(found[f"{PREFIX}/prices"])
    assert {one["snapshot_id"] for one in told if "snapshot_id" in one} == {
        one.id for one in given.plan.inputs.snapshots
    }
    assert {one["currency"] for one in told if "currency" in one} == {
        one.currency for one in given.plan.inputs.exchange_rates
    }


def test_many_recommendations_stay_within_the_limit_and_say_what_they_leave_out() -> None:
    given = example()
    one = given.plan.recommendations[0]
    many = [
        one.model_copy(
            update={
                "id": f"{number:016x}",
                "prices": tuple(
                    price.model_copy(update={"price_per_hour": price.price_per_hour + number}) for price in one.prices
                ),
            }
        )
        for number in range(200)
    ]
    found = provenance(given, many, expires_at=LATER)
    assert sum(len(key.encode()) + len(text.encode()) for key, text in found.items()) <= MOST_BYTES
    prices = json.loads(found[f"{PREFIX}/prices"])
    assert len(prices) - 1 + prices[-1]["left_out"] == len(prices_of(many))
    assert found[f"{PREFIX}/recommendation-id"].endswith(" and 180 more")


def test_the_order_of_recommendations_changes_nothing() -> None:
    given = example()
    advice = given.plan.recommendations
    assert len(advice) > 1
    assert provenance(given, advice, expires_at=LATER) == provenance(given, advice[::-1], expires_at=LATER)


def test_a_label_names_the_one_recommendation_an_object_is_for() -> None:
    given = example()
    one, other = given.plan.recommendations[:2]
    settings = EmitSettings(label_prefix="finops.example.org")
    assert labels(settings, [one]) == {
        "finops.example.org/managed-by": "tuppence",
        "finops.example.org/recommendation-id": one.id,
    }
    assert labels(settings, [one, other]) == {"finops.example.org/managed-by": "tuppence"}


def test_metadata_has_a_namespace_only_where_there_is_one() -> None:
    given = example()
    assert "namespace" not in metadata(given, "a", expires_at=LATER)
    made = metadata(given, "a", namespace="shop", expires_at=LATER, also_labels={"tier": "gold"})
    assert made["namespace"] == "shop"
    assert made["labels"]["tier"] == "gold"


def test_times_are_written_in_utc_to_the_second() -> None:
    assert instant(datetime(2026, 11, 30, 9, 0, 0, 999, tzinfo=UTC)) == "2026-11-30T09:00:00Z"
