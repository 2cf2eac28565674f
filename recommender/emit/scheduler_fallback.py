"""The arrow emit → Kubernetes: the patch back for pods that wait for a scheduler which is not the default one.

A JSON Merge Patch (RFC 7396: null removes a member) takes schedulerName out of the pod's template; the API server then
puts default-scheduler in (Kubernetes, "Configure Multiple Schedulers"). It can be applied twice without harm. It
carries out no advice: it undoes a pilot whose scheduler is down, and only where the policy lets the workload run.
"""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

from recommender.emit.contract import Document, Emitted, Manifest, NotExpressed, Subject
from recommender.emit.kubernetes import TEMPLATES
from recommender.emit.names import dns_subdomain, file_name
from recommender.emit.subject import allowed_clusters

LIFE = timedelta(hours=1)
"""Pods that waited are looked at anew before it is applied later."""


def emit(subject: Subject) -> Emitted:
    """This will return the patches back, one a workload and scheduler that its pods wait for."""
    if subject.pending is None:
        why = "the source of usage does not tell which scheduler pods wait for; Prometheus does (dashboards/rules)"
        return Emitted(not_expressed=(NotExpressed("pods that wait for another scheduler", why),))
    allowed = allowed_clusters(subject)
    known = {cluster.name for cluster in subject.clusters}
    documents: list[Document] = []
    silent: list[NotExpressed] = []
    for row in subject.pending.iter_rows(named=True):
        key = (row["cluster"], row["namespace"], row["workload_kind"], row["workload"])
        legal = row["cluster"] in known and row["cluster"] in allowed.get(key, ())
        if why := _why_not(row, legal=legal):
            silent.append(NotExpressed("/".join(key), why))
        else:
            documents.append(_document(subject, row))
    return Emitted(tuple(documents), tuple(silent))


def _why_not(row: dict[str, Any], *, legal: bool) -> str:
    kind = row["workload_kind"]
    waits = f"{row['pods']} pods wait for {row['scheduler']}"
    if not legal:
        return f"{waits}, and it is not known that the policy lets it run in {row['cluster']}; look at it by hand"
    if kind not in TEMPLATES:
        return f"{waits}, and where a {kind} keeps its pod's template is not known; change schedulerName by hand"
    if not TEMPLATES[kind].mutable:
        return f"{waits}, and the template of a {kind} cannot be changed; make it anew without schedulerName"
    return ""


def _document(subject: Subject, row: dict[str, Any]) -> Document:
    template = TEMPLATES[row["workload_kind"]]
    words = (row["namespace"], row["workload_kind"].lower(), row["workload"], row["scheduler"])
    where = f"--context {shlex.quote(row['cluster'])} --namespace {shlex.quote(row['namespace'])}"
    what = f"{shlex.quote(row['workload_kind'].lower())} {shlex.quote(row['workload'])}"
    return Document(
        path=f"{dns_subdomain(row['cluster'])}/{file_name(*words, ending='yaml')}",
        form="merge-patch",
        objects=(_patch(template.path, None),),
        says=f"{row['pods']} pods of {row['namespace']}/{row['workload']} have waited for {row['minutes']} minutes or "
        f"longer for {row['scheduler']}: the default scheduler places them again; all its pods start again.",
        apply=f"kubectl {where} patch {what} --type merge --patch-file FILE, if its schedulerName is still that one",
        rollback="in the same way, with the patch that names the scheduler again",
        rollback_objects=(_patch(template.path, row["scheduler"]),),
        patches={
            "apiVersion": template.api_version,
            "kind": row["workload_kind"],
            "namespace": row["namespace"],
            "name": row["workload"],
        },
        clusters=(row["cluster"],),
        workloads=((row["cluster"], row["namespace"], row["workload_kind"], row["workload"]),),
        expires_at=subject.at + LIFE,
    )


def _patch(path: str, scheduler: str | None) -> Manifest:
    """The members on the way to the template's spec, and schedulerName in it."""
    made: dict[str, Any] = {"schedulerName": scheduler}
    for name in reversed(path.strip("/").split("/")):
        made = {name: made}
    return made
