"""The index: what was written for each piece of advice, what was not and why, for machines and for people."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import jsonschema
import pytest

from recommender.advise.record import State
from recommender.emit.contract import Document, Emitted, NotExpressed, System
from recommender.emit.index import Index, index_of
from recommender.emit.index_page import page
from recommender.emit.overtaken import Overtaken
from tests.recommender.emit.golden import GOLDEN, everything, made
from tests.recommender.emit.subjects import example, subject
from tests.recommender.world import workload

ONE, OTHER = example().plan.recommendations[:2]
DOCUMENT = Document(
    path="one.yaml",
    form="manifest",
    objects=({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}},),
    says="Says | something",
    apply="apply it",
    rollback="undo it",
    recommendations=(ONE.id,),
    expires_at=ONE.expires_at,
)


def indexed(*documents: Document, silent: tuple[NotExpressed, ...] = (), **more: object) -> Index:
    given = Emitted(documents, silent)
    return index_of(example(), [(System("one", "System One", lambda _: given), given)], **more)  # type: ignore[arg-type]


def test_each_recommendation_says_where_it_is_written_and_where_not_and_why() -> None:
    index = indexed(DOCUMENT, silent=(NotExpressed(OTHER.id, "it has no word for it"),))
    by_id = {one.id: one for one in index.recommendations}
    assert by_id[ONE.id].written == {"one": ("one/one.yaml",)}
    assert by_id[OTHER.id].not_expressed == {"one": ("it has no word for it",)}
    assert by_id[OTHER.id].written == {}
    text = page(index)
    assert "[one/one.yaml](one/one.yaml)" in text
    assert "it has no word for it" in text


def test_savings_are_those_of_kinds_that_save() -> None:
    saving = [one.monthly.saving.p50 for one in example().plan.recommendations if one.monthly is not None]
    assert indexed(DOCUMENT).saving_gbp_per_month == sum(saving, Decimal(0))
    assert f"save £{sum(saving):,.2f} a month together" in page(indexed(DOCUMENT))


def test_what_is_superseded_and_left_out_stands_apart_with_its_reason() -> None:
    gone = Overtaken("abc", "placement", "Move a|b", State.ACCEPTED, "the price went up")
    dismissed = ONE.model_copy(update={"state": State.DISMISSED})
    index = indexed(superseded=[gone], left_out=[dismissed])
    assert [(one.id, one.state, one.why) for one in index.superseded] == [("abc", State.ACCEPTED, "the price went up")]
    assert index.left_out[0].why == "it is dismissed"
    assert "| `abc` | Move a\\|b | accepted | the price went up |" in page(index)


def test_an_empty_plan_says_that_nothing_moves() -> None:
    given = subject(workload("pinned", local_volume=True))
    assert given.plan.recommendations == ()
    index = index_of(given, [(System("one", "System One", lambda _: Emitted()), Emitted())])
    assert index.saving_gbp_per_month == 0
    assert "Nothing is advised at this time" in page(index)
    assert "Nothing to write." in page(index)


def test_prices_stand_with_their_time() -> None:
    assert "| aws/20261130T120000.000000Z | live | 30 November 2026 at 12:00 UTC |" in page(indexed(DOCUMENT))


def test_a_hostile_name_stays_in_its_cell() -> None:
    hostile = replace(DOCUMENT, says="</td><script>alert(1)</script>|[x](javascript:1)\n# heading")
    text = page(indexed(hostile))
    assert "<script>" not in text.replace("\\<", "")
    assert "\n# heading" not in text
    assert "[x](javascript" not in text


def test_the_index_is_valid_by_its_published_schema() -> None:
    index, _ = made()
    schema = Index.model_json_schema(mode="serialization")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(index.model_dump(mode="json", exclude_none=True))
    assert Index.model_validate_json(json.dumps(index.model_dump(mode="json", exclude_none=True))) == index


@pytest.mark.parametrize("name", sorted(everything()))
def test_the_golden_files_are_what_is_written_today(name: str) -> None:
    assert (GOLDEN / name).read_text(encoding="utf-8") == everything()[name]


def test_no_golden_file_is_left_over() -> None:
    systems = {part.name for part in made()[0].systems}
    there = {
        path.relative_to(GOLDEN).as_posix() for name in systems for path in (GOLDEN / name).rglob("*") if path.is_file()
    }
    assert there <= everything().keys()
