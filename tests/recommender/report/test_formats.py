"""Every format says the same, looks as it did, and no name breaks out of it."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from exporters.core.errors import SettingsError, StoreError
from recommender.report.csv import BYTE_ORDER_MARK
from recommender.report.document import schema
from recommender.report.html import render as as_html
from recommender.report.markdown_words import text
from recommender.report.registry import FORMATS, Format
from recommender.report.view_model import report_of
from recommender.report.words import shown
from recommender.report.write import write_report
from tests.recommender.report.example import GOLDEN, HOSTILE, WEEK, example, example_plan, rendered

DOCS = Path(__file__).parents[3] / "docs"
BY_NAME = {form.name: form for form in FORMATS}


class Elements(HTMLParser):
    """Collects what a parser of HTML makes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed() -> Elements:
    page = Elements()
    page.feed(as_html(example()))
    return page


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_report_looks_as_it_did(form: Format) -> None:
    golden = (GOLDEN / f"report.{form.name}").read_bytes().decode()
    assert rendered(form, example()) == golden, "look at it; python -m tests.recommender.report.example writes it anew"


@pytest.mark.parametrize("name", ["md", "html"])
def test_formats_for_people_hold_every_saving_range_and_owner(name: str) -> None:
    report = example()
    page = BY_NAME[name].render(report)
    for one in report.advice:
        assert one.saving in page
        assert one.saving_range in page
    for owner in ("shop-team", "nobody named"):
        assert owner in page
    assert "730 hours" in page
    assert report.rates[0] in page


def test_a_hostile_name_stays_text_in_html() -> None:
    page = parsed()
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert any('=1+1"><script>alert(1)</script>|`x`⟨U+000A⟩⟨U+202E⟩evil' in part for part in page.texts)


def test_html_needs_nothing_from_elsewhere() -> None:
    page = parsed()
    tags = {tag for tag, _ in page.tags}
    assert tags & {"script", "link", "img", "iframe", "object", "form", "base"} == set()
    assert not [value for _, attributes in page.tags for name, value in attributes.items() if name in {"src", "style"}]
    assert "url(" not in as_html(example())
    assert "style=" not in as_html(example())
    assert "@import" not in as_html(example())


def test_every_column_head_has_a_scope_and_every_bar_a_text() -> None:
    page = parsed()
    assert [attributes for tag, attributes in page.tags if tag == "th" and "scope" not in attributes] == []
    bars = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert bars
    assert all(attributes["role"] == "img" for attributes in bars)
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert all(one.get("aria-label") or one["aria-labelledby"] in ids for one in bars)


def test_every_chart_has_its_text_and_its_figures_beside_it() -> None:
    report, page = example(), as_html(example())
    assert {one.name.split("-")[0] for one in report.charts} == {"spend", "savings", "demand", "price"}
    for one in report.charts:
        assert f'id="{one.name}-text"' in page
        if one.name != "spend":
            assert f'id="chart-{one.name}"' in page


def test_without_what_draws_charts_text_and_figures_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recommender.report.html.can_draw", lambda: False)
    page = as_html(example())
    assert 'class="chart"' not in page
    assert "<details open>" in page
    for one in example().charts_of("price"):
        assert one.rows[0][1] in page


def test_every_link_leads_to_a_place_in_the_page() -> None:
    page = parsed()
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = {str(attributes["href"]) for tag, attributes in page.tags if tag == "a"}
    assert links <= {f"#{name}" for name in ids}
    assert links


def test_a_hostile_name_stays_in_its_cell_in_markdown() -> None:
    page = BY_NAME["md"].render(example())
    line = next(line for line in page.splitlines() if line.startswith("| 4 |"))
    assert len(re.findall(r"(?<!\\)\|", line)) == 10
    assert "<script>" not in page
    assert "\u202e" not in page


def test_text_in_markdown_cannot_become_a_link_or_emphasis() -> None:
    assert text("[a](https://b) *c* _d_ <e> & `f`") == (r"\[a\](https:&#47;/b) \*c\* \_d\_ &lt;e&gt; &amp; \`f\`")


def test_csv_opens_in_a_spreadsheet_without_running_anything() -> None:
    body = BY_NAME["csv"].render(example())
    assert body.startswith(BYTE_ORDER_MARK)
    assert "\r\n" in body
    rows = list(csv.DictReader(io.StringIO(body.removeprefix(BYTE_ORDER_MARK), newline="")))
    texts = [cell for row in rows for cell in row.values() if not re.fullmatch(r"-?\d+(\.\d+)?", cell)]
    assert [cell for cell in texts if cell.startswith(("=", "+", "-", "@"))] == []
    hostile = next(row for row in rows if row["x_Namespace"] == "'=cmd")
    assert hostile["x_Workload"] == f"'{HOSTILE}"


def test_csv_keeps_negative_numbers_as_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(BY_NAME["csv"].render(example())[1:], newline="")))
    owed = next(row for row in rows if row["x_Kind"] == "compliance")
    # (0.128 − 0.04) × 730 less a month; the guard puts its apostrophe before texts only.
    assert owed["x_CostDeltaGbpPerMonth"] == "-64.24"
    assert owed["x_SavingGbpPerMonth"] == ""
    assert (owed["ProviderName"], owed["RegionId"], owed["PricingCategory"]) == ("gcp", "europe-west1", "Standard")


def test_json_is_the_plan_with_its_week() -> None:
    document = json.loads(BY_NAME["json"].render(report_of(example_plan(), WEEK)))
    assert document.pop("week") == "2026-W48"
    assert document == example_plan().document()


def test_json_has_what_the_week_adds_as_numbers_and_keeps_its_published_schema() -> None:
    text = BY_NAME["json"].render(example())
    document = json.loads(text)
    assert document == json.loads(json.dumps(example().document))
    published = json.loads((DOCS / "reference" / "report.schema.json").read_text(encoding="utf-8"))
    assert published == schema(), "write it anew: tuppence report --schema > docs/reference/report.schema.json"
    jsonschema.Draft202012Validator(published).validate(document)
    assert (document["spend"]["before_gbp"], document["spend"]["after_gbp"]) == (100.0, 110.0)
    assert document["realised"]["realised_gbp"] == 72.0
    assert sum(f'"{one.id}"' in line for line in text.splitlines() for one in example_plan().recommendations[:1]) >= 1


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_piece_by_piece_a_format_is_the_same(form: Format) -> None:
    assert "".join(form.pieces(example())) == form.render(example())


def test_characters_that_are_not_seen_are_shown_by_their_code() -> None:
    assert shown("a\u202eb\nc\x00d\u200be") == "a⟨U+202E⟩b⟨U+000A⟩c⟨U+0000⟩d⟨U+200B⟩e"
    assert shown("naïve – 日本 £1") == "naïve – 日本 £1"


def test_files_are_written_whole_and_named_by_their_week(tmp_path: Path) -> None:
    paths = write_report(example(), tmp_path / "new", names=["md", "html", "md"])
    assert [path.name for path in paths] == ["report-2026-W48.md", "report-2026-W48.html"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)
    assert paths[0].read_text(encoding="utf-8") == BY_NAME["md"].render(example())


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="html, md, json, csv"):
        write_report(example(), tmp_path, names=["pdf"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match="taken"):
        write_report(example(), tmp_path / "taken", names=["md"])
