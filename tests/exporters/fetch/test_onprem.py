"""Rate cards: what an owner must state, and which mistakes are refused before anything is computed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from exporters.core.config_file import Section, parse_document, validate
from exporters.core.errors import SettingsError
from exporters.fetch.contract import FetchRequest
from exporters.fetch.onprem import OnpremSettings, check, fetch, site_regions

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MACHINE: dict[str, Any] = {
    "instance_type": "h100-8",
    "vcpus": 192,
    "memory_gib": 1500,
    "gpu_model": "H100",
    "gpus": 8,
    "purchase_price": 240_900,
    "life_years": 5,
    "residual_value": 21_900,
    "idle_watts": 2_000,
    "full_watts": 7_000,
    "hosting_per_year": 8_760,
    "support_ratio": 0.08,
    "staff_per_year": 4_380,
    "target_utilisation": 0.8,
}
CARD: dict[str, Any] = {"site": "london-1", "country": "GB", "price_per_kwh": 0.25, "pue": 1.4}


def settings(*, card: dict[str, Any] | None = None, **machine: Any) -> OnpremSettings:
    changed = {name: value for name, value in (MACHINE | machine).items() if value is not None}
    return OnpremSettings(rate_cards=[CARD | {"machines": [changed]} | (card or {})])


def request(tmp_path: Path) -> FetchRequest:
    return FetchRequest(now=NOW, scratch=tmp_path, deadline=NOW)


def test_a_card_becomes_one_raw_row_a_machine_with_its_figures_as_written(tmp_path: Path):
    row = fetch(settings(), request(tmp_path)).frames["machines"].collect().to_dicts()[0]
    assert (row["site"], row["instance_type"], row["currency"]) == ("london-1", "h100-8", "GBP")
    assert (row["price_per_kwh"], row["support_ratio"], row["support_per_year"]) == ("0.25", "0.08", None)


def test_a_spelling_of_a_gpu_becomes_its_one_word(tmp_path: Path):
    raw = fetch(settings(gpu_model="NVIDIA-H100-80GB-HBM3"), request(tmp_path)).frames["machines"].collect()
    assert raw["gpu_model"].to_list() == ["H100"]


def test_an_unknown_gpu_is_refused_and_the_table_named():
    with pytest.raises(
        ValidationError, match=r"'H1000' is not in the table of GPUs \(core/data/gpu_models.csv\).*L40S"
    ):
        settings(gpu_model="H1000")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("life_years", 0),
        ("life_years", -3),
        ("target_utilisation", 0),
        ("target_utilisation", 1.01),
        ("purchase_price", 0),
        ("purchase_price", -1),
        ("purchase_price", "NaN"),
        ("hosting_per_year", -1),
        ("staff_per_year", "Infinity"),
        ("support_ratio", -0.1),
        ("residual_value", 240_901),
        ("idle_watts", 7_001),
        ("full_watts", 0),
        ("vcpus", 0),
        ("memory_gib", -1),
        ("gpus", 0),
        ("gpu_model", ""),
        ("architecture", "sparc"),
        ("instance_type", ""),
        ("support_per_year", 100),
        ("gpu_purchase_price", 100_000),
    ],
)
def test_a_figure_that_cannot_be_meant_is_refused(field: str, value: object):
    with pytest.raises(ValidationError):
        settings(**{field: value})


@pytest.mark.parametrize(
    "field", ["hosting_per_year", "staff_per_year", "target_utilisation", "support_ratio", "full_watts", "life_years"]
)
def test_a_cost_that_was_forgotten_is_asked_for_rather_than_taken_as_nothing(field: str):
    with pytest.raises(ValidationError):
        settings(**{field: None})


def test_shares_may_not_exceed_the_purchase():
    with pytest.raises(ValidationError, match="more than purchase_price"):
        settings(gpu_purchase_price=200_000, memory_purchase_price=40_901)


@pytest.mark.parametrize("change", [{"pue": 0.9}, {"price_per_kwh": 0}, {"country": "UK1"}, {"currency": "£"}])
def test_a_site_that_cannot_be_meant_is_refused(change: dict[str, Any]):
    with pytest.raises(ValidationError):
        settings(card=change)


def test_a_machine_type_stands_once_at_a_site():
    with pytest.raises(ValidationError, match="twice at london-1: h100-8"):
        settings(card={"machines": [MACHINE, MACHINE]})


def test_a_site_stands_on_one_card():
    card = CARD | {"machines": [MACHINE]}
    with pytest.raises(ValidationError, match="two rate cards: london-1"):
        OnpremSettings(rate_cards=[card, card])


def test_a_source_that_is_on_without_a_card_says_what_to_do(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"has no rate card.*docs/sources/onprem\.md"):
        fetch(OnpremSettings(enabled=True), request(tmp_path))


def test_a_mistake_in_a_settings_file_is_named_with_its_line():
    class Sources(Section):
        onprem: OnpremSettings = OnpremSettings()

    class Root(Section):
        sources: Sources = Sources()

    text = (
        "sources:\n  onprem:\n    rate_cards:\n      - {site: london-1, country: GB, price_per_kwh: 0.25, pue: 1.4,\n"
        "         machines: [{instance_type: a, gpu_model: H1000}]}\n"
    )
    document = parse_document(text, source="tuppence.yaml", environment={})
    with pytest.raises(SettingsError, match=r"line 5: sources\.onprem\.rate_cards\[0\]\.machines\[0\]\.gpu_model"):
        validate(document, Root, known=frozenset({"sources"}))


@pytest.mark.parametrize(("country", "jurisdiction"), [("GB", "GB"), ("IE", "EEA"), ("NO", "EEA"), ("CH", "CH")])
def test_the_jurisdiction_of_a_site_follows_from_its_country(country: str, jurisdiction: str):
    regions = site_regions(settings(card={"country": country}))
    assert regions.rows() == [("onprem", "london-1", country, jurisdiction)]


def test_check_tells_what_each_site_has(tmp_path: Path):
    (finding,) = check(settings(), request(tmp_path))
    assert (finding.state, finding.detail) == ("ok", "machine types: 1; GBP; GB (GB)")


def test_check_tells_when_there_is_no_card(tmp_path: Path):
    (finding,) = check(OnpremSettings(), request(tmp_path))
    assert finding.state == "failed"
    assert "rate card" in finding.next_step
