"""The last good plan and how the evaluations go: what every page, answer and metric is made from.

A failed evaluation changes no figure: the plan before stays, its age grows and the error stands beside it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import dataframely as dy

from recommender.advise.plan import Plan
from recommender.advise.record import State as AdviceState
from recommender.calibrating import Learnt
from recommender.emit.score import Scores
from recommender.frames import Pool
from recommender.ledger.deliveries import Outcomes
from recommender.ledger.measurement import Savings
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from recommender.outlook import Ahead
from recommender.report import html
from recommender.report.calibration import with_calibration
from recommender.report.view import Report
from recommender.report.view_model import report_of
from recommender.serve.advice_index import Advice, AdviceIndex
from recommender.serve.plan_document import PlanDocument


@dataclass(frozen=True, slots=True)
class Served:
    """A plan and what is rendered from it, once.

    Args:
        plan: the plan.
        report: its view model.
        page: the report as HTML.
        written: the plan as JSON.
        index: what is listed, with decisions made since.
    """

    plan: Plan
    report: Report
    page: bytes
    written: PlanDocument
    index: AdviceIndex

    @property
    def document(self) -> bytes:
        """The plan as JSON; made anew at each call."""
        return self.written.read()

    @classmethod
    def of(cls, plan: Plan, learnt: Learnt | None = None, kept: Iterable[Advice] = ()) -> Served:
        """This will render a plan, with what was learnt from the ledger, and what it keeps, where it is known."""
        report = report_of(plan) if learnt is None else with_calibration(report_of(plan), plan, learnt)
        return cls(
            plan=plan,
            report=report,
            page=html.render(report).encode(),
            written=PlanDocument.of(plan),
            index=AdviceIndex.of(plan, kept),
        )


@dataclass(frozen=True, slots=True)
class State:
    """What is known at a moment.

    Args:
        served: the last good plan; None: there is none yet.
        evaluations: ended since the start.
        failures: failed ones among them.
        succeeded: whether the last one did; None: none has ended.
        finished_at: when the last one ended.
        duration_seconds: of the last one.
        error: why the last one failed; empty if it did not.
        savings: what verified moves saved; None: there is no plan yet, or no ledger.
        learnt: from the ledger; None: there is no plan yet, or it could not be read.
        verified_at: when verification last ended; None: it has not yet.
        verification_succeeded: whether it did.
        published_at: when a round to the hub last ended; None: none has.
        publication_succeeded: whether the hub had then what the mode allows.
        objects_written: objects of the hub whose scores were changed since the start.
        delivered_at: when a round of deliveries last ended; None: none has.
        delivery_succeeded: whether the last week's reports were made, and none failed or is unknown.
        deliveries: what became of the reports, by channel, as the ledger had it then.
        ahead: the next hour, of the last good plan's time; None: it could not be foretold.
        scores: of clusters, of the same time; None: there are none.
        pending: pods that waited for another scheduler then; None: it is not told.
        fleet: the pools that the last good plan was made for; None: there is no plan, or they are not told.
        reload_successful: whether the settings on disk are the ones in use.
        reloaded_at: when they were read.
    """

    served: Served | None = None
    evaluations: int = 0
    failures: int = 0
    succeeded: bool | None = None
    finished_at: datetime | None = None
    duration_seconds: float = 0.0
    error: str = ""
    savings: Savings | None = None
    learnt: Learnt | None = None
    verified_at: datetime | None = None
    verification_succeeded: bool = True
    published_at: datetime | None = None
    publication_succeeded: bool = True
    objects_written: int = 0
    delivered_at: datetime | None = None
    delivery_succeeded: bool = True
    deliveries: Mapping[str, Outcomes] = field(default_factory=dict)
    ahead: Ahead | None = None
    scores: Scores | None = None
    pending: dy.DataFrame[PendingOnOtherScheduler] | None = None
    fleet: dy.DataFrame[Pool] | None = None
    reload_successful: bool = True
    reloaded_at: datetime | None = None


class LastPlan:
    """Keeps the state; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = State()

    @property
    def state(self) -> State:
        """What is known now; it does not change in the reader's hands."""
        return self._state

    def succeeded(
        self,
        plan: Plan,
        *,
        at: datetime,
        duration_seconds: float,
        savings: Savings | None = None,
        learnt: Learnt | None = None,
        ahead: Ahead | None = None,
        scores: Scores | None = None,
        pending: dy.DataFrame[PendingOnOtherScheduler] | None = None,
        fleet: dy.DataFrame[Pool] | None = None,
        kept: Iterable[Advice] = (),
    ) -> None:
        """This will serve a plan from now on."""
        served = Served.of(plan, learnt, kept)
        with self._lock:
            self._state = replace(
                self._state,
                served=served,
                savings=savings,
                learnt=learnt,
                ahead=ahead,
                scores=scores,
                pending=pending,
                fleet=fleet,
                evaluations=self._state.evaluations + 1,
                succeeded=True,
                finished_at=at,
                duration_seconds=duration_seconds,
                error="",
            )

    def failed(self, error: Exception, *, at: datetime, duration_seconds: float) -> None:
        """This will note why the plan before stays."""
        with self._lock:
            self._state = replace(
                self._state,
                evaluations=self._state.evaluations + 1,
                failures=self._state.failures + 1,
                succeeded=False,
                finished_at=at,
                duration_seconds=duration_seconds,
                error=str(error),
            )

    def decided(self, advice_id: str, state: AdviceState) -> None:
        """This will list advice in the state that it is in now, until the next plan."""
        with self._lock:
            served = self._state.served
            if served is not None:
                served = replace(served, index=served.index.with_state(advice_id, state))
                self._state = replace(self._state, served=served)

    def verified(self, *, at: datetime, succeeded: bool) -> None:
        """This will note that a verification ended."""
        with self._lock:
            self._state = replace(self._state, verified_at=at, verification_succeeded=succeeded)

    def published(self, *, at: datetime, succeeded: bool, written: int) -> None:
        """This will note that a round to the hub ended."""
        with self._lock:
            self._state = replace(
                self._state,
                published_at=at,
                publication_succeeded=succeeded,
                objects_written=self._state.objects_written + written,
            )

    def delivered(self, *, at: datetime, succeeded: bool, deliveries: Mapping[str, Outcomes] | None = None) -> None:
        """This will note that a round of deliveries ended; without the ledger's log what was known of it stays."""
        with self._lock:
            known = self._state.deliveries if deliveries is None else deliveries
            self._state = replace(self._state, delivered_at=at, delivery_succeeded=succeeded, deliveries=known)

    def reload_succeeded(self, *, at: datetime) -> None:
        """This will note that the settings on disk are in use."""
        with self._lock:
            self._state = replace(self._state, reload_successful=True, reloaded_at=at)

    def reload_failed(self) -> None:
        """This will note that the settings on disk are wrong; those before stay."""
        with self._lock:
            self._state = replace(self._state, reload_successful=False)


def etag_of(body: bytes) -> str:
    """This will return a strong validator of a body (RFC 9110, "ETag")."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'
