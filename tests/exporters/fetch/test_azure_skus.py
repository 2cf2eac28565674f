"""Sizes of a subscription through the real SDK over TLS, and what `tuppence check` says of it all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.core.errors import (
    IntegrityError,
    MissingExtraError,
    SettingsError,
    TerminalSourceError,
    TransientSourceError,
)
from exporters.fetch.azure import AzureSettings, check, fetch
from tests.fakes.azure import Answer, FakeAzure, fake_azure, sku, vm
from tests.fakes.azure import azure_request as request
from tests.fakes.azure import azure_settings as settings

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
PRICES = [vm("D4s_v5", 0.222)]


SIZES = [
    [
        sku("Standard_D4s_v5", vCPUs="4", MemoryGB="16", CpuArchitectureType="x64"),
        sku("Standard_E16-4s_v5", vCPUs="16", vCPUsAvailable="4", MemoryGB="128", CpuArchitectureType="x64"),
        sku("Standard_NV6ads_A10_v5", vCPUs="6", MemoryGB="55", GPUs="1", CpuArchitectureType="x64"),
        sku("Premium_LRS", resource_type="disks", MaxSizeGiB="4"),
        sku("Basic_A0", vCPUs="1", MemoryGB="0.75"),
    ],
    [
        sku("Standard_D2ps_v5", region="UKSouth", vCPUs="2", MemoryGB="8", CpuArchitectureType="Arm64"),
        sku("Standard_ND128isr_NDR_GB200_v6", vCPUs="128", MemoryGB="900", CpuArchitectureType="Arm64"),
        sku("Standard_ND96isr_MI300X_v5", vCPUs="96", MemoryGB="1850", CpuArchitectureType="x64"),
        sku("Standard_NX9s_v9", vCPUs="9", MemoryGB="9", GPUs="1"),
        sku("Standard_D4s_v5", region="westus3", vCPUs="5", MemoryGB="5"),
        sku("Standard_Broken_v1", vCPUs="many", MemoryGB="9"),
    ],
]


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAzure]:
    with fake_azure(PRICES, skus=SIZES) as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


def arm_error(status: int, code: str) -> Answer:
    return Answer(status, {"error": {"code": code, "message": code}})


def with_subscription(fake: FakeAzure, tmp_path: Path, **changes: object) -> AzureSettings:
    return settings(fake, subscription_id=SUBSCRIPTION, ca_file=fake.write_ca(tmp_path), **changes)


class TestShapesOfASubscription:
    def shapes(self, azure: FakeAzure, tmp_path: Path) -> dict[str, dict[str, object]]:
        fetched = fetch(with_subscription(azure, tmp_path), request(tmp_path))
        return {row["instance_type"]: row for row in fetched.frames["shapes"].collect().iter_rows(named=True)}

    def test_every_page_of_machine_sizes_of_the_region_arrives(self, azure, tmp_path):
        assert set(self.shapes(azure, tmp_path)) == {
            "Standard_D4s_v5", "Standard_E16-4s_v5", "Standard_NV6ads_A10_v5", "Standard_D2ps_v5",
            "Standard_ND128isr_NDR_GB200_v6", "Standard_ND96isr_MI300X_v5", "Standard_NX9s_v9",
        }  # fmt: skip
        assert any(call.query.get("$filter") == "location eq 'uksouth'" for call in azure.calls)

    def test_sizes_have_usable_cores_parts_of_gpus_and_architecture(self, azure, tmp_path):
        shapes = self.shapes(azure, tmp_path)
        constrained, part = shapes["Standard_E16-4s_v5"], shapes["Standard_NV6ads_A10_v5"]
        assert (constrained["vcpus"], constrained["memory_gib"]) == (4, 128)
        assert (part["gpu_model"], part["gpus"]) == ("A10", pytest.approx(1 / 6))
        assert shapes["Standard_D2ps_v5"]["architecture"] == "arm64"
        assert shapes["Standard_D4s_v5"]["shape_source"] == "api"

    def test_gpus_that_the_list_forgets_come_from_the_table(self, azure, tmp_path):
        shapes = self.shapes(azure, tmp_path)
        devices = {name: (row["gpu_model"], row["gpus"]) for name, row in shapes.items()}
        assert devices["Standard_ND128isr_NDR_GB200_v6"] == ("GB200", 4)
        assert devices["Standard_ND96isr_MI300X_v5"] == ("MI300X", 8)

    def test_a_gpu_of_unknown_model_is_not_named(self, azure, tmp_path):
        assert self.shapes(azure, tmp_path)["Standard_NX9s_v9"]["gpu_model"] is None

    @pytest.mark.parametrize(
        ("answer", "kind", "words"),
        [
            (arm_error(403, "AuthorizationFailed"), TerminalSourceError, "role Reader"),
            (arm_error(404, "SubscriptionNotFound"), TerminalSourceError, "Subscription"),
            (arm_error(401, "ExpiredAuthenticationToken"), TerminalSourceError, "signing in"),
            (
                Answer(body="<html>", headers={"content-type": "text/html"}),
                TransientSourceError,
                "not the expected JSON",
            ),
            (Answer(body='{"value": [{"na'), TransientSourceError, "cut off"),
            (Answer(body=[1, 2]), TransientSourceError, "not the expected JSON"),
            (Answer(body={"value": []}), IntegrityError, "uksouth"),
        ],
        ids=["forbidden", "no subscription", "expired token", "html", "truncated", "other json", "no sizes"],
    )
    def test_what_is_not_the_list_of_sizes_fails_the_refresh(self, azure, tmp_path, answer, kind, words):
        azure.fail(answer, when=lambda call: call.path.endswith("/skus"))
        with pytest.raises(kind, match=words):
            fetch(with_subscription(azure, tmp_path), request(tmp_path))

    def test_a_throttled_page_of_sizes_is_tried_again(self, azure, tmp_path):
        azure.fail(Answer(429, headers={"retry-after": "0.05"}), when=lambda call: call.path.endswith("/skus"), times=2)
        assert len(self.shapes(azure, tmp_path)) == 7

    def test_a_throttle_that_lasts_is_transient(self, azure, tmp_path):
        azure.fail(Answer(429, headers={"retry-after": "0.05"}), when=lambda call: call.path.endswith("/skus"))
        with pytest.raises(TransientSourceError, match="sizes was not given"):
            fetch(with_subscription(azure, tmp_path), request(tmp_path))

    def test_a_next_link_to_another_host_never_gets_the_token(self, azure, tmp_path):
        with fake_azure([]) as stranger:
            azure.next_sku_link = f"{stranger.management_url}/steal"
            with pytest.raises(IntegrityError, match="lies elsewhere"):
                fetch(with_subscription(azure, tmp_path), request(tmp_path))
            assert stranger.calls == []

    def test_a_token_is_never_sent_over_plain_http(self, azure, tmp_path):
        with pytest.raises(SettingsError, match="management_endpoint"):
            fetch(with_subscription(azure, tmp_path, management_endpoint=azure.retail_url), request(tmp_path))
        assert not any("authorization" in call.headers for call in azure.calls)

    def test_no_credentials_are_a_clear_error(self, azure, tmp_path, monkeypatch):
        monkeypatch.setenv("IDENTITY_HEADER", "wrong")
        with pytest.raises(TerminalSourceError, match="AZURE_CLIENT_ID"):
            fetch(with_subscription(azure, tmp_path), request(tmp_path))

    def test_an_untrusted_certificate_is_refused(self, azure, tmp_path):
        with pytest.raises(TransientSourceError, match="ca_file"):
            fetch(settings(azure, subscription_id=SUBSCRIPTION), request(tmp_path, seconds=1))

    def test_without_the_sdk_the_extra_is_named(self, azure, tmp_path, monkeypatch):
        for module in [name for name in sys.modules if name.startswith("exporters.fetch.azure_skus")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.delattr("exporters.fetch.azure_skus", raising=False)
        monkeypatch.setitem(sys.modules, "azure.mgmt.compute", None)
        with pytest.raises(MissingExtraError, match=r"tuppence\[azure\]"):
            fetch(with_subscription(azure, tmp_path), request(tmp_path))


class TestChecking:
    def states(self, given: AzureSettings, tmp_path: Path, seconds: float = 5) -> list[tuple[str, str]]:
        return [(finding.state, finding.detail) for finding in check(given, request(tmp_path, seconds=seconds))]

    def test_all_is_well_with_a_subscription(self, azure, tmp_path):
        assert [state for state, _ in self.states(with_subscription(azure, tmp_path), tmp_path)] == ["ok", "ok"]

    def test_no_subscription_is_a_warning(self, azure, tmp_path):
        assert self.states(settings(azure), tmp_path)[1] == (
            "warning",
            "no subscription is named, so shapes come from the packaged table",
        )

    def test_a_refused_subscription_is_a_failure_with_the_next_step(self, azure, tmp_path):
        azure.fail(arm_error(403, "AuthorizationFailed"), when=lambda call: "skus" in call.path)
        finding = check(with_subscription(azure, tmp_path), request(tmp_path))[1]
        assert finding.state == "failed"
        assert "role Reader" in finding.next_step

    def test_an_unreachable_list_is_a_failure(self, tmp_path):
        with fake_azure(PRICES) as fake:
            gone = settings(fake)
        assert self.states(gone, tmp_path, seconds=0.3)[0][0] == "failed"

    def test_a_region_that_the_list_does_not_know_is_a_warning(self, tmp_path):
        with fake_azure(PRICES) as fake:
            assert self.states(settings(fake, regions=("atlantis",)), tmp_path)[0][0] == "warning"

    def test_no_region_is_a_failure(self, tmp_path):
        finding = check(AzureSettings(jurisdictions=("XX",)), request(tmp_path))[0]
        assert (finding.subject, finding.state) == ("regions", "failed")
