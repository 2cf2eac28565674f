"""Every settings example of the page on delivery is one that the command accepts, and every kind of channel has one."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from exporters.core.config_file import parse_document, validate
from exporters.core.sections import ALL_SECTIONS
from recommender.deliver_settings import AnyChannel
from recommender.settings import RecommenderSettings
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/how-to/deliver-reports.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def settings(text: str) -> RecommenderSettings:
    return validate(parse_document(text, source="example", environment={}), RecommenderSettings, known=ALL_SECTIONS)


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_accepted_and_names_a_channel(text: str) -> None:
    assert settings(text).deliver.channels


def test_every_kind_of_channel_has_an_example() -> None:
    kinds = {get_args(one.model_fields["type"].annotation)[0] for one in get_args(get_args(AnyChannel)[0])}
    assert {one.type for text in EXAMPLES for one in settings(text).deliver.channels} == kinds
