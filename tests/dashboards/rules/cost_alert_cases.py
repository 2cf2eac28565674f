"""Of the alerts about what was paid: series at which each fires, with its words, and series at which it keeps still."""

from __future__ import annotations

from tests.dashboards.rules.alert_cases import DAY, HOUR, Case, Series, always

DAY_SECONDS = 86_400
SCOPE = {"provider": "aws", "account": "1111", "scope": "whole"}
OF_SCOPE = 'provider="aws",account="1111",scope="whole"'


def whole_until(day: int, *, account: str = "1111", provider: str = "aws") -> Series:
    """The end of the last whole day of an account, days after promtool's clock began."""
    labels = f'provider="{provider}",account="{account}"'
    return always(f"tuppence_cost_whole_until_timestamp_seconds{{{labels}}}", day * DAY_SECONDS)


def forecast(mid: float, *, scope: str = OF_SCOPE) -> Series:
    """The middle of a forecast."""
    return always(f'tuppence_cost_forecast_gbp{{{scope},bound="mid"}}', mid)


def budget(gbp: float) -> Series:
    """A budget of the scope."""
    return always(f"tuppence_budget_gbp{{{OF_SCOPE}}}", gbp)


ANOMALY = 'tuppence_cost_anomaly_gbp{provider="aws",account="2222",service="EC2",instance="a"}'
REPLICA = ANOMALY.replace('"a"', '"b"')
UTILISATION = f"tuppence_commitment_utilisation_ratio{{{OF_SCOPE}}}"
EXPIRY = f"tuppence_commitment_expiry_timestamp_seconds{{{OF_SCOPE}}}"
ALLOCATION = 'tuppence_cost_allocation_ratio{provider="aws",window="month_to_date"}'
REJECTED = 'tuppence_cost_charges_rejected{reason="absent"}'
IMPORTED = 'tuppence_cost_import_success{source="files",instance="a"}'

COSTS = (
    Case(
        "TuppenceCostAnomaly",
        now=90,
        fires=(always(ANOMALY, 412.104), always(REPLICA, 412.104)),
        severity="warning",
        labels={"provider": "aws", "account": "2222", "service": "EC2"},
        says=("EC2 of 2222 (aws) cost £412.10 more than expected",),
        still={
            "nothing is unusual": (always('tuppence_cost_expected_gbp{provider="aws",bound="mid"}', 100),),
            "it is over, for longer than a restart takes": ((ANOMALY, "40 _x99"),),
        },
    ),
    Case(
        "TuppenceCostsStale",
        now=10 * DAY,
        step=30,
        fires=(whole_until(6), whole_until(8, account="2222")),
        severity="warning",
        labels={"provider": "aws", "account": "1111"},
        says=("The last whole day of 1111 (aws) ended 4d 0h 0m 0s ago",),
        still={
            "two days are usual": (whole_until(8),),
            "another exporter is further": (whole_until(6), whole_until(9)),
        },
    ),
    Case(
        "TuppenceCostImportFailing",
        now=8 * HOUR,
        fires=(always(IMPORTED, 0),),
        severity="warning",
        labels={"source": "files"},
        says=("Costs from files have not been brought for seven hours",),
        still={
            "they were": (always(IMPORTED, 1),),
            "the next attempt helped": ((IMPORTED, f"0x{6 * HOUR} 1x{3 * HOUR}"),),
        },
    ),
    Case(
        "TuppenceCostChargesRejected",
        now=5,
        fires=(always(REJECTED, 3),),
        severity="warning",
        labels={"reason": "absent"},
        says=("3 charges of the last import were left out (absent)",),
        still={"none was": (always(REJECTED, 0),)},
    ),
    Case(
        "TuppenceUnallocatedShareHigh",
        now=2 * DAY,
        step=30,
        fires=(always(ALLOCATION, 0.625),),
        severity="info",
        labels={"provider": "aws"},
        says=("37.5% of this month's usage of aws has no owner",),
        still={
            "most has an owner": (always(ALLOCATION, 0.75),),
            "owner tags are not in use": (always(ALLOCATION, 0),),
            "it was so last month": (always(ALLOCATION.replace("month_to_date", "last_month"), 0.2),),
        },
    ),
    Case(
        "TuppenceBudgetForecastExceeded",
        now=70,
        fires=(forecast(1250), budget(1000)),
        severity="warning",
        labels=SCOPE,
        says=("This month will have taken 125% of the budget whole (aws, 1111)",),
        still={
            "it will do": (forecast(999), budget(1000)),
            "only the upper bound is above it": (
                forecast(900),
                always(f'tuppence_cost_forecast_gbp{{{OF_SCOPE},bound="upper"}}', 1250),
                budget(1000),
            ),
            "the forecast is of something else": (
                forecast(1250, scope='provider="aws",account="1111",scope="all"'),
                budget(1000),
            ),
            "there is no budget": (forecast(1250),),
        },
    ),
    Case(
        "TuppenceCommitmentExpiring",
        now=70,
        fires=(always(EXPIRY, 70 * 60 + 10 * DAY_SECONDS),),
        severity="warning",
        labels=SCOPE,
        says=("The commitment whole of 1111 (aws) ends in 10d 0h 0m 0s",),
        still={
            "there is time": (always(EXPIRY, 90 * DAY_SECONDS),),
            "it has ended": (always(EXPIRY, 600),),
        },
    ),
    Case(
        "TuppenceCommitmentUnused",
        now=2 * DAY,
        step=30,
        fires=(always(UTILISATION, 0.625),),
        severity="warning",
        labels=SCOPE,
        says=("Only 62.5% of the commitment whole (aws, 1111) is used",),
        still={
            "it is used": (always(UTILISATION, 0.97),),
            "a day's dip is over": ((UTILISATION, "0.5x30 0.9x90"),),
        },
    ),
)

CLOSED = Case(
    "TuppenceCostsStale",
    now=50 * DAY,
    step=60,
    fires=(whole_until(10),),
    severity="warning",
    labels={"provider": "aws", "account": "1111"},
    says=("The last whole day of 1111 (aws) ended 40d 0h 0m 0s ago",),
    still={"an account is closed while another goes on": (whole_until(10), whole_until(49, account="2222"))},
)
