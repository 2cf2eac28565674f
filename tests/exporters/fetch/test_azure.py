"""Azure's lists over a real connection: whole, in the currency asked, exact to the last digit, or an error."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import polars as pl
import pytest

from exporters.core.errors import (
    IntegrityError,
    SettingsError,
    TerminalSourceError,
    TransientSourceError,
)
from exporters.fetch.azure import SOURCE, AzureSettings, fetch
from exporters.fetch.azure_currencies import METER_KEY, require_same_meters
from exporters.fetch.azure_retail import Query, Retail, read_list
from exporters.fetch.contract import Fetched, FetchRequest
from exporters.fetch.deadline import Deadline
from exporters.normalise.chosen import Filters
from exporters.normalise.row_rules.azure import choose
from tests.fakes.azure import (
    Answer,
    Call,
    FakeAzure,
    Row,
    bandwidth,
    fake_azure,
    vm,
    zone_1_ladder,
)
from tests.fakes.azure import azure_request as request
from tests.fakes.azure import azure_settings as settings

TWELVE_SIZES = [vm(f"D{2 * n}s_v5", 0.0555 * 2 * n) for n in range(1, 13)]


def machines(fetched: Fetched, frame: str = "vm_usd") -> pl.DataFrame:
    return fetched.frames[frame].collect()


def is_machine_page(number: int, currency: str = "USD", size: int = 5):
    """Calls for one page of the machine list."""

    def matches(call: Call) -> bool:
        of_machines = "Virtual Machines" in call.query.get("$filter", "")
        return of_machines and call.currency == currency and call.skip == (number - 1) * size

    return matches


class TestReadingEveryPage:
    def test_every_page_of_both_currencies_arrives(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fetched = fetch(settings(fake), request(tmp_path))
        assert machines(fetched)["instance_type"].n_unique() == 12
        assert machines(fetched, "vm_gbp")["currency"].unique().to_list() == ["GBP"]
        assert machines(fetched, "vm_gbp").height == 12

    def test_the_query_is_the_documented_one(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fetch(settings(fake), request(tmp_path))
            first = next(call for call in fake.calls if is_machine_page(1, "GBP")(call))
        assert first.query == {
            "api-version": "2023-01-01-preview",
            "currencyCode": "'GBP'",
            "$filter": "serviceName eq 'Virtual Machines' and armRegionName eq 'uksouth' "
            "and priceType eq 'Consumption'",
        }

    def test_prices_keep_the_digits_that_were_sent(self, tmp_path: Path):
        page = (
            '{"BillingCurrency":"USD","Count":2,"NextPageLink":null,"Items":['
            '{"currencyCode":"USD","armRegionName":"uksouth","meterId":"a","retailPrice":0.1234567890123},'
            '{"currencyCode":"USD","armRegionName":"uksouth","meterId":"b","retailPrice":1.5e-05}]}'
        )
        with fake_azure(TWELVE_SIZES) as fake:
            for currency in ("USD", "GBP"):
                fake.fail(Answer(body=page.replace("USD", currency)), when=is_machine_page(1, currency))
            fetched = fetch(settings(fake), request(tmp_path))
        assert machines(fetched)["retail_price"].to_list() == ["0.1234567890123", "0.000015"]

    def test_links_with_the_default_port_written_out_are_followed_verbatim(self, tmp_path: Path):
        class ToFake(httpx2.HTTPTransport):
            """Carries requests for prices.azure.com to the fake, as a resolver would."""

            def handle_request(self, sent: httpx2.Request) -> httpx2.Response:
                followed.append(str(sent.url))
                sent.url = httpx2.URL(fake.retail_url).copy_with(raw_path=sent.url.raw_path)
                return super().handle_request(sent)

        followed: list[str] = []
        with fake_azure(TWELVE_SIZES) as fake, httpx2.Client(transport=ToFake()) as session:
            fake.public_url = "https://prices.azure.com:443"
            retail = Retail(session, "https://prices.azure.com", Deadline(10, source="azure"))
            rows = read_list(retail, Query("vm_usd", "uksouth", "USD", "armRegionName eq 'uksouth'"))
        assert rows.height == 12
        assert followed[1].startswith("https://prices.azure.com")
        assert followed[1].endswith("%24skip=5") or followed[1].endswith("$skip=5")

    def test_reservations_are_read_only_when_committed_prices_are_wanted(self, tmp_path: Path):
        rows = [*TWELVE_SIZES, vm("D4s_v5", 1288.0, type="Reservation", reservationTerm="1 Year")]
        with fake_azure(rows) as fake:
            without = fetch(settings(fake), request(tmp_path))
            with_them = fetch(settings(fake), request(tmp_path, capacity_types=("on-demand", "committed-1y")))
        assert machines(without)["price_type"].unique().to_list() == ["Consumption"]
        assert machines(with_them)["price_type"].unique().sort().to_list() == ["Consumption", "Reservation"]

    def test_progress_counts_up_to_the_end(self, tmp_path: Path):
        steps: list[tuple[int, int | None]] = []
        asked = request(tmp_path)
        watched = FetchRequest(
            asked.now, tmp_path, asked.deadline, progress=lambda step, *, done, total: steps.append((done, total))
        )
        with fake_azure(TWELVE_SIZES) as fake:
            fetch(settings(fake), watched)
        assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
        assert steps[-1][0] == steps[-1][1]


class TestAnswersThatAreNotWhole:
    def refused(
        self, tmp_path: Path, fake: FakeAzure, kind: type[Exception], words: str, *, seconds: float = 20
    ) -> None:
        with pytest.raises(kind, match=words):
            fetch(settings(fake), request(tmp_path, seconds=seconds))

    @pytest.mark.parametrize(
        ("answer", "kind", "words"),
        [
            (Answer(body="<!DOCTYPE html>", headers={"content-type": "text/html"}), TerminalSourceError, "web page"),
            (Answer(body="<html>no type</html>"), TerminalSourceError, "web page"),
            (Answer(body='{"BillingCurrency":"USD","Items":[{"currencyCode":"U'), TransientSourceError, "cut off"),
            (Answer(body=""), TransientSourceError, "0 bytes"),
            (Answer(body={"error": "nothing"}), TerminalSourceError, "not a page"),
            (Answer(body={"Items": [], "Count": 0, "BillingCurrency": "USD"}), TerminalSourceError, "not a page"),
            (Answer(403, "blocked"), TerminalSourceError, "403"),
            (Answer(302, headers={"location": "https://elsewhere.example"}), TerminalSourceError, "302"),
        ],
        ids=["html", "html without a type", "truncated", "empty", "other json", "no link field", "403", "redirect"],
    )  # fmt: skip
    def test_a_body_that_is_not_a_page_is_refused(self, tmp_path, answer, kind, words):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(answer, when=is_machine_page(2))
            self.refused(tmp_path, fake, kind, words)

    def test_a_page_that_fails_half_way_is_tried_again(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(Answer(500), when=is_machine_page(2), times=2)
            assert machines(fetch(settings(fake), request(tmp_path))).height == 12

    def test_a_page_that_keeps_failing_fails_the_refresh(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(Answer(503), when=is_machine_page(2))
            self.refused(tmp_path, fake, TransientSourceError, "503", seconds=1)

    def test_one_region_that_fails_fails_all(self, tmp_path: Path):
        rows = [*TWELVE_SIZES, vm("D4s_v5", 0.23, region="ukwest")]
        with fake_azure(rows) as fake:
            fake.fail(Answer(404), when=lambda call: "'ukwest'" in call.query.get("$filter", ""))
            with pytest.raises(TerminalSourceError, match="404"):
                fetch(settings(fake, regions=("uksouth", "ukwest")), request(tmp_path))

    def test_a_throttle_that_names_a_time_is_obeyed(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(Answer(429, headers={"retry-after": "0.3"}), when=is_machine_page(1), times=1)
            began = datetime.now(UTC)
            fetched = fetch(settings(fake), request(tmp_path))
        assert machines(fetched).height == 12
        assert datetime.now(UTC) - began >= timedelta(seconds=0.3)

    def test_a_throttle_without_a_time_is_tried_again(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(Answer(429), when=is_machine_page(1), times=2)
            assert machines(fetch(settings(fake), request(tmp_path))).height == 12

    def test_a_throttle_beyond_the_deadline_is_not_waited_for(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(Answer(429, headers={"retry-after": "30"}), when=is_machine_page(1))
            began = datetime.now(UTC)
            self.refused(tmp_path, fake, TransientSourceError, "throttling", seconds=5)
        assert datetime.now(UTC) - began < timedelta(seconds=5)

    def test_a_deadline_that_has_passed_ends_the_refresh(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            self.refused(tmp_path, fake, TransientSourceError, "deadline", seconds=-1)

    def test_a_server_that_is_gone_is_transient(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            gone = settings(fake)
        with pytest.raises(TransientSourceError, match="connection failed"):
            fetch(gone, request(tmp_path, seconds=0.3))


class TestAListThatEndsEarly:
    """A last page's next link is null; one that is lost in the middle looks the same."""

    @pytest.mark.parametrize(
        ("currency", "words"),
        [
            ("USD", "2 meters stand only in its 12 in USD, 0 only in its 10 in GBP"),
            ("GBP", "0 meters stand only in its 10 in USD, 2 only in its 12 in GBP"),
        ],
    )
    def test_a_next_link_lost_in_one_currency_is_noticed(self, tmp_path: Path, currency: str, words: str):
        other = {"USD": "GBP", "GBP": "USD"}[currency]
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(self.second_page_without_a_link(other), when=is_machine_page(2, other))
            with pytest.raises(IntegrityError, match=f"azure region uksouth: .*{words}"):
                fetch(settings(fake), request(tmp_path))

    def second_page_without_a_link(self, currency: str) -> Answer:
        rows = [row | {"currencyCode": currency} for row in TWELVE_SIZES[5:10]]
        return Answer(body={"BillingCurrency": currency, "Items": rows, "NextPageLink": None, "Count": 5})

    @pytest.mark.parametrize("missing", [0, 1, 2])
    def test_a_meter_in_a_hundred_may_come_between_the_two_readings(self, missing: int):
        pounds = pl.DataFrame({name: [f"{name} {number}" for number in range(100)] for name in METER_KEY})
        dollars = pounds.slice(missing)
        if missing <= 1:
            require_same_meters(dollars, pounds, where="azure region uksouth")
        else:
            with pytest.raises(IntegrityError, match="2 only in its 100 in GBP"):
                require_same_meters(dollars, pounds, where="azure region uksouth")


class TestAnswersThatContradict:
    def page(self, rows: list[Row], **changes: object) -> Answer:
        return Answer(
            body={"BillingCurrency": "USD", "Items": rows, "NextPageLink": None, "Count": len(rows)} | changes
        )

    @pytest.mark.parametrize(
        ("rows", "changes", "words"),
        [
            ([TWELVE_SIZES[0]], {"Count": 2}, "Count 2 and holds 1"),
            ([TWELVE_SIZES[0]], {"BillingCurrency": "EUR"}, "asked for USD, the answer holds EUR, USD"),
            ([vm("D4s_v5", 0.2, currencyCode="EUR"), TWELVE_SIZES[0]], {}, "holds EUR, USD"),
            ([vm("D4s_v5", 0.2, region="westus")], {}, "another region"),
            ([], {}, "no USD row"),
            ([TWELVE_SIZES[0]], {"NextPageLink": "https://evil.example/api/retail/prices?$skip=5"}, "lies elsewhere"),
            ([TWELVE_SIZES[0]], {"NextPageLink": "http://prices.azure.com/api/retail/prices"}, "lies elsewhere"),
            ([TWELVE_SIZES[0]], {"NextPageLink": 7}, "lies elsewhere"),
            ([TWELVE_SIZES[0]], {"NextPageLink": "http://127.0.0.1:bad/api/retail/prices"}, "lies elsewhere"),
        ],
        ids=["count", "currency", "mixed", "region", "empty region", "host", "scheme", "no text", "bad port"],
    )  # fmt: skip
    def test_a_page_that_contradicts_the_question_is_refused(self, tmp_path, rows, changes, words):
        with fake_azure(TWELVE_SIZES) as fake:
            fake.fail(self.page(rows, **changes), when=is_machine_page(1))
            with pytest.raises(IntegrityError, match=words):
                fetch(settings(fake), request(tmp_path))

    def test_an_error_about_a_region_names_it(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake, pytest.raises(IntegrityError, match="UKSouth"):
            fetch(settings(fake, regions=("UKSouth",)), request(tmp_path))

    def test_pages_that_lead_in_a_circle_are_noticed(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            link = f"{fake.retail_url}/api/retail/prices?currencyCode='USD'&$filter=serviceName eq 'Virtual Machines'"
            fake.fail(self.page(TWELVE_SIZES[:1], NextPageLink=link), when=is_machine_page(1))
            with pytest.raises(IntegrityError, match="circle"):
                fetch(settings(fake), request(tmp_path))

    def test_a_list_that_shifted_under_paging_is_read_again(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            machines_only = "$filter=serviceName eq 'Virtual Machines'"
            link = f"{fake.retail_url}/api/retail/prices?currencyCode='USD'&$skip=10&{machines_only}"
            fake.fail(self.page(TWELVE_SIZES[4:9], NextPageLink=link), when=is_machine_page(2), times=1)
            rows = machines(fetch(settings(fake), request(tmp_path)))
        assert rows["instance_type"].sort().to_list() == sorted(row["armSkuName"] for row in TWELVE_SIZES)

    def test_rows_that_always_stand_twice_are_kept_once(self, tmp_path: Path):
        with fake_azure([*TWELVE_SIZES, TWELVE_SIZES[0]]) as fake:
            assert machines(fetch(settings(fake), request(tmp_path))).height == 12

    def test_a_list_that_never_stands_still_is_given_up(self, tmp_path: Path):
        with fake_azure(TWELVE_SIZES) as fake:
            for twice in range(3):
                fake.fail(self.page([TWELVE_SIZES[twice], TWELVE_SIZES[twice]]), when=is_machine_page(1), times=1)
            with pytest.raises(TransientSourceError, match="shifted"):
                fetch(settings(fake), request(tmp_path))


class TestSettings:
    def test_plain_http_to_another_machine_is_refused(self, tmp_path: Path):
        plain = AzureSettings(regions=("uksouth",), retail_endpoint="http://prices.azure.com")
        with pytest.raises(SettingsError, match="retail_endpoint"):
            fetch(plain, request(tmp_path))

    @pytest.mark.parametrize("changes", [{"jurisdictions": ("XX",)}, {"regions": ("uk'south",)}])
    def test_no_region_or_a_quoted_one_is_a_settings_error(self, tmp_path: Path, changes):
        with pytest.raises(SettingsError, match=r"sources\.azure\.regions"):
            fetch(AzureSettings.model_validate(changes), request(tmp_path))

    def test_a_ca_bundle_that_is_missing_or_empty_is_a_settings_error(self, tmp_path: Path):
        (tmp_path / "empty.pem").write_text("no certificate")
        with fake_azure(TWELVE_SIZES) as fake:
            for name in ("absent.pem", "empty.pem"):
                with pytest.raises(SettingsError, match=rf"ca_file.*{name}"):
                    fetch(settings(fake, ca_file=str(tmp_path / name)), request(tmp_path))

    def test_an_override_must_say_why(self):
        with pytest.raises(ValueError, match="note"):
            AzureSettings.model_validate({"egress_overrides": [{"destination": "zone", "price_per_gib": "0"}]})

    def test_the_source_needs_no_extra_for_prices_and_is_stood_in_for(self):
        assert (SOURCE.name, SOURCE.extra, SOURCE.packaged) == ("azure", None, True)


class TestPackagedShapes:
    def test_without_a_subscription_the_packaged_table_serves_and_says_so(self, tmp_path):
        with fake_azure(TWELVE_SIZES) as fake:
            shapes = fetch(settings(fake), request(tmp_path)).frames["shapes"].collect()
        row = shapes.row(by_predicate=pl.col("instance_type") == "Standard_D4s_v5", named=True)
        assert (row["vcpus"], row["memory_gib"], row["family"], row["generation"]) == (4, 16, "Dsv5", "sv5")
        assert shapes["shape_source"].unique().to_list() == ["packaged"]

    def test_cards_that_the_table_leaves_out_are_read_from_the_name(self, tmp_path):
        with fake_azure(TWELVE_SIZES) as fake:
            shapes = fetch(settings(fake), request(tmp_path)).frames["shapes"].collect()
        devices = shapes.filter(pl.col("instance_type").is_in(["Standard_NP20s", "Standard_NCC40ads_H100_v5"])).sort(
            "family"
        )
        assert devices.select("gpu_model", "gpus", "accelerator_model", "accelerators").rows() == [
            ("H100", 1, "", 0),
            ("", 0, "Alveo-U250", 2),
        ]


class TestTheWholeWay:
    def test_a_known_list_price_comes_out_to_the_last_digit(self, tmp_path):
        rows = [
            vm("D4s_v5", 0.222),
            vm("D4s_v5", 0.406, productName="Virtual Machines Dsv5 Series Windows"),
            *zone_1_ladder(),
            bandwidth("Standard Inter-Region Data Transfer", 0.02),
        ]
        with fake_azure(rows) as fake:
            chosen = choose(fetch(settings(fake), request(tmp_path)), Filters(operating_systems=("linux",)))
        price = chosen.prices.row(0, named=True)
        assert (price["instance_type"], str(price["price_per_hour"]), price["currency"]) == (
            "Standard_D4s_v5",
            "0.222000000000",
            "USD",
        )
        assert price["provider_gbp_per_hour"] == 0.1776
        assert chosen.egress.filter(pl.col("destination") == "internet").height == 6
