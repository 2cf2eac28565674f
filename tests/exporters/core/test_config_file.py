"""Settings files: what is right is read, what is wrong is named with its line, path and next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.core.config_file import Document, Section, parse_document, read_document, validate
from exporters.core.errors import SettingsError

KNOWN = frozenset({"store", "clusters"})


class Store(Section):
    url: str = "data"
    retention_days: int = 30
    families: tuple[str, ...] = ()


class Root(Section):
    store: Store = Store()


def parse(text: str, **environment: str) -> Document:
    return parse_document(text, source="tuppence.yaml", environment=environment)


def read(text: str, **environment: str) -> Root:
    return validate(parse(text, **environment), Root, known=KNOWN)


def mistake(text: str, **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read(text, **environment)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_an_empty_file_gives_the_defaults() -> None:
    assert read("") == Root()
    assert validate(read_document(None), Root, known=KNOWN) == Root()


def test_a_section_of_the_other_package_is_left_to_it() -> None:
    assert read("clusters: [{name: a}]\nstore: {url: x}").store.url == "x"


def test_an_unknown_section_is_named_with_its_line() -> None:
    text = mistake("store:\n  url: x\nstroe:\n  url: y\n")
    assert "line 3" in text
    assert "'stroe'" in text
    assert "tuppence config check" in text


def test_an_unknown_key_is_named_with_its_line_and_path() -> None:
    assert "line 3: store.retention: this key is not known" in mistake("store:\n  url: x\n  retention: 3\n")


def test_a_wrong_type_is_named_with_its_line_and_path() -> None:
    assert "line 2: store.retention_days" in mistake("store:\n  retention_days: soon\n")


def test_an_item_of_a_list_is_named_by_its_index() -> None:
    assert "line 4: store.families[1]" in mistake("store:\n  families:\n    - m6*\n    - {a: 1}\n")


def test_all_mistakes_come_in_one_message() -> None:
    text = mistake("store:\n  retention_days: soon\n  colour: red\nextra: 1\n")
    assert all(part in text for part in ("line 2", "line 3", "line 4"))


def test_text_that_is_not_yaml_is_named_with_its_line() -> None:
    assert "line 2" in mistake("store:\n\turl: x\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("store:\n  port: 2026-99-99\n", 2),
        ("store:\n  port: !secret x\n", 2),
        ("store:\n  port: !!int many\n", 2),
        ("store:\n  port: a\x00b\n", 2),
        ("store: &all [*all]\n", 1),
    ],
    ids=["no such day", "unknown tag", "no number", "control character", "alias of itself"],
)
def test_a_value_that_yaml_cannot_hold_is_named_with_its_line(text: str, line: int) -> None:
    assert f"line {line}: this is not YAML" in mistake(text)


def test_a_file_that_is_a_list_is_refused() -> None:
    assert "mapping of sections" in mistake("- store\n")


def test_a_key_that_stands_twice_is_refused() -> None:
    assert "stands twice" in mistake("store:\n  url: x\n  url: y\n")


def test_a_variable_is_replaced_and_keeps_its_type() -> None:
    assert read("store:\n  retention_days: ${DAYS}\n", DAYS="7").store.retention_days == 7


def test_a_variable_inside_quotes_stays_text() -> None:
    assert read('store:\n  url: "${NUMBER}"\n', NUMBER="7").store.url == "7"


def test_a_default_stands_in_for_an_unset_variable() -> None:
    assert read("store: {url: '${WHERE:-here}'}").store.url == "here"


def test_two_dollars_are_one() -> None:
    assert read("store: {url: 'a$${b}'}").store.url == "a${b}"


def test_an_unset_variable_is_named_with_its_line() -> None:
    text = mistake("store:\n  url: ${BUCKET}\n")
    assert "line 2" in text
    assert "${BUCKET}" in text


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_document(tmp_path / "absent.yaml")


def test_a_file_that_is_not_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_document(tmp_path / "bad.yaml")
