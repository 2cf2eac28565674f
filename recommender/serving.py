"""The recommender as a service: a plan in memory, a job that makes the next one, one port to read it from."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import dataframely as dy
import structlog

from exporters.core.clock import Clock, SystemClock
from exporters.core.errors import TuppenceError
from exporters.core.output import stderr
from exporters.core.web.serving import Address, serve
from recommender.calibrating import Learnt, learnt
from recommender.delivering import Parcels, deliver_due
from recommender.emit.score import Scores
from recommender.jobs import Scheduler, add_delivery, next_run, scheduler_for
from recommender.ledger.deliveries import Outcomes, failing, outcomes_of
from recommender.ledger.store import Ledger
from recommender.observe.fleet import pools
from recommender.observe.pending_scheduler import PendingOnOtherScheduler
from recommender.parcels import parcels_of, report_of_week
from recommender.publishing import Publishing, running_in
from recommender.recorded import Recorded, recorded
from recommender.report.view import Report
from recommender.scored import all_scores
from recommender.serve.access import TokenFile
from recommender.serve.advice_index import Advice
from recommender.serve.app import Recommender, create_app
from recommender.serve.deciding import kept_beside
from recommender.serve.dsf import Scorer
from recommender.serve.last_plan import LastPlan
from recommender.settings import RecommenderSettings
from recommender.verification import verify
from recommender.watched import pending_at
from recommender.week.calendar import Week

_log = structlog.get_logger(__name__)


class RecommenderService:
    """Everything behind the recommender's port.

    Args:
        settings: checked settings.
        load: reads them again; raises SettingsError when they are wrong.
        clock: the time.
    """

    def __init__(
        self, settings: RecommenderSettings, *, load: Callable[[], RecommenderSettings], clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._load = load
        self._host = settings.recommender_web.host
        self._clock = clock or SystemClock()
        self._last = LastPlan()
        self._reloading = threading.Lock()
        self._evaluating = threading.Lock()
        self._running: frozenset[str] = frozenset()
        self._owners: dict[Week, frozenset[str]] = {}
        self._scheduler: Scheduler | None = None

    def start(self) -> None:
        """This will start the evaluations; the first one runs at once, beside the caller."""
        self._last.reload_succeeded(at=self._clock.now())
        self._schedule()

    def stop(self) -> None:
        """This will stop the evaluations; one under way is not waited for."""
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)

    def app(self) -> Recommender:
        """This will return what the pages show and do."""
        return Recommender(
            last=self._last,
            clock=self._clock,
            reload=self.reload,
            next_run=self._next_run,
            scorer=self._scorer,
            settings=lambda: self._settings,
            host=self._host,
            report_of_week=self.report_of_week,
        )

    def evaluate(self) -> bool:
        """This will evaluate once; a failure keeps the plan before and is noted with its reason.

        One that a reload overtook ends before the one with the new settings begins.

        Returns:
            Whether there is a new plan.
        """
        with self._evaluating:
            return self._evaluate()

    def _evaluate(self) -> bool:
        at, started = self._clock.now(), time.monotonic()
        try:
            made = recorded(self._settings, at=at, now=at)
        except Exception as error:  # noqa: BLE001 - whatever it was, it must show on the page and in the metrics
            seconds = time.monotonic() - started
            self._last.failed(error, at=self._clock.now(), duration_seconds=seconds)
            _log.error(
                "evaluation_failed", error=str(error), exc_info=not isinstance(error, TuppenceError), seconds=seconds
            )
            return False
        seconds = time.monotonic() - started
        self._running = running_in(made.evaluation)
        self._last.succeeded(
            made.plan,
            at=self._clock.now(),
            duration_seconds=seconds,
            savings=made.savings,
            ahead=made.ahead,
            scores=self._scores(made, at),
            learnt=self._learnt(at),
            pending=self._pending(at),
            fleet=pools(self._settings.clusters),
        )
        if made.not_recorded:
            _log.warning("not_recorded_in_ledger", why=made.not_recorded)
        _log.info("evaluated", recommendations=len(made.plan.recommendations), seconds=round(seconds, 3))
        return True

    def _scores(self, made: Recorded, at: datetime) -> Scores | None:
        """Scores of the evaluation; advice does not need them: after a failure those of before last to their end."""
        before = self._last.state.scores
        try:
            found = all_scores(self._settings, made, at=at, previous=None if before is None else before.scores)
        except TuppenceError as error:
            _log.error("scores_failed", error=str(error))
            return before
        for one in found.lapsed:
            _log.warning("scores_held", residency_class=one.residency_class, why=one.why, until=one.held_until)
        return found

    def _pending(self, at: datetime) -> dy.DataFrame[PendingOnOtherScheduler] | None:
        """The watch; its failure is logged and the plan stands."""
        try:
            return pending_at(self._settings, at=at)
        except TuppenceError as error:
            _log.error("watch_failed", error=str(error))
            return None

    def _kept(self, made: Recorded, at: datetime) -> tuple[Advice, ...]:
        """Advice that is listed beside the plan's; a plan that was made is served without it, too."""
        try:
            return kept_beside(self._settings.ledger, made.plan, at=at)
        except TuppenceError as error:
            _log.error("decided_advice_not_read", error=str(error))
            return ()

    def _learnt(self, at: datetime) -> Learnt | None:
        """What the ledger says of the policy; a plan that was made is served without it, too."""
        try:
            return learnt(self._settings, at=at)
        except TuppenceError as error:
            _log.error("calibration_failed", error=str(error))
            return None

    def verify(self) -> bool:
        """This will measure what was carried out long enough ago, once: of two replicas the ledger takes the first.

        Returns:
            Whether it went through; a failure is noted with its reason and changes nothing.
        """
        at = self._clock.now()
        try:
            rows = verify(self._settings, at=at)
        except Exception as error:  # noqa: BLE001 - whatever it was, it must show in the metrics
            self._last.verified(at=self._clock.now(), succeeded=False)
            _log.error("verification_failed", error=str(error), exc_info=not isinstance(error, TuppenceError))
            return False
        self._last.verified(at=self._clock.now(), succeeded=True)
        _log.info("verified", outcomes=dict(Counter(one.outcome.value for one in rows)))
        return True

    def publish(self) -> bool:
        """This will bring the hub to the scores of the last evaluation, as far as the mode in force allows.

        Returns:
            False: another try soon may help. A failure is noted with its reason; what stands on the hub ends by itself.
        """
        scores = self._last.state.scores
        if scores is None:
            return True
        try:
            made = Publishing(self._settings, clock=self._clock).publish(scores, running=self._running)
        except Exception as error:  # noqa: BLE001 - whatever it was, it must show in the metrics
            self._last.published(at=self._clock.now(), succeeded=False, written=0)
            _log.error("publication_failed", error=str(error), exc_info=not isinstance(error, TuppenceError))
            return False
        self._last.published(at=self._clock.now(), succeeded=made.is_whole, written=made.written)
        (_log.info if made.is_whole else _log.warning)("published", **made.as_words())
        return not made.is_unfinished

    def deliver(self) -> bool:
        """This will deliver the report that is due, if one is: of two replicas the ledger lets one send it.

        Returns:
            Whether the last week's reports were made, and none failed or is unknown. A failure is noted with its
            reason and tried again later.
        """
        settings = self._settings.deliver
        try:
            ledger = Ledger.at(self._settings.ledger)
            deliver_due(ledger, settings, now=self._clock.now, make=self._parcels, owners=self._owners.get)
            with ledger.reading() as reader:
                steps = reader.deliveries()
        except Exception as error:  # noqa: BLE001 - whatever it was, it must show in the metrics
            self._last.delivered(at=self._clock.now(), succeeded=False)
            _log.error("delivery_failed", error=str(error), exc_info=not isinstance(error, TuppenceError))
            return False
        at, names = self._clock.now(), [one.name for one in settings.channels]
        succeeded = not failing(steps, channels=names, at=at)
        found = outcomes_of(steps, at=at)
        self._last.delivered(
            at=at, succeeded=succeeded, deliveries={name: found.get(name, Outcomes()) for name in names}
        )
        return succeeded

    def _parcels(self, week: Week) -> Parcels:
        """The reports; not beside an evaluation, because two need twice the memory of one."""
        with self._evaluating:
            made = parcels_of(self._settings, week, self._clock.now())
        self._owners = {week: frozenset(made)}
        return made

    def report_of_week(self, week: Week) -> Report:
        """This will make a week's report for whoever asks; not beside an evaluation, see _parcels.

        Raises:
            TuppenceError: an input or the ledger failed, or there is no usage of that week.
        """
        with self._evaluating:
            return report_of_week(self._settings, week, self._clock.now())

    def reload(self) -> None:
        """This will read the settings again and evaluate by them; wrong ones change nothing.

        Raises:
            TuppenceError: the settings are wrong; the ones in use stay.
        """
        with self._reloading:
            try:
                self._settings = self._load()
            except TuppenceError:
                self._last.reload_failed()
                raise
            self.stop()
            self._owners = {}
            self._schedule()
            self._last.reload_succeeded(at=self._clock.now())
            _log.info("settings_reloaded")

    def _schedule(self) -> None:
        hub = self._settings.emit.hub
        self._scheduler = scheduler_for(
            self.evaluate,
            verify=self.verify,
            publish=self.publish if hub.is_set else None,
            publish_every_minutes=hub.publish_every_minutes,
            publish_jitter_seconds=hub.jitter_seconds,
            every_minutes=self._settings.recommend.every_minutes,
            first=self._clock.now(),
        )
        if self._settings.deliver.channels:
            # The first evaluation begins before it; a report that was missed can wait for it.
            first = self._clock.now() + timedelta(seconds=3)
            add_delivery(self._scheduler, self.deliver, self._settings.deliver, first=first)
        self._scheduler.start()

    def _scorer(self) -> Scorer:
        return Scorer(self._settings.emit.dsf, self._settings.forecast)

    def _next_run(self) -> datetime | None:
        return next_run(self._scheduler) if self._scheduler is not None else None


def serve_recommender(settings: RecommenderSettings, *, load: Callable[[], RecommenderSettings]) -> None:
    """This will serve until a signal ends it; see RecommenderService."""
    web = settings.recommender_web
    service, tokens = RecommenderService(settings, load=load), TokenFile(web.tokens_file)
    app = create_app(service.app())
    service.start()
    try:
        serve(
            app,
            host=web.host,
            port=web.port,
            web_config=web.config_file,
            ready=_announce,
            bearer=tokens.caller,
        )
    finally:
        service.stop()


def _announce(address: Address) -> None:
    stderr.print(f"Serving recommendations at {address.url}/; report: {address.url}/report", soft_wrap=True)
