"""The edge to the hub's API server: scores are looked for, made, written and withdrawn; the fleet is read.

Each call is paced, tried again where that can help, and every refusal says which namespace it is about and what to do.
`status` of AddOnPlacementScore is a subresource: an object is made first, then its status is applied server-side with
our field manager, so that scores of other writers in the same object stay theirs (Kubernetes, "Server-Side Apply").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import httpx2
from lightkube import Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource
from lightkube.types import PatchType

from exporters.core.clock import parse_utc
from recommender.emit.live.connect import config_of
from recommender.emit.live.publisher import Found, Scores
from recommender.emit.live.refusals import HubError, NamespaceRefusedError, attempts, translated
from recommender.emit.names import MANAGER, label_key
from recommender.emit.score_status import INPUTS_FRESH, Freshness, freshness_in, status_of
from recommender.emit_settings import EmitSettings

_OCM = "cluster.open-cluster-management.io"
SCORE = create_namespaced_resource(_OCM, "v1alpha1", "AddOnPlacementScore", "addonplacementscores")
_PLACEMENT = create_namespaced_resource(_OCM, "v1beta1", "Placement", "placements")
_DECISION = create_namespaced_resource(_OCM, "v1beta1", "PlacementDecision", "placementdecisions")
_CLUSTER = create_global_resource(_OCM, "v1", "ManagedCluster", "managedclusters")
_PROFILE = create_namespaced_resource("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles")

_PAGE = 500
_LISTINGS = 3
"""How often a list is begun again when its pages have expired."""

Answer = TypeVar("Answer")
Object = Mapping[str, Any]
"""An object of the API, as JSON values."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What the API server made of a write.

    Args:
        at: the server's time of it (UTC); None: it did not say.
    """

    at: datetime | None


class Hub:
    """A hub.

    Args:
        settings: names and the section `hub`.
        sleep: waits, in seconds.
    """

    def __init__(self, settings: EmitSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        config = config_of(settings.hub)
        self.address = config.cluster.server.rstrip("/")
        self._managed_by = label_key(settings, "managed-by")
        self._force = settings.hub.take_over
        self._every = 1 / settings.hub.requests_per_second
        self._sleep = sleep
        self._next = 0.0
        with translated(self.address, namespace=None):
            timeout = httpx2.Timeout(settings.hub.timeout_seconds)
            self._client: Any = Client(config, timeout=timeout, field_manager=MANAGER)

    def close(self) -> None:
        """This will close its connections."""
        self._client.close()

    def __enter__(self) -> Hub:
        """This will return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """This will close its connections."""
        self.close()

    def find(self, name: str, namespaces: Iterable[str] | None = None) -> list[Found]:
        """This will return every object of ours of a name.

        Args:
            name: of the objects.
            namespaces: where to look, one by one; None: everywhere, in one list, which needs the right to list all.

        Raises:
            HubError: the hub does not answer, or not to us.
        """
        if namespaces is not None:
            each = (self.look(name, namespace) for namespace in sorted(namespaces))
            return [one for one in each if one is not None]
        listed = self._list(SCORE, "*", labels={self._managed_by: MANAGER}, what="AddOnPlacementScores")
        return [_found(one) for one in listed if one["metadata"]["name"] == name]

    def look(self, name: str, namespace: str) -> Found | None:
        """This will return an object of ours; None: there is none, or it is somebody else's.

        Raises:
            HubError: see find.
        """
        try:
            one = self._send(lambda: self._client.get(SCORE, name, namespace=namespace), namespace=namespace)
        except NamespaceRefusedError as error:
            if error.is_missing:
                return None
            raise
        labels = one["metadata"].get("labels") or {}
        found = _found(one)
        return found if labels.get(self._managed_by) == MANAGER or found.scores else None

    def create(self, name: str, namespace: str) -> None:
        """This will make an object without a status, which a scheduler reads as no score.

        Raises:
            NamespaceRefusedError: the namespace is not there, or not ours to write to, or somebody else's object is.
            HubError: see find.
        """
        metadata = {"name": name, "namespace": namespace, "labels": {self._managed_by: MANAGER}}
        made = SCORE.from_dict({"metadata": metadata})
        try:
            self._send(lambda: self._client.create(made, namespace=namespace), namespace=namespace)
        except NamespaceRefusedError as error:
            # Its answer may have been lost on the first try.
            if not (error.is_conflict and self.look(name, namespace) is not None):
                raise

    def write(
        self,
        name: str,
        namespace: str,
        scores: Scores,
        valid_until: datetime | None,
        freshness: Freshness | None = None,
        *,
        dry_run: bool = False,
    ) -> Applied:
        """This will apply all our scores of an object, or only ask whether the server would take them.

        Args:
            name: of the object.
            namespace: where it is.
            scores: all that are ours; what is not in it and was ours is removed.
            valid_until: until when they stand; None: unsaid.
            freshness: of their inputs; None: unsaid.
            dry_run: nothing is changed.

        Raises:
            NamespaceRefusedError: the server does not take them, or another field manager owns one of them.
            HubError: see find.
        """
        body = {
            "apiVersion": f"{_OCM}/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": name, "namespace": namespace},
            "status": status_of(scores, valid_until, freshness),
        }
        answer = self._send(lambda: self._apply(name, namespace, body, dry_run=dry_run), namespace=namespace)
        times = [parse_utc(entry["time"]) for entry in _managed_by_us(answer) if "time" in entry]
        return Applied(max(times, default=None))

    def withdraw(self, one: Found) -> None:
        """This will delete an object of ours; where others have scores in it, only ours go.

        Raises:
            NamespaceRefusedError: it may not be deleted.
            HubError: see find.
        """
        if one.shared:
            body = {
                "apiVersion": f"{_OCM}/v1alpha1",
                "kind": "AddOnPlacementScore",
                "metadata": {"name": one.name, "namespace": one.namespace},
            }
            self._send(lambda: self._apply(one.name, one.namespace, body), namespace=one.namespace)
            return
        try:
            self._send(lambda: self._client.delete(SCORE, one.name, namespace=one.namespace), namespace=one.namespace)
        except NamespaceRefusedError as error:
            if not error.is_missing:
                raise

    def managed_clusters(self) -> list[Object]:
        """This will return every ManagedCluster: labels, `status.clusterClaims`, conditions.

        Raises:
            HubError: see find; also where the right to list them is not given.
        """
        return self._list(_CLUSTER, None, what="ManagedClusters")

    def cluster_profiles(self) -> list[Object]:
        """This will return every ClusterProfile.

        Raises:
            HubError: see managed_clusters.
        """
        return self._list(_PROFILE, "*", what="ClusterProfiles")

    def placements(self) -> list[Object]:
        """This will return every Placement, with the annotations that say which advice it carries out.

        Raises:
            HubError: see managed_clusters.
        """
        return self._list(_PLACEMENT, "*", what="Placements")

    def placement_decisions(self) -> list[Object]:
        """This will return every PlacementDecision: `status.decisions[].clusterName`, the Placement's name in a label.

        Raises:
            HubError: see managed_clusters.
        """
        return self._list(_DECISION, "*", what="PlacementDecisions")

    def _apply(self, name: str, namespace: str, body: Object, *, dry_run: bool = False) -> Object:
        answer: Object = self._client.patch(
            SCORE.Status,
            name,
            body,
            namespace=namespace,
            patch_type=PatchType.APPLY,
            field_manager=MANAGER,
            force=self._force,
            dry_run=dry_run,
        )
        return answer

    def _list(
        self, kind: type[Any], namespace: str | None, *, what: str, labels: Mapping[str, str] | None = None
    ) -> list[Object]:
        where = {} if namespace is None else {"namespace": namespace}

        def whole() -> list[Object]:
            return list(self._paced(self._client.list(kind, **where, labels=labels, chunk_size=_PAGE)))

        for _ in range(_LISTINGS):
            try:
                return self._send(whole, namespace=None, what=what)
            except HubError as error:
                if error.code != httpx2.codes.GONE:
                    raise
        raise HubError(
            f"the pages of the list of {what} expired {_LISTINGS} times before the last was read",
            where=self.address,
            next_step="The hub is slow or busy; the next round tries again.",
        )

    def _paced(self, objects: Iterable[Object]) -> Iterator[Object]:
        for number, one in enumerate(objects):
            if number % _PAGE == _PAGE - 1:
                self._pace()
            yield one

    def _send(self, call: Callable[[], Answer], *, namespace: str | None, what: str = "") -> Answer:
        for attempt in attempts():
            with attempt, translated(self.address, namespace=namespace, what=what):
                self._pace()
                return call()
        raise AssertionError("stamina raises when the attempts are used up")

    def _pace(self) -> None:
        now = time.monotonic()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + self._every


def _managed_by_us(one: Object) -> list[Object]:
    entries: Sequence[Object] = one["metadata"].get("managedFields") or []
    return [entry for entry in entries if entry.get("manager") == MANAGER and entry.get("operation") == "Apply"]


def _found(one: Object) -> Found:
    metadata, status = one["metadata"], one.get("status") or {}
    values = {score["name"]: score["value"] for score in status.get("scores") or []}
    ours, theirs, freshness = set(), False, None
    for entry in metadata.get("managedFields") or []:
        fields = (entry.get("fieldsV1") or {}).get("f:status")
        if not fields:
            continue
        if entry.get("manager") == MANAGER:
            ours |= {name for name in values if f'k:{{"name":"{name}"}}' in fields.get("f:scores", {})}
            if f'k:{{"type":"{INPUTS_FRESH}"}}' in fields.get("f:conditions", {}):
                freshness = freshness_in(status.get("conditions") or [])
        else:
            theirs = True
    until = status.get("validUntil")
    return Found(
        namespace=metadata["namespace"],
        name=metadata["name"],
        scores={name: value for name, value in values.items() if name in ours},
        valid_until=None if until is None else parse_utc(until),
        shared=theirs,
        freshness=freshness,
    )
