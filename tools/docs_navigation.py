"""The navigation of the documentation's site is docs/index.md, read here by mkdocs as a hook.

What a reader of the files finds in the tables and lists of the index, a reader of the site finds in its menu, under the
same headings.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

_HEADING = re.compile(r"^## +(.+)$")
_PAGE = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+\.md)\)")
FIRST = "How to"
"""The name of what stands before the first heading."""

Navigation = list[dict[str, str | list[dict[str, str]]]]


def navigation_of(index: str) -> Navigation:
    """This will return mkdocs' navigation of an index: its sections in order, each with its pages."""
    found: Navigation = [{"Tuppence": "index.md"}]
    section, seen = FIRST, {"index.md"}
    for line in index.splitlines():
        if heading := _HEADING.match(line):
            section = heading[1]
        for title, page in _PAGE.findall(line):
            if page in seen:
                continue
            seen.add(page)
            if section not in found[-1]:
                found.append({section: []})
            inside = found[-1][section]
            assert isinstance(inside, list)
            inside.append({title[0].upper() + title[1:]: page})
    return found


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """This will set the navigation before mkdocs looks for pages."""
    index = Path(config.docs_dir) / "index.md"
    config.nav = navigation_of(index.read_text(encoding="utf-8"))
    return config
