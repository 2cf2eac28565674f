"""The arrow emit → Open Cluster Management: scores, Placements, labels and claims, and what will come of the advice.

A class that cannot be scored now has no Placement and no label in what is handed over, so that what stands on the hub
stays as it is: a gap in the data drives nothing out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.ocm_cluster import claim_document, label_document, score_documents
from recommender.emit.ocm_placement import Placed, placed, placement_document, predictions
from recommender.emit.order import live, live_capacity
from recommender.emit.score import Scores, scores_of
from recommender.emit.score_scale import Prediction, Scale
from recommender.emit.subject import jurisdictions, key_of

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A ManagedCluster's name is that of its namespace, too."""


def emit(subject: Subject) -> Emitted:
    """This will return what Open Cluster Management gets."""
    scores = scores_of(subject)
    managed = managed_clusters(subject)
    silent = [*_lapsed(scores), *_unnamed(subject, managed), *_unweighable(subject)]
    classes = tuple(one for one in placed(subject, scores) if one.values.keys() <= managed.keys())
    foretold = predictions(subject, classes, live(subject))
    whole = _weights_are_whole(subject)
    documents = [
        *score_documents(subject, scores, managed),
        *(_placement(subject, one, foretold) for one in classes if whole),
        *_about_clusters(subject, managed, classes),
    ]
    silent += [
        NotExpressed(one.id, why) for one in live(subject) if (why := _why_not(subject, one, foretold, whole=whole))
    ]
    silent += [NotExpressed(one.id, _CAPACITY) for one in live_capacity(subject)]
    return Emitted(tuple(documents), tuple(silent))


_CAPACITY: Final = (
    "a Placement has no word for filling owned nodes first and overflowing after; its score counts what owned nodes "
    "cost at the margin. Kueue and Karmada can overflow"
)


def managed_clusters(subject: Subject) -> dict[str, str]:
    """This will return the names of clusters on the hub, by their names here, where they are legal there."""
    given = subject.settings.hub.managed_clusters
    names = {one.name: given.get(one.name, one.name) for one in subject.clusters}
    return {here: there for here, there in sorted(names.items()) if _NAME.fullmatch(there)}


def _placement(subject: Subject, group: Placed, foretold: Mapping[str, tuple[Placed, Prediction]]) -> Document:
    scale = Scale.of(subject.policy)
    mine = [(one, foretold[one.id][1]) for one in live(subject) if one.id in foretold and foretold[one.id][0] == group]
    carried = [one for one, prediction in mine if prediction.will_move]
    told = [f"{one.title}: {prediction.sentence(scale)}" for one, prediction in mine]
    return placement_document(subject, group, carried, told)


def _about_clusters(subject: Subject, managed: Mapping[str, str], classes: tuple[Placed, ...]) -> Iterator[Document]:
    where = jurisdictions(subject)
    for one in sorted(subject.clusters, key=lambda each: each.name):
        if one.name in managed:
            there = managed[one.name]
            yield label_document(subject, one, there, where.get(one.name, ""), classes)
            yield claim_document(subject, one, there, where.get(one.name, ""))


def _why_not(
    subject: Subject, one: Recommendation, foretold: Mapping[str, tuple[Placed, Prediction]], *, whole: bool
) -> str:
    if one.recommended.cluster == one.target.cluster:
        return "it stays in its cluster; a Placement chooses clusters, not how their nodes are bought"
    if not whole:
        return "there is no Placement: the weights of policy.score are not whole numbers"
    if one.id not in foretold:
        name = one.target.residency_class
        of_class = f"class {name} has no score that lets all of its workloads into {one.recommended.cluster}"
        return of_class if name else f"{'/'.join(key_of(one.target))} has no class, so no Placement is written for it"
    prediction = foretold[one.id][1]
    return "" if prediction.will_move else prediction.sentence(Scale.of(subject.policy))


def _lapsed(scores: Scores) -> Iterator[NotExpressed]:
    for one in scores.lapsed:
        yield NotExpressed(
            f"class {one.residency_class}",
            f"it has no score and nothing is changed for it: {one.why}; mend that and hand over again",
        )


def _unnamed(subject: Subject, managed: Mapping[str, str]) -> Iterator[NotExpressed]:
    for one in sorted(subject.clusters, key=lambda each: each.name):
        if one.name not in managed:
            yield NotExpressed(
                f"cluster {one.name}",
                "its name cannot be a ManagedCluster's, so classes that may use it have no Placement; name it in "
                "emit.hub.managed_clusters",
            )


def _unweighable(subject: Subject) -> Iterator[NotExpressed]:
    scale = Scale.of(subject.policy)
    if not _weights_are_whole(subject):
        yield NotExpressed("policy.score", "a Placement takes whole weights only; set steady_weight and cost_weight so")
    if not scale.can_move:
        yield NotExpressed(
            "policy.score",
            f"Steady asks for more than {scale.margin_points:g} points of the 50 between the anchor and the end of the "
            "scale, so that nothing is ever moved; raise cost_weight or lower steady_weight",
        )


def _weights_are_whole(subject: Subject) -> bool:
    score = subject.policy.score
    return float(score.steady_weight).is_integer() and float(score.cost_weight).is_integer()
