"""Fetch, AWS costs: daily charges from Cost Explorer, and what holds beside them, as AWS states them.

The promise: every day asked for arrived whole (the parts of each day add up to the day that AWS states without parts),
or an exception; and no more requests that AWS charges for than the settings allow. How the cloud is reached (role,
profile, partition, endpoints) stands in the section `sources.aws`.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from exporters.core.config_file import Section
from exporters.core.errors import MissingExtraError, TuppenceError
from exporters.fetch.aws import AwsSettings
from exporters.fetch.aws_costs_plan import Breakdown, charge_queries
from exporters.fetch.contract import Finding
from exporters.fetch.cost_contract import CostFetched, CostRequest, CostSource, CostSourceSettings

NAME = "aws"
USD_A_REQUEST = 0.01
"""AWS, Cost Explorer pricing: each request to the API, each page one."""

AccountId = Annotated[str, StringConstraints(pattern=r"^\d{12}$")]


class SavingsPlanRateSettings(Section):
    """Which rates of Compute Savings Plans are read. They cost nothing to ask for, but there are many."""

    families: tuple[str, ...] = Field(
        default=(), description="Instance families, as m7i; empty: no rates are asked for."
    )
    regions: tuple[str, ...] = Field(default=(), description="Region codes; empty: those of sources.aws.")


class AwsCostSettings(CostSourceSettings):
    """The section `costs.aws`."""

    breakdown: Breakdown = Field(
        default="service",
        description="service: account, service, kind of charge, 6 paid requests a time; region: region of usage too, "
        "4 and 2 for each account; account: account and kind of charge only, 1.",
    )
    billing_account: AccountId | None = Field(
        default=None, description="The account that pays (12 digits); none: that of the credentials."
    )
    accounts: tuple[AccountId, ...] = Field(default=(), description="Member accounts to ask for; empty: all.")
    net: bool = Field(
        default=False,
        description="Whether discounts by contract are taken off each charge, instead of standing as charges.",
    )
    max_requests_per_day: int = Field(
        default=50, ge=1, description="Most paid requests a day (USD 0.01 each), shared by its times of asking."
    )
    commitments: bool = Field(default=True, description="Whether Savings Plans and reservations are listed (free).")
    commitment_use: bool = Field(
        default=True, description="Whether their utilisation and coverage are asked for, 4 paid requests."
    )
    forecast: bool = Field(default=True, description="Whether the month's forecast is asked for, 1 paid request.")
    budgets: bool = Field(default=True, description="Whether AWS Budgets are listed (free).")
    savings_plan_rates: SavingsPlanRateSettings = Field(
        default_factory=SavingsPlanRateSettings, description="Rates of Compute Savings Plans, no upfront."
    )

    @property
    def times_per_day(self) -> int:
        """How often a day it is asked, rounded up."""
        return max(1, -(-1440 // self.refresh_minutes))

    @property
    def requests_per_time(self) -> int:
        """The most paid requests of one time of asking: its share of a day's, whatever was restarted in between."""
        return self.max_requests_per_day // self.times_per_day

    def planned_requests(self, accounts: int = 1) -> int:
        """This will return the least number of paid requests of one time; each further page is one more.

        Args:
            accounts: how many member accounts there are; it counts with breakdown: region only.
        """
        charges = len(charge_queries(self.breakdown, [""] * accounts))
        looking_up = 1 if self.breakdown == "region" and not self.accounts else 0
        whole_days = 1
        return whole_days + looking_up + charges + 4 * self.commitment_use + self.forecast

    def over_budget(self, accounts: int = 1) -> str | None:
        """This will say why the plan does not fit into the budget, and what to change; None: it fits."""
        planned = self.planned_requests(accounts)
        if planned <= self.requests_per_time:
            return None
        daily = planned * self.times_per_day
        return (
            f"{planned} paid requests a time and {self.times_per_day} times a day are {daily} a day "
            f"(USD {daily * USD_A_REQUEST:.2f}), more than max_requests_per_day: {self.max_requests_per_day}; raise it "
            f"to {daily} or more, choose a coarser breakdown than {self.breakdown}, ask less often (refresh_minutes), "
            "or turn off commitment_use or forecast"
        )

    @model_validator(mode="after")
    def _within_budget(self) -> Self:
        if self.enabled and (why := self.over_budget(max(1, len(self.accounts)))):
            raise ValueError(why)
        return self


def price_of(settings: AwsCostSettings, accounts: int = 1) -> str:
    """This will say in words what asking costs, before anything is asked."""
    planned = settings.planned_requests(accounts)
    daily = planned * settings.times_per_day * USD_A_REQUEST
    most = settings.requests_per_time * settings.times_per_day * USD_A_REQUEST
    return (
        f"{planned} paid requests a time (more where an answer has several pages), {settings.times_per_day} times a "
        f"day: USD {daily:.2f} a day, USD {daily * 365 / 12:.2f} a month; never more than USD {most:.2f} a day"
    )


def fetch(settings: AwsCostSettings, cloud: AwsSettings, request: CostRequest) -> CostFetched:
    """This will ask for everything that the settings name, whole.

    Raises:
        SettingsError: an endpoint without TLS, an unknown region.
        MissingExtraError: boto3 is not installed.
        TransientSourceError: throttled, cut off, or the deadline passed.
        TerminalSourceError: credentials, permissions, Cost Explorer not enabled, the budget of paid requests.
        IntegrityError: an answer that is not whole.
    """
    try:
        from exporters.fetch.aws_costs_api import fetch_api  # noqa: PLC0415 - the SDK is an optional extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("aws", "aws") from error
    return fetch_api(settings, cloud, request)


def check(settings: AwsCostSettings, cloud: AwsSettings, request: CostRequest) -> tuple[Finding, ...]:
    """This will state the price of asking, then look at credentials and permissions. It makes 1 paid request."""
    try:
        try:
            from exporters.fetch.aws_costs_api import check_api  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingExtraError("aws", "aws") from error
        return check_api(settings, cloud, request)
    except TuppenceError as error:
        return (Finding("aws costs", "failed", f"{error.where}: {error.what}", error.next_step),)


SOURCE = CostSource(name=NAME, settings_model=AwsCostSettings, fetch=fetch, check=check, cloud="aws", extra="aws")
