"""Log lines go to stderr, and a traceback never carries the values of variables."""

from __future__ import annotations

import json

import pytest
import structlog

from exporters.core.logging import LogFormat, LogLevel, configure_logging


def fail(password: str) -> None:
    raise ValueError(f"a password of {len(password)} letters was refused")


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.TEXT])
def test_a_traceback_shows_where_but_no_values(form: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(form=form, level=LogLevel.INFO)
    try:
        fail("hunter2")
    except ValueError:
        structlog.get_logger().exception("refresh_fault", source="aws")

    written = capsys.readouterr()

    assert written.out == ""
    assert "7 letters" in written.err
    assert "in fail" in written.err or '"name": "fail"' in written.err
    assert "'hunter2'" not in written.err.replace('fail("hunter2")', "")


def test_json_lines_are_events_with_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(form=LogFormat.JSON, level=LogLevel.INFO)
    structlog.get_logger().info("refreshed", source="aws", rows=3)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["source"], line["rows"], line["level"]) == ("refreshed", "aws", 3, "info")


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(form=LogFormat.JSON, level=LogLevel.WARNING)
    structlog.get_logger().info("refreshed")
    assert capsys.readouterr().err == ""
