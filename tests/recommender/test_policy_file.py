"""Figures are put into a settings file in their places, and nothing else in it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from exporters.core.errors import SettingsError, StoreError
from recommender.policy_file import edited, figure, written

STEADY = ("policy", "steady", "min_saving_ratio")


def test_a_figure_changes_and_the_comments_stay() -> None:
    text = (
        "# ours\npolicy:\n  steady: # slow\n    min_saving_ratio: 0.15   # per cent\n    payback_hours: 168\nb: [1]\n"
    )
    assert edited(text, {STEADY: 0.165}, source="t") == text.replace("0.15 ", "0.165 ")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "policy:\n  steady:\n    min_saving_ratio: 0.165\n"),
        ("a: 1\n", "policy:\n  steady:\n    min_saving_ratio: 0.165\na: 1\n"),
        ("policy:\n  rules: []\n", "policy:\n  steady:\n    min_saving_ratio: 0.165\n  rules: []\n"),
        ("policy: {steady: {x: 1}}\n", "policy: {steady: {min_saving_ratio: 0.165, x: 1}}\n"),
        ("policy: {}\n", "policy: {steady: {min_saving_ratio: 0.165}}\n"),
    ],
)
def test_a_figure_that_the_file_left_out_is_added(text: str, after: str) -> None:
    assert edited(text, {STEADY: 0.165}, source="t") == after


@pytest.mark.parametrize(
    "text",
    [
        "policy: {steady: {min_saving_ratio: '${RATIO}'}}\n",
        "policy: {steady: {min_saving_ratio: [1]}}\n",
        "policy: 5\n",
        "x: &s {min_saving_ratio: 0.15}\npolicy: {steady: *s}\n",
    ],
)
def test_a_figure_that_is_none_of_its_own_is_left_to_a_person(text: str) -> None:
    with pytest.raises(SettingsError, match="by hand"):
        edited(text, {STEADY: 0.165}, source="t")


@given(st.floats(1e-9, 1e9))
def test_every_figure_is_a_number_to_yaml(value: float) -> None:
    assert yaml.safe_load(figure(value)) == pytest.approx(value, rel=1e-5)


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text("a: 1\n", encoding="utf-8")
    real.chmod(0o640)
    link = tmp_path / "tuppence.yaml"
    link.symlink_to(real)
    written(link, "a: 2\n")
    assert (link.is_symlink(), real.read_text("utf-8"), real.stat().st_mode & 0o777) == (True, "a: 2\n", 0o640)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["real.yaml", "tuppence.yaml"]


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        written(tmp_path / "none" / "tuppence.yaml", "a: 1\n")
