"""The arrow emit → Karmada: workloads that run in several clusters at once, in shares by price.

A cluster's share is as much greater as it is cheaper: weights are in proportion to 1 / (£/h), from 1 to 100.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from recommender.emit.contract import Document, NotExpressed, Subject
from recommender.emit.karmada_legal import Legal
from recommender.emit.karmada_policy import DIVISIBLE, document_name, unnameable, weighted
from recommender.emit.names import file_name
from recommender.emit.order import expiry
from recommender.emit.subject import Key
from recommender.emit_settings import KarmadaSplit

MOST_WEIGHT: Final = 100


def splits(subject: Subject, legal: Legal) -> Iterator[Document | NotExpressed]:
    """This will write a policy with static weights for every workload that the settings divide."""
    for one in subject.settings.karmada.split:
        key: Key = (one.cluster, one.namespace, one.workload_kind, one.workload)
        kept = {cluster: price for cluster in one.clusters if (price := _price(legal, key, cluster)) is not None}
        for cluster in one.clusters:
            if cluster not in kept:
                why = "it may not run there, has no price there, or Karmada cannot name the cluster"
                yield NotExpressed(f"{'/'.join(key)} in {cluster}", why)
        why = _why_not(legal, key, kept)
        yield NotExpressed("/".join(key), why) if why else _document(subject, legal, key, one, kept)


def shares(prices: Mapping[str, float]) -> dict[str, int]:
    """This will return a weight from 1 to 100 for each cluster, the cheapest having 100; free ones share that.

    Args:
        prices: £/h by cluster.
    """
    cheapest = min(prices.values())
    if cheapest <= 0:
        return {cluster: MOST_WEIGHT if price <= 0 else 1 for cluster, price in prices.items()}
    return {cluster: max(1, round(MOST_WEIGHT * cheapest / price)) for cluster, price in prices.items()}


def _price(legal: Legal, key: Key, cluster: str) -> float | None:
    return None if unnameable(key, cluster) else legal.price(key, cluster)


def _why_not(legal: Legal, key: Key, kept: Mapping[str, float]) -> str:
    if key not in legal.rows:
        return "emit.karmada.split names it, and it was not observed"
    if key[2] not in DIVISIBLE:
        return f"Karmada divides no {key[2]}"
    if legal.gang_size(key) > 1:
        return f"it is a gang of {legal.gang_size(key)} that must be in one cluster, and a split knows no gangs"
    return "" if len(kept) > 1 else "fewer than two of the clusters that it is to be divided among are left"


def _document(subject: Subject, legal: Legal, key: Key, one: KarmadaSplit, kept: Mapping[str, float]) -> Document:
    weights = shares(kept)
    told = ", ".join(f"{cluster} {weight} (£{kept[cluster]:.4f}/h)" for cluster, weight in weights.items())
    return Document(
        path=file_name(*document_name(key), ending="yaml"),
        form="manifest",
        objects=(weighted(legal.metadata(subject, key, []), key, weights),),
        says=f"Replicas of {one.workload_kind} {one.namespace}/{one.workload} are divided by price, weights {told}.",
        apply="On Karmada's API server: kubectl apply -f FILE. The policy is lazy: it takes effect when the workload "
        "changes next.",
        rollback="Apply the policy that stood before (git revert), then a WorkloadRebalancer for the workload; with "
        "none before, kubectl delete -f FILE: what is propagated stays where it is.",
        expires_at=expiry(subject),
        clusters=tuple(weights),
        workloads=(key,),
    )
