"""What is bought ahead, and advice about it, as people read it in every format."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from recommender.advise.plan import Plan
from recommender.listing import capacity_table, commitment_table
from recommender.report.capacity_lines import capacity_lines
from recommender.report.of_owner import of_owner
from recommender.report.registry import FORMATS
from recommender.report.view_model import report_of
from tests.builders import NOON
from tests.recommender.advise.test_commit import ALWAYS, advised
from tests.recommender.place.bought import bought, commitment
from tests.recommender.world import BELGIUM, GENERAL, plan, pools, workload


@pytest.fixture(scope="module")
def made() -> Plan:
    """A plan with a reservation that is used by two thirds, one that ends soon, and advice to buy more."""
    soon = commitment("ri-soon", quantity=1.0, cost_per_hour=None, ends_at=NOON + timedelta(hours=5))
    whole = plan(
        workload("a"),
        workload("b"),
        pools=pools(GENERAL, BELGIUM),
        commitments=bought(commitment(quantity=5.0), soon),
    )
    return whole.model_copy(update={"capacity": advised(ALWAYS)[0]})


def test_the_table_of_commitments_begins_with_what_ends_first(made: Plan) -> None:
    table = commitment_table(report_of(made))
    assert table["commitment"].to_list() == ["ri-soon", "ri-1"]
    # Four nodes run: the one that ends first pays for one of them, five machines at £0.60 an hour for three.
    row = table.row(by_predicate=pl.col("commitment") == "ri-1", named=True)
    assert (row["£/h"], row["used now"], row["unused £/h"]) == ("£0.6000", "60%", "£0.2400")
    assert row["ends"] == "18 June 2027"
    assert table["£/h"].to_list()[0] == "not known"
    assert "it ends before a move pays back" in table["scope"].to_list()[0]


@pytest.mark.parametrize("name", ["html", "md", "json"])
def test_every_format_names_them(made: Plan, name: str) -> None:
    text = next(one for one in FORMATS if one.name == name).render(report_of(made))
    assert "ri-soon" in text
    assert "Commit to 2 nodes of m5.xlarge" in text


def test_advice_says_when_it_pays_and_what_can_be_lost(made: Plan) -> None:
    assert capacity_table(report_of(made))["when"].to_list() == ["pays above 60% of the time"]
    text = "\n".join(capacity_lines(made.capacity[0]))
    assert "for 7.2 of 12 months" in text
    assert "is the most that can be lost" in text


def test_advice_is_a_row_for_machines_and_in_no_saving(made: Plan) -> None:
    text = next(one for one in FORMATS if one.name == "csv").render(report_of(made))
    rows = pl.read_csv(text.encode()).filter(pl.col("x_Kind") == "commit")
    assert rows["x_CostDeltaGbpPerHour"].to_list() == [pytest.approx(-2 * 0.0736)]
    assert made.summary.saving_gbp_per_hour == 0.0


def test_an_owner_s_report_does_not_show_what_the_company_bought(made: Plan) -> None:
    own = of_owner(made, "shop-team")
    assert own.commitments == ()
    assert own.capacity == ()
