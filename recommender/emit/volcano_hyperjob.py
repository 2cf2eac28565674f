"""The arrow emit → Volcano Global's HyperJobs: the clusters that each part of a job may be in.

The list becomes a Karmada cluster affinity: each part runs in exactly one cluster of it, and its order means nothing
(Volcano Global, pkg/reconciler/hyperjob). So it holds the advised cluster alone, or, where nothing is advised, those
clusters between which a move would not be worth its while: not dearer than the cheapest by the policy's least saving.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recommender.advise.record import Recommendation
from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.karmada_policy import unnameable_cluster
from recommender.emit.names import file_name
from recommender.emit.order import allowed_costs, expiry, live
from recommender.emit.subject import Key, key_of
from recommender.emit_settings import VolcanoHyperJob
from recommender.frames import WORKLOAD_KEY


def hyperjobs(subject: Subject) -> Emitted:
    """This will patch the clusters of every HyperJob that the settings tell."""
    documents = []
    said = []
    for job in sorted(subject.settings.volcano.hyperjobs, key=lambda one: (one.namespace, one.name)):
        made = _patch(subject, job)
        if isinstance(made, Document):
            documents.append(made)
        elif made:
            said.append(NotExpressed(f"HyperJob {job.namespace}/{job.name}", made))
    return Emitted(tuple(documents), tuple(said))


def _patch(subject: Subject, job: VolcanoHyperJob) -> Document | str:
    """The patch, or why there is none; empty: the HyperJob is as it should be."""
    if job.current is None:
        return "the settings name it, but not what it holds now: a patch of it would test guessed values; give its file"
    key: Key = (job.cluster, job.namespace, job.workload_kind, job.workload)
    advice = [one for one in live(subject) if key_of(one.target) == key]
    state = subject.workloads.filter(**dict(zip(WORKLOAD_KEY, key, strict=True)))["state_gib"].sum()
    if state > 0:
        return f"{state:g} GiB of state would stay behind where it is placed anew; move it first"
    prices = _prices(subject, key)
    names = _chosen(subject, prices, advice)
    if not names:
        return f"no cluster is allowed and priced for {'/'.join(key)}"
    if why := next((why for one in names if (why := unnameable_cluster(one))), ""):
        return why
    parts = job.current["spec"].get("replicatedJobs") or []
    operations: list[Manifest] = []
    back: list[Manifest] = []
    for number, part in enumerate(parts):
        if part.get("clusterNames") != names:
            operations += _exchange(number, part.get("name"), part.get("clusterNames"), names)
            back += _exchange(number, part.get("name"), names, part.get("clusterNames"))
    if not operations:
        return "" if parts else "it has no replicatedJobs"
    told = ", ".join(f"{one} £{prices[one]:.4f}/h" for one in names)
    until = expiry(subject, advice)
    return Document(
        path=f"hyperjobs/{file_name(job.namespace, job.name, ending='json')}",
        form="json-patch",
        objects=tuple(operations),
        says=f"Each part of HyperJob {job.namespace}/{job.name} runs in one of: {told}.",
        apply=f"On Karmada's API server: kubectl patch hyperjob {job.name} -n {job.namespace} --type=json --patch-file "
        "FILE. Parts that run are placed anew.",
        rollback="The same command with the file of the roll-back.",
        rollback_objects=tuple(back),
        expires_at=until,
        patches={
            "apiVersion": "training.volcano.sh/v1alpha1",
            "kind": "HyperJob",
            "namespace": job.namespace,
            "name": job.name,
        },
        recommendations=tuple(one.id for one in advice),
        clusters=tuple(names),
        workloads=(key,),
    )


def _prices(subject: Subject, key: Key) -> dict[str, float]:
    """£/h by cluster of a workload where it is allowed, the cheapest first."""
    mine = allowed_costs(subject).filter(**dict(zip(WORKLOAD_KEY, key, strict=True)))
    sums = mine.group_by("to_cluster").agg(pl.col("gbp_per_hour").min()).sort("gbp_per_hour", "to_cluster")
    return dict(sums.iter_rows())


def _chosen(subject: Subject, prices: dict[str, float], advice: Sequence[Recommendation]) -> list[str]:
    if advice:
        return [one.recommended.cluster for one in advice[:1] if one.recommended.cluster in prices]
    most = min(prices.values(), default=0.0) / max(1 - subject.policy.steady.min_saving_ratio, 1e-9)
    return [name for name, price in prices.items() if price <= most]


def _exchange(number: int, name: object, before: object, after: object) -> list[Manifest]:
    """Tests the part's name and its list, and writes the other; no list is tested as null, as API servers read it."""
    path = f"/spec/replicatedJobs/{number}"
    change: Manifest = (
        {"op": "remove", "path": f"{path}/clusterNames"}
        if after is None
        else {"op": "add", "path": f"{path}/clusterNames", "value": after}
    )
    return [
        {"op": "test", "path": f"{path}/name", "value": name},
        {"op": "test", "path": f"{path}/clusterNames", "value": before},
        change,
    ]
