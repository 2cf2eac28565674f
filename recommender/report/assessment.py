"""The assessment as a page beside the report: Markdown and HTML, from one view model. Names cannot break out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from markupsafe import Markup

from exporters.core.errors import SettingsError
from exporters.core.web.templates import environment
from recommender.advise.assess_record import Assessment
from recommender.report.assessment_view import AssessmentPage, Table, page_of
from recommender.report.html import stylesheet
from recommender.report.markdown_words import text
from recommender.report.write import write_file

STEM = "assessment"
FORMATS = ("html", "md", "json")


def write_assessment(
    found: Assessment, folder: Path, *, names: Sequence[str] = FORMATS, report: str = ""
) -> list[Path]:
    """This will write the assessment into a folder and return the files.

    Args:
        found: the assessment.
        folder: made if it is not there.
        names: formats, of FORMATS.
        report: name, without its ending, of the report beside it; empty: there is none.

    Raises:
        SettingsError: there is no such format.
        StoreError: the folder cannot be written.
    """
    check_formats(names)
    page = page_of(found, report=report)
    texts = {"html": lambda: as_html(page), "md": lambda: as_markdown(page), "json": found.to_json}
    return [write_file(folder / f"{STEM}.{name}", texts[name]()) for name in dict.fromkeys(names)]


def check_formats(names: Sequence[str]) -> None:
    """This will look at the names of formats before anything is read.

    Raises:
        SettingsError: there is no such format.
    """
    if wrong := [name for name in names if name not in FORMATS]:
        raise SettingsError(
            f"there is no format {wrong[0]!r}", where="--format", next_step=f"Name some of: {', '.join(FORMATS)}."
        )


def as_markdown(page: AssessmentPage) -> str:
    """This will return the page as Markdown (CommonMark with tables)."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def as_html(page: AssessmentPage) -> str:
    """This will return the page as one HTML file that needs nothing else; every text in it is escaped."""
    # The style is the program's own, and is that of the report.
    style = Markup(stylesheet())  # noqa: S704
    return (
        environment("recommender.report")
        .get_template("assessment.html")
        .render(page=page, style=style, version=version("tuppence"))
    )


def _lines(page: AssessmentPage) -> Iterable[str]:
    yield from (f"# Tuppence: {text(page.title)}", "")
    yield from (f"Mode: {text(page.mode)}. Usage: {text(page.usage)}. Made on {text(page.made_at)}.", "")
    yield from (f"**{text(page.verdict)}**", "")
    if page.report:
        yield from (f"[The report]({page.report}.md)", "")
    for table in page.tables:
        yield from (f"## {text(table.title)}", "")
        if table.intro:
            yield from (text(table.intro), "")
        yield from (_rows(table) if table.rows else (text(table.nothing), ""))


def _rows(table: Table) -> Iterable[str]:
    yield _line(table.head)
    yield _line(["--:" if number in table.right else "---" for number in range(len(table.head))])
    yield from (_line([text(cell) for cell in row]) for row in table.rows)
    yield ""


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
