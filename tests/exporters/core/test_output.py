"""What people and machines are shown is what was given: brackets in it are text, never markup."""

from __future__ import annotations

import polars as pl
import pytest
import typer

from exporters.core.errors import TerminalSourceError
from exporters.core.output import errors_explained, print_table


def test_an_error_that_quotes_brackets_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, errors_explained():
        raise TerminalSourceError(
            "the server answered 403: '[/b] denied [red]'", where="https://[::1]:1/", next_step="See clusters[a]."
        )
    assert left.value.exit_code == 1
    shown = capsys.readouterr().err
    assert "https://[::1]:1/: the server answered 403: '[/b] denied [red]'." in shown
    assert "See clusters[a]." in shown


def test_a_cell_with_brackets_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(pl.DataFrame({"provider": ["[bold]oxbow[/nothing]"]}))
    assert "[bold]oxbow[/nothing]" in capsys.readouterr().out
