"""The ledger's commands as a user types them, over the demonstration's company with a ledger of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import time_machine
import yaml
from typer.testing import CliRunner, Result

from exporters.core.clock import FixedClock
from recommender import verification
from recommender.advise.record import Recommendation
from recommender.cli import load_settings
from recommender.inputs import evaluation
from recommender.ledger.events import EventKind
from recommender.ledger.store import Ledger
from recommender.recorded import recorded
from recommender.serving import RecommenderService
from recommender.settings import LedgerSettings
from recommender.verification import verify
from tests.builders import NOON
from tests.recommender.ledger.happened import event
from tuppence import app

Run = Callable[..., Result]
DAY = timedelta(days=1)


@pytest.fixture
def config(company: Path, tmp_path: Path) -> Path:
    document = yaml.safe_load(company.read_text(encoding="utf-8"))
    document["ledger"] = {"url": str(tmp_path / "ledger.sqlite")}
    # A policy of its own, because calibrate --apply writes into it.
    document["policy"] = str(shutil.copy(company.with_name("policy.yaml"), tmp_path))
    path = tmp_path / "tuppence.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


@pytest.fixture
def noon() -> Iterator[time_machine.Coordinates]:
    """The machine's clock stands at Monday noon until it is moved."""
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def run(config: Path, noon: time_machine.Coordinates, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TUPPENCE_CONFIG", str(config))
    monkeypatch.setenv("USER", "ann")
    monkeypatch.setenv("LOGNAME", "ann")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def advised(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with what is recommended on Monday noon; it is copied, not used."""
    path = tmp_path_factory.mktemp("advised") / "ledger.sqlite"
    settings = load_settings(company).model_copy(update={"ledger": LedgerSettings(url=str(path))})
    assert recorded(settings, at=NOON, now=NOON).not_recorded == ""
    return path


@pytest.fixture
def advice(run: Run, advised: Path, tmp_path: Path) -> list[dict[str, Any]]:
    """What was recommended, the greatest saving first, and is in the ledger now."""
    shutil.copy(advised, tmp_path / "ledger.sqlite")
    return rows(run("list", "-o", "json"))


def test_what_is_recommended_is_listed_as_open_with_its_money(run: Run, advice: list[dict[str, Any]]) -> None:
    plan = json.loads(run("recommend", "-o", "json").stdout)
    assert {row["recommendation_id"] for row in advice} == {one["id"] for one in plan["recommendations"]}
    assert {row["state"] for row in advice} == {"open"}
    savings = [row["saving_gbp_per_month"] for row in advice if row["saving_gbp_per_month"] is not None]
    assert savings == sorted(savings, reverse=True)
    table = run("list")
    assert advice[0]["recommendation_id"] in table.stdout
    assert f"saves £{advice[0]['saving_gbp_per_month']:,.2f}" in table.stdout


@pytest.mark.usefixtures("advice")
def test_a_ledger_that_knows_the_advice_and_none_give_the_same_bytes(run: Run) -> None:
    known = run("recommend", "-o", "json")
    assert known.exit_code == 0, known.stderr
    assert run("recommend", "--no-ledger", "-o", "json").stdout_bytes == known.stdout_bytes


@pytest.mark.slow
def test_the_same_inputs_and_a_fresh_ledger_give_the_same_bytes(run: Run, tmp_path: Path) -> None:
    first = run("recommend", "-o", "json").stdout_bytes
    again = run("recommend", "-o", "json").stdout_bytes
    (tmp_path / "ledger.sqlite").unlink()
    fresh = run("recommend", "-o", "json").stdout_bytes
    without = run("recommend", "--no-ledger", "-o", "json").stdout_bytes
    assert first == again == fresh == without


def test_a_decision_is_by_the_user_and_by_the_beginning_of_an_id(run: Run, advice: list[dict[str, Any]]) -> None:
    identifier = advice[0]["recommendation_id"]
    [row] = rows(run("accept", identifier[:6], "-o", "json"))
    assert (row["recommendation_id"], row["state"], row["author"]) == (identifier, "accepted", "ann")
    [row] = rows(run("dismiss", identifier, "--reason", "no [b]room[/b]", "--author", "bob", "-o", "json"))
    assert (row["state"], row["author"], row["reason"]) == ("dismissed", "bob", "no [b]room[/b]")
    assert "no [b]room[/b]" in run("list", "--state", "dismissed").stdout
    [row] = rows(run("reopen", identifier, "-o", "json"))
    assert (row["state"], row["until"]) == ("open", None)


def test_dismissed_advice_leaves_the_plan_and_comes_back_on_its_day(
    run: Run, advice: list[dict[str, Any]], noon: time_machine.Coordinates
) -> None:
    identifier = advice[0]["recommendation_id"]
    assert run("dismiss", identifier, "--reason", "freeze", "--until", "2026-12-02").exit_code == 0
    noon.move_to(NOON + DAY)
    plan = json.loads(run("recommend", "-o", "json").stdout)
    assert identifier not in {one["id"] for one in plan["recommendations"]}
    assert any(
        "ann dismissed it on 30 November 2026 until 2 December 2026: freeze" in r["why"] for r in plan["refused"]
    )
    noon.move_to(NOON + 2 * DAY)
    plan = json.loads(run("recommend", "-o", "json").stdout)
    assert identifier in {one["id"] for one in plan["recommendations"]}


def test_a_plan_shows_the_state_and_when_it_was_first_advised(
    run: Run, advice: list[dict[str, Any]], noon: time_machine.Coordinates
) -> None:
    identifier = advice[0]["recommendation_id"]
    run("accept", identifier)
    noon.move_to(NOON + timedelta(hours=3))
    plan = json.loads(run("recommend", "-o", "json").stdout)
    one = next(one for one in plan["recommendations"] if one["id"] == identifier)
    assert (one["state"], one["proposed_at"], one["expires_at"]) == (
        "accepted",
        "2026-11-30T12:00:00Z",
        "2026-12-07T15:00:00Z",
    )
    assert json.loads(run("explain", identifier, "--json").stdout)["state"] == "accepted"


WRONG = (
    (("accept", "zzz"), "there is no such recommendation"),
    (("accept", ""), "there is no such recommendation"),
    (("dismiss", "ID"), "Missing option '--reason'"),
    (("dismiss", "ID", "--reason", " "), "a dismissal needs a reason"),
    (("snooze", "ID"), "Missing option '--until'"),
    (("snooze", "ID", "--until", "2026-11-30T12:00:00Z"), "which is not in the future"),
    (("snooze", "ID", "--until", "soon"), "'soon' is not a day"),
    (("implemented", "ID", "--at", "2026-12-01"), "has not been made yet"),
    (("implemented", "ID", "--at", "2026-11-29"), "was not made on this advice"),
    (("reopen", "ID"), "it is open, and only advice that is"),
    (("accept", "ID", "--author", ""), "nobody is named who decides"),
    (("list", "--state", "done"), "'done' is not one of"),
)


def test_what_cannot_be_decided_ends_with_two_and_says_why(run: Run, advice: list[dict[str, Any]]) -> None:
    identifier = advice[0]["recommendation_id"]
    for arguments, said in WRONG:
        result = run(*(identifier if one == "ID" else one for one in arguments))
        shown = " ".join(result.stderr.replace("│", " ").split())
        assert (result.exit_code, said in shown) == (2, True), (arguments, shown)
    assert rows(run("list", "--all", "-o", "json")) == advice


def test_what_a_terminal_would_obey_is_shown_and_kept_as_it_is_for_machines(
    run: Run, advice: list[dict[str, Any]]
) -> None:
    said = "red \x1b[31mtext\nnext line"
    identifier = advice[0]["recommendation_id"]
    [row] = rows(run("dismiss", identifier, "--reason", said, "-o", "json"))
    assert row["reason"] == said
    table = run("list", "--state", "dismissed").stdout
    assert "\x1b" not in table
    assert "red ⟨U+001B⟩[31mtext⟨U+000A⟩next line" in table


def test_an_ambiguous_beginning_names_the_ids(run: Run, config: Path) -> None:
    twins = [event("proposed", recommendation_id=name, document="{}") for name in ("aa11", "aa22")]
    Ledger.at(load_settings(config).ledger).add(lambda _: twins)
    result = run("accept", "aa")
    assert (result.exit_code, "2 recommendations begin with that: aa11, aa22" in result.stderr) == (2, True)


def test_an_empty_ledger_says_so_and_is_an_empty_list_for_machines(run: Run, tmp_path: Path) -> None:
    assert "is accepted, open" in run("list").stderr
    assert rows(run("list", "--all", "-o", "json")) == []
    assert rows(run("verify", "-o", "json")) == []
    assert "# thresholds of a move: not enough matured items: 0 of 5\n" in run("calibrate").stdout
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_ledger_that_refuses_stops_the_advice_unless_it_is_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"not a database, but long enough to look at" * 20)
    result = run("recommend")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "file is not a database" in result.stderr
    assert run("recommend", "--no-ledger", "-o", "csv").exit_code == 0


def test_neither_the_past_nor_the_future_is_written_down(config: Path, advised: Path, tmp_path: Path) -> None:
    shutil.copy(advised, tmp_path / "ledger.sqlite")
    settings = load_settings(config)
    past = recorded(settings, at=NOON - timedelta(hours=1), now=NOON)
    assert past.not_recorded == "the ledger has one of 2026-11-30 12:00 UTC already"
    future = recorded(settings, at=NOON + DAY, now=NOON)
    assert future.not_recorded == "its time is in the future"
    with Ledger.at(settings.ledger).reading() as reader:
        times = {one.at for events in reader.histories().values() for one in events}
    assert times == {NOON}


@pytest.fixture(scope="module")
def to_carry_out(company: Path) -> Recommendation:
    """Advice to move to another cluster."""
    return next(
        one
        for one in evaluation(load_settings(company), at=NOON).recommendations
        if one.monthly is not None and one.current.cluster != one.recommended.cluster
    )


@pytest.fixture
def moved(to_carry_out: Recommendation, config: Path, company: Path, tmp_path: Path) -> Recommendation:
    """Advice that was carried out three weeks ago, and two weeks of usage at the new place since."""
    one = to_carry_out
    hours = -21 * 24.0
    told = [
        event("proposed", recommendation_id=one.id, hours=hours, document=one.model_dump_json(exclude_none=True)),
        event("implemented", 2, recommendation_id=one.id, hours=hours + 1),
    ]
    Ledger.at(load_settings(config).ledger).add(lambda _: told)
    usage = pl.read_parquet(company.with_name("usage.parquet"))
    it = (pl.col("workload") == one.target.workload) & (pl.col("namespace") == one.target.namespace)
    names = ("cluster", "pool", "instance_type", "capacity_type")
    there = [pl.when(it).then(pl.lit(getattr(one.recommended, name))).otherwise(name).alias(name) for name in names]
    week = usage.with_columns(there)
    both = pl.concat([week.with_columns(pl.col("timestamp") - timedelta(days=7)), week])
    both.write_parquet(tmp_path / "usage.parquet")
    document = yaml.safe_load(config.read_text(encoding="utf-8"))
    document["usage"]["file"]["path"] = str(tmp_path / "usage.parquet")
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    return one


def test_a_move_is_verified_once_with_what_it_saved(run: Run, moved: Recommendation, config: Path) -> None:
    [row] = rows(run("verify", "-o", "json"))
    assert (row["recommendation_id"], row["outcome"]) == (moved.id, "measured")
    assert row["counterfactual_gbp_per_hour"] == pytest.approx(moved.current.gbp_per_hour, rel=0.01)
    assert row["actual_gbp_per_hour"] == pytest.approx(moved.recommended.gbp_per_hour, rel=0.01)
    assert row["saving_gbp_per_month_p10"] < row["saving_gbp_per_month"] < row["saving_gbp_per_month_p90"]
    assert row["realised_gbp"] == pytest.approx(row["predicted_gbp"], rel=0.01)
    assert rows(run("verify", "-o", "json")) == [row]
    with Ledger.at(load_settings(config).ledger).reading() as reader:
        kinds = [one.kind for one in reader.histories()[moved.id]]
    assert kinds == [EventKind.PROPOSED, EventKind.IMPLEMENTED, EventKind.VERIFIED]
    assert f"saves £{row['predicted_gbp_per_month']:,.2f}" in run("list", "--state", "verified").stdout
    assert f"£{row['realised_gbp']:,.2f}" in run("verify").stdout
    assert "# thresholds of a move: not enough matured items: 1 of 5\n" in run("calibrate").stdout


def test_two_services_verify_a_move_by_themselves_and_the_ledger_keeps_it_once(
    moved: Recommendation, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(config)
    one, other = (RecommenderService(settings, load=lambda: settings, clock=FixedClock(NOON)) for _ in range(2))
    measure = verification.realised

    def overtaken(*arguments: Any) -> Any:
        """The other replica measures and writes between this one's reading and its writing."""
        monkeypatch.setattr(verification, "realised", measure)
        assert other.verify()
        return measure(*arguments)

    monkeypatch.setattr(verification, "realised", overtaken)
    assert one.verify()
    assert one.verify()
    with Ledger.at(settings.ledger).reading() as reader:
        kinds = [event.kind for event in reader.histories()[moved.id]]
    assert kinds == [EventKind.PROPOSED, EventKind.IMPLEMENTED, EventKind.VERIFIED]
    assert one.app().last.state.verification_succeeded


def test_a_verification_that_fails_shows_and_is_made_up_for(
    moved: Recommendation, config: Path, tmp_path: Path
) -> None:
    settings = load_settings(config)
    service = RecommenderService(settings, load=lambda: settings, clock=FixedClock(NOON))
    whole = (tmp_path / "usage.parquet").read_bytes()
    (tmp_path / "usage.parquet").write_bytes(b"half a file")
    assert not service.verify()
    assert not service.app().last.state.verification_succeeded
    (tmp_path / "usage.parquet").write_bytes(whole)
    assert service.verify()
    with Ledger.at(settings.ledger).reading() as reader:
        assert reader.histories()[moved.id][-1].kind is EventKind.VERIFIED


def test_days_that_a_move_is_verified_by_are_a_setting_and_younger_moves_cost_no_reading(
    moved: Recommendation, config: Path, tmp_path: Path
) -> None:
    """The move is 21 days less an hour old, and the file holds the last 14 of them."""
    settings = load_settings(config)
    longer = settings.recommend.model_copy(update={"verify_after_days": 21})
    (tmp_path / "usage.parquet").rename(tmp_path / "away.parquet")
    [row] = verify(settings.model_copy(update={"recommend": longer}), at=NOON)
    assert (row.recommendation_id, row.outcome, row.why) == (
        moved.id,
        "too-early",
        "21 days of usage after the move are needed",
    )


@pytest.fixture
def matured(run: Run, moved: Recommendation, config: Path) -> list[str]:
    """Five moves like the one that was carried out, each measured at nine tenths of what was predicted."""
    [row] = rows(run("verify", "-o", "json"))
    ledger = Ledger.at(load_settings(config).ledger)
    with ledger.reading() as reader:
        told = reader.histories()[moved.id]
        document, measured = reader.documents(told), reader.measurements(told)
    text = json.loads(measured[moved.id, 3]) | {"realised_gbp": 0.9 * row["predicted_gbp"]}
    names = [f"twin{number}" for number in range(5)]
    twins = [
        replace(
            one,
            recommendation_id=name,
            document=document.get((moved.id, one.sequence)),
            measured=json.dumps(text | {"recommendation_id": name}) if one.kind is EventKind.VERIFIED else None,
        )
        for name in names
        for one in told
    ]
    ledger.add(lambda _: twins)
    return names


@pytest.mark.usefixtures("matured")
def test_a_proposal_changes_nothing_until_it_is_approved_and_then_the_file_and_the_ledger(
    run: Run, config: Path, noon: time_machine.Coordinates
) -> None:
    policy = Path(yaml.safe_load(config.read_text("utf-8"))["policy"])
    policy = policy if policy.is_absolute() else config.parent / policy
    before = policy.read_text("utf-8")
    shown = run("calibrate")
    assert (shown.exit_code, policy.read_text("utf-8")) == (0, before)
    assert "Nothing was changed" in shown.stdout
    taken = run("calibrate", "--apply", "--author", "eve", "--reason", "the report of Monday")
    assert taken.exit_code == 0, taken.stderr
    assert "approval 1 by eve is in the ledger" in taken.stdout
    # Five at 90 %, one at 100 %: the median asks for 20 ÷ 0.9 = 22.2, of which the week allows 22.
    assert yaml.safe_load(policy.read_text("utf-8"))["steady"]["min_saving_gbp_per_month"] == 22
    with Ledger.at(load_settings(config).ledger).reading() as reader:
        [approval] = reader.approvals("calibration")
    assert (approval.author, approval.reason, approval.at) == ("eve", "the report of Monday", NOON)
    assert {"setting": "steady.min_saving_gbp_per_month", "now": 20.0, "proposed": 22.0}.items() <= next(
        one for one in json.loads(approval.detail)["changes"] if one["setting"].endswith("gbp_per_month")
    ).items()
    again = run("calibrate", "--apply", "--json")
    assert "steady.min_saving_gbp_per_month" not in {one["setting"] for one in json.loads(again.stdout)["changes"]}


@pytest.mark.usefixtures("matured")
def test_what_cannot_be_put_into_the_file_is_not_approved(run: Run, config: Path) -> None:
    document = yaml.safe_load(config.read_text(encoding="utf-8"))
    document["policy"] = {"steady": {"min_saving_gbp_per_month": "${LEAST:-20}"}}
    config.write_text(yaml.safe_dump(document), encoding="utf-8")
    result = run("calibrate", "--apply")
    assert (result.exit_code, "by hand" in result.stderr) == (2, True)
    with Ledger.at(load_settings(config).ledger).reading() as reader:
        assert reader.approvals("calibration") == ()


def test_nobody_approves_nothing(run: Run) -> None:
    assert "nobody is named who approves" in run("calibrate", "--apply", "--author", " ").stderr
    empty = run("calibrate", "--apply")
    assert (empty.exit_code, "Nothing was changed" in empty.stdout, "approval" in empty.stdout) == (0, False, False)


def test_a_move_of_yesterday_is_not_verified_yet(run: Run, advice: list[dict[str, Any]], config: Path) -> None:
    run("implemented", advice[0]["recommendation_id"])
    [row] = verify(load_settings(config), at=NOON + DAY)
    assert (row.outcome, row.realised_gbp) == ("too-early", None)
    assert rows(run("list", "--state", "implemented", "-o", "json"))[0]["implemented_at"] == NOON.isoformat()
