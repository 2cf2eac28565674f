"""What is emitted for Open Cluster Management can be read back: its Placements carry the ids of the advice."""

from __future__ import annotations

from typing import Any

from recommender.advise.record import State
from recommender.emit import ocm
from recommender.ledger.feedback import Known, Outcome, linked
from recommender.ledger.standing import standing
from recommender.observe.decisions import PLACEMENT_LABEL, decisions_of
from tests.builders import NOON
from tests.recommender.emit.subjects import CLUSTERS, example
from tests.recommender.ledger.happened import event

PREFIX = "tuppence.internal"


def decided(placement: Any, cluster: str) -> dict[str, Any]:
    """What OCM writes when it has chosen a cluster for a Placement."""
    metadata = placement["metadata"]
    return {
        "apiVersion": placement["apiVersion"],
        "kind": "PlacementDecision",
        "metadata": {
            "name": f"{metadata['name']}-decision-1",
            "namespace": metadata["namespace"],
            "labels": {PLACEMENT_LABEL: metadata["name"]},
        },
        "status": {"decisions": [{"clusterName": cluster, "reason": ""}]},
    }


def test_a_decision_on_an_emitted_placement_carries_its_advice_out() -> None:
    subject = example()
    advice = {one.id: one for one in subject.plan.recommendations}
    placements = [one for each in ocm.emit(subject).documents for one in each.objects if one.get("kind") == "Placement"]
    carrying = [one for one in placements if f"{PREFIX}/recommendation-id" in one["metadata"]["annotations"]]
    assert carrying, "the example has advice that moves to another cluster"
    standings = {
        key: standing([event("proposed", recommendation_id=key, xor_group=one.xor_group)], at=NOON)
        for key, one in advice.items()
    }
    known = Known({key: one for key, one in standings.items() if one is not None}, advice)
    for placement in carrying:
        ids = placement["metadata"]["annotations"][f"{PREFIX}/recommendation-id"].split(",")
        cluster = advice[ids[0]].recommended.cluster
        decisions = decisions_of([placement, decided(placement, cluster)], label_prefix=PREFIX, where="hub")
        links = linked(decisions, known, clusters=[one.name for one in CLUSTERS], at=NOON)
        assert [link.advice.id for link in links if link.advice] == ids
        moved = {link.advice.id for link in links if link.advice and link.outcome is Outcome.AS_ADVISED}
        assert moved == {
            key for key in ids if advice[key].recommended.cluster == cluster != advice[key].current.cluster
        }
        assert all(link.event is not None for link in links if link.outcome is Outcome.AS_ADVISED)
    assert {one.state for one in known.standings.values()} == {State.OPEN}
