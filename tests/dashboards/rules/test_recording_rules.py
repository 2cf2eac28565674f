"""The shipped recording rules: promtool finds them right, and they make of pods what was worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from recommender.observe.quotas_prometheus import QUOTA
from recommender.observe.usage import ATTRIBUTE_NAMES
from recommender.observe.usage_prometheus import LABELLED, NAMESPACE_LABELS, RECORDS, WORKLOAD_LABELS
from tests.servers.prometheus import promtool

ROOT = Path(__file__).parents[3]
RULES = ROOT / "dashboards" / "rules" / "recording.yaml"


def expressions() -> dict[str, str]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["record"]: rule["expr"] for group in groups for rule in group["rules"]}


def test_promtool_finds_no_fault():
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert done.returncode == 0, done.stderr.decode()


def test_pods_become_workloads_as_worked_out_by_hand():
    done = promtool("test", "rules", str(Path(__file__).with_name("recording_test.yaml")))
    assert done.returncode == 0, done.stderr.decode()


def test_every_record_that_the_recommender_reads_is_recorded():
    assert {*RECORDS, QUOTA} <= set(expressions())


def test_every_record_is_named_and_labelled_in_our_words():
    for record, expression in expressions().items():
        assert record.startswith("tuppence:")
        assert "workload_type" not in expression


def test_every_attribute_that_fits_into_a_label_is_read_from_labels():
    for record in (WORKLOAD_LABELS, NAMESPACE_LABELS):
        labels = set(re.findall(r"label_tuppence_\w+", expressions()[record]))
        assert labels == set(LABELLED)
    assert set(LABELLED.values()) == set(ATTRIBUTE_NAMES) - {"flows", "priority_class"}
