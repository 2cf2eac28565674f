"""Predictions beside the placement controller's own sums, over HTTP: it agrees, it does not, it refuses, it is away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from exporters.core.errors import SettingsError, SourceError, TerminalSourceError, TransientSourceError
from recommender.emit.contract import Subject
from recommender.emit.ocm import emit
from recommender.emit_settings import EmitSettings
from recommender.ocm_dry_run import dry_runs
from tests.fakes.ocm_debugger import TOKEN, Hub, debugger
from tests.recommender.emit.subjects import example
from tuppence import app


def hub_of(given: Subject, **changes: Any) -> Hub:
    """A hub on which everything that is handed over was applied; the workloads are in eks-lon."""
    documents = emit(given).documents
    labels = {
        one.patches["name"]: one.objects[0]["metadata"]["labels"]
        for one in documents
        if one.patches.get("kind") == "ManagedCluster"
    }
    scores = {
        one.patches["namespace"]: {score["name"]: score["value"] for score in one.objects[0]["status"]["scores"]}
        for one in documents
        if one.patches.get("kind") == "AddOnPlacementScore"
    }
    return Hub(labels, scores, **({"incumbent": "eks-lon"} | changes))


def asking(url: str, tmp_path: Path, *, token: str = TOKEN) -> Subject:
    """The example, with the controller's address and a token."""
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    settings = EmitSettings.model_validate({"ocm": {"debug_url": url, "debug_token_file": str(file)}})
    return replace(example(), settings=settings)


def test_the_controller_agrees_with_every_prediction_when_the_hub_has_what_is_handed_over(tmp_path: Path) -> None:
    hub = hub_of(example())
    with debugger(hub) as url:
        found = dry_runs(asking(url, tmp_path))
    assert {one.placement for one in found} == {"anywhere", "europe", "uk"}
    assert all(one.agrees for one in found), [one.sentence() for one in found]
    europe = next(one for one in found if one.placement == "europe")
    # 10 x 100 for the cheapest; 10 x 49 and Steady's 300 for the incumbent.
    assert europe.answered == "onprem-lon"
    assert europe.sums["onprem-lon"] == 1000
    assert europe.sums["eks-lon"] == 10 * hub.scores["eks-lon"]["cost-europe-any"] + 300
    assert "/debug/placements/tuppence/europe" in hub.seen


def test_a_class_that_no_advice_is_about_is_checked_for_its_first_choice(tmp_path: Path) -> None:
    with debugger(hub_of(example(), incumbent="")) as url:
        found = dry_runs(asking(url, tmp_path))
    (anywhere,) = [one for one in found if one.placement == "anywhere"]
    assert (anywhere.recommendation, anywhere.foretold, anywhere.agrees) == ("", "onprem-lon", True)


def test_scores_that_were_not_written_show_as_a_disagreement(tmp_path: Path) -> None:
    hub = hub_of(example())
    hub.scores.clear()
    with debugger(hub) as url:
        found = dry_runs(asking(url, tmp_path))
    europe = next(one for one in found if one.placement == "europe")
    assert (europe.foretold, europe.answered) == ("onprem-lon", "eks-lon")
    assert "the placement controller would choose eks-lon" in europe.sentence()


def test_labels_that_were_not_written_leave_no_cluster(tmp_path: Path) -> None:
    hub = hub_of(example())
    hub.labels = {name: {} for name in hub.labels}
    with debugger(hub) as url:
        found = dry_runs(asking(url, tmp_path))
    assert {one.answered for one in found} == {""}
    assert "would choose no cluster" in found[0].sentence()


def test_the_command_says_what_the_controller_thinks_and_a_controller_that_is_away_does_not_pass_for_agreement(
    company: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)

    def emitted(url: str) -> Result:
        settings = yaml.safe_load(company.read_text(encoding="utf-8"))
        ocm = {"debug_url": url, "debug_token_file": str(token)}
        settings["emit"] = settings.get("emit", {}) | {"score": {"usage_max_age_hours": 24}, "ocm": ocm}
        path = tmp_path / "tuppence.yaml"
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")
        out = str(tmp_path / "out")
        at = ["--at", "2026-11-30T12:00:00Z", "--no-ledger"]
        return CliRunner().invoke(app, ["emit", "--config", str(path), "--system", "ocm", *at, "--out", out])

    with debugger(Hub({}, {})) as url:
        result = emitted(url)
    assert result.exit_code == 0, result.stderr
    assert "Placement nhs-imaging: onprem-lon-1 was foretold, the placement controller would choose no" in result.stdout
    away = emitted(url)
    assert away.exit_code == 1
    assert "the placement controller did not answer" in " ".join(away.stderr.split())
    assert (tmp_path / "out" / "index.md").is_file()


def test_a_token_without_the_right_is_told_what_to_do(tmp_path: Path) -> None:
    with debugger(hub_of(example())) as url, pytest.raises(TerminalSourceError, match="Let the token's account create"):
        dry_runs(asking(url, tmp_path, token="of-somebody-else"))


def test_no_token_is_refused_by_the_controller(tmp_path: Path) -> None:
    with debugger(hub_of(example())) as url:
        given = asking(url, tmp_path)
        ocm = given.settings.ocm.model_copy(update={"debug_token_file": None})
        bare = replace(given, settings=given.settings.model_copy(update={"ocm": ocm}))
        with pytest.raises(TerminalSourceError, match="debug_token_file"):
            dry_runs(bare)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"status": 500}, TransientSourceError),
        ({"status": 404}, TerminalSourceError),
        ({"body": b"<html>"}, TerminalSourceError),
        ({"body": b'{"aggregatedScores": [{"clusterName": "a"}]}'}, TerminalSourceError),
        ({"body": b'{"error": "no binding"}'}, TerminalSourceError),
    ],
    ids=["down", "another-server", "no-json", "another-form", "error-in-200"],
)
def test_an_answer_that_is_none_is_an_error_and_never_an_agreement(
    changes: dict[str, Any], error: type[SourceError], tmp_path: Path
) -> None:
    with debugger(hub_of(example(), **changes)) as url, pytest.raises(error, match="/debug/placements/tuppence/"):
        dry_runs(asking(url, tmp_path))


def test_a_controller_that_is_away_is_an_error_that_another_try_may_mend(tmp_path: Path) -> None:
    with debugger(hub_of(example())) as url:
        pass
    with pytest.raises(TransientSourceError, match="did not answer"):
        dry_runs(asking(url, tmp_path))


@pytest.mark.parametrize("url", [None, "http://hub.example.org", "ftp://hub"])
def test_the_address_must_be_set_and_must_not_send_the_token_in_the_clear(url: str | None, tmp_path: Path) -> None:
    settings = EmitSettings.model_validate({"ocm": {"debug_url": url}})
    with pytest.raises(SettingsError, match=r"emit\.ocm\.debug_url"):
        dry_runs(replace(example(), settings=settings))
    assert not list(tmp_path.iterdir())
