"""The arrow emit → Volcano and Volcano Global: queues, gangs, the clusters of a HyperJob, and where data is.

Volcano schedules inside a cluster, Volcano Global (alpha, on Karmada) over clusters. Sources: Volcano, config/crd
(scheduling.volcano.sh, training.volcano.sh); Volcano Global, pkg/reconciler/hyperjob and pkg/controller/datadependency.
"""

from __future__ import annotations

from recommender.advise.record import Kind
from recommender.emit.contract import Emitted, NotExpressed, Subject
from recommender.emit.order import live, live_capacity
from recommender.emit.volcano_data import data_sources
from recommender.emit.volcano_gang import gangs
from recommender.emit.volcano_hyperjob import hyperjobs
from recommender.emit.volcano_queue import queues


def emit(subject: Subject) -> Emitted:
    """This will write queues, PodGroups, patches of HyperJobs and data sources."""
    parts = (queues(subject), gangs(subject), hyperjobs(subject), data_sources(subject))
    documents = tuple(document for part in parts for document in part.documents)
    carried = {each for document in documents for each in document.recommendations}
    return Emitted(
        documents=documents,
        not_expressed=(
            *dict.fromkeys(one for part in parts for one in part.not_expressed),
            *(NotExpressed(one.id, _MOVE) for one in live(subject) if one.id not in carried),
            *(
                NotExpressed(one.id, _BUY if one.kind in (Kind.EXTEND, Kind.COMMIT) else _BURST)
                for one in live_capacity(subject)
            ),
        ),
    )


_MOVE = (
    "Volcano names clusters in a HyperJob only: tell the workload's HyperJob in emit.volcano.hyperjobs, if it is one"
)
_BURST = "Volcano Global dispatches by queue, priority and share and cannot overflow; Kueue and Karmada can"
_BUY = "Volcano shares out capacity that is there; it can buy none"
