"""The assessment becomes the view model of its page: tables of texts for a terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from exporters.core.money import pounds, rate
from recommender.advise.assess_record import Assessment, ClusterNow, Gate, Obstacle, Step
from recommender.advise.record import WorkloadName
from recommender.report import words

NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the page.

    Args:
        title: above it.
        intro: one or two sentences; empty: none.
        head: names of the columns.
        rows: the cells; the first of each names the row.
        right: numbers of the columns that stand to the right.
        nothing: what is said where there is no row.
    """

    title: str
    intro: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class AssessmentPage:
    """The page.

    Args:
        report: name, without its ending, of the report beside it; empty: there is none.
    """

    title: str
    made_at: str
    usage: str
    mode: str
    verdict: str
    tables: tuple[Table, ...]
    report: str = ""


def page_of(found: Assessment, *, report: str = "") -> AssessmentPage:
    """This will put an assessment into words.

    Args:
        found: the assessment.
        report: name, without its ending, of the report beside it; empty: there is none.
    """
    window = found.usage_window
    return AssessmentPage(
        title="Assessment before a roll-out",
        made_at=words.moment(found.generated_at),
        usage=f"{words.moment(window.start)} to {words.moment(window.end)}, {words.number_text(window.hours)} hours",
        mode=found.mode,
        verdict=_verdict(found),
        tables=(
            _costs(found.clusters),
            _performance(found.clusters),
            *(_step(one) for one in found.steps),
            _pilots(found),
            _others(found),
            _pending(found),
        ),
        report=report,
    )


def _verdict(found: Assessment) -> str:
    now = next(one for one in found.steps if one.is_current)
    missing = [gate.name for gate in now.gates if not gate.met]
    if now.next_mode is None:
        return "Every figure says to stay." if now.met else f"Look before you stay: {'; '.join(missing)}."
    if now.met:
        return f"Every figure for the step from {now.mode} to {now.next_mode} is met."
    return f"Not yet from {now.mode} to {now.next_mode}. Not met: {'; '.join(missing)}."


def _costs(clusters: Iterable[ClusterNow]) -> Table:
    return Table(
        title="What the clusters cost now",
        intro="Of workloads whose cost is known, system pods left out. Per vCPU-hour: of requested vCPUs, workloads "
        "with GPUs left out. Full: with owned capacity at its full price.",
        head=("Cluster", "Where", "Priced", "Cash, £/h", "Full, £/h", "Cash, £/vCPU-hour", "Full, £/vCPU-hour"),
        rows=tuple(
            (
                words.shown(one.cluster),
                words.shown(f"{one.provider} {one.region}" + (f", {one.jurisdiction}" if one.jurisdiction else "")),
                f"{one.workloads_priced} of {one.workloads}",
                _rate(one.gbp_per_hour, digits=2),
                _rate(one.full_gbp_per_hour, digits=2),
                _rate(one.gbp_per_vcpu_hour),
                _rate(one.full_gbp_per_vcpu_hour),
            )
            for one in clusters
        ),
        right=(2, 3, 4, 5, 6),
        nothing="There is no cluster.",
    )


def _performance(clusters: Iterable[ClusterNow]) -> Table:
    return Table(
        title="How they perform",
        intro="Requests are means of the window, beside what nodes leave for pods. Waiting: replica-hours without a "
        "node, and the most replicas at once. Forecast: error of the next hour, Σ|error| ÷ Σ demand, the median.",
        head=("Cluster", "Observed", "vCPU", "Memory, GiB", "GPU", "On spot", "Waiting", "Forecast error"),
        rows=tuple(
            (
                words.shown(one.cluster),
                words.percent(one.coverage_ratio),
                _of(one.vcpu_request, one.vcpu_allocatable),
                _of(one.memory_gib_request, one.memory_gib_allocatable),
                _of(one.gpu_request, one.gpu_allocatable),
                _percent(one.spot_ratio),
                _waiting(one),
                _forecast(one),
            )
            for one in clusters
        ),
        right=(1, 2, 3, 4, 5, 6, 7),
        nothing="There is no cluster.",
    )


def _step(step: Step) -> Table:
    here = " (the mode now)" if step.is_current else ""
    title = f"From {step.mode} to {step.next_mode}" if step.next_mode else f"To stay in {step.mode}"
    return Table(
        title=f"{title}{here}",
        intro="Every figure is met." if step.met else "Not every figure is met.",
        head=("Figure", "Now", "Wanted", "Met", "What it counts"),
        rows=tuple(
            (
                gate.name,
                _amount(gate, gate.value),
                f"{_BOUNDS[gate.bound]} {_amount(gate, gate.threshold)}",
                "yes" if gate.met else "no",
                words.shown(gate.basis),
            )
            for gate in step.gates
        ),
        right=(1, 2),
    )


def _pilots(found: Assessment) -> Table:
    return Table(
        title="Workloads that suit a pilot",
        intro="Non-critical, little state, tolerant, not regulated, known long enough, with another cluster to go to. "
        "The greatest open saving first.",
        head=("#", "Workload", "Owner", "State, GiB", "Days known", "Cash, £/h", "Could run in", "Saves a month"),
        rows=tuple(
            (
                str(one.rank),
                _workload(one),
                words.shown(one.owner or words.NOBODY),
                f"{one.state_gib:g}",
                f"{one.history_days:g}",
                rate(one.gbp_per_hour),
                words.shown(", ".join(one.other_clusters)),
                "" if one.saving_gbp_per_month is None else pounds(one.saving_gbp_per_month),
            )
            for one in found.pilots
        ),
        right=(0, 3, 4, 5, 7),
        nothing="No workload suits a pilot.",
    )


def _others(found: Assessment) -> Table:
    return Table(
        title="Workloads that do not, and why",
        intro="",
        head=("Workload", "Owner", "Why not"),
        rows=tuple(
            (_workload(one), words.shown(one.owner or words.NOBODY), _why(one.obstacles)) for one in found.not_for_pilot
        ),
        nothing="Every workload suits a pilot.",
    )


def _pending(found: Assessment) -> Table:
    rows = found.pending_on_other_scheduler
    return Table(
        title="Pods that wait for another scheduler",
        intro="The patch back is in tuppence emit --system scheduler-fallback." if rows else "",
        head=("Workload", "Scheduler", "Pods", "Minutes at least"),
        rows=tuple((_workload(one), words.shown(one.scheduler), str(one.pods), str(one.minutes)) for one in rows or ()),
        right=(2, 3),
        nothing="None." if rows is not None else "Not known: the source of usage does not tell schedulers.",
    )


_BOUNDS = {"at-least": "at least", "at-most": "at most"}


def _amount(gate: Gate, value: float | None) -> str:
    if value is None:
        return NOT_KNOWN
    if gate.unit == "ratio":
        return f"{value:.1%}".replace(".0%", "%")
    number = f"{value:.1f}".removesuffix(".0")
    return f"{number} days" if gate.unit == "days" else number


def _why(obstacles: Iterable[Obstacle]) -> str:
    return words.shown("; ".join(one.why for one in obstacles))


def _workload(one: WorkloadName) -> str:
    return words.shown(f"{one.cluster}/{one.namespace}/{one.workload_kind}/{one.workload}")


def _rate(gbp: float | None, *, digits: int = 4) -> str:
    return NOT_KNOWN if gbp is None else rate(gbp, digits=digits)


def _percent(ratio: float | None) -> str:
    return NOT_KNOWN if ratio is None else words.percent(ratio)


def _of(requested: float, allocatable: float | None) -> str:
    asked = words.number_text(round(requested, 1))
    if allocatable is None:
        return f"{asked} of {NOT_KNOWN}"
    share = f" ({words.percent(requested / allocatable)})" if allocatable else ""
    return f"{asked} of {words.number_text(round(allocatable, 1))}{share}"


def _waiting(one: ClusterNow) -> str:
    peak = words.number_text(round(one.pending_replicas_peak, 1))
    return NOT_KNOWN if one.pending_ratio is None else f"{words.percent(one.pending_ratio)}, {peak} at most"


def _forecast(one: ClusterNow) -> str:
    return _percent(one.forecast.wape_ratio) if one.forecast else NOT_KNOWN
