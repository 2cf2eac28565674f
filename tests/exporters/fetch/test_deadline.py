"""The time a refresh has runs out once, whatever happens to the wall clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine

from exporters.core.errors import TransientSourceError
from exporters.fetch.contract import FetchRequest
from exporters.fetch.cost_contract import CostRequest
from exporters.fetch.deadline import Deadline

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_seconds_of_the_request_are_left():
    request = FetchRequest(now=NOON, scratch=Path(), deadline=NOON + timedelta(seconds=90))

    assert 80 < Deadline.of(request, source="aws").remaining("page 2") <= 90


def test_one_that_has_passed_says_which_setting_to_raise():
    with pytest.raises(TransientSourceError, match=r"page 2: .*deadline .*Raise sources\.gcp\.deadline_seconds"):
        Deadline(0, source="gcp").check("page 2")


def test_that_of_a_source_of_costs_names_its_own_section():
    day = NOON.date()
    request = CostRequest(now=NOON, first_day=day, last_day=day, scratch=Path(), deadline=NOON)

    with pytest.raises(TransientSourceError, match=r"Raise costs\.opencost\.deadline_seconds"):
        Deadline.of(request, source="opencost").check("cluster london")


@pytest.mark.parametrize("step", [timedelta(days=-1), timedelta(days=1)], ids=["back", "forward"])
def test_a_stepped_wall_clock_changes_nothing(step: timedelta):
    deadline = Deadline(90, source="azure")

    with time_machine.travel(datetime.now(UTC) + step):
        assert 80 < deadline.remaining("page 2") <= 90
