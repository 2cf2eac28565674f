"""The demonstration: the same from the same seed, and such as a FinOps engineer would believe."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from exporters.core.config_file import read_document, validate
from exporters.core.errors import SettingsError, StoreError
from exporters.core.sections import ALL_SECTIONS
from exporters.settings import ExporterSettings
from recommender.demo.shapes import SHAPES, Hour, waiting
from recommender.demo.usage import demo_workloads
from recommender.demo.write import write_demo
from recommender.observe.coverage import Window
from recommender.observe.usage_file import read_usage
from recommender.observe.workloads import Observed, observe
from recommender.settings import Policy, RecommenderSettings

END = datetime(2026, 11, 30, 9, 25, 11, tzinfo=UTC)
HOUR = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo")
    write_demo(path, until=END, seed=7)
    return path


@pytest.fixture(scope="module")
def settings(folder: Path) -> RecommenderSettings:
    return validate(read_document(folder / "tuppence.yaml", {}), RecommenderSettings, known=ALL_SECTIONS)


@pytest.fixture(scope="module")
def policy(settings: RecommenderSettings) -> Policy:
    assert isinstance(settings.policy, Path)
    return validate(read_document(settings.policy, {}), Policy, known=frozenset(Policy.model_fields))


@pytest.fixture(scope="module")
def seen(settings: RecommenderSettings, policy: Policy) -> Observed:
    assert settings.usage.file is not None
    usage = read_usage(settings.usage.file.path)
    return observe(usage, policy, clusters=settings.clusters, window=Window.ending(HOUR, hours=168))


def offers(name: str) -> pl.DataFrame:
    return pl.read_csv(files("exporters.fetch.data").joinpath(name).read_bytes(), infer_schema=False)


def test_three_files_are_written_and_both_packages_take_the_settings(folder: Path, settings: RecommenderSettings):
    assert sorted(path.name for path in folder.iterdir()) == ["policy.yaml", "tuppence.yaml", "usage.parquet"]
    exporter = validate(read_document(folder / "tuppence.yaml", {}), ExporterSettings, known=ALL_SECTIONS)
    assert exporter.sources.onprem.enabled
    assert exporter.store.url == settings.prices.url == str(folder / "snapshots")


def test_the_same_seed_and_hour_give_the_same_bytes(folder: Path, tmp_path: Path):
    write_demo(tmp_path, until=HOUR, seed=7)
    for name in ("usage.parquet", "policy.yaml"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    write_demo(tmp_path, until=HOUR, seed=8)
    assert (tmp_path / "usage.parquet").read_bytes() != (folder / "usage.parquet").read_bytes()


def test_a_folder_with_odd_letters_is_named_rightly(tmp_path: Path):
    odd = tmp_path / 'pounds ${HOME} "£" \\ x'
    path = write_demo(odd, until=HOUR, seed=1)
    read = validate(read_document(path, {}), RecommenderSettings, known=ALL_SECTIONS)
    assert read.usage.file is not None
    assert read.usage.file.path == odd / "usage.parquet"


def test_a_moment_without_a_time_zone_is_refused(tmp_path: Path):
    with pytest.raises(SettingsError, match="has no time zone"):
        write_demo(tmp_path, until=HOUR.replace(tzinfo=None), seed=1)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="the demonstration cannot be written"):
        write_demo(tmp_path / "file" / "demo", until=HOUR, seed=1)


def test_it_is_a_week_of_at_least_sixty_workloads_over_five_clusters(folder: Path, seen: Observed):
    usage = pl.read_parquet(folder / "usage.parquet")
    assert usage["timestamp"].min() == datetime(2026, 11, 23, 9, tzinfo=UTC)
    assert usage["timestamp"].max() == datetime(2026, 11, 30, 8, tzinfo=UTC)
    advisable = seen.workloads.filter(~pl.col("is_system"))
    assert advisable.height >= 60
    assert advisable["cluster"].n_unique() == 5


def test_it_has_what_the_product_is_about(seen: Observed):
    advisable = seen.workloads.filter(~pl.col("is_system"))
    assert set(advisable["residency_class"]) == {"nhs-imaging", "fca-records", "batch", "general", "multi-arch"}
    assert set(advisable["gpu_model"]) == {"", "A100-80GB", "L4", "A10G", "T4"}
    assert {"owned", "on-demand", "spot", ""} == set(advisable["capacity_type"])
    assert advisable.filter(pl.col("gang_size") > 1).height >= 4
    assert advisable["local_volume"].sum() >= 4
    assert {"Deployment", "StatefulSet", "Job", "CronJob"} == set(advisable["workload_kind"])
    assert {"internet", "aws/eu-west-2", "onprem/london-1"} <= set(seen.flows["to"])
    assert seen.workloads["is_system"].sum() >= 8


def test_every_owner_but_that_of_system_pods_is_known(seen: Observed):
    assert seen.workloads.filter(~pl.col("is_system") & (pl.col("owner") == ""))["workload"].to_list() == []


def test_it_shows_what_is_not_enough_data(seen: Observed):
    assert dict(seen.not_enough_data.select("workload", "reason").iter_rows()) == {
        "gift-cards": "new",
        "trade-fair-demo": "vanished",
    }
    assert seen.workloads.filter(pl.col("pool") == "")["namespace"].unique().to_list() == ["acquired"]
    coverage = dict(seen.workloads.select("cluster", pl.col("coverage_ratio").round(3)).unique().iter_rows())
    assert coverage.pop("gke-europe-west2") == round(154 / 168, 3)
    assert set(coverage.values()) == {1.0}


def test_on_prem_gpus_are_full_at_two_in_the_afternoon_and_jobs_wait(folder: Path):
    gpus = pl.read_parquet(folder / "usage.parquet").filter(pl.col("pool") == "gpu-a100")
    monday = gpus.filter(pl.col("timestamp") == datetime(2026, 11, 23, 14, tzinfo=UTC))
    assert monday["gpu_request"].sum() == 4 * 8
    assert monday["pending_replicas"].sum() == 5
    assert gpus.filter(pl.col("timestamp") == datetime(2026, 11, 23, 23, tzinfo=UTC))["pending_replicas"].sum() == 0


def test_what_runs_on_owned_nodes_fits_on_them(folder: Path, settings: RecommenderSettings):
    site = next(cluster for cluster in settings.clusters if cluster.tier == "owned")
    nodes = {pool.name: pool.nodes_max for pool in site.pools}
    exporter = validate(read_document(folder / "tuppence.yaml", {}), ExporterSettings, known=ALL_SECTIONS)
    shapes = {one.instance_type: one for card in exporter.sources.onprem.rate_cards for one in card.machines}
    peaks = (
        pl.read_parquet(folder / "usage.parquet")
        .filter(pl.col("cluster") == site.name)
        .group_by("pool", "instance_type", "timestamp")
        .agg(pl.col("vcpu_request", "memory_gib_request", "gpu_request").sum())
        .group_by("pool", "instance_type")
        .agg(pl.all().exclude("timestamp").max())
    )
    for row in peaks.to_dicts():
        shape, count = shapes[row["instance_type"]], nodes[row["pool"]]
        assert count is not None
        assert row["vcpu_request"] <= float(shape.vcpus) * count * 0.97
        assert row["memory_gib_request"] <= float(shape.memory_gib) * count * 0.95
        assert row["gpu_request"] <= float(shape.gpus) * count


def test_every_machine_of_the_fleet_has_a_packaged_price_in_its_region(settings: RecommenderSettings):
    book = {
        (row["provider"], row["region"], row["instance_type"], row["capacity_type"])
        for row in offers("price_book.csv").to_dicts()
    }
    wanted = {
        (cluster.provider, cluster.region, machine, pool.capacity_type)
        for cluster in settings.clusters
        if cluster.tier == "cloud"
        for pool in cluster.pools
        for machine in pool.instance_types
    }
    assert wanted - book == set()


def test_every_workload_runs_on_a_machine_of_its_pool_and_each_replica_fits(settings: RecommenderSettings):
    machines = {
        (cluster.name, pool.name): pool.instance_types for cluster in settings.clusters for pool in cluster.pools
    }
    shapes = {row["instance_type"]: row for row in offers("price_book.csv").to_dicts()}
    for workload in demo_workloads():
        if not workload.pool:
            continue
        assert workload.instance_type in machines[workload.cluster, workload.pool]
        if (shape := shapes.get(workload.instance_type)) is not None:
            assert workload.vcpus <= float(shape["vcpus"]) - 0.2, workload.workload
            assert workload.memory_gib <= float(shape["memory_gib"]) * 0.9, workload.workload
            assert workload.gpus <= float(shape["gpus"])


def test_the_week_the_clocks_change_keeps_office_hours_in_london():
    office = SHAPES["office"]
    winter, summer = datetime(2026, 10, 26, 8, tzinfo=UTC), datetime(2026, 10, 23, 7, tzinfo=UTC)
    assert office(Hour.of(0, winter)) == office(Hour.of(0, summer)) == 1.0
    assert office(Hour.of(0, winter.replace(hour=7))) < 1.0
    assert waiting("gpu-day", Hour.of(0, datetime(2026, 7, 1, 13, tzinfo=UTC))) == 0.5


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_shape_is_a_share_of_the_replicas(shape: str):
    shares = [
        SHAPES[shape](Hour.of(number, datetime(2026, 11, 23 + number // 24, number % 24, tzinfo=UTC)))
        for number in range(168)
    ]
    assert 0 <= min(shares) <= max(shares) <= 1
    assert max(shares) > 0.9
