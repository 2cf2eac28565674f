"""The site builds without a warning, has every page, calls nobody, and its menu is the index."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, links

pytest.importorskip("mkdocs", reason="the development package mkdocs is not installed")

from tools.docs_navigation import FIRST, navigation_of

INDEX = (ROOT / "docs/index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_navigation_is_the_index_under_its_headings() -> None:
    text = (
        "# T\n| a | [one](a/one.md) |\n\n## Rest\n- [two](two.md): see [one](a/one.md) and [far](https://x.org/y.md)\n"
    )
    assert navigation_of(text) == [
        {"Tuppence": "index.md"},
        {FIRST: [{"One": "a/one.md"}]},
        {"Rest": [{"Two": "two.md"}]},
    ]


def test_every_page_of_the_index_is_in_the_menu_once() -> None:
    sections = [inside for section in navigation_of(INDEX) for inside in section.values() if isinstance(inside, list)]
    pages = [page for inside in sections for entry in inside for page in entry.values()]
    assert sorted(pages) == sorted({link for link in links(INDEX) if link.endswith(".md")})


def test_every_page_is_built(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert written <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_a_reader_of_the_site_calls_nobody(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'(?:<script[^>]+src|<link[^>]+rel="stylesheet"[^>]+href|<img[^>]+src)="([^"]+)"', text)
    assert loaded or "<script" in text
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]
