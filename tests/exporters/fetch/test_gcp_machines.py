"""Which machine types exist in which region, from the packaged tables or from Compute Engine itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from exporters.core.errors import IntegrityError, TerminalSourceError
from exporters.fetch.contract import silent
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_machines import Machines, check_machines, fetch_machines, packaged_machines
from tests.fakes.gcp import Failure, RestServer


def machine(name: str, vcpus: int, mib: int, **more: Any) -> dict[str, Any]:
    """A machine type in the form of machineTypes.aggregatedList."""
    return {"name": name, "guestCpus": vcpus, "memoryMb": mib, "kind": "compute#machineType", **more}


def gpu(kind: str, count: int) -> dict[str, Any]:
    return {"accelerators": [{"guestAcceleratorType": kind, "guestAcceleratorCount": count}]}


@pytest.fixture
def server() -> Iterator[RestServer]:
    with RestServer([]) as running:
        running.machine_pages = [
            {
                "items": {
                    "zones/europe-west2-a": {
                        "machineTypes": [
                            machine("n2-standard-4", 4, 16384, architecture="X86_64"),
                            machine("c4a-standard-4", 4, 16384, architecture="ARM64"),
                        ]
                    },
                    "zones/us-east1-a": {"warning": {"code": "NO_RESULTS_ON_PAGE"}},
                },
                "nextPageToken": "1",
            },
            {
                "items": {
                    "zones/europe-west2-b": {
                        "machineTypes": [machine("n2-standard-4", 4, 16384, architecture="X86_64")]
                    },
                    "zones/us-central1-a": {
                        "machineTypes": [
                            machine("a2-highgpu-1g", 12, 87040, **gpu("nvidia-tesla-a100", 1)),
                            machine("a9-quantum-1g", 12, 87040, **gpu("nvidia-z900", 1)),
                            machine("c3-standard-4-lssd", 4, 16384, bundledLocalSsds={"partitionCount": 1}),
                            machine("z9-highmem-8-lssd", 8, 65536, bundledLocalSsds={"partitionCount": 1}),
                        ]
                    },
                }
            },
        ]
        yield running


def read(server: RestServer) -> Machines:
    deadline = Deadline(10, source="gcp")
    return fetch_machines(deadline, endpoint=server.url, project="a-project", first_wait=0.01, progress=silent)


def test_every_page_of_machine_types_becomes_one_shape_a_type_and_one_offering_a_region(server):
    machines = read(server)
    assert sorted(machines.offerings.rows()) == [
        ("europe-west2", "c4a-standard-4"),
        ("europe-west2", "n2-standard-4"),
        ("us-central1", "a2-highgpu-1g"),
        ("us-central1", "a9-quantum-1g"),
        ("us-central1", "c3-standard-4-lssd"),
        ("us-central1", "z9-highmem-8-lssd"),
    ]
    shapes = {row["instance_type"]: row for row in machines.shapes.to_dicts()}
    assert {row["shape_source"] for row in shapes.values()} == {"api"}
    assert (shapes["n2-standard-4"]["vcpus"], shapes["n2-standard-4"]["memory_gib"]) == (4.0, 16.0)
    assert shapes["c4a-standard-4"]["architecture"] == "arm64"
    assert (shapes["a2-highgpu-1g"]["gpu_model"], shapes["a2-highgpu-1g"]["gpus"]) == ("A100-40GB", 1.0)
    assert shapes["a9-quantum-1g"]["gpu_model"] == "nvidia-z900"
    assert server.pages.asked[0]["path"] == "/compute/v1/projects/a-project/aggregated/machineTypes"


def test_local_ssd_is_known_from_the_packaged_table_and_otherwise_left_unknown(server):
    shapes = {row["instance_type"]: row["local_ssd_gib"] for row in read(server).shapes.to_dicts()}
    assert shapes["c3-standard-4-lssd"] == 375.0
    assert shapes["z9-highmem-8-lssd"] is None
    assert shapes["n2-standard-4"] == 0.0


def test_a_type_that_differs_between_zones_has_no_shape(server):
    server.machine_pages[1]["items"]["zones/europe-west2-b"]["machineTypes"][0]["memoryMb"] = 8192
    machines = read(server)
    assert "n2-standard-4" not in machines.shapes["instance_type"]
    assert "n2-standard-4" in machines.offerings["instance_type"]


def test_a_page_that_fails_once_is_asked_again(server):
    server.pages.failures[2] = Failure(503, b"{}")
    assert read(server).offerings.height == 6


def test_zones_that_do_not_answer_make_the_list_not_whole(server):
    server.machine_pages[1]["unreachables"] = ["zones/us-east4-c"]
    with pytest.raises(IntegrityError, match="us-east4-c"):
        read(server)


def test_a_list_without_any_type_is_not_whole(server):
    server.machine_pages = [{"items": {"zones/us-east1-a": {"warning": {}}}}]
    with pytest.raises(IntegrityError, match="names no machine type"):
        read(server)


def test_a_login_page_instead_of_json_is_an_integrity_error(server):
    server.pages.failures[1] = Failure(200, b"<html>Sign in</html>")
    with pytest.raises(IntegrityError, match="not the API's JSON"):
        read(server)


@pytest.mark.parametrize("body", [b"[]", b'{"items": {"zones/europe-west2-a": {"machineTypes": [{"name": "x"}]}}}'])
def test_json_that_is_no_list_of_machine_types_is_an_integrity_error(server, body):
    server.pages.failures[1] = Failure(200, body)
    with pytest.raises(IntegrityError, match="not whole"):
        read(server)


def test_a_project_that_may_not_be_read_is_a_terminal_error_and_check_says_so(server):
    server.pages.fail_always = Failure(
        403, b'{"error": {"code": 403, "message": "Required compute.machineTypes.list", "status": "PERMISSION_DENIED"}}'
    )
    with pytest.raises(TerminalSourceError, match=r"Required compute\.machineTypes\.list"):
        read(server)
    finding = check_machines(Deadline(5, source="gcp"), server.url, "a-project")
    assert finding.state == "failed"
    assert "Required compute.machineTypes.list" in finding.detail


def test_check_of_a_readable_project_is_ok(server):
    assert check_machines(Deadline(5, source="gcp"), server.url, "a-project").state == "ok"


def test_the_packaged_table_knows_every_type_it_offers_and_no_phantoms():
    machines = packaged_machines()
    assert set(machines.offerings["instance_type"]) <= set(machines.shapes["instance_type"])
    a2_regions = machines.offerings.filter(pl.col("instance_type") == "a2-highgpu-1g")["region"]
    assert "europe-west4" in a2_regions
    assert "europe-west2" not in a2_regions
    assert not machines.offerings.is_duplicated().any()
