"""The shipped watch: promtool finds it right, and it tells of the pods that wait for another scheduler."""

from __future__ import annotations

from pathlib import Path

import yaml

from recommender.observe.pending_scheduler import RECORD
from tests.servers.prometheus import promtool

ROOT = Path(__file__).parents[3]
RULES = ROOT / "dashboards" / "rules" / "watch.yaml"


def rules() -> list[dict[str, str]]:
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def test_promtool_finds_no_fault() -> None:
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stderr.decode()


def test_pods_that_wait_for_another_scheduler_are_told_as_worked_out_by_hand() -> None:
    done = promtool("test", "rules", str(Path(__file__).with_name("watch_test.yaml")))
    assert done.returncode == 0, done.stderr.decode()


def test_what_the_recommender_reads_is_recorded() -> None:
    assert [rule["record"] for rule in rules() if "record" in rule] == [RECORD]
