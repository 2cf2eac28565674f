"""The arrow emit → cluster inventory: what a cluster costs and where it is, as properties of its ClusterProfile.

The neutral form: whoever chooses clusters by properties can read them. They are observations and move nothing. A class
has a price where all of its workloads are allowed and have one, by capacity type; what is not known has no property.
Source: kubernetes-sigs/cluster-inventory-api, apis/v1alpha1/clusterprofile_types.go.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from recommender.emit.contract import Document, Emitted, NotExpressed, Subject
from recommender.emit.names import MANAGER, dns_label, dns_subdomain, file_name
from recommender.emit.provenance import instant, metadata
from recommender.emit.subject import all_advice, jurisdictions
from recommender.frames import WORKLOAD_KEY
from recommender.settings import ClusterSettings

_NAME_LETTERS: Final = 253
_VALUE_LETTERS: Final = 1024


def emit(subject: Subject) -> Emitted:
    """This will return a ClusterProfile for each cluster of the fleet."""
    sums = _class_costs(subject)
    clusters = sorted(subject.clusters, key=lambda one: one.name)
    places = jurisdictions(subject)
    documents = tuple(_document(subject, one, places.get(one.name, ""), sums) for one in clusters)
    unknown = [
        NotExpressed(one.name, "its jurisdiction is not known, so it has no such property; say it in the settings")
        for one in clusters
        if not places.get(one.name)
    ]
    moves = [NotExpressed(one.id, _MOVES) for one in sorted(all_advice(subject.plan), key=lambda one: one.id)]
    return Emitted(documents, (*unknown, *moves))


_MOVES = "a ClusterProfile describes clusters and moves nothing; what reads its properties may"


def _document(subject: Subject, cluster: ClusterSettings, jurisdiction: str, sums: pl.DataFrame) -> Document:
    settings = subject.settings
    until = subject.at + timedelta(hours=settings.class_expires_after_hours)
    name = dns_subdomain(settings.hub.managed_clusters.get(cluster.name, cluster.name))
    properties = [*_place(cluster, jurisdiction), *_prices(subject, cluster), *_classes(cluster, sums)]
    room = _NAME_LETTERS - len(settings.label_prefix) - 1
    listed = {
        f"{settings.label_prefix}/{dns_subdomain(key, limit=room)}": (value[:_VALUE_LETTERS], seen)
        for key, value, seen in properties
    }
    profile = {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": metadata(
            subject,
            name,
            namespace=settings.cluster_profile.namespace,
            expires_at=until,
            also_labels={"x-k8s.io/cluster-manager": settings.cluster_profile.manager},
        ),
        "spec": {"displayName": cluster.name, "clusterManager": {"name": settings.cluster_profile.manager}},
        "status": {
            "properties": [
                {"name": key, "value": value, "lastObservedTime": instant(seen or subject.at)}
                for key, (value, seen) in sorted(listed.items())
            ]
        },
    }
    path = file_name(cluster.name, ending="yaml")
    return Document(
        path=path,
        form="manifest",
        objects=(profile,),
        says=f"Describes {cluster.name}: where it is, and what its machines and the classes of workloads cost there.",
        apply=f"kubectl apply --server-side --field-manager={MANAGER} -f {path}, on the hub, then once more with "
        "--subresource=status: what is in status is not taken with the object",
        rollback=f"kubectl delete clusterprofile {shlex.quote(name)} -n {settings.cluster_profile.namespace}, or leave "
        "it: it moves nothing",
        expires_at=until,
    )


Property = tuple[str, str, datetime | None]
"""What stands after the prefix, the value, and when it was observed (None: at the evaluation)."""


def _place(cluster: ClusterSettings, jurisdiction: str) -> Iterator[Property]:
    given = {
        "jurisdiction": jurisdiction,
        "provider": cluster.provider,
        "region": cluster.region,
        "tier": cluster.tier,
    }
    yield from ((name, value, None) for name, value in given.items() if value)


def _prices(subject: Subject, cluster: ClusterSettings) -> Iterator[Property]:
    """Prices of the cluster's machine types that the plan rests on, each with its time."""
    pools = {(pool.capacity_type, each) for pool in cluster.pools for each in pool.instance_types}
    found = [price for advice in all_advice(subject.plan) for price in advice.prices]
    # Of several zones the dearest comes last and stands: a property promises no price that some zone does not keep.
    for one in sorted(found, key=lambda each: (each.gbp_per_hour, each.zone or "", each.observed_at)):
        if (one.provider, one.region) != (cluster.provider, cluster.region):
            continue
        if (one.capacity_type, one.instance_type) not in pools:
            continue
        machine = f"{one.capacity_type}.{dns_label(one.instance_type.replace('.', '-'), limit=40)}"
        yield f"gbp-per-vcpu-hour.{machine}", f"{one.gbp_per_vcpu_hour:.6f}", one.observed_at
        yield f"gbp-per-gib-hour.{machine}", f"{one.gbp_per_gib_hour:.6f}", one.observed_at
        if one.gbp_per_gpu_hour:
            yield f"gbp-per-gpu-hour.{machine}", f"{one.gbp_per_gpu_hour:.6f}", one.observed_at


def _class_costs(subject: Subject) -> pl.DataFrame:
    """£/h of each class in each cluster, by capacity type, where every one of its workloads may be and has a price."""
    key = list(WORKLOAD_KEY)
    classed = subject.workloads.filter(~pl.col("is_system") & (pl.col("residency_class") != "")).select(
        *key, "residency_class"
    )
    judged = subject.costs.select(key).unique()
    members = classed.join(judged, on=key, how="semi").group_by("residency_class").agg(pl.len().alias("members"))
    group = ["residency_class", "to_cluster", "to_capacity_type"]
    return (
        subject.costs.filter("allowed", pl.col("gbp_per_hour").is_not_null())
        .join(classed, on=key, how="inner")
        .sort(key)
        .group_by(group)
        .agg(pl.len().alias("priced"), pl.col("gbp_per_hour").sum())
        .join(members, on="residency_class")
        .filter(pl.col("priced") == pl.col("members"))
        .sort(group)
    )


def _classes(cluster: ClusterSettings, sums: pl.DataFrame) -> Iterator[Property]:
    rows: Iterator[dict[str, Any]] = sums.filter(to_cluster=cluster.name).iter_rows(named=True)
    for row in rows:
        words = f"{dns_label(row['residency_class'], limit=40)}.{row['to_capacity_type']}"
        yield f"gbp-per-hour.{words}", f"{row['gbp_per_hour']:.6f}", None
