"""Distances come from the file of the settings before the packaged table, and a wrong file is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.core.errors import SettingsError
from recommender.observe.latency import latencies


def written(folder: Path, text: str) -> Path:
    file = folder / "latency.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_packaged_table_has_each_pair_once_and_london_is_near_london() -> None:
    table = latencies(None)
    pairs = [frozenset(pair) for pair in table.select("from", "to").rows()]
    assert len(set(pairs)) == len(pairs)
    known = {frozenset(row[:2]): row[2] for row in table.rows()}
    assert known[frozenset({"aws/eu-west-2", "gcp/europe-west2"})] < 5
    assert known[frozenset({"aws/eu-west-2", "aws/eu-north-1"})] > 20


def test_a_row_of_the_file_stands_before_the_packaged_one_either_way_round(tmp_path: Path) -> None:
    file = written(tmp_path, "from,to,ms\ngcp/europe-west2,aws/eu-west-2,3.5\nonprem/london,aws/eu-west-2,1.8\n")
    table = latencies(file)
    between = [row[2] for row in table.rows() if set(row[:2]) == {"aws/eu-west-2", "gcp/europe-west2"}]
    assert between == [3.5]
    assert ("onprem/london", "aws/eu-west-2", 1.8) in table.rows()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from,to\na/b,c/d\n", "no column 'ms'"),
        ("from,to,ms\na/b,c/d,1\nlondon,c/d,2\n", "line 3"),
        ("from,to,ms\na/b,c/d,-1\n", "line 2"),
        ("from,to,ms\na/b,c/d,soon\n", "line 2"),
        ("from,to,ms\na/b,c/d,1\nc/d,a/b,2\n", "two figures"),
    ],
)
def test_a_wrong_file_is_refused_and_says_where(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        latencies(written(tmp_path, text))
    assert says in str(caught.value)


def test_a_missing_file_is_an_error_and_not_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        latencies(tmp_path / "none.csv")
