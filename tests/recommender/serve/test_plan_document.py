"""The plan that is served is the text that is written, byte for byte, and takes little room until it is asked for."""

from __future__ import annotations

from recommender.advise.plan import Plan
from recommender.serve.plan_document import PlanDocument, pieces
from tests.builders import NOON
from tests.recommender.report.example import example_plan
from tests.recommender.serve.conftest import Served
from tests.recommender.world import plan, workload


def test_the_pieces_are_the_text_of_the_plan() -> None:
    assert "".join(pieces(example_plan())) == example_plan().to_json()


def test_empty_lists_and_what_is_not_known_are_written_as_the_plan_writes_them() -> None:
    bare = plan(workload()).model_copy(update={"recommendations": (), "refused": (), "machines": None})
    assert "".join(pieces(bare)) == bare.to_json()


def test_line_breaks_and_letters_of_any_script_in_a_name_stay_what_they_are() -> None:
    made = plan(workload("first\nsecond\r\u2028\\n – 店"))
    read = PlanDocument.of(made).read()
    assert read == made.to_json().encode()
    assert Plan.model_validate_json(read) == made


def test_a_plan_that_repeats_itself_is_kept_in_a_fraction_of_its_length() -> None:
    example = example_plan()
    large = example.model_copy(update={"recommendations": example.recommendations * 100})
    document = PlanDocument.of(large)
    assert document.length == len(large.to_json().encode())
    assert len(document.packed) * 10 < document.length


def test_the_served_bytes_are_those_of_the_plan(served: Served) -> None:
    served.last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    assert served.client.get("/api/v1/plan").content == example_plan().to_json().encode()
