"""Which series changes and anomalies become: the largest by name, the rest together, none that does not hold."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from exporters.core.cost_change_frames import Cause
from exporters.core.cost_frames import PoundCost
from exporters.core.frames import FxRate
from exporters.cost_explained import compare
from exporters.normalise.cost_anomalies import AnomalyRules
from exporters.publish.cost_changes import Compared
from exporters.publish.costs import select_cost_series
from exporters.store.costs import Costs
from exporters.store.standing import Standing
from tests.exporters.normalise.cost_rows import BEFORE, LAST, Row, cost, known, series

TODAY = LAST + timedelta(days=1)
CHANGE, ANOMALY, EXPECTED = "tuppence_cost_change_gbp", "tuppence_cost_anomaly_gbp", "tuppence_cost_expected_gbp"


def compared(rows: list[Row], *, today: date = TODAY) -> Compared:
    """What is compared on a day; days are whole up to LAST."""
    return compare(known(rows).drop("whole_until"), AnomalyRules(), today=today)


def values(found: Compared, name: str, *labels: str, top_services: int = 20) -> dict[Any, float]:
    """The values of one metric by the named labels."""
    every = select_cost_series(
        Costs(days=PoundCost.create_empty()),
        Standing(),
        FxRate.create_empty(),
        now=datetime(2024, 9, 27, 12, tzinfo=UTC),
        top_services=top_services,
        max_groups=100,
        compared=found,
    )
    rows = next(one.rows for one in every if one.metric.name == name)
    keys = list(rows.select(labels).iter_rows())
    assert len(set(keys)) == len(keys), "name more labels"
    return {key: pytest.approx(value) for key, value in zip(keys, rows["value"], strict=True)}


def test_a_change_has_a_series_a_cause_for_the_day_and_for_the_week() -> None:
    """On the day 30 in place of 10 for thrice the hours; so did the week, whose other days did not change."""
    rows = [*series([10] * 27, service="EC2"), cost(LAST, 20, quantity=2)]
    assert values(compared(rows), CHANGE, "service", "span", "cause") == {
        ("EC2", "day", "usage"): 20,
        ("EC2", "week", "usage"): 20,
    }


def test_services_past_the_limit_are_added_up_and_nothing_is_lost() -> None:
    rows = [cost(LAST, amount, service=f"S{amount}", sub_account=f"a{amount}") for amount in (5, 4, 3, 2)]
    found = values(compared(rows), CHANGE, "account", "service", "span", "cause", top_services=2)
    of_day = {key: value for key, value in found.items() if key[2] == "day"}
    assert of_day == {("a5", "S5", "day", "new"): 5, ("a4", "S4", "day", "new"): 4, ("other", "other", "day", "new"): 5}


def test_causes_have_the_words_of_the_documentation() -> None:
    rows = [cost(BEFORE, 1), cost(LAST, 1, charge_category="Tax", service="T")]
    assert {key[0] for key in values(compared(rows), CHANGE, "cause", "service", "span")} == {
        Cause.GONE.value,
        Cause.ONE_OFF.value,
    }


def test_an_anomaly_has_a_series_only_while_it_holds_and_the_range_that_was_expected() -> None:
    """50 where 10 were expected, and the least excess that counts is 10: 10 ± 10."""
    found = compared(series([10] * 40 + [50]))
    assert values(found, ANOMALY, "account", "service") == {("2222", "EC2"): 40}
    bounds = {key[1]: value for key, value in values(found, EXPECTED, "service", "bound").items() if key[0] == "EC2"}
    assert bounds == {"lower": 0, "mid": 10, "upper": 20}
    assert values(compared(series([10] * 41)), ANOMALY, "service") == {}


def test_an_anomaly_is_never_folded_and_the_expectation_of_dear_services_is_shown() -> None:
    rows = [row for number in range(5) for row in series([100 + number] * 41, service=f"S{number}")]
    found = compared([*rows, *series([1] * 40 + [50], service="Small")])
    assert set(values(found, ANOMALY, "service", top_services=1)) == {("Small",)}
    assert set(values(found, EXPECTED, "service", "bound", top_services=1)) == {
        (name, bound) for name in ("S4", "Small") for bound in ("lower", "mid", "upper")
    }


@pytest.mark.parametrize(("days_later", "count"), [(4, 1), (5, 0)])
def test_changes_and_anomalies_stop_when_the_export_stopped_days_ago(days_later: int, count: int) -> None:
    found = compared(series([10] * 40 + [50]), today=LAST + timedelta(days=days_later))
    assert len(values(found, ANOMALY, "service")) == count
    assert found.changes.filter(pl.col("service") == "EC2", pl.col("span") == "day").height == count
