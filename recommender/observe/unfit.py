"""Which workloads nothing can be advised of, and why: a reason of coverage.Reason for each, with what to do next."""

from __future__ import annotations

from dataclasses import dataclass

import dataframely as dy
import polars as pl

from exporters.core.geography import gpu_aliases
from exporters.core.units import SECONDS_PER_HOUR
from recommender.frames import WORKLOAD_KEY, NotEnoughData
from recommender.observe.attributes import Attributed
from recommender.observe.coverage import Coverage, Reason, Window
from recommender.observe.usage import Usage
from recommender.observe.workload_kinds import spelt_as_kubernetes, with_latest_kind

KEY = list(WORKLOAD_KEY)

NEW_WITHIN_HOURS = 24.0
"""A workload first seen later than this before the end has not shown what it needs in a day."""
VANISHED_AFTER_HOURS = 72.0
"""A workload not seen for this long is gone; a weekend at zero replicas is shorter."""
COMES_AND_GOES = ("Job", "CronJob")


def mistakes_of(attributed: Attributed, usage: Usage, kinds: pl.DataFrame) -> pl.DataFrame:
    """This will return what cannot be right, in usage or in attributes: WORKLOAD_KEY, reason and why, one row each."""
    schema = dict.fromkeys((*KEY, "why"), pl.String)
    wrong = pl.DataFrame(schema=schema) if usage.wrong is None else usage.wrong
    named = with_latest_kind(wrong.with_columns(spelt_as_kubernetes()), kinds).group_by(KEY).agg(pl.col("why").min())
    parts = {Reason.USAGE_WRONG: named, Reason.ATTRIBUTE_WRONG: attributed.mistakes}
    said = pl.concat([rows.select(*KEY, "why", reason=pl.lit(reason.value)) for reason, rows in parts.items()])
    return said.unique(KEY, keep="first", maintain_order=True)


@dataclass(frozen=True, slots=True)
class _Case:
    """A reason, when it holds, and what to say then; expressions over the reduced workloads."""

    reason: Reason
    holds: pl.Expr
    why: pl.Expr
    next_step: str


def unfit_workloads(
    workloads: pl.DataFrame, mistakes: pl.DataFrame, coverage: Coverage, window: Window
) -> dy.DataFrame[NotEnoughData]:
    """This will name the workloads that must not be advised, each with the first reason that holds.

    Args:
        workloads: reduced, with their first and last step and their cluster's.
        mistakes: as mistakes_of returns them.
        coverage: what was observed in the window.
        window: the time looked at.
    """
    judged = workloads.join(mistakes.rename({"why": "_mistake", "reason": "_mistaken"}), on=KEY, how="left")
    cases = _cases(coverage.step_seconds / SECONDS_PER_HOUR, window)
    rows = judged.select(
        *KEY,
        pl.coalesce(pl.when(case.holds).then(pl.lit(case.reason.value)) for case in cases).alias("reason"),
        pl.coalesce(pl.when(case.holds).then(case.why) for case in cases).alias("why"),
        pl.coalesce(pl.when(case.holds).then(pl.lit(case.next_step)) for case in cases).alias("next_step"),
    )
    return NotEnoughData.validate(rows.filter(pl.col("reason").is_not_null()))


def _cases(step_hours: float, window: Window) -> tuple[_Case, ...]:
    steady = ~pl.col("workload_kind").is_in(COMES_AND_GOES)
    unseen_hours = (pl.col("last_step") - pl.col("_own_last_step")) * step_hours
    known_hours = (pl.col("last_step") + 1 - pl.col("_first_step")) * step_hours
    enough_hours = min(NEW_WITHIN_HOURS, window.seconds / SECONDS_PER_HOUR / 2)
    models = gpu_aliases()["gpu_model"].unique().sort().to_list()
    return (
        _Case(
            Reason.NEVER_RAN,
            pl.col("replicas_peak") == 0,
            pl.lit("no replica of it ran in the window"),
            "Nothing to do, unless it ought to run.",
        ),
        _Case(
            Reason.VANISHED,
            steady & (unseen_hours >= VANISHED_AFTER_HOURS),
            pl.col("last_seen").dt.strftime("not seen since %Y-%m-%d %H:%M UTC"),
            "Nothing to do, if it was removed.",
        ),
        _Case(
            Reason.USAGE_WRONG,
            pl.col("_mistaken") == Reason.USAGE_WRONG.value,
            pl.col("_mistake"),
            "Look at the recording rule of that name and at what it reads; nothing is advised from it.",
        ),
        _Case(
            Reason.ATTRIBUTE_WRONG,
            pl.col("_mistake").is_not_null(),
            pl.col("_mistake"),
            "Mend the label or the column.",
        ),
        _Case(
            Reason.NEW,
            steady & (pl.col("_first_step") > 0) & (known_hours < enough_hours),
            pl.col("first_seen").dt.strftime("first seen at %Y-%m-%d %H:%M UTC"),
            "Wait until a day of it is known.",
        ),
        _Case(
            Reason.GPU_MODEL_UNKNOWN,
            (pl.col("gpu_request_peak") > 0) & ~pl.col("gpu_model").is_in(models),
            pl.format("it asks for GPUs of the model '{}', which is not known", "gpu_model"),
            "Name gpu_model in the usage file, or give kube-state-metrics the node label nvidia.com/gpu.product.",
        ),
    )
