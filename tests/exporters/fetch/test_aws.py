"""AWS, mode api: real boto3 against a local server that speaks the protocols of AWS."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from exporters.core.errors import IntegrityError, SettingsError, TerminalSourceError, TransientSourceError
from exporters.fetch.aws import SOURCE, AwsSettings, chosen_regions, fetch, partition_of
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.aws import choose
from tests.fakes.aws import AwsServer, Failure
from tests.fakes.aws_account import (
    LINUX,
    NOW,
    furnish,
    london,
    prices_of,
    request_in,
    settings_for,
    use_dummy_credentials,
)
from tests.fakes.aws_rows import machine, spot_price

THROTTLED = Failure(400, "ThrottlingException", "Rate exceeded")


@pytest.fixture(autouse=True)
def dummy_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_dummy_credentials(monkeypatch, tmp_path)


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with AwsServer() as server:
        furnish(server)
        yield server


def test_list_and_spot_prices_arrive_to_the_last_digit(aws: AwsServer, tmp_path: Path) -> None:
    prices = prices_of(fetch(settings_for(aws), request_in(tmp_path)))

    assert prices["eu-west-2", "", "m5.large"] == Decimal("0.111")
    assert prices["us-east-1", "", "p5.48xlarge"] == Decimal("55.04")
    assert prices["eu-west-2", "euw2-az2", "m5.large"] == Decimal("0.0419")
    assert len(prices) == 8


def test_an_eighth_of_an_l4_is_an_eighth_of_a_gpu(aws: AwsServer, tmp_path: Path) -> None:
    shapes = choose(fetch(settings_for(aws), request_in(tmp_path)), LINUX).shapes

    gpus = {r["instance_type"]: (r["gpu_model"], r["gpus"]) for r in shapes.iter_rows(named=True)}
    assert gpus == {
        "c5.large": ("", 0.0),
        "g6f.large": ("L4", 0.125),
        "m5.large": ("", 0.0),
        "p5.48xlarge": ("H100", 8.0),
        "r5.large": ("", 0.0),
    }
    assert shapes["shape_source"].unique().to_list() == ["api"]


def test_machine_types_of_a_recorded_region_are_read_whole(aws: AwsServer, moto_url: str, tmp_path: Path) -> None:
    """Moto answers DescribeInstanceTypes with a recording of the real us-east-1."""
    aws.products += [
        machine("inf2.xlarge", "us-east-1", "0.7582000000", vcpu="4", memory="16 GiB"),
        machine("trn1.2xlarge", "us-east-1", "1.3437500000", vcpu="8", memory="32 GiB"),
        machine("p4d.24xlarge", "us-east-1", "21.9576420000", vcpu="96", memory="1152 GiB"),
        machine("m7g.large", "us-east-1", "0.0816000000"),
    ]
    endpoints = {"pricing": aws.url, "ec2": moto_url}
    settings = settings_for(aws, regions=("us-east-1",), endpoints=endpoints)

    fetched = fetch(settings, request_in(tmp_path, capacity_types=("on-demand",)))

    assert fetched.frames["instance_types"].collect().height > 1000
    shapes = {r["instance_type"]: r for r in choose(fetched, LINUX).shapes.iter_rows(named=True)}
    assert shapes["g6f.large"]["gpus"] == 0.125
    assert (shapes["p4d.24xlarge"]["gpu_model"], shapes["p4d.24xlarge"]["gpus"]) == ("A100-40GB", 8.0)
    assert (shapes["inf2.xlarge"]["accelerator_model"], shapes["inf2.xlarge"]["accelerators"]) == ("Inferentia2", 1.0)
    assert (shapes["trn1.2xlarge"]["accelerator_model"], shapes["trn1.2xlarge"]["accelerators"]) == ("Trainium", 1.0)
    assert (shapes["m7g.large"]["architecture"], shapes["m7g.large"]["generation"]) == ("arm64", "7g")


def test_all_pages_of_every_call_are_read(aws: AwsServer, tmp_path: Path) -> None:
    aws.page_size = 1
    aws.spot["eu-west-2"] = [
        [spot_price("eu-west-2a", "euw2-az2", "m5.large", "0.041900")],
        [],
        [spot_price("eu-west-2b", "euw2-az3", "m5.large", "0.043100")],
    ]

    prices = prices_of(fetch(london(aws), request_in(tmp_path)))

    assert {key[2] for key in prices} == {"m5.large", "c5.large", "r5.large"}
    assert prices["eu-west-2", "euw2-az3", "m5.large"] == Decimal("0.0431")


def test_spot_is_asked_for_the_price_in_force_under_both_spellings(aws: AwsServer, tmp_path: Path) -> None:
    fetch(london(aws), request_in(tmp_path))

    [asked] = [arguments for operation, _, arguments in aws.calls if operation == "DescribeSpotPriceHistory"]
    assert asked["StartTime"].startswith("2026-07-21T09:00:00")
    assert (asked["ProductDescription.1"], asked["ProductDescription.2"]) == ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")


def test_spot_is_not_asked_when_nobody_wants_it(aws: AwsServer, tmp_path: Path) -> None:
    fetched = fetch(london(aws), request_in(tmp_path, capacity_types=("on-demand",)))

    assert "spot" not in fetched.frames
    assert "DescribeSpotPriceHistory" not in {operation for operation, _, _ in aws.calls}


def test_reserved_terms_give_committed_prices(aws: AwsServer, tmp_path: Path) -> None:
    aws.products = [
        machine(
            "m5.large",
            "eu-west-2",
            "0.1110000000",
            reserved=[
                ("1yr", "standard", "No Upfront", "0.0700000000"),
                ("1yr", "standard", "All Upfront", "0.0000000000"),
                ("1yr", "convertible", "No Upfront", "0.0800000000"),
                ("3yr", "standard", "No Upfront", "0.0480000000"),
            ],
        )
    ]
    committed = ("on-demand", "committed-1y", "committed-3y")

    fetched = fetch(london(aws), request_in(tmp_path, capacity_types=committed))

    rows = choose(fetched, Filters(operating_systems=("linux",), capacity_types=committed)).prices
    assert dict(rows.select("capacity_type", "price_per_hour").iter_rows()) == {
        "on-demand": Decimal("0.111"),
        "committed-1y": Decimal("0.07"),
        "committed-3y": Decimal("0.048"),
    }


@pytest.mark.parametrize("code", ["AuthFailure", "OptInRequired", "UnauthorizedOperation"])
def test_a_region_that_is_not_opted_in_is_skipped_with_its_reason(aws: AwsServer, tmp_path: Path, code: str) -> None:
    aws.fail("DescribeInstanceTypes", Failure(401, code), region="us-east-1")

    fetched = fetch(settings_for(aws), request_in(tmp_path))

    assert [(one.region, code in one.why) for one in fetched.skipped] == [("us-east-1", True)]
    assert {region for region, _, _ in prices_of(fetched)} == {"eu-west-2"}
    rejects = choose(fetched, LINUX).rejects
    assert rejects.filter(reason="region-skipped")["region"].to_list() == ["us-east-1"]


def test_no_region_left_is_an_error(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("DescribeInstanceTypes", *[Failure(401, "AuthFailure")] * 2)

    with pytest.raises(TerminalSourceError, match="no region may be used"):
        fetch(settings_for(aws), request_in(tmp_path))


def test_jurisdictions_select_regions_of_the_accounts_partition_only() -> None:
    asked, skipped = chosen_regions(AwsSettings())

    assert {"eu-west-2", "eu-west-1", "eu-central-1"} <= set(asked)
    assert "eusc-de-east-1" not in asked
    assert not skipped


def test_a_partition_is_told_from_the_region() -> None:
    regions = ("eu-west-2", "us-gov-west-1", "cn-north-1", "eusc-de-east-1")

    assert [partition_of(region) for region in regions] == ["aws", "aws-us-gov", "aws-cn", "aws-eusc"]


def test_a_named_region_of_another_partition_is_skipped_with_its_reason(aws: AwsServer, tmp_path: Path) -> None:
    fetched = fetch(london(aws, regions=("eu-west-2", "eusc-de-east-1")), request_in(tmp_path))

    [skipped] = fetched.skipped
    assert skipped.region == "eusc-de-east-1"
    assert "sources.aws.partition" in skipped.why


def test_an_unknown_region_is_refused_with_the_nearest_name(aws: AwsServer, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean 'eu-west-2'"):
        fetch(settings_for(aws, regions=("eu-west-22",)), request_in(tmp_path))


def test_plain_http_to_another_machine_is_refused(aws: AwsServer, tmp_path: Path) -> None:
    settings = london(aws, endpoints={"pricing": "http://pricing.example.com"})

    with pytest.raises(SettingsError, match=r"sources\.aws\.endpoints\.pricing"):
        fetch(settings, request_in(tmp_path))


def test_the_region_may_stand_in_an_endpoint(aws: AwsServer, tmp_path: Path) -> None:
    endpoints = {"pricing": aws.url, "ec2": aws.url + "/{region}"}

    assert len(prices_of(fetch(settings_for(aws, endpoints=endpoints), request_in(tmp_path)))) == 8


def test_throttling_is_waited_out_with_and_without_retry_after(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GetProducts", Failure(429, "TooManyRequestsException", headers={"Retry-After": "1"}))
    aws.fail("DescribeSpotPriceHistory", Failure(503, "RequestLimitExceeded"))

    assert len(prices_of(fetch(london(aws, max_attempts=4), request_in(tmp_path)))) == 4


def test_endless_throttling_is_transient(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GetProducts", *[THROTTLED] * 9)

    with pytest.raises(TransientSourceError, match="ThrottlingException"):
        fetch(london(aws), request_in(tmp_path))


@pytest.mark.parametrize(
    ("failure", "expected", "message"),
    [
        (Failure(500, "InternalErrorException"), TransientSourceError, "InternalErrorException"),
        (Failure(400, "ExpiredTokenException"), TerminalSourceError, "Renew the credentials"),
        (Failure(400, "InvalidSignatureException"), TerminalSourceError, "clock"),
        (Failure(400, "AccessDeniedException"), TerminalSourceError, "Allow pricing:GetProducts"),
        (
            Failure(200, body=b"<html><body>Sign in to the hotel wifi</body></html>"),
            IntegrityError,
            "something else",
        ),
        (Failure(200, body=b""), IntegrityError, "without PriceList"),
        (Failure(200, body=b'{"PriceList": ["{\\"product\\""]}'), TerminalSourceError, "malformed"),
        (Failure(200, body=b'{"PriceList": [], "NextTo'), IntegrityError, "cut off"),
        (Failure(cut_after=40), IntegrityError, "cut off"),
    ],
    ids=["5xx", "expired credentials", "skewed clock", "denied", "html", "empty", "half item", "truncated", "cut off"],
)
def test_a_page_that_fails_half_way_ends_the_refresh(
    aws: AwsServer, tmp_path: Path, failure: Failure, expected: type[Exception], message: str
) -> None:
    aws.page_size = 1
    aws.fail("GetProducts", None, failure)

    with pytest.raises(expected, match=message):
        fetch(london(aws), request_in(tmp_path))


def test_html_in_place_of_ec2s_xml_is_an_error(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("DescribeInstanceTypes", Failure(200, body=b"<html><br>"))

    with pytest.raises(TerminalSourceError, match="something else than AWS answered"):
        fetch(london(aws), request_in(tmp_path))


def test_a_spot_page_that_fails_half_way_ends_the_refresh(aws: AwsServer, tmp_path: Path) -> None:
    aws.spot["eu-west-2"] *= 2
    aws.fail("DescribeSpotPriceHistory", None, Failure(503, "Unavailable"))

    with pytest.raises(TransientSourceError, match="DescribeSpotPriceHistory in eu-west-2"):
        fetch(london(aws), request_in(tmp_path))


def test_an_expired_page_token_begins_again_from_the_first_page(aws: AwsServer, tmp_path: Path) -> None:
    aws.page_size = 1
    expired = Failure(400, "ExpiredNextTokenException")
    # Transfers come first: three queries of one page each at most, then the machines.
    aws.fail("GetProducts", None, None, None, None, expired)

    prices = prices_of(fetch(london(aws), request_in(tmp_path)))

    assert {key[2] for key in prices} == {"m5.large", "c5.large", "r5.large"}


def test_a_page_token_that_always_expires_is_transient(aws: AwsServer, tmp_path: Path) -> None:
    aws.fail("GetProducts", *[Failure(400, "ExpiredNextTokenException")] * 3)

    with pytest.raises(TransientSourceError, match="token expired 3 times"):
        fetch(london(aws), request_in(tmp_path))


def test_a_region_without_products_is_not_taken_as_whole(aws: AwsServer, tmp_path: Path) -> None:
    aws.products = [item for item in aws.products if item["product"]["attributes"]["regionCode"] != "us-east-1"]

    with pytest.raises(IntegrityError, match="us-east-1"):
        fetch(settings_for(aws), request_in(tmp_path))


def test_the_deadline_ends_the_refresh(aws: AwsServer, tmp_path: Path) -> None:
    with pytest.raises(TransientSourceError, match="deadline"):
        fetch(london(aws), request_in(tmp_path, deadline=NOW))


def test_nobody_listening_is_transient(aws: AwsServer, tmp_path: Path) -> None:
    settings = london(aws, endpoints={"pricing": aws.url, "ec2": "http://127.0.0.1:9"})

    with pytest.raises(TransientSourceError, match="connection failed"):
        fetch(settings, request_in(tmp_path))


def test_without_credentials_the_bulk_mode_is_offered(
    aws: AwsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(TerminalSourceError, match="mode: bulk"):
        fetch(london(aws), request_in(tmp_path))


def test_an_unknown_profile_is_named(aws: AwsServer, tmp_path: Path) -> None:
    with pytest.raises(TerminalSourceError, match="payer"):
        fetch(london(aws, profile="payer"), request_in(tmp_path))


def test_a_role_is_assumed_before_anything_is_asked(aws: AwsServer, tmp_path: Path) -> None:
    fetch(london(aws, role_arn="arn:aws:iam::123456789012:role/prices"), request_in(tmp_path))

    assert aws.calls[0][0] == "AssumeRole"
    assert aws.calls[0][2]["RoleArn"] == "arn:aws:iam::123456789012:role/prices"


def test_govcloud_is_sent_to_the_bulk_mode(aws: AwsServer, tmp_path: Path) -> None:
    settings = settings_for(aws, regions=("us-gov-west-1",), partition="aws-us-gov")

    with pytest.raises(TerminalSourceError, match="mode: bulk"):
        fetch(settings, request_in(tmp_path))


def test_the_module_needs_no_sdk_and_a_missing_one_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['boto3'] = None\n"
        "from datetime import datetime, timedelta, UTC\n"
        "from pathlib import Path\n"
        "from exporters.fetch.aws import AwsSettings, check\n"
        "from exporters.fetch.contract import FetchRequest\n"
        "now = datetime.now(UTC)\n"
        "request = FetchRequest(now=now, scratch=Path('.'), deadline=now + timedelta(minutes=1))\n"
        "print(check(AwsSettings(regions=('eu-west-2',)), request)[0].next_step)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert "tuppence[aws]" in done.stdout
    assert SOURCE.extra == "aws"
