"""What is asked of a cloud is what the settings need, action by action, and never a wildcard over actions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from exporters.fetch.registry import SOURCES
from exporters.permissions import RIGHTS, STORE, WITHOUT_RIGHTS, Document, documents
from exporters.permissions_reference import page
from exporters.settings import ExporterSettings
from tuppence import app

ROOT = Path(__file__).parents[2]
PRICES = ["pricing:GetProducts", "ec2:DescribeInstanceTypes"]
ROLE = "arn:aws:iam::111122223333:role/prices"


def asked(settings: dict[str, Any], *sources: str) -> tuple[Document, ...]:
    return documents(ExporterSettings.model_validate(settings), sources)


def actions(found: tuple[Document, ...]) -> list[list[str]]:
    return [statement["Action"] for one in found for statement in one.body["Statement"]]


def test_aws_by_api_needs_three_reads_on_everything_because_none_can_be_narrowed() -> None:
    (one,) = asked({}, "aws")
    assert one.body == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "TuppencePrices",
                "Effect": "Allow",
                "Action": [*PRICES, "ec2:DescribeSpotPriceHistory"],
                "Resource": "*",
            }
        ],
    }


def test_without_spot_prices_their_history_is_not_asked_for() -> None:
    assert actions(asked({"filters": {"capacity_types": ["on-demand"]}}, "aws")) == [PRICES]


def test_offer_files_need_no_rights() -> None:
    assert asked({"sources": {"aws": {"mode": "bulk", "role_arn": ROLE}}}, "aws") == ()


def test_a_role_is_taken_on_by_another_policy_that_names_it() -> None:
    reader, caller = asked({"sources": {"aws": {"role_arn": ROLE}}}, "aws")
    assert reader.holder != caller.holder
    assert caller.body["Statement"] == [
        {"Sid": "TuppenceAssumesReader", "Effect": "Allow", "Action": ["sts:AssumeRole"], "Resource": ROLE}
    ]


def test_google_needs_a_role_only_for_a_project_of_its_own() -> None:
    assert asked({}, "gcp") == ()
    (one,) = asked({"sources": {"gcp": {"project": "finops-1"}}}, "gcp")
    assert one.body["includedPermissions"] == ["compute.machineTypes.list"]


def test_azure_needs_a_role_only_for_a_subscription_and_only_there() -> None:
    assert asked({}, "azure") == ()
    (one,) = asked({"sources": {"azure": {"subscription_id": "0000-1"}}}, "azure")
    assert one.body["Actions"] == ["Microsoft.Compute/skus/read"]
    assert one.body["DataActions"] == []
    assert one.body["AssignableScopes"] == ["/subscriptions/0000-1"]


def test_a_bucket_is_opened_for_its_prefix_and_the_recommender_only_reads() -> None:
    writer, reader = asked({"store": {"url": "s3://finops/prices/snapshots"}}, STORE)
    listing, inside = writer.body["Statement"]
    assert listing["Resource"] == "arn:aws:s3:::finops"
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["prices/snapshots", "prices/snapshots/*"]}}
    assert inside["Resource"] == "arn:aws:s3:::finops/prices/snapshots/*"
    assert inside["Action"] == ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    assert reader.body["Statement"][1]["Action"] == ["s3:GetObject"]


def test_a_whole_bucket_has_no_condition() -> None:
    writer, _ = asked({"store": {"url": "s3://finops"}}, STORE)
    listing, inside = writer.body["Statement"]
    assert "Condition" not in listing
    assert inside["Resource"] == "arn:aws:s3:::finops/*"


@pytest.mark.parametrize(
    ("url", "field", "writes", "reads"),
    [
        ("gs://finops/p", "includedPermissions", {"list", "get", "create", "delete"}, {"list", "get"}),
        ("az://finops/p", "DataActions", {"read", "write", "delete"}, {"read"}),
    ],
)
def test_other_object_stores_likewise(url: str, field: str, writes: set[str], reads: set[str]) -> None:
    writer, reader = asked({"store": {"url": url}}, STORE)
    assert {re.split(r"[./]", action)[-1] for action in writer.body[field]} == writes
    assert {re.split(r"[./]", action)[-1] for action in reader.body[field]} == reads


def test_a_folder_needs_no_rights() -> None:
    assert asked({"store": {"url": "/data/snapshots"}}, STORE) == ()


def test_no_action_is_a_wildcard_and_none_stands_twice() -> None:
    assert not [right for right in RIGHTS if "*" in right.action]
    keys = [(right.source, right.holder, right.action) for right in RIGHTS]
    assert len(set(keys)) == len(keys)


def test_every_source_is_in_the_table_or_says_why_not() -> None:
    assert WITHOUT_RIGHTS.keys() == {source.name for source in SOURCES} | {"fx", STORE}
    assert {right.source for right in RIGHTS} <= WITHOUT_RIGHTS.keys()


def test_every_action_of_a_client_in_the_code_is_in_the_table() -> None:
    """The code names the IAM action beside each call; what it names is what is asked for."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "exporters/fetch").glob("aws*.py"))
    named = set(re.findall(r'"((?:pricing|ec2|ce):[A-Z]\w+)"', text))
    assert named == {right.action for right in RIGHTS if right.action.split(":")[0] in {"pricing", "ec2", "ce"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TUPPENCE_CONFIG", raising=False)
    (tmp_path / "tuppence.yaml").write_text(
        "sources: {aws: {enabled: true}, azure: {enabled: true}}\nstore: {url: folder}\n", encoding="utf-8"
    )
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["check", *arguments])


@pytest.mark.usefixtures("folder")
class TestTheCommand:
    def test_prints_a_document_that_can_be_handed_on_as_it_is(self) -> None:
        done = run("aws", "--permissions")
        assert done.exit_code == 0
        assert json.loads(done.stdout)["Statement"][0]["Sid"] == "TuppencePrices"
        assert "IAM policy for the role that reads prices" in done.stderr

    def test_says_of_what_needs_none_why(self) -> None:
        done = run("--permissions")
        assert "azure: no rights needed; the Retail Prices API is open" in done.stderr
        assert "gcp" not in done.stderr

    def test_lists_every_document_for_machines(self) -> None:
        (row,) = json.loads(run("--permissions", "-o", "json").stdout)
        assert (row["source"], row["kind"]) == ("aws", "IAM policy")
        assert row["body"]["Version"] == "2012-10-17"

    def test_writes_a_table_of_them_as_csv(self) -> None:
        header, row = run("--permissions", "-o", "csv").stdout.strip().splitlines()
        assert header == "source,holder,kind,body"
        assert row.startswith("aws,the role that reads prices,IAM policy,")

    def test_calls_nobody_and_opens_no_store(self, folder: Path) -> None:
        assert run("--permissions").exit_code == 0
        assert not (folder / "folder").exists()

    def test_knows_no_other_source(self) -> None:
        done = run("oracle", "--permissions")
        assert done.exit_code == 2
        assert "there is no source 'oracle'" in done.stderr


def test_the_page_is_the_table() -> None:
    found = (ROOT / "docs/how-to/permissions.md").read_text(encoding="utf-8")
    assert found == page(), "run: python -m exporters.permissions_reference > docs/how-to/permissions.md"
