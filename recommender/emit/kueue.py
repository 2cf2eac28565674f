"""The arrow emit → Kueue and MultiKueue: all that is written for them, part by part.

Which cluster a job goes to is MultiKueue's list of clusters; how its nodes are bought is the order of flavours in the
ClusterQueue of the worker. Kueue cannot hold both in one ClusterQueue: a MultiKueue check on single flavours makes it
inactive. Sources: Kueue, apis/kueue/v1beta2 and the concepts page "MultiKueue".
"""

from __future__ import annotations

from recommender.emit.contract import Emitted, NotExpressed, Subject
from recommender.emit.kueue_burst import switches
from recommender.emit.kueue_dispatch import dispatch
from recommender.emit.kueue_flavors import flavors
from recommender.emit.kueue_priority import priorities
from recommender.emit.kueue_queue import queues
from recommender.emit.order import live


def emit(subject: Subject) -> Emitted:
    """This will write the order of clusters, flavours, queues, the burst switch and priorities for Kueue."""
    parts = (dispatch(subject), flavors(subject), queues(subject), switches(subject), priorities(subject))
    documents = tuple(document for part in parts for document in part.documents)
    carried = {each for document in documents for each in document.recommendations}
    said = tuple(dict.fromkeys(one for part in parts for one in part.not_expressed))
    left = tuple(NotExpressed(one.id, _LEFT) for one in live(subject) if one.id not in carried)
    return Emitted(documents, (*said, *left))


_LEFT = "the order is of a class, not of a workload: another cluster comes first for its class, or it is in none"
