"""The edge of live scores: settings, ledger and hub on one side, the pure rounds of emit.live on the other.

Nothing is written unless the mode in force allows it, and where it may be found again is in the ledger before it is
written. A step down takes back what the lower mode may not have, and so does the next round, should the step have
failed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from exporters.core.clock import Clock, SystemClock
from exporters.core.errors import SettingsError
from recommender.cycle import Evaluation
from recommender.emit.live.modes import SUBJECT, Allowed, Mode, allowed, approval
from recommender.emit.live.publisher import Found, Round, Wanted, Withdrawn, next_round
from recommender.emit.live.wanted import wanted_of
from recommender.emit.score import Scores
from recommender.ledger.approvals import Approval
from recommender.ledger.publications import Publication
from recommender.ledger.store import Ledger, Reader
from recommender.observe.fleet import pools
from recommender.observe.hub_fleet import hub_fleet
from recommender.settings import RecommenderSettings

if TYPE_CHECKING:
    from recommender.emit.live.hub import Hub
    from recommender.emit.live.rounds import Outcome


Object = Mapping[str, Any]
"""An object of the API, as JSON values."""

Goes = Callable[[str, str], bool]
"""Whether an object, by name and namespace, is to go."""


@dataclass(frozen=True, slots=True)
class Published:
    """What a round did.

    Args:
        allowed: the mode in force.
        hub: its address; empty: it was not asked.
        outcome: of the scores; None: none may be written.
        withdrawn: of what the mode does not allow; None: there was nothing.
        planned: of a dry run: what would be done; None: it was none.
    """

    allowed: Allowed
    hub: str = ""
    outcome: Outcome | None = None
    withdrawn: Withdrawn | None = None
    planned: Round | None = None

    @property
    def is_whole(self) -> bool:
        """The hub has what the mode allows, and nothing else of ours."""
        return (self.outcome is None or self.outcome.is_whole) and (self.withdrawn is None or not self.withdrawn.left)

    @property
    def is_unfinished(self) -> bool:
        """The hub went away in the middle."""
        return self.outcome is not None and self.outcome.is_unfinished

    @property
    def written(self) -> int:
        """Objects whose scores were changed."""
        return 0 if self.outcome is None else self.outcome.written

    def as_words(self) -> dict[str, Any]:
        """This will return what it did, for a log line."""
        told: dict[str, Any] = {"mode": self.allowed.mode.word, "missing": self.allowed.missing}
        if self.outcome is not None:
            told |= {"written": self.outcome.written, "unchanged": self.outcome.unchanged, "held": self.outcome.held}
            told |= {"refused": dict(self.outcome.refused), "not_on_hub": self.outcome.not_on_hub}
        if self.withdrawn is not None:
            told |= {"withdrawn": self.withdrawn.gone, "left": len(self.withdrawn.left)}
        return told


def running_in(evaluation: Evaluation) -> frozenset[str]:
    """This will return the clusters in which workloads run that could be moved."""
    return frozenset(evaluation.workloads.filter(~evaluation.workloads["is_system"])["cluster"])


def mode_in_force(settings: RecommenderSettings) -> Allowed:
    """This will say what may be written, by the settings and the approvals in the ledger.

    Raises:
        StoreError: the ledger cannot be read; then nothing may be written.
    """
    with Ledger.at(settings.ledger).reading() as reader:
        approvals = reader.approvals(SUBJECT)
    return allowed(Mode.of(settings.recommend.mode), settings.emit.hub, approvals)


def approve(settings: RecommenderSettings, mode: Mode, *, at: datetime, author: str, reason: str) -> Approval:
    """This will write the approval of a mode into the ledger; of a lower one, it takes force at once.

    Raises:
        SettingsError: nobody is named who approves.
        StoreError: the ledger refused.
    """
    if not author.strip():
        raise SettingsError("nobody is named who approves", where="mode set", next_step="Give --author, or set $USER.")

    def decide(reader: Reader) -> Approval:
        return approval(reader.next_approval(), mode, settings.emit.hub, at=at, author=author, reason=reason)

    made = Ledger.at(settings.ledger).approve(decide)
    assert made is not None, "an approval was decided on"
    return made


def _renamed(decision: Object, here: Mapping[str, str]) -> Object:
    status = decision.get("status") or {}
    chosen = [
        one | {"clusterName": here.get(one["clusterName"], one["clusterName"])} for one in status.get("decisions") or []
    ]
    return {**decision, "status": {**status, "decisions": chosen}}


@dataclass(slots=True)
class Publishing:
    """Publishes the scores of evaluations.

    Args:
        settings: checked settings.
        clock: the time.
        wait: waits, in seconds.
    """

    settings: RecommenderSettings
    clock: Clock = field(default_factory=SystemClock)
    wait: Callable[[float], None] = time.sleep

    def publish(self, scores: Scores, *, running: Iterable[str], dry_run: bool = False) -> Published:
        """This will bring the hub to the scores, and take back what the mode in force does not allow.

        Args:
            scores: of the fleet.
            running: clusters in which workloads run; they are written first.
            dry_run: only say what would be written.

        Raises:
            TuppenceError: the ledger or the hub as a whole refused.
        """
        can = mode_in_force(self.settings)
        if can.name is None and not self._recorded():
            return Published(can)
        with self._hub() as hub:
            wanted = self._wanted(scores, running, can)
            if dry_run:
                found = [] if can.name is None else hub.find(can.name, can.namespaces)
                return Published(can, hub.address, planned=self._planned(wanted, found))
            withdrawn = self._withdraw(hub, lambda name, there: not can.covers(name, there))
            outcome = self._carried_out(hub, wanted, can) if can.name is not None else None
            return Published(can, hub.address, outcome, withdrawn)

    def withdraw_all(self, *, at_once: bool = False) -> Withdrawn:
        """This will take back every score that was ever written and not yet taken back.

        Raises:
            TuppenceError: the ledger or the hub as a whole refused.
        """
        reached = self.settings.emit.hub
        if reached.kubeconfig is None and not reached.in_cluster and not self._recorded():
            return Withdrawn(0, {})  # there never was a hub: to stop must not fail for that
        with self._hub() as hub:
            return self._withdraw(hub, lambda *_: True, at_once=at_once, unrecorded=True) or Withdrawn(0, {})

    def withdraw_above(self, can: Allowed) -> Withdrawn | None:
        """This will take back what a lower mode does not allow; None: nothing was recorded.

        Raises:
            TuppenceError: the ledger or the hub as a whole refused.
        """
        if not self._recorded():
            return None
        with self._hub() as hub:
            return self._withdraw(hub, lambda name, there: not can.covers(name, there))

    def decided(self) -> list[Object]:
        """This will return the hub's Placements and PlacementDecisions, its clusters by the names that they have here.

        Raises:
            TuppenceError: the hub does not answer, or does not let them be read.
        """
        here = {there: name for name, there in self.settings.emit.hub.managed_clusters.items()}
        with self._hub() as hub:
            return [*hub.placements(), *(_renamed(one, here) for one in hub.placement_decisions())]

    def fleet(self) -> pl.DataFrame:
        """This will set the fleet beside what the hub says of it; see observe.hub_fleet.

        Raises:
            TuppenceError: the hub does not answer, or does not let its clusters be read.
        """
        from recommender.emit.live.refusals import HubError  # noqa: PLC0415 - see _hub

        with self._hub() as hub:
            try:
                profiles = hub.cluster_profiles()
            except HubError as error:
                if error.code not in {403, 404}:
                    raise
                profiles = []  # an inventory of their kind is optional, and so is the right to read it
            return hub_fleet(
                dict(pools(self.settings.clusters).select("cluster", "jurisdiction").iter_rows()),
                names=self.settings.emit.hub.managed_clusters,
                managed_clusters=hub.managed_clusters(),
                cluster_profiles=profiles,
                label_prefix=self.settings.emit.label_prefix,
            )

    def _hub(self) -> Hub:
        try:
            from recommender.emit.live.hub import Hub  # noqa: PLC0415 - its client is an optional dependency
        except ModuleNotFoundError as error:
            raise SettingsError(
                "the Kubernetes client is not installed",
                where="emit.hub",
                next_step="Install it with: pip install 'tuppence[kubernetes]'",
            ) from error
        return Hub(self.settings.emit)

    def _wanted(self, scores: Scores, running: Iterable[str], can: Allowed) -> Wanted:
        return wanted_of(
            scores.scores,
            self.settings.emit.hub,
            namespaces=can.namespaces,
            running=running,
            why_none="; ".join(f"class {one.residency_class}: {one.why}" for one in scores.lapsed),
            at=self.clock.now(),
        )

    def _planned(self, wanted: Wanted, found: Sequence[Found]) -> Round:
        return next_round(wanted, found, now=self.clock.now(), most=self._most)

    @property
    def _most(self) -> timedelta:
        return timedelta(hours=self.settings.emit.hub.max_valid_hours)

    def _carried_out(self, hub: Hub, wanted: Wanted, can: Allowed) -> Outcome:
        from recommender.emit.live.rounds import Terms, carry_out  # noqa: PLC0415 - see _hub

        assert can.name is not None, "publish has looked"
        name = can.name
        terms = Terms(
            now=self.clock.now,
            most=self._most,
            clock_tolerance=timedelta(seconds=self.settings.emit.hub.clock_tolerance_seconds),
            still_allowed=lambda: mode_in_force(self.settings) == can,
            about_to_write=lambda namespaces: self._record(hub.address, {name: namespaces}, also=True),
        )
        return carry_out(hub, name, wanted, hub.find(name, can.namespaces), terms)

    def _withdraw(self, hub: Hub, goes: Goes, *, at_once: bool = False, unrecorded: bool = False) -> Withdrawn | None:
        """Take back what goes by name and namespace; None: nothing of ours does."""
        from recommender.emit.live.withdraw import withdraw  # noqa: PLC0415 - see _hub

        recorded = self._recorded(hub.address)
        objects = self._going(hub, goes, recorded, unrecorded=unrecorded)
        if not objects:
            return None
        made = withdraw(
            hub,
            objects,
            now=self.clock.now,
            wait=self.wait,
            requests_per_second=self.settings.emit.hub.requests_per_second,
            at_once=at_once,
        )
        stays = {
            name: [one for one in namespaces if not goes(name, one) or (one, name) in made.left]
            for name, namespaces in recorded.items()
        }
        self._record(hub.address, stays)
        return made

    def _going(self, hub: Hub, goes: Goes, recorded: Mapping[str, Sequence[str]], *, unrecorded: bool) -> list[Found]:
        """What the ledger says was written to this hub; `unrecorded`: and what the hub itself says is ours."""
        from recommender.emit.live.refusals import HubError  # noqa: PLC0415 - see _hub

        names = {name for name, namespaces in recorded.items() if any(goes(name, one) for one in namespaces)}
        if unrecorded:
            names |= {self.settings.emit.hub.score_name, self.settings.emit.hub.shadow_name}
        found: dict[tuple[str, str], Found] = {}
        for name in sorted(names):
            try:
                listed = hub.find(name)
            except HubError as error:
                if error.code is None:
                    raise
                listed = []  # a pilot may not list everywhere; what was recorded is looked for one by one
            found |= {(name, one.namespace): one for one in listed if goes(name, one.namespace)}
        for name, namespaces in sorted(recorded.items()):
            for namespace in namespaces:
                if goes(name, namespace) and (name, namespace) not in found:
                    try:
                        one = hub.look(name, namespace)
                    except HubError:
                        one = Found(namespace, name, {}, None)  # named when it cannot be withdrawn unseen either
                    if one is not None:
                        found[name, namespace] = one
        return list(found.values())

    def _recorded(self, address: str | None = None) -> dict[str, list[str]]:
        """The namespaces that may hold scores, by name; None: of any hub."""
        with Ledger.at(self.settings.ledger).reading() as reader:
            found = reader.publications()
        texts = {name: one.namespaces for (hub, name), one in found.items() if address in {None, hub}}
        return {name: namespaces for name, text in texts.items() if (namespaces := json.loads(text))}

    def _record(self, address: str, namespaces: Mapping[str, Iterable[str]], *, also: bool = False) -> None:
        """Write down what a hub holds from now on; `also`: what was written down before stays."""

        def changed(reader: Reader) -> list[Publication]:
            before = {
                name: json.loads(one.namespaces) for (hub, name), one in reader.publications().items() if hub == address
            }
            number = reader.next_publication()
            made: list[Publication] = []
            for name, given in sorted(namespaces.items()):
                whole = sorted({*given, *(before.get(name, []) if also else [])})
                if whole != before.get(name, []):
                    made.append(Publication(number + len(made), self.clock.now(), address, name, json.dumps(whole)))
            return made

        Ledger.at(self.settings.ledger).publish(changed)
