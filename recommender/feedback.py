"""The edge of feedback: decisions of schedulers, from a file or a hub, meet the ledger's advice and are written."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import yaml

from exporters.core.errors import SettingsError
from recommender.advise.capacity_record import advice_of
from recommender.advise.record import Recommendation
from recommender.ledger.events import Event
from recommender.ledger.feedback import Known, Link, linked
from recommender.ledger.memory import standings_at
from recommender.ledger.store import Ledger, Reader
from recommender.observe.decisions import decisions_of
from recommender.settings import RecommenderSettings

STDIN = "-"
_NEXT = "Give what kubectl get placements,placementdecisions -A -o json prints, or kubectl get workloads -A -o json."


def feedback(
    settings: RecommenderSettings, objects: Sequence[object], *, at: datetime, where: str, write: bool = True
) -> tuple[Link, ...]:
    """This will link what was decided to the advice, and write down what was decided as advised.

    Args:
        settings: checked settings.
        objects: Kubernetes objects as JSON values, of a file or of a hub.
        at: now.
        where: what errors call the objects by.
        write: whether the ledger is written; else it is only told what would be.

    Raises:
        SettingsError: the objects hold no decision, or are not what their API says.
        StoreError: the ledger could not be read or written.
    """
    decisions = decisions_of(objects, label_prefix=settings.emit.label_prefix, where=where)
    if not decisions:
        raise SettingsError("there is no PlacementDecision and no Workload in it", where=where, next_step=_NEXT)
    clusters = {cluster.name for cluster in settings.clusters}
    ledger = Ledger.at(settings.ledger)
    if not write:
        with ledger.reading() as reader:
            return linked(decisions, _known(reader, at=at), clusters=clusters, at=at)
    made: list[Link] = []

    def events(reader: Reader) -> list[Event]:
        made[:] = linked(decisions, _known(reader, at=at), clusters=clusters, at=at)
        return [link.event for link in made if link.event is not None]

    ledger.add(events)
    return tuple(made)


def read_objects(path: Path) -> list[object]:
    """This will read Kubernetes objects from a file, or from standard input where it is called `-`.

    A file holds one object, a List, a list of objects, or several YAML documents of these.

    Raises:
        SettingsError: it cannot be read, is empty, or is neither JSON nor YAML.
    """
    where = "standard input" if str(path) == STDIN else str(path)
    try:
        text = sys.stdin.read() if str(path) == STDIN else path.read_text(encoding="utf-8")
        documents = list(yaml.safe_load_all(text))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"it cannot be read ({error})", where=where, next_step=_NEXT) from error
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise SettingsError(f"line {line}: it is neither YAML nor JSON", where=where, next_step=_NEXT) from error
    found = [one for document in documents if document is not None for one in _flat(document)]
    if not found:
        raise SettingsError("it holds nothing", where=where, next_step=_NEXT)
    return found


def _flat(document: object) -> list[object]:
    if isinstance(document, list):
        return document
    if isinstance(document, Mapping) and isinstance(document.get("items"), list):
        return list(document["items"])
    return [document]


def _known(reader: Reader, *, at: datetime) -> Known:
    standings = standings_at(reader.histories(), at=at)
    texts = reader.documents(one.proposal for one in standings.values())
    records = {key: advice_of(text) for (key, _), text in texts.items()}
    advice = {key: one for key, one in records.items() if isinstance(one, Recommendation)}
    return Known(standings={key: standings[key] for key in advice}, advice=advice)
