"""The pages of the documentation as tests read them: commands and links."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", flags=re.MULTILINE)


def pages() -> list[Path]:
    """This will return every page of the documentation, and those at the root of the repository."""
    return [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]


def commands(text: str) -> list[str]:
    """This will return the lines that a page's console blocks tell the reader to type."""
    lines = (line for block in CONSOLE.findall(text) for line in block.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def links(text: str) -> list[str]:
    """This will return a page's links; what looks like one inside code is none."""
    return LINK.findall(CODE.sub("", text))


def anchors(text: str) -> set[str]:
    """This will return the names by which a page's headings can be linked to, as GitHub makes them."""
    plain = CODE.sub(lambda match: match[0].strip("`") if "\n" not in match[0] else "", text)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(plain)}
