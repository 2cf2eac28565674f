"""Where scores were written is found again: the newest row of each hub and name, from a ledger of any version."""

from __future__ import annotations

from datetime import timedelta

from recommender.ledger.publications import Publication
from recommender.ledger.store import Ledger, Reader
from tests.builders import NOON


def publish(ledger: Ledger, *namespaces: str, name: str = "finops", hub: str = "https://hub") -> None:
    def one(reader: Reader) -> list[Publication]:
        number = reader.next_publication()
        listed = "[" + ", ".join(f'"{namespace}"' for namespace in namespaces) + "]"
        return [Publication(number, NOON + timedelta(hours=number), hub, name, listed)]

    ledger.publish(one)


def test_the_newest_of_each_hub_and_name_counts(ledger: Ledger) -> None:
    publish(ledger, "eks-lon")
    publish(ledger, "eks-lon", "gke-bel", name="finops-shadow")
    publish(ledger, "eks-lon", "onprem-lon")
    publish(ledger, "eks-lon", hub="https://other")
    with ledger.reading() as reader:
        found = reader.publications()
    assert {key: one.namespaces for key, one in found.items()} == {
        ("https://hub", "finops"): '["eks-lon", "onprem-lon"]',
        ("https://hub", "finops-shadow"): '["eks-lon", "gke-bel"]',
        ("https://other", "finops"): '["eks-lon"]',
    }
    assert found["https://hub", "finops"].at == NOON + timedelta(hours=3)


def test_a_ledger_that_is_not_there_knows_of_none(ledger: Ledger) -> None:
    with ledger.reading() as reader:
        assert reader.publications() == {}
        assert reader.next_publication() == 1
