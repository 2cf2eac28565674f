"""The usage source is the one that the settings name, and there must be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporters.core.errors import SettingsError, TransientSourceError
from recommender.observe.source import read_usage
from recommender.settings import UsageSettings
from tests.fakes.prometheus import fake_prometheus
from tests.recommender.observe.test_usage_file import ROW, csv_file
from tests.recommender.observe.usage_rows import WEEK


def test_a_file_is_read(tmp_path: Path):
    settings = UsageSettings.model_validate({"file": {"path": csv_file(tmp_path, ROW)}})
    assert read_usage(settings, WEEK).samples["workload"].to_list() == ["web"]


def test_prometheus_is_asked():
    with fake_prometheus() as gone:
        url = gone.url
    settings = UsageSettings.model_validate({"prometheus": {"url": url}})
    with pytest.raises(TransientSourceError, match="the query 'series of each record' failed"):
        read_usage(settings, WEEK)


def test_without_a_source_the_settings_are_wrong():
    with pytest.raises(SettingsError, match="usage: no source of usage is named"):
        read_usage(UsageSettings(), WEEK)
