"""The arrow emit → Volcano Global's data sources: in which clusters the data is that workloads read or write.

Volcano Global knows data to be in a cluster or not: no GiB, no pounds. A claim keeps a workload to the clusters that
hold its data, so only clusters are named that every claiming workload may be in. What the flow costs elsewhere is in
the price of the other clusters, which no object of Volcano's carries.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.karmada_policy import unnameable, unnameable_cluster
from recommender.emit.kubernetes import TEMPLATES
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.order import allowed_costs, expiry
from recommender.emit.provenance import metadata
from recommender.emit.subject import Key
from recommender.emit_settings import VolcanoDataSource
from recommender.frames import WORKLOAD_KEY

_API = "datadependency.volcano.sh/v1alpha1"


def data_sources(subject: Subject) -> Emitted:
    """This will write a DataSource with its claims for every data set of the settings."""
    documents: list[Document] = []
    said: list[NotExpressed] = []
    for source in sorted(subject.settings.volcano.data_sources, key=lambda one: one.name):
        flows = _flows(subject, source)
        keys: list[Key] = []
        for key in flows:
            if why := unnameable(key):
                said.append(NotExpressed(f"{'/'.join(key)} and data {source.name}", why))
            else:
                keys.append(key)
        holders, left_out = _holders(subject, source, keys)
        said += left_out
        if holders and keys:
            documents.append(_document(subject, source, holders, {key: flows[key] for key in keys}))
        elif not left_out:
            why = f"no cluster is in {source.to}" if keys else f"no workload has a flow to {source.to}"
            said.append(NotExpressed(f"data {source.name}", why))
    return Emitted(tuple(documents), tuple(said))


def _flows(subject: Subject, source: VolcanoDataSource) -> dict[Key, float]:
    """GiB an hour between workloads and the data, both ways."""
    mine = subject.flows.filter(pl.col("to") == source.to).group_by(WORKLOAD_KEY).agg(pl.col("gib_per_hour").sum())
    known = mine.join(subject.workloads.filter(~pl.col("is_system")), on=list(WORKLOAD_KEY), how="semi")
    return {(row[0], row[1], row[2], row[3]): row[4] for row in known.sort(WORKLOAD_KEY).rows()}


def _holders(
    subject: Subject, source: VolcanoDataSource, keys: list[Key]
) -> tuple[tuple[str, ...], list[NotExpressed]]:
    """Clusters at the data that every claiming workload may be in, and why the others are not named."""
    allowed = set(allowed_costs(subject).select(*WORKLOAD_KEY, "to_cluster").rows())
    kept = []
    said = []
    for cluster in sorted(one.name for one in subject.clusters if f"{one.provider}/{one.region}" == source.to):
        barred = [key for key in keys if (*key, cluster) not in allowed]
        why = unnameable_cluster(cluster) or (f"{'/'.join(barred[0])} may not be there" if barred else "")
        if why:
            said.append(NotExpressed(f"data {source.name} in {cluster}", why))
        else:
            kept.append(cluster)
    return tuple(kept), said


def _document(
    subject: Subject, source: VolcanoDataSource, holders: tuple[str, ...], flows: dict[Key, float]
) -> Document:
    until = expiry(subject)
    data: dict[str, Any] = {
        "apiVersion": _API,
        "kind": "DataSource",
        "metadata": metadata(subject, dns_subdomain(source.name), expires_at=until),
        "spec": {
            "system": source.system,
            "type": source.type,
            "name": source.name,
            "reclaimPolicy": "Retain",
            "locality": {"clusterNames": list(holders)},
        },
    }
    claims = [_claim(subject, source, key) for key in flows]
    told = ", ".join(f"{key[1]}/{key[3]} {gib:g} GiB/h" for key, gib in flows.items())
    return Document(
        path=f"data/{file_name(source.name, ending='yaml')}",
        form="manifest",
        objects=(data, *claims),
        says=f"Data {source.name} is in {', '.join(holders)}, and workloads that claim it are kept there: {told}.",
        apply="On Karmada's API server, with the data dependency controller of Volcano Global: kubectl apply -f FILE.",
        rollback="kubectl delete -f FILE; the workloads may then be dispatched to any cluster of their policy.",
        expires_at=until,
        clusters=holders,
        workloads=tuple(flows),
    )


def _claim(subject: Subject, source: VolcanoDataSource, key: Key) -> dict[str, Any]:
    api = subject.settings.volcano.job_api_version if key[2] == "Job" else TEMPLATES[key[2]].api_version
    return {
        "apiVersion": _API,
        "kind": "DataSourceClaim",
        "metadata": metadata(
            subject,
            dns_subdomain(key[3], key[2].lower(), source.name),
            namespace=key[1],
            expires_at=expiry(subject),
        ),
        "spec": {
            "system": source.system,
            "dataSourceType": source.type,
            "dataSourceName": source.name,
            "workload": {"apiVersion": api, "kind": key[2], "namespace": key[1], "name": key[3]},
        },
    }
