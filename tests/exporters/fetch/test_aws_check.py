"""What `tuppence check aws` sees: credentials, permissions, regions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.fetch.aws import check
from tests.fakes.aws import AwsServer, Failure
from tests.fakes.aws_account import (
    furnish,
    london,
    request_in,
    settings_for,
    use_dummy_credentials,
)


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_dummy_credentials(monkeypatch, tmp_path)


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        furnish(server)
        yield server


def test_check_is_content_when_everything_answers(aws: AwsServer, moto_url: str, tmp_path: Path) -> None:
    endpoints = {"pricing": aws.url, "ec2": aws.url, "sts": moto_url}

    findings = check(london(aws, endpoints=endpoints), request_in(tmp_path))

    assert [(one.subject, one.state) for one in findings] == [
        ("credentials", "ok"),
        ("pricing:GetProducts", "ok"),
        ("ec2:DescribeInstanceTypes in eu-west-2", "ok"),
        ("ec2:DescribeSpotPriceHistory in eu-west-2", "ok"),
    ]
    assert "secret" not in repr(findings)


def test_check_names_each_missing_permission(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GetProducts", Failure(400, "AccessDeniedException"))
    aws.fail("DescribeSpotPriceHistory", Failure(403, "UnauthorizedOperation"))

    findings = {one.subject: one for one in check(london(aws), request_in(tmp_path))}

    assert findings["pricing:GetProducts"].state == "failed"
    assert "pricing:GetProducts" in findings["pricing:GetProducts"].next_step
    assert findings["ec2:DescribeSpotPriceHistory in eu-west-2"].state == "warning"
    assert "ec2:DescribeSpotPriceHistory" in findings["ec2:DescribeSpotPriceHistory in eu-west-2"].next_step


def test_check_stops_at_credentials_that_do_not_work(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GetCallerIdentity", Failure(403, "ExpiredToken"))

    [finding] = check(london(aws), request_in(tmp_path))

    assert (finding.subject, finding.state) == ("credentials", "failed")
    assert "Renew" in finding.next_step


def test_check_reports_settings_that_cannot_work(aws: AwsServer, tmp_path: Path) -> None:
    [finding] = check(settings_for(aws, regions=("atlantis-1",)), request_in(tmp_path))

    assert finding.state == "failed"
    assert "atlantis-1" in finding.detail
