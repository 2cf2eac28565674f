"""Every panel shows something, and the right thing, once Prometheus has scraped the real services."""

from __future__ import annotations

import polars as pl
import pytest

from tests.dashboards.demonstration import World
from tests.dashboards.reading import (
    Query,
    committed,
    label_variables,
    panels,
    queries,
    substituted,
    values_query,
    variables,
)

QUERIES = {(query.panel, query.ref_id): query for query in queries()}

MAY_BE_EMPTY = {
    "Pods that wait for another scheduler": "usage is from a file, which says nothing of schedulers",
    "Publication of scores": "no hub is in the settings",
    "Objects written to the hub": "no hub is in the settings",
    "Verification of moves": "it runs once a day, and the first day has not passed",
    "Deliveries by channel": "no channel is in the settings",
    "Realised of predicted": "a move is verified after 14 days of usage",
}
"""Panels that show nothing on the demonstration's data, each with the reason; every other one shows something."""


def only(name: str) -> Query:
    """The only query of a panel."""
    return QUERIES[name, "A"]


def rows(world: World, name: str, *labels: str, **chosen: str) -> dict[tuple[str, ...], float]:
    """What a panel shows, by labels; keyword arguments choose values of variables."""
    expression = substituted(only(name).expression, **chosen)
    world.prometheus.wait_for(expression)
    return world.prometheus.values(expression, *labels)


@pytest.mark.parametrize("query", [one for one in queries() if one.panel not in MAY_BE_EMPTY], ids=str)
def test_every_query_of_every_panel_returns_data(query: Query, world: World) -> None:
    assert world.prometheus.wait_for(substituted(query.expression))


@pytest.mark.parametrize("query", [one for one in queries() if one.panel in MAY_BE_EMPTY], ids=str)
def test_a_panel_on_the_list_is_empty_and_says_so_in_words(query: Query, world: World) -> None:
    """Once it shows something it leaves the list."""
    assert world.prometheus.query(substituted(query.expression)) == []
    [panel] = [one for one in panels(committed()[query.dashboard]) if one["title"] == query.panel]
    assert panel["fieldConfig"]["defaults"]["noValue"] != "no data"


def test_the_list_names_no_panel_that_is_not_there() -> None:
    assert MAY_BE_EMPTY.keys() <= {query.panel for query in queries()}


@pytest.mark.parametrize(
    ("name", "variable"),
    [(name, one["name"]) for name, board in committed().items() for one in label_variables(board)],
)
def test_every_variable_offers_values(name: str, variable: str, world: World) -> None:
    selector, label = values_query(variables(committed()[name])[variable])
    found = world.prometheus.wait_for(f"group by ({label}) ({substituted(selector)})")
    assert len(found) > 1
    assert all(row["metric"].get(label) for row in found)


def test_the_cheapest_vcpu_hour_is_the_least_of_the_offers_on_machines_without_gpus(world: World) -> None:
    shown = rows(world, "Cheapest vCPU-hour by region and capacity type", "place", "capacity_type")
    plain = world.prices.offers.filter(
        pl.col("gpus") == 0,
        pl.col("accelerators") == 0,
        pl.col("operating_system") == "linux",
        pl.col("note").is_null() | ~pl.col("note").str.contains("illustrative"),
    )
    least = plain.group_by("provider", "region", "capacity_type").agg(pl.col("gbp_per_vcpu_hour").min())
    expected = {(f"{provider} {region}", capacity): price for provider, region, capacity, price in least.iter_rows()}
    assert shown == pytest.approx(expected)
    assert ("onprem london-1", "owned") in shown


def test_a_gpu_of_one_model_is_never_shown_as_another(world: World) -> None:
    shown = rows(world, "Cheapest GPU-hour by GPU model and region", "place", "gpu_model", gpu_model="L4")
    assert {model for _, model in shown} == {"L4"}
    assert ("onprem london-1 owned", "L4") in shown


def test_choosing_a_provider_leaves_out_the_others(world: World) -> None:
    shown = rows(world, "Cheapest vCPU-hour by region and capacity type", "place", provider="gcp|azure")
    assert {place.split()[0] for (place,) in shown} == {"gcp", "azure"}


def test_spot_is_compared_with_on_demand_of_the_same_region_only(world: World) -> None:
    prices = rows(world, "Cheapest vCPU-hour by region and capacity type", "place", "capacity_type")
    discounts = rows(world, "Spot against on-demand: vCPU", "provider", "region")
    places = {place for place, capacity in prices if capacity == "spot"}
    expected = {
        tuple(place.split()): 1 - prices[place, "spot"] / prices[place, "on-demand"]
        for place in places
        if prices[place, "spot"] < prices[place, "on-demand"]
    }
    assert discounts == pytest.approx(expected)
    assert ("gcp", "europe-west2") in discounts


def test_a_free_egress_tier_is_shown_as_zero_and_not_left_out(world: World) -> None:
    shown = rows(world, "Egress to the internet and between zones", "place", "destination", "tier_start_gib")
    assert shown["azure uksouth", "internet", "0"] == 0
    assert shown["azure uksouth", "internet", "100"] > 0


def test_the_dashboard_says_for_which_sources_packaged_prices_stand_in(world: World) -> None:
    ages = rows(world, "Packaged prices in use, by age", "source")
    assert {source for (source,) in ages} == {"aws", "azure", "gcp"}
    assert min(ages.values()) > 24 * 3600


def test_illustrative_offers_are_counted_and_never_shown(world: World) -> None:
    left_out = rows(world, "Illustrative offers left out", "source")
    illustrative = world.prices.offers.filter(pl.col("note").str.contains("illustrative"))
    counted = {(source,): number for source, number in illustrative.group_by("source").len().iter_rows()}
    assert left_out == counted
    shown = rows(world, "Cheapest vCPU-hour by region and capacity type", "place", "capacity_type")
    assert not [place for place, capacity in shown if place.startswith("aws") and capacity == "spot"]


def test_a_row_that_was_refused_is_counted_against_its_source(world: World) -> None:
    refused = substituted(QUERIES["Sources", "G"].expression)
    world.prometheus.wait_for(refused)
    assert world.prometheus.values(refused, "source")[("book",)] == 1


def test_a_provider_whose_own_rate_strays_shows_by_how_much(world: World) -> None:
    """0.0833 GBP for 0.111 USD is 0.75045 GBP per USD; ECB 30 October 2026: 0.8338 / 1.1172 = 0.746330."""
    strays = rows(world, "Providers' own rates against ours", "provider", "currency")
    assert strays["sterling", "USD"] == pytest.approx(0.0833 / 0.111 / (0.8338 / 1.1172) - 1)


def open_savings(world: World) -> list[float]:
    return [float(one.monthly.saving.p50) for one in world.plan.recommendations if one.monthly and one.state == "open"]


def test_what_was_paid_is_added_up_once_whatever_the_number_of_exporters(world: World) -> None:
    """Azure: five days at 150 and two at 90 pounds a week; what services, accounts and regions come to is the same."""
    by_service = rows(world, "Effective cost by service", "service", "window", provider="azure")
    by_account = rows(world, "Effective cost by account", "account", "window", provider="azure")
    assert {(window, value) for (_, window), value in by_service.items()} == {
        (window, value) for (_, window), value in by_account.items()
    }
    assert all(value % 30 == 0 for value in by_service.values())


def test_an_unusual_day_stands_with_what_was_expected_and_why_it_was_dear(world: World) -> None:
    """Machines for 400 dollars in place of 200 for twice the hours; ECB 30 October 2026: 0.8338 / 1.1172."""
    more = 200 * 0.8338 / 1.1172
    what, machines = "Unusual costs of the last whole day", "Amazon Elastic Compute Cloud"
    world.prometheus.wait_for(only(what).expression.replace("$provider", ".*"))
    excess, expected = (
        world.prometheus.values(substituted(QUERIES[what, ref].expression), "account", "service") for ref in "AB"
    )
    assert excess == {("2222", machines): pytest.approx(more)}
    assert expected.keys() == excess.keys()
    causes = rows(world, "Why the last whole day cost more or less", "what", "cause", provider="aws")
    of_machines = {cause: value for (name, cause), value in causes.items() if name == f"2222 {machines}"}
    assert sum(of_machines.values()) == pytest.approx(more)
    assert of_machines["usage"] > 0.9 * more


def test_two_replicas_do_not_double_the_open_saving(world: World) -> None:
    assert world.prometheus.wait_for('count(up{job="tuppence-recommender"} == 1) == 2')
    open_saving = sum(open_savings(world))
    assert open_saving > 0
    shown = rows(world, "Open saving a month")
    assert shown == {(): pytest.approx(open_saving, abs=0.001)}
    parts = rows(world, "Open saving a month by kind and confidence", "kind", "confidence")
    assert sum(parts.values()) == pytest.approx(open_saving, abs=0.001)
    owners = rows(world, "Open saving a month by owner", "owner")
    assert sum(owners.values()) == pytest.approx(open_saving, abs=0.001)


def test_what_was_accepted_is_open_no_more_and_shows_as_accepted(world: World) -> None:
    [accepted] = [one for one in world.plan.recommendations if one.state == "accepted"]
    assert accepted.monthly is not None
    shown = rows(world, "Accepted saving a month")
    assert shown == {(): pytest.approx(float(accepted.monthly.saving.p50), abs=0.001)}


def test_every_recommendation_is_counted_once(world: World) -> None:
    counts = rows(world, "Recommendations by kind and state", "kind", "state")
    assert sum(counts.values()) == len(world.plan.recommendations) + len(world.plan.capacity)


def test_choosing_a_cluster_shows_its_cost_alone(world: World) -> None:
    whole = rows(world, "Current £/h")[()]
    parts = [rows(world, "Current £/h", cluster=one)[()] for one in clusters(world)]
    assert len(parts) == 5
    assert sum(parts) == pytest.approx(whole)
    assert whole == pytest.approx(world.plan.summary.current_gbp_per_hour)


def clusters(world: World) -> list[str]:
    found = world.prometheus.wait_for("group by (cluster) (tuppence_cluster_info)")
    return [row["metric"]["cluster"] for row in found]


def test_a_class_is_short_where_its_burst_takes_replicas_out(world: World) -> None:
    """One node with four L4 GPUs, eight of which are asked for."""
    needed = {key for key, one in table(world, "Owned capacity by class", "F").items() if one == 1}
    assert ("onprem-lon-1", "gpu", "L4") in needed
    assert table(world, "Owned capacity by class", "D")["onprem-lon-1", "gpu", "L4"] == 4
    left = rows(world, "Replicas that leave", "cluster", "resource_class")
    assert left[("onprem-lon-1", "L4")] > 0


def table(world: World, name: str, ref_id: str) -> dict[tuple[str, ...], float]:
    """A column of a table by cluster, resource and class."""
    expression = substituted(QUERIES[name, ref_id].expression)
    world.prometheus.wait_for(expression)
    return world.prometheus.values(expression, "cluster", "resource", "resource_class")


def test_only_clusters_with_owned_nodes_are_said_to_have_capacity(world: World) -> None:
    for ref_id in "ABCDEF":
        assert {cluster for cluster, _, _ in table(world, "Owned capacity by class", ref_id)} == {"onprem-lon-1"}
