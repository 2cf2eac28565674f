"""The switch of a burst in Kueue: on, off, and back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recommender.advise.record import State
from recommender.emit.contract import Document, Emitted, Subject
from recommender.emit.kueue import emit
from tests.builders import NOON
from tests.recommender.emit.crds import needs_schemas, violations
from tests.recommender.emit.json_patch import apply_patch
from tests.recommender.emit.placing import AWAY, back, burst, burst_move, objects_of, placing, settings, train, why
from tests.recommender.world import workload


def switch(emitted: Emitted) -> Document:
    """This will return the one document about a burst."""
    [one] = [each for each in emitted.documents if each.path.startswith("burst/")]
    return one


def bursting(*capacity: Any, **changes: Any) -> Subject:
    """This will return a subject with the gang on the racks and the given advice."""
    return placing(train(), capacity=capacity, **changes)


def queue_with(*flavours: str, stop: dict[str, str] | None = None) -> dict[str, Any]:
    """This will return the ClusterQueue `overflow` with 10 vCPU and 100 GiB of each flavour."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "overflow"},
        "spec": {
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [
                        {
                            "name": name,
                            "resources": [
                                {"name": "cpu", "nominalQuota": "10"},
                                {"name": "memory", "nominalQuota": "100Gi"},
                            ],
                        }
                        for name in flavours
                    ],
                }
            ],
            **(stop or {}),
        },
    }


def told(queue: dict[str, Any]) -> Any:
    """This will return settings that tell the ClusterQueue of the cluster that bursts go to."""
    return settings(kueue={"queues": [{"cluster": "eks-lon", "name": "overflow", "current": queue}]})


def test_a_burst_opens_a_queue_of_its_own_as_large_as_what_overflows() -> None:
    document = switch(emit(bursting(burst())))
    [queue] = document.objects
    assert queue["metadata"]["name"] == "burst.burst00000000001"
    assert queue["spec"]["stopPolicy"] == "None"
    [group] = queue["spec"]["resourceGroups"]
    # Four replicas of 2 vCPU and 4 GiB.
    assert group["flavors"] == [
        {
            "name": "eks-lon.spot",
            "resources": [{"name": "cpu", "nominalQuota": "8"}, {"name": "memory", "nominalQuota": "16Gi"}],
        }
    ]
    [namespaces] = queue["spec"]["namespaceSelector"]["matchExpressions"]
    assert namespaces["values"] == ["ml"]
    assert document.clusters == ("eks-lon",)
    assert document.workloads == (("onprem-lon", "ml", "Job", "train"),)
    assert document.expires_at == NOON + timedelta(hours=2)


def test_the_roll_back_of_a_burst_holds_its_queue_and_evicts_nothing() -> None:
    [held] = switch(emit(bursting(burst()))).rollback_objects
    assert held["spec"]["stopPolicy"] == "Hold"


def test_a_return_holds_the_queue_of_the_burst_that_it_ends() -> None:
    opened = switch(emit(bursting(burst(id="burst00000000000")))).objects[0]
    document = switch(emit(bursting(back())))
    assert document.objects[0]["metadata"]["name"] == opened["metadata"]["name"]
    assert document.objects[0]["spec"]["stopPolicy"] == "Hold"
    assert document.clusters == ()


def test_a_gang_that_bursts_in_part_gets_the_quota_of_the_whole() -> None:
    [queue] = switch(emit(bursting(burst(burst_move(replicas=1))))).objects
    assert queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == "8"


def test_gpus_that_burst_are_in_the_quota() -> None:
    [queue] = switch(emit(bursting(burst(burst_move(replica_gpus=0.5, gpu_model="T4"))))).objects
    [group] = queue["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "nvidia.com/gpu"]
    assert group["flavors"][0]["resources"][2]["nominalQuota"] == "2"


def test_a_burst_to_where_a_workload_may_not_run_is_not_switched_on() -> None:
    intolerant = placing(train(interruption_tolerance="none"), capacity=(burst(),))
    made = emit(intolerant)
    assert not [one for one in made.documents if one.path.startswith("burst/")]
    assert "may not run in eks-lon on spot nodes" in why(made, "burst00000000001")


def test_a_burst_of_a_workload_that_nobody_knows_is_not_switched_on() -> None:
    made = emit(bursting(burst(burst_move("unknown"))))
    assert "onprem-lon/ml/Job/unknown may not run" in why(made, "burst00000000001")


def test_a_burst_is_not_opened_for_a_namespace_that_may_not_be_there_as_a_whole() -> None:
    elsewhere = AWAY | {"cluster": "gke-bel", "pool": "general", "capacity_type": "on-demand"}
    given = placing(
        train(residency_class="anywhere"),
        workload("records", namespace="ml"),
        capacity=(burst(recommended=elsewhere),),
    )
    assert "a workload of namespace ml may not run in gke-bel" in why(emit(given), "burst00000000001")


@pytest.mark.parametrize("state", [State.DISMISSED, State.SNOOZED, State.EXPIRED, State.IMPLEMENTED])
def test_only_open_and_accepted_bursts_are_switched(state: State) -> None:
    assert not [one for one in emit(bursting(burst(state=state))).documents if one.path.startswith("burst/")]


def test_a_burst_that_has_expired_is_not_switched() -> None:
    assert not [one for one in emit(bursting(burst(expires_at=NOON))).documents if one.path.startswith("burst/")]


def test_advice_to_buy_capacity_is_nothing_that_kueue_can_do() -> None:
    made = emit(bursting(burst(kind="extend", recommended=None, moves=[])))
    assert "can buy none" in why(made, "burst00000000001")


def test_a_queue_for_the_burst_alone_is_opened_and_held_by_its_stop_policy() -> None:
    held = queue_with("eks-lon.spot", stop={"stopPolicy": "Hold"})
    document = switch(emit(bursting(burst(), settings=told(held))))
    opened = apply_patch(held, document.objects)
    assert opened["spec"]["stopPolicy"] == "None"
    assert apply_patch(opened, document.rollback_objects) == held
    assert document.patches["name"] == "overflow"


def test_a_queue_without_a_stop_policy_is_known_by_its_quotas_when_it_is_held() -> None:
    queue = queue_with("eks-lon.spot")
    document = switch(emit(bursting(back(), settings=told(queue))))
    assert document.objects[0]["path"] == "/spec/resourceGroups"
    assert apply_patch(queue, document.objects)["spec"]["stopPolicy"] == "Hold"


def test_a_queue_that_is_held_already_is_not_held_again() -> None:
    held = queue_with("eks-lon.spot", stop={"stopPolicy": "Hold"})
    assert "is Hold already" in why(emit(bursting(back(), settings=told(held))), "return0000000001")


def test_a_flavour_beside_others_gets_quota_for_the_burst_and_gives_it_back() -> None:
    shared = queue_with("eks-lon.on-demand", "eks-lon.spot")
    given = bursting(burst(), settings=told(shared))
    document = switch(emit(given))
    opened = apply_patch(shared, document.objects)
    spot = opened["spec"]["resourceGroups"][0]["flavors"][1]
    assert [one["nominalQuota"] for one in spot["resources"]] == ["18", "116Gi"]
    assert opened["spec"]["resourceGroups"][0]["flavors"][0] == shared["spec"]["resourceGroups"][0]["flavors"][0]
    assert apply_patch(opened, document.rollback_objects) == shared
    after = apply_patch(opened, switch(emit(replace(bursting(back()), settings=told(opened)))).objects)
    assert after == shared


def test_a_quota_never_falls_below_nothing() -> None:
    shared = queue_with("eks-lon.on-demand", "eks-lon.spot")
    given = bursting(back(moves=[burst_move(replicas=60)]), settings=told(shared))
    spot = apply_patch(shared, switch(emit(given)).objects)["spec"]["resourceGroups"][0]["flavors"][1]
    assert [one["nominalQuota"] for one in spot["resources"]] == ["0", "0Gi"]


def test_a_flavour_without_a_quota_of_gpus_cannot_take_a_burst_of_gpus() -> None:
    shared = queue_with("eks-lon.on-demand", "eks-lon.spot")
    given = bursting(burst(burst_move(replica_gpus=1.0)), settings=told(shared))
    assert "has no quota of nvidia.com/gpu" in why(emit(given), "burst00000000001")


@needs_schemas
def test_both_ways_of_the_switch_pass_the_schema() -> None:
    made = [one for given in (bursting(burst()), bursting(back())) for one in objects_of(emit(given))]
    assert sum("stopPolicy" in one.get("spec", {}) for one in made) == 4
    assert violations(made) == []
