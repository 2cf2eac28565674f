"""The rights that a mode needs on the hub, and no more, as manifests for kubectl apply. Pure.

`recommend` needs none. `shadow` and `publish` write one kind of object in the namespaces of all managed clusters, and
find their own again with one list. `pilot` has rights in the listed namespaces only. No right is given to touch a
Placement, a decision or a workload. Kubernetes, "Using RBAC Authorization": `resourceNames` cannot bound `create`.
"""

from __future__ import annotations

from typing import Any

from recommender.emit.live.modes import Mode
from recommender.emit_settings import HubSettings

_GROUP = "cluster.open-cluster-management.io"
_API = "rbac.authorization.k8s.io/v1"
_SCORES = "addonplacementscores"
_READS = (
    ((_GROUP,), ("managedclusters", "placements", "placementdecisions")),
    (("multicluster.x-k8s.io",), ("clusterprofiles",)),
)


def rights(mode: Mode, hub: HubSettings, *, namespace: str, account: str) -> list[dict[str, Any]]:
    """This will return the ServiceAccount, roles and bindings of a mode.

    Args:
        mode: the mode.
        hub: names and namespaces.
        namespace: of the service account.
        account: its name.
    """
    who = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}
    ]
    if mode is Mode.RECOMMEND:
        return made
    made += _bound("ClusterRole", f"{account}-fleet-reader", _fleet_rules(), who)
    if mode is Mode.PILOT:
        for one in sorted(hub.pilot_namespaces):
            made += _bound("Role", f"{account}-scores", _score_rules([hub.score_name]), who, namespace=one)
        return made
    # What a shadow wrote must be taken back in the mode above it.
    names = [hub.shadow_name] if mode is Mode.SHADOW else [hub.score_name, hub.shadow_name]
    lists = [{"apiGroups": [_GROUP], "resources": [_SCORES], "verbs": ["list"]}]
    return made + _bound("ClusterRole", f"{account}-scores", lists + _score_rules(names), who)


def _score_rules(names: list[str]) -> list[dict[str, Any]]:
    return [
        {"apiGroups": [_GROUP], "resources": [_SCORES], "verbs": ["create"]},
        {"apiGroups": [_GROUP], "resources": [_SCORES], "resourceNames": names, "verbs": ["get", "delete"]},
        {"apiGroups": [_GROUP], "resources": [f"{_SCORES}/status"], "resourceNames": names, "verbs": ["patch"]},
    ]


def _fleet_rules() -> list[dict[str, Any]]:
    return [{"apiGroups": list(groups), "resources": list(kinds), "verbs": ["get", "list"]} for groups, kinds in _READS]


def _bound(
    kind: str, name: str, rules: list[dict[str, Any]], who: list[dict[str, Any]], *, namespace: str = ""
) -> list[dict[str, Any]]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    role = {"apiVersion": _API, "kind": kind, "metadata": metadata, "rules": rules}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    binding = {
        "apiVersion": _API,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": reference,
        "subjects": who,
    }
    return [role, binding]
