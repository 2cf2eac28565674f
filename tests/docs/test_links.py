"""No link of the documentation leads nowhere, and no page is without a way to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, pages


def broken(page: Path, text: str) -> list[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    found = []
    for link in links(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        heading_missing = anchor and anchor not in anchors(target.read_text(encoding="utf-8") if name else text)
        if not target.exists() or heading_missing:
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_a_link_to_nowhere_is_found_and_one_inside_code_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One heading\n\n## Use `it`, now\n", encoding="utf-8")
    text = "[a](there.md) [b](gone.md) [c](there.md#use-it-now) [d](there.md#other) `[e](gone.md)` [f](https://x.org)"
    assert broken(tmp_path / "page.md", text) == ["gone.md", "there.md#other"]


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs/index.md"
    reached: set[Path] = set()
    waiting = [index]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for link in links(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                waiting.append(target)
    unreached = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")} - {
        str(page.relative_to(ROOT)) for page in reached
    }
    assert unreached == set()
