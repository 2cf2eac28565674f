"""The arrow emit → a ClusterQueue that is there: a JSON Patch (RFC 6902) that tests what it was worked out from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from recommender.emit.contract import Manifest
from recommender.emit.planned import NOTHING, Needs
from recommender.emit.quantities import cpu, memory, quantity, whole


@dataclass(frozen=True, slots=True)
class Patched:
    """Operations, what takes them back, and what they do in words; none where the queue is as it should be.

    `lacking` are flavours that something was planned on and that the queue does not have.
    """

    operations: tuple[Manifest, ...]
    rollback: tuple[Manifest, ...]
    says: str
    lacking: tuple[str, ...] = ()


def patched(current: Mapping[str, Any], wanted: Sequence[tuple[str, Needs]]) -> Patched | str:
    """This will order the flavours of a ClusterQueue, raise their quotas and forbid borrowing on them.

    Args:
        current: the ClusterQueue.
        wanted: names of flavours with the quota that each needs, the cheapest first.

    Returns:
        The patch, or why there can be none.
    """
    spec = current["spec"]
    if one := _check_on_flavors(spec):
        return f"its check {one} is on single flavours, which Kueue refuses for MultiKueue; name it without onFlavors"
    cohort = bool(spec.get("cohortName") or spec.get("cohort"))
    names = [name for name, _ in wanted]
    groups = [
        (number, group)
        for number, group in enumerate(spec.get("resourceGroups") or [])
        if any(flavor.get("name") in names for flavor in group.get("flavors", []))
    ]
    if not groups:
        return (
            f"it has none of the flavours {', '.join(names)}; say in emit.kueue.queues[].flavors what they are called"
        )
    operations: list[Manifest] = []
    rollback: list[Manifest] = []
    said: list[str] = []
    for number, group in groups:
        try:
            flavors = _arranged(group["flavors"], wanted, cohort=cohort)
        except ValueError as error:
            return str(error)
        if flavors != group["flavors"]:
            path = f"/spec/resourceGroups/{number}/flavors"
            operations += _exchange(path, group["flavors"], flavors)
            rollback += _exchange(path, flavors, group["flavors"])
            said.append(f"flavours in the order {', '.join(flavor['name'] for flavor in flavors)}")
    borrowed = "; priced flavours borrow nothing" if cohort else ""
    there = {flavor["name"] for _, group in groups for flavor in group["flavors"]}
    return Patched(
        tuple(operations),
        tuple(rollback),
        "; ".join(said) + "; quotas raised to the plan" + borrowed,
        lacking=tuple(name for name, needs in wanted if name not in there and needs != NOTHING),
    )


def flavors_of(current: Mapping[str, Any]) -> frozenset[str]:
    """This will return the names of the flavours that a ClusterQueue has."""
    groups = current["spec"].get("resourceGroups") or []
    return frozenset(flavor["name"] for group in groups for flavor in group["flavors"])


def stopped(current: Mapping[str, Any], policy: str) -> Patched | str:
    """This will set the stopPolicy of a ClusterQueue.

    Returns:
        The patch, or why there is none.
    """
    spec = current["spec"]
    now = spec.get("stopPolicy", "None")
    if now == policy:
        return f"its stopPolicy is {now} already"
    path = "/spec/stopPolicy"
    # A test of a field that is not there fails, so a queue that has none is known by its quotas.
    told, value = (path, now) if "stopPolicy" in spec else ("/spec/resourceGroups", spec["resourceGroups"])
    return Patched(
        operations=({"op": "test", "path": told, "value": value}, {"op": "add", "path": path, "value": policy}),
        rollback=tuple(_exchange(path, policy, now)),
        says="admits" if policy == "None" else "holds: nothing new starts, what runs is left to end",
    )


def widened(current: Mapping[str, Any], flavor: str, needs: Needs, *, by: int) -> Patched | str:
    """This will add needs to the quota of a flavour, or take them from it, never below nothing.

    Args:
        current: the ClusterQueue, which has the flavour.
        flavor: its name.
        needs: how much.
        by: 1 adds, -1 takes away.

    Returns:
        The patch, or why there is none.
    """
    spec = current["spec"]
    cohort = bool(spec.get("cohortName") or spec.get("cohort"))
    amounts = {"cpu": cpu(needs.vcpus), "memory": memory(needs.memory_gib), "nvidia.com/gpu": whole(needs.gpus)}
    number, place, before = next(
        (number, place, one)
        for number, group in enumerate(spec["resourceGroups"])
        for place, one in enumerate(group["flavors"])
        if one["name"] == flavor
    )
    after = deepcopy(before)
    lacking = [name for name in amounts if quantity(amounts[name]) and name not in _resources(before)]
    if lacking and by > 0:
        return f"its flavour {flavor} has no quota of {', '.join(lacking)}"
    try:
        for resource in after["resources"]:
            if resource["name"] in amounts:
                change = _amount(amounts[resource["name"]], before) * by
                resource["nominalQuota"] = _written(
                    resource["name"], max(_amount(resource["nominalQuota"], before) + change, Decimal(0))
                )
                if cohort:
                    resource["borrowingLimit"] = "0"
    except ValueError as error:
        return str(error)
    path = f"/spec/resourceGroups/{number}/flavors/{place}"
    return Patched(
        operations=tuple(_exchange(path, before, after)),
        rollback=tuple(_exchange(path, after, before)),
        says=f"gives flavour {flavor} {'more' if by > 0 else 'less'} quota, by what bursts",
    )


def _resources(flavor: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(resource["name"] for resource in flavor["resources"])


def _written(resource: str, amount: Decimal) -> str:
    if resource == "memory":
        return memory(float(amount / 2**30))
    return cpu(float(amount))


def _exchange(path: str, before: object, after: object) -> list[Manifest]:
    return [{"op": "test", "path": path, "value": before}, {"op": "replace", "path": path, "value": after}]


def _arranged(
    flavors: Sequence[Mapping[str, Any]], wanted: Sequence[tuple[str, Needs]], *, cohort: bool
) -> list[dict[str, Any]]:
    """Known flavours in the wanted order on the places that known flavours have; unknown ones keep theirs."""
    by_name = {flavor["name"]: flavor for flavor in flavors}
    ordered = iter([(name, needs) for name, needs in wanted if name in by_name])
    names = {name for name, _ in wanted}
    made = []
    for flavor in flavors:
        if flavor["name"] not in names:
            made.append(deepcopy(dict(flavor)))
            continue
        name, needs = next(ordered)
        made.append(_raised(by_name[name], needs, cohort=cohort))
    return made


def _raised(flavor: Mapping[str, Any], needs: Needs, *, cohort: bool) -> dict[str, Any]:
    wanted = {"cpu": cpu(needs.vcpus), "memory": memory(needs.memory_gib), "nvidia.com/gpu": whole(needs.gpus)}
    after = deepcopy(dict(flavor))
    for resource in after["resources"]:
        stated = wanted.get(resource["name"])
        if stated is None:
            continue
        if _amount(stated, flavor) > _amount(resource["nominalQuota"], flavor):
            resource["nominalQuota"] = stated
        if cohort:
            resource["borrowingLimit"] = "0"
    return after


def _amount(text: object, flavor: Mapping[str, Any]) -> Decimal:
    amount = quantity(text)
    if amount is None:
        raise ValueError(f"{text!r} in its flavour {flavor['name']} is no quantity")
    return amount


def _check_on_flavors(spec: Mapping[str, Any]) -> str:
    strategy = spec.get("admissionChecksStrategy") or {}
    for check in strategy.get("admissionChecks") or []:
        if check.get("onFlavors") and "multikueue" in str(check.get("name")).lower().replace("-", ""):
            return str(check["name"])
    return ""
