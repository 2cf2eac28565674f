"""Fetch, AWS: the SDK's clients, with retries, a deadline that holds between tries, and plain errors.

Credentials are the SDK's own chain, or a profile, or a role assumed from either. botocore's adaptive retries wait out
throttling; every try first looks at the deadline, so that a long queue of retries cannot outlive the refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

import boto3
import botocore.exceptions as sdk
from botocore.config import Config
from botocore.hooks import BaseEventHooks
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError, TuppenceError
from exporters.core.http import checked_endpoint
from exporters.fetch.deadline import Deadline

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_sts import STSClient

    from exporters.fetch.aws import AwsSettings

THROTTLED = frozenset({"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"})
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
CLOCK = frozenset({"RequestTimeTooSkewed", "InvalidSignatureException", "SignatureDoesNotMatch"})
REFUSED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
BROKEN = frozenset({"InternalErrorException", "InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"})
PRICING_HOMES = {"aws-cn": "cn-northwest-1", "aws-eusc": "eusc-de-east-1"}
"""Partitions with one pricing endpoint. The partition aws has three; aws-us-gov has none and is served by none."""
BILLING_HOMES = {"aws": "us-east-1", "aws-cn": "cn-northwest-1", "aws-eusc": "eusc-de-east-1"}
"""Where a partition keeps its bills. aws-us-gov keeps none: its charges stand on a commercial account."""

Call = Callable[..., Mapping[str, Any]]
"""A method of a client: arguments by keyword, the answer as the service model shapes it."""


class CostExplorerClient(Protocol):
    """What is called of Cost Explorer."""

    get_cost_and_usage: Call
    get_dimension_values: Call
    get_cost_forecast: Call
    get_savings_plans_utilization_details: Call
    get_savings_plans_coverage: Call
    get_reservation_utilization: Call
    get_reservation_coverage: Call


class SavingsPlansClient(Protocol):
    """What is called of Savings Plans; botocore knows no paginator for it."""

    describe_savings_plans: Call
    describe_savings_plans_offering_rates: Call


class BudgetsClient(Protocol):
    """What is called of AWS Budgets."""

    describe_budgets: Call


def billing_home(partition: str) -> str:
    """This will return the region of Cost Explorer, Savings Plans and Budgets.

    Raises:
        TerminalSourceError: the partition has no bill of its own (GovCloud).
    """
    if partition in BILLING_HOMES:
        return BILLING_HOMES[partition]
    raise TerminalSourceError(
        f"the partition {partition} has no Cost Explorer; what it costs stands on the commercial account behind it",
        where="sources.aws.partition",
        next_step="Give the credentials of that commercial account and set partition: aws.",
    )


def pricing_home(partition: str, regions: tuple[str, ...]) -> str:
    """This will return the region of the nearest Price List endpoint; its data are the same everywhere.

    Endpoints of the partition aws: us-east-1, eu-central-1, ap-south-1.

    Raises:
        TerminalSourceError: the partition has no endpoint (GovCloud).
    """
    if partition == "aws-us-gov":
        raise TerminalSourceError(
            "GovCloud has no Price List endpoint, and its credentials do not open the public one",
            where="sources.aws.partition",
            next_step="Use mode: bulk for us-gov regions; their offer files are public.",
        )
    if partition in PRICING_HOMES:
        return PRICING_HOMES[partition]
    first = regions[0]
    if first.startswith("eu-"):
        return "eu-central-1"
    return "ap-south-1" if first.startswith("ap-") else "us-east-1"


class Clients:
    """Makes clients from one session. Not to be called from several threads; the clients themselves may be used so."""

    def __init__(self, settings: AwsSettings, deadline: Deadline, home: str) -> None:
        self._settings = settings
        self._deadline = deadline
        self._home = home
        self._config = Config(
            connect_timeout=10,
            read_timeout=60,
            retries={"mode": "adaptive", "total_max_attempts": settings.max_attempts},
            user_agent_extra="tuppence",
        )
        with plain_errors("sources.aws.profile"):
            self._session = boto3.Session(profile_name=settings.profile)
        if settings.role_arn:
            self._session = self._assumed(settings.role_arn)

    def sts(self) -> STSClient:
        """This will return a client of the Security Token Service in the home region."""
        url = self._endpoint("sts", self._settings.endpoints.sts, self._home)
        client = self._session.client("sts", region_name=self._home, endpoint_url=url, config=self._config)
        self._hold_to_deadline(client.meta.events, "sts")
        return client

    def pricing(self) -> PricingClient:
        """This will return a client of the Price List Query API."""
        url = self._endpoint("pricing", self._settings.endpoints.pricing, self._home)
        client = self._session.client("pricing", region_name=self._home, endpoint_url=url, config=self._config)
        self._hold_to_deadline(client.meta.events, "pricing")
        return client

    def ec2(self, region: str) -> EC2Client:
        """This will return a client of EC2 in a region."""
        url = self._endpoint("ec2", self._settings.endpoints.ec2, region)
        client = self._session.client("ec2", region_name=region, endpoint_url=url, config=self._config)
        self._hold_to_deadline(client.meta.events, "ec2")
        return client

    def cost_explorer(self, *, each_try: Callable[[], None]) -> CostExplorerClient:
        """This will return a client of Cost Explorer.

        Args:
            each_try: called before each request is sent, also when it is sent again; may raise to stop it.
        """
        url = self._endpoint("ce", self._settings.endpoints.ce, self._home)
        client = self._session.client("ce", region_name=self._home, endpoint_url=url, config=self._config)

        def told(**_: object) -> None:
            each_try()

        # Events are named by service id, not by the client's name.
        self._hold_to_deadline(client.meta.events, "cost-explorer")
        client.meta.events.register("before-send.cost-explorer", told)
        return cast("CostExplorerClient", client)

    def savings_plans(self) -> SavingsPlansClient:
        """This will return a client of Savings Plans."""
        url = self._endpoint("savingsplans", self._settings.endpoints.savingsplans, self._home)
        client = self._session.client("savingsplans", region_name=self._home, endpoint_url=url, config=self._config)
        self._hold_to_deadline(client.meta.events, "savingsplans")
        return cast("SavingsPlansClient", client)

    def budgets(self) -> BudgetsClient:
        """This will return a client of AWS Budgets."""
        url = self._endpoint("budgets", self._settings.endpoints.budgets, self._home)
        client = self._session.client("budgets", region_name=self._home, endpoint_url=url, config=self._config)
        self._hold_to_deadline(client.meta.events, "budgets")
        return cast("BudgetsClient", client)

    def _endpoint(self, service: str, url: str | None, region: str) -> str | None:
        setting = f"sources.aws.endpoints.{service}"
        return checked_endpoint(url.replace("{region}", region), setting=setting) if url else None

    def _hold_to_deadline(self, events: BaseEventHooks, service: str) -> None:
        def check(**_: object) -> None:
            self._deadline.check(service)

        events.register(f"before-send.{service}", check)

    def _assumed(self, role_arn: str) -> boto3.Session:
        with plain_errors("sources.aws.role_arn", action="sts:AssumeRole"):
            answer = self.sts().assume_role(RoleArn=role_arn, RoleSessionName="tuppence")
        given = answer["Credentials"]
        return boto3.Session(
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given["SessionToken"],
        )


@contextmanager
def plain_errors(where: str, *, action: str = "") -> Iterator[None]:
    """This will turn the SDK's exceptions into ours: what may be tried again, what may not, and what is not whole.

    Args:
        where: the call and its region.
        action: the IAM action that the call needs.
    """
    try:
        yield
    except TuppenceError:
        raise
    except sdk.ClientError as error:
        raise _from_answer(error, where, action) from error
    except (
        sdk.NoCredentialsError,
        sdk.PartialCredentialsError,
        sdk.CredentialRetrievalError,
        sdk.ProfileNotFound,
        sdk.TokenRetrievalError,
        sdk.SSOError,
    ) as error:
        raise TerminalSourceError(
            f"there are no usable credentials ({error})",
            where=where,
            next_step="Give the SDK credentials (environment, profile, role of the machine), or set mode: bulk.",
        ) from error
    except ResponseParserError as error:
        raise TerminalSourceError(
            f"the answer is not what the API speaks ({str(error)[:160]})",
            where=where,
            next_step="Check proxies and sources.aws.endpoints: something else than AWS answered.",
        ) from error
    except sdk.PaginationError as error:
        raise IntegrityError(
            f"the pages do not end ({error})", where=where, next_step="It will be tried again at the next refresh."
        ) from error
    except (sdk.BotoCoreError, HTTPError, OSError) as error:
        raise TransientSourceError(
            f"the connection failed ({type(error).__name__}: {error})",
            where=where,
            next_step="Check the network, the proxy and sources.aws.endpoints.",
        ) from error


def error_code(error: BaseException | None) -> str:
    """This will return the AWS error code behind an error, or an empty text."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, sdk.ClientError) else ""


def _from_answer(error: sdk.ClientError, where: str, action: str) -> TuppenceError:
    code = error_code(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    message = error.response.get("Error", {}).get("Message", "") or f"HTTP status {status}"
    what = f"AWS answered {code or status}: {message[:300]}"
    if code in THROTTLED or code in BROKEN or status in {429, 500, 502, 503, 504}:
        return TransientSourceError(what, where=where, next_step="It will be tried again at the next refresh.")
    if code in EXPIRED:
        step = "Renew the credentials (for example: aws sso login); check this machine's clock if they are fresh."
    elif code in CLOCK:
        step = "Check this machine's clock and the secret key."
    elif code in REFUSED:
        step = f"Allow {action or 'the action'} (tuppence check prints the whole policy)."
    else:
        step = f"Check the credentials and sources.aws.endpoints; the call needs {action or 'no permission'}."
    return TerminalSourceError(what, where=where, next_step=step)
