"""The arrow emit → Dynamic Scoring Framework: the scorer of headroom as a DynamicScorer, and where it is masked.

The recommender serves the scorer (serve/dsf.py). Cost is not given to the framework: its agents never set validUntil,
so that a price would stand for ever after they die, and their requests do not say which cluster they are of. Headroom
needs no identity: each cluster sends its own shares, and masks turn it off where nodes come and go. Fields and
behaviour: open-cluster-management-io/dynamic-scoring-framework, api/v1alpha1 and pkg/dynamic_scoring_agent.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.ocm import managed_clusters
from recommender.emit.order import expiry, live, live_capacity
from recommender.emit.provenance import metadata
from recommender.emit_settings import DsfSettings

API: Final = "dynamic-scoring.open-cluster-management.io/v1alpha1"
CONFIG_NAME: Final = "dynamic-scoring-config"
"""The only DynamicScoringConfig that is read."""

DESCRIPTION: Final = "Share of a cluster's scarcest resource that will be free for the next hour, 1 to 100"
_NO_MOVE: Final = "the framework carries scores, no moves; the scores of cost are written from the hub (system ocm)"


def emit(subject: Subject) -> Emitted:
    """This will return what the Dynamic Scoring Framework gets."""
    ids = [*(one.id for one in live(subject)), *(one.id for one in live_capacity(subject))]
    silent = [NotExpressed(one, _NO_MOVE) for one in ids]
    owned = [one.name for one in subject.clusters if one.tier == "owned"]
    if not owned:
        why = "no cluster has owned nodes; where nodes are added as they are needed, headroom says nothing"
        return Emitted((), (*silent, NotExpressed("headroom-1h", why)))
    silent.append(
        NotExpressed(
            "scores of cost",
            "agents set no validUntil, so a price would outlive itself; the hub's publisher writes them with an end",
        )
    )
    return Emitted((_scorer(subject), _masks(subject)), tuple(silent))


def score_name(settings: DsfSettings) -> str:
    """This will return the name of the scorer and of its AddOnPlacementScore.

    It changes with the query: a running agent keeps the one that it began with.
    """
    asked = json.dumps([settings.queries, settings.range_hours, settings.step_seconds])
    return f"tuppence-headroom-1h-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def config_path(settings: DsfSettings) -> str:
    """This will return the path that the scorer's configuration is served at."""
    return f"/dsf/{score_name(settings)}/config"


def score_path(settings: DsfSettings) -> str:
    """This will return the path that agents post to."""
    return f"/dsf/{score_name(settings)}/score"


def config_document(settings: DsfSettings) -> dict[str, Any]:
    """This will return the configuration that the hub reads.

    `host` stays out of `scoring`: the hub would put the host of the source in its place.
    """
    return {
        "name": score_name(settings),
        "description": DESCRIPTION,
        "source": {"type": "Prometheus", "path": "/api/v1/query_range", "params": _asked(settings)},
        "scoring": {"path": score_path(settings), "params": _params(settings)},
    }


def _asked(settings: DsfSettings) -> Manifest:
    return {
        "query": ";".join(settings.queries),
        "range": settings.range_hours * 3_600,
        "step": settings.step_seconds,
    }


def _params(settings: DsfSettings) -> Manifest:
    return {"name": score_name(settings), "interval": settings.interval_seconds}


def _scorer(subject: Subject) -> Document:
    dsf = subject.settings.dsf
    name, end = score_name(dsf), expiry(subject)
    spec = {
        "description": DESCRIPTION,
        "configURL": f"{dsf.scorer_url}{config_path(dsf)}",
        "configSyncMode": "Full",
        "location": dsf.location,
        "scoreDestination": "AddOnPlacementScore",
        "scoreDimensionFormat": "${scoreName}",
        "source": {
            "type": "Prometheus",
            "host": dsf.prometheus_url,
            "path": "/api/v1/query_range",
            "params": _asked(dsf),
        },
        "scoring": {
            "host": dsf.scorer_url,
            "path": score_path(dsf),
            "params": _params(dsf),
            "auth": {"tokenSecretRef": {"name": dsf.token_secret, "key": dsf.token_secret_key}},
        },
    }
    named = metadata(subject, name, namespace=dsf.namespace, expires_at=end)
    return Document(
        path="scorer.yaml",
        form="manifest",
        objects=({"apiVersion": API, "kind": "DynamicScorer", "metadata": named, "spec": spec},),
        says="Lets each cluster's agent send the shares of its nodes that are requested, and write what will be free. "
        "The first score comes after two intervals; a score that was written stands until it is overwritten.",
        apply=f"Set emit.dsf.token_file and put the same token into Secret {dsf.token_secret} beside each agent; "
        "then kubectl --context HUB apply -f FILE",
        rollback="kubectl --context HUB delete -f FILE, and delete the AddOnPlacementScores of that name: they never "
        "lapse.",
        expires_at=end,
    )


def _masks(subject: Subject) -> Document:
    dsf = subject.settings.dsf
    end = expiry(subject)
    managed = managed_clusters(subject)
    elastic = [managed[one.name] for one in subject.clusters if one.tier != "owned" and one.name in managed]
    masks = [{"clusterName": name, "scoreName": score_name(dsf)} for name in sorted(elastic)]
    named = metadata(subject, CONFIG_NAME, namespace=dsf.namespace, expires_at=end)
    return Document(
        path="config.yaml",
        form="manifest",
        objects=({"apiVersion": API, "kind": "DynamicScoringConfig", "metadata": named, "spec": {"masks": masks}},),
        says=f"Turns headroom off in {len(masks)} clusters whose nodes come and go. There is one such object for all "
        "scorers: masks that it has already must be kept.",
        apply="kubectl --context HUB apply -f FILE where there is none; else add its masks to those that there are.",
        rollback="Take these masks out again.",
        expires_at=end,
    )
