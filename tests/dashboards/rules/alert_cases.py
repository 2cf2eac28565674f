"""For each alert: series at which it fires, with the words it says then, and series at which it keeps still.

A series is its text and its values, one a minute, in promtool's words; a single value stays. ``now`` is the minute that
is looked at. Timestamps are worked out from promtool's clock, which begins at 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Series = tuple[str, str]
HOUR, DAY = 60, 24 * 60
"""In minutes."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is known of one alert.

    Args:
        alert: its name.
        now: the minute looked at.
        step: minutes between samples and between evaluations.
        fires: series at which it fires.
        labels: of the alert, beside its severity.
        says: its summary, and its description where that has figures.
        still: lists of series at each of which it does not fire.
    """

    alert: str
    now: int
    fires: tuple[Series, ...]
    severity: str
    says: tuple[str, ...]
    still: dict[str, tuple[Series, ...]]
    labels: dict[str, str] = field(default_factory=dict)
    step: int = 1


def always(series: str, value: float) -> Series:
    """A series that never changes."""
    return series, str(value)


def age(source: str, taken_at_minute: int, max_age_minutes: int, instance: str = "a") -> tuple[Series, ...]:
    """A snapshot's time and the age that it may have."""
    labels = f'source="{source}",instance="{instance}"'
    return (
        always(f"tuppence_exporter_snapshot_timestamp_seconds{{{labels}}}", taken_at_minute * 60),
        always(f"tuppence_exporter_snapshot_max_age_seconds{{{labels}}}", max_age_minutes * 60),
    )


EXPORTER = (
    Case(
        "TuppenceTargetDown",
        now=10,
        fires=(always('up{job="tuppence-exporter",instance="e:10210"}', 0),),
        severity="critical",
        labels={"job": "tuppence-exporter", "instance": "e:10210"},
        says=("tuppence-exporter at e:10210 cannot be scraped",),
        still={
            "it answers": (always('up{job="tuppence-exporter",instance="e:10210"}', 1),),
            "it was away for two minutes": (('up{job="tuppence-exporter",instance="e:10210"}', "1x7 0x1 1x60"),),
            "another job is down": (always('up{job="node",instance="e:9100"}', 0),),
        },
    ),
    Case(
        "TuppenceSourceAgeing",
        now=100,
        fires=age("aws", taken_at_minute=0, max_age_minutes=110),
        severity="warning",
        labels={"source": "aws"},
        says=("Prices of aws have used up 90.91% of their allowed age",),
        still={
            "it is young": age("aws", taken_at_minute=60, max_age_minutes=100),
            "it is stale, which another alert says": age("aws", taken_at_minute=0, max_age_minutes=90),
            "one of two replicas is up to date": (
                *age("aws", taken_at_minute=0, max_age_minutes=110),
                *age("aws", taken_at_minute=80, max_age_minutes=110, instance="b"),
            ),
        },
    ),
    Case(
        "TuppenceSourceStale",
        now=100,
        fires=age("aws", taken_at_minute=0, max_age_minutes=80),
        severity="critical",
        labels={"source": "aws"},
        says=(
            "Prices of aws are too old and are not shown any more",
            (
                "Their age is 125% of what is allowed, so the source has no series. Workloads that only it prices "
                "get no advice."
            ),
        ),
        still={
            "it is old but allowed": age("aws", taken_at_minute=0, max_age_minutes=101),
            "it is the packaged book, which has no limit": (
                always('tuppence_exporter_snapshot_timestamp_seconds{source="azure"}', 0),
            ),
        },
    ),
    Case(
        "TuppencePriceJump",
        now=5,
        fires=(
            always('tuppence_exporter_rows_rejected{source="gcp",reason="implausible",instance="a"}', 12),
            always('tuppence_exporter_rows_rejected{source="gcp",reason="implausible",instance="b"}', 12),
        ),
        severity="warning",
        labels={"source": "gcp"},
        says=("12 prices of gcp moved more than tenfold and were set aside",),
        still={
            "none was": (always('tuppence_exporter_rows_rejected{source="gcp",reason="implausible"}', 0),),
            "rows were left out for another reason": (
                always('tuppence_exporter_rows_rejected{source="gcp",reason="zero"}', 12),
            ),
        },
    ),
    Case(
        "TuppenceFxOld",
        now=6 * DAY,
        step=30,
        fires=(always('tuppence_fx_rate_date_timestamp_seconds{currency="USD",source="ecb"}', 0),),
        severity="warning",
        labels={"currency": "USD", "source": "ecb"},
        says=(
            "The rate of USD is 6d 0h 0m 0s old",
            (
                "Every price in USD is converted at it (ecb). Reference rates appear on working days; more than five "
                "days is longer than any weekend with its bank holidays but Christmas and Easter."
            ),
        ),
        still={
            "four days are a weekend": (
                always('tuppence_fx_rate_date_timestamp_seconds{currency="USD",source="ecb"}', 2 * DAY * 60),
            ),
            "a pound is a pound": (always('tuppence_fx_rate_date_timestamp_seconds{currency="GBP",source="ecb"}', 0),),
        },
    ),
    Case(
        "TuppenceProviderRateAstray",
        now=70,
        fires=(
            always('tuppence_fx_provider_gbp_per_unit{currency="USD",provider="azure"}', 0.72),
            always('tuppence_fx_gbp_per_unit{currency="USD",source="ecb"}', 0.75),
        ),
        severity="warning",
        labels={"currency": "USD", "provider": "azure"},
        says=(
            "The rate of azure for USD is 4% from ours",
            (
                "A bill in pounds from azure will differ from these prices by as much. A contract rate can be set "
                "for the source fx."
            ),
        ),
        still={
            "two per cent": (
                always('tuppence_fx_provider_gbp_per_unit{currency="USD",provider="azure"}', 0.765),
                always('tuppence_fx_gbp_per_unit{currency="USD",source="ecb"}', 0.75),
            ),
        },
    ),
    Case(
        "TuppenceSeriesCapNear",
        now=20,
        fires=(always("tuppence_exporter_series", 190000), always("tuppence_exporter_series_limit", 200000)),
        severity="warning",
        says=("The exporter serves 95% of the series that it may",),
        still={
            "there is room": (
                always("tuppence_exporter_series", 170000),
                always("tuppence_exporter_series_limit", 200000),
            ),
        },
    ),
    Case(
        "TuppenceSeriesCapped",
        now=10,
        fires=(always("tuppence_exporter_series_capped", 1),),
        severity="critical",
        says=("Newer prices wait because they would exceed the limit of series",),
        still={"they fit": (always("tuppence_exporter_series_capped", 0),)},
    ),
    Case(
        "TuppenceSettingsNotLoaded",
        now=2,
        fires=(
            always('tuppence_exporter_config_last_reload_successful{job="tuppence-exporter",instance="e"}', 1),
            always('tuppence_recommender_config_last_reload_successful{job="tuppence-recommender",instance="r"}', 0),
        ),
        severity="warning",
        labels={"job": "tuppence-recommender", "instance": "r"},
        says=("tuppence-recommender at r did not take the settings on disk",),
        still={
            "both took them": (
                always('tuppence_exporter_config_last_reload_successful{job="tuppence-exporter",instance="e"}', 1),
                always(
                    'tuppence_recommender_config_last_reload_successful{job="tuppence-recommender",instance="r"}', 1
                ),
            ),
        },
    ),
)

SCORE = 'tuppence_placement_score{cluster="c1",score="cost-batch-any"}'
EVALUATED = always('tuppence_recommender_evaluation_success{instance="r"}', 1)

RECOMMENDER = (
    Case(
        "TuppenceEvaluationFailing",
        now=40,
        fires=(always('tuppence_recommender_evaluation_success{instance="r"}', 0),),
        severity="warning",
        labels={"instance": "r"},
        says=("Evaluations at r have failed for half an hour",),
        still={
            "they gave a plan": (EVALUATED,),
            "one failed, the next did not": (
                ('tuppence_recommender_evaluation_success{instance="r"}', "1x20 0x10 1x60"),
            ),
        },
    ),
    Case(
        "TuppencePlanOld",
        now=7 * HOUR,
        fires=(always("tuppence_recommender_evaluation_timestamp_seconds", 0),),
        severity="warning",
        says=("The plan that is served is 7h 0m 0s old",),
        still={"it is an hour old": (always("tuppence_recommender_evaluation_timestamp_seconds", 6 * 3600),)},
    ),
    Case(
        "TuppenceResidencyUnknown",
        now=20,
        fires=(
            always(
                'tuppence_cluster_info{cluster="c1",provider="aws",region="moon-1",jurisdiction="",tier="cloud"}', 1
            ),
        ),
        severity="warning",
        labels={"cluster": "c1", "provider": "aws", "region": "moon-1"},
        says=(
            "Nobody knows in whose jurisdiction c1 is",
            (
                "Region moon-1 of aws is in no table and the settings name no jurisdiction. Every class that names "
                "any is refused there, and nothing is moved to it."
            ),
        ),
        still={
            "it is in GB": (
                always('tuppence_cluster_info{cluster="c1",provider="aws",region="eu-west-2",jurisdiction="GB"}', 1),
            ),
        },
    ),
    Case(
        "TuppenceBurstNeeded",
        now=2,
        fires=(always('tuppence_burst_needed{cluster="c1",resource="gpu",resource_class="L4"}', 1),),
        severity="warning",
        labels={"cluster": "c1", "resource": "gpu", "resource_class": "L4"},
        says=("Owned gpu (L4) of c1 will not last",),
        still={"it lasts": (always('tuppence_burst_needed{cluster="c1",resource="gpu",resource_class="L4"}', 0),)},
    ),
    Case(
        "TuppenceAdviceExpiring",
        now=20,
        fires=(
            always('tuppence_recommendation_next_expiry_timestamp_seconds{kind="placement",state="accepted"}', 80 * 60),
        ),
        severity="info",
        labels={"kind": "placement"},
        says=("Accepted advice (placement) lapses in 1h 0m 0s",),
        still={
            "it stands for three days": (
                always(
                    'tuppence_recommendation_next_expiry_timestamp_seconds{kind="placement",state="accepted"}',
                    3 * 86400,
                ),
            ),
            "nobody has accepted it": (
                always('tuppence_recommendation_next_expiry_timestamp_seconds{kind="placement",state="open"}', 80 * 60),
            ),
        },
    ),
    Case(
        "TuppenceScoresLapsed",
        now=60,
        fires=((SCORE, "80x30"), EVALUATED),
        severity="warning",
        labels={"score": "cost-batch-any"},
        says=("The score cost-batch-any has lapsed",),
        still={
            "it is there": ((SCORE, "80x90"), EVALUATED),
            "one cluster has it no more, another has": (
                (SCORE, "80x30"),
                always('tuppence_placement_score{cluster="c2",score="cost-batch-any"}', 7),
                EVALUATED,
            ),
            "the recommender is down, which another alert says": ((SCORE, "80x30"),),
        },
    ),
    Case(
        "TuppencePublicationFailing",
        now=20,
        fires=(always("tuppence_recommender_publication_success", 0),),
        severity="warning",
        says=("The hub does not have the scores that the mode allows",),
        still={"it has": (always("tuppence_recommender_publication_success", 1),), "there is no hub": (EVALUATED,)},
    ),
    Case(
        "TuppenceVerificationFailing",
        now=70,
        fires=(always("tuppence_recommender_verification_success", 0),),
        severity="warning",
        says=("Moves that were carried out could not be measured",),
        still={"they were": (always("tuppence_recommender_verification_success", 1),)},
    ),
    Case(
        "TuppenceReportNotDelivered",
        now=130,
        fires=(always("tuppence_recommender_delivery_success", 0),),
        severity="warning",
        says=("The week's report was not made, or a channel did not take it",),
        still={
            "it was": (always("tuppence_recommender_delivery_success", 1),),
            "the next attempt helped": (("tuppence_recommender_delivery_success", "1x60 0x30 1x90"),),
        },
    ),
    Case(
        "TuppenceReportOverdue",
        now=9 * DAY,
        step=30,
        fires=(always('tuppence_report_last_success_timestamp_seconds{channel="finance"}', 0),),
        severity="warning",
        labels={"channel": "finance"},
        says=("finance took its last report 9d 0h 0m 0s ago",),
        still={
            "it took one this week": (
                always('tuppence_report_last_success_timestamp_seconds{channel="finance"}', 3 * 86400),
            ),
        },
    ),
)
