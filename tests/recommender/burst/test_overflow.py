"""What leaves a full cluster: what is cheapest to send away, within the rules, and a critical pod last of all."""

from __future__ import annotations

import pytest

from tests.recommender.burst.home import BELGIUM, FITS, LONDON, as_unit, distance, leaving, left, limits, pod, pods
from tests.recommender.world import flow, flows, policy, prices, standard_offers

INTERRUPTED = 1.50 / 4
"""A pod that runs and tolerates no interruption is interrupted once by leaving, spread over the four hours."""
RESTART_MINUTES = 10


def test_nothing_leaves_while_all_fits() -> None:
    found = leaving(pods(FITS))
    assert left(found) == {}
    assert found.gbp_per_hour == 0


def test_one_too_many_sends_away_the_one_that_may_go_where_it_is_cheapest() -> None:
    found = leaving([*pods(FITS), pod("mobile", residency_class="europe")])
    assert left(found) == {"mobile": "gke-bel/general/n2-standard-4"}
    moved = (3 * 0.02 + 4 * 0.003) * RESTART_MINUTES / 60 / 4
    assert found.gbp_per_hour == pytest.approx(BELGIUM + INTERRUPTED + moved)


def test_residency_is_never_traded_for_a_price() -> None:
    (place,) = left(leaving(pods(FITS + 1))).values()
    assert place == "eks-lon/general/m5.xlarge"


def test_what_has_much_data_stays() -> None:
    # 12 GiB an hour to AWS London cost £1.20 from Belgium, far more than the two machines differ by.
    rows = [*pods(FITS), pod("heavy", residency_class="europe")]
    heavy = flows(flow("heavy", to="aws/eu-west-2", gib_per_hour=12.0) | {"cluster": "onprem-lon"})
    found = leaving(rows, flows=heavy)
    assert "heavy" not in left(found) or left(found)["heavy"] == "eks-lon/general/m5.xlarge"
    assert set(left(found).values()) == {"eks-lon/general/m5.xlarge"}


def test_what_waits_leaves_before_what_would_be_interrupted() -> None:
    found = leaving(pods(FITS + 1), waiting=("w07",))
    assert left(found) == {"w07": "eks-lon/general/m5.xlarge"}


def test_only_what_tolerates_interruption_leaves_for_spot() -> None:
    found = leaving([*pods(FITS), pod("batch", interruption_tolerance="spot")])
    assert left(found) == {"batch": "eks-lon/spot/m5.xlarge"}
    assert sum(nodes.gbp_per_hour for nodes in found.packing.nodes) == pytest.approx(LONDON / 3)


def test_a_critical_pod_stays_though_it_would_be_the_cheapest_to_send_away() -> None:
    found = leaving([*pods(FITS), pod("vital", residency_class="europe", criticality="high")])
    assert "vital" not in left(found)


def test_a_critical_pod_leaves_before_it_waits() -> None:
    found = leaving(pods(FITS + 1, criticality="high"))
    assert len(left(found)) == 1
    assert found.packing.unplaced == ()


def test_a_critical_pod_is_placed_before_one_that_may_not_leave_either() -> None:
    rows = [*pods(FITS - 1, local_volume=True), pod("vital", criticality="high", local_volume=True)]
    rows.append(pod("new", local_volume=True))
    found = leaving(rows, waiting=("vital", "new"))
    assert [one.split("/")[3] for one in found.waiting()] == ["new"]


def test_what_may_not_leave_waits_and_says_so() -> None:
    found = leaving(pods(FITS + 1, local_volume=True))
    assert list(found.waiting().values()) == ["limits-used-up"]


def test_a_place_without_a_price_is_unknown_and_not_free() -> None:
    offers = [offer for offer in standard_offers() if offer["provider"].item() != "gcp"]
    found = leaving([*pods(FITS), pod("mobile", residency_class="europe")], prices=prices(offers))
    assert set(left(found).values()) == {"eks-lon/general/m5.xlarge"}


def test_a_quota_of_a_cloud_cluster_holds_for_all_that_leaves_together() -> None:
    # A node agent takes a little of 8 vCPUs, so one more machine of 4 is left.
    found = leaving(pods(FITS + 2), limits=limits(clusters=[{"cluster": "eks-lon", "vcpus": 8.0}]))
    assert len(left(found)) == 1
    assert len(found.waiting()) == 1


def test_a_quota_of_a_region_holds_for_all_clusters_there_together() -> None:
    # The only other region of the United Kingdom's class is London; one machine of 4 vCPUs is left beside the agent.
    found = leaving(pods(FITS + 2), limits=limits(regions=[{"provider": "aws", "region": "eu-west-2", "vcpus": 8.0}]))
    assert len(left(found)) == 1
    assert list(found.waiting().values()) == ["limits-used-up"]


def test_a_quota_of_another_region_stops_nothing() -> None:
    other = limits(regions=[{"provider": "gcp", "region": "europe-west1", "vcpus": 0.0}])
    assert len(left(leaving(pods(FITS + 2), limits=other))) == 2


def test_a_quota_of_a_namespace_counts_the_requests_of_all_that_leaves_for_it() -> None:
    # 7 vCPUs requested in shop at most: two pods of 3 are in, a third is not, whatever machines they come to.
    third = limits(namespaces=[{"cluster": "eks-lon", "namespace": "shop", "vcpus": 7.0}])
    found = leaving(pods(FITS + 3), limits=third)
    assert len(left(found)) == 2
    assert len(found.waiting()) == 1


def test_room_in_a_namespace_is_promised_to_what_waits_before_what_runs() -> None:
    one = limits(namespaces=[{"cluster": "eks-lon", "namespace": "shop", "memory_gib": 5.0}])
    found = leaving(pods(FITS + 1), limits=one, waiting=("w20",))
    assert set(left(found)) == {"w20"}


def test_a_class_with_a_latency_limit_leaves_only_for_where_the_distance_was_measured() -> None:
    near = policy(classes={"near": {"latency_ms_max": 5.0}})
    rows = [pod(f"w{n:02d}", residency_class="near") for n in range(FITS + 1)]
    assert left(leaving(rows, policy=near)) == {}
    london = distance(("onprem/london", "aws/eu-west-2", 3.0), ("onprem/london", "gcp/europe-west1", 9.0))
    assert set(left(leaving(rows, policy=near, latency=london)).values()) == {"eks-lon/general/m5.xlarge"}


def test_distance_is_paid_for_where_the_goal_is_latency() -> None:
    far = policy(
        classes={"anywhere": {"goal": "latency"}},
        weights={"latency_gbp_per_ms_hour": 0.1, "restart_minutes": 0.0, "interruption_gbp": 0.0},
    )
    rows = [pod(f"w{n:02d}", residency_class="anywhere") for n in range(FITS + 1)]
    apart = distance(("onprem/london", "aws/eu-west-2", 2.0), ("onprem/london", "gcp/europe-west1", 8.0))
    found = leaving(rows, policy=far, latency=apart)
    # Belgium is 0.056 cheaper than London on demand, and 6 ms farther: 0.60 dearer.
    assert set(left(found).values()) == {"eks-lon/general/m5.xlarge"}
    assert found.gbp_per_hour == pytest.approx(LONDON + 0.2)


def test_where_somebody_dismissed_a_burst_to_nothing_goes() -> None:
    rows = [*pods(FITS), pod("mobile", residency_class="europe")]
    assert set(left(leaving(rows)).values()) == {"gke-bel/general/n2-standard-4"}
    found = leaving(rows, dismissed=[("onprem-lon", "gke-bel", "general")])
    assert set(left(found).values()) == {"eks-lon/general/m5.xlarge"}


def test_room_is_made_for_what_is_expected() -> None:
    rows = [*pods(FITS - 1), pod("mobile", residency_class="europe")]
    expected = as_unit(rows[0], workload=("onprem-lon", "", "", "expected"), is_waiting=True)
    assert left(leaving(rows)) == {}
    assert left(leaving(rows, growth=(expected,))) == {"mobile": "gke-bel/general/n2-standard-4"}


def test_room_for_what_is_expected_is_never_made_at_the_cost_of_what_is_there() -> None:
    rows = pods(FITS, local_volume=True)
    expected = as_unit(rows[0], workload=("onprem-lon", "", "", "expected"), is_waiting=True)
    assert leaving(rows, growth=(expected,)).waiting() == {}


def test_a_gang_leaves_whole() -> None:
    # 18 single pods and a gang of 4: two too many. Two singles, or all four of the gang, but never half of it.
    rows = [*pods(FITS - 2, local_volume=True), pod("gang", residency_class="europe")]
    found = leaving(rows, replicas={"gang": 4})
    assert [name for name, offer, _ in found.packing.assignment if offer in found.away] == [
        f"onprem-lon/shop/Deployment/gang/000000#{number:04d}" for number in range(4)
    ]


def test_the_same_question_in_another_order_has_the_same_answer() -> None:
    rows = [*pods(FITS), pod("mobile", residency_class="europe"), pod("batch", interruption_tolerance="spot")]
    assert left(leaving(rows)) == left(leaving(rows[::-1]))


def test_an_interruption_is_worth_what_the_policy_says() -> None:
    free = policy(weights={"interruption_gbp": 0.0, "restart_minutes": 0.0})
    found = leaving([*pods(FITS), pod("mobile", residency_class="europe")], policy=free)
    assert found.gbp_per_hour == pytest.approx(BELGIUM)
