"""Names for Kubernetes from any text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.emit.names import dns_label, dns_subdomain, file_name, label_key, label_value
from recommender.emit_settings import EmitSettings

# Kubernetes, apimachinery/pkg/util/validation: IsDNS1123Label, IsDNS1123Subdomain, IsValidLabelValue.
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

texts = st.text(max_size=300)


def test_a_name_that_is_legal_stands_as_it_is() -> None:
    assert dns_label("eks-lon") == "eks-lon"
    assert dns_subdomain("eks-lon.shop.web") == "eks-lon.shop.web"
    assert dns_subdomain("eks-lon", "shop", "web") == "eks-lon.shop.web"
    assert label_value("NVIDIA-H100_80GB") == "NVIDIA-H100_80GB"
    assert label_value("") == ""


def test_a_name_that_had_to_be_changed_ends_in_a_hash_of_the_whole_text() -> None:
    assert re.fullmatch(r"nhs-imaging-[0-9a-f]{8}", dns_label("NHS imaging"))
    assert re.fullmatch(r"x-[0-9a-f]{8}", dns_label("£££"))
    long = "a" * 100
    assert re.fullmatch(r"a{54}-[0-9a-f]{8}", dns_label(long))
    assert dns_label(long) != dns_label(long + "a")
    assert dns_label("Web") != dns_label("web")


def test_parts_that_read_alike_when_joined_keep_different_names() -> None:
    assert dns_label("a-b", "c") != dns_label("a", "b-c")
    assert dns_subdomain("a.b", "c") != dns_subdomain("a", "b.c")
    assert dns_label("a", "b") == "a-b"


def test_a_file_name_cannot_leave_its_folder() -> None:
    assert "/" not in file_name("../../etc/passwd", ending="yaml")
    assert file_name("web", ending="json") == "web.json"
    assert len(file_name("a" * 400, ending="rollback.yaml")) < 255


def test_keys_stand_under_the_prefix_of_the_settings() -> None:
    assert label_key(EmitSettings(), "jurisdiction") == "tuppence.internal/jurisdiction"
    assert label_key(EmitSettings(label_prefix="finops.example.org"), "tier") == "finops.example.org/tier"


@given(texts)
def test_every_text_gives_names_that_kubernetes_takes(text: str) -> None:
    label, subdomain, value = dns_label(text), dns_subdomain(text, text), label_value(text)
    assert LABEL.fullmatch(label)
    assert len(label) <= 63
    assert SUBDOMAIN.fullmatch(subdomain)
    assert len(subdomain) <= 253
    assert VALUE.fullmatch(value)
    assert len(value) <= 63


@given(texts, texts)
def test_two_texts_never_share_a_name(one: str, other: str) -> None:
    for named in (dns_label, dns_subdomain, label_value):
        assert (named(one) == named(other)) == (one == other)


@pytest.mark.parametrize("prefix", ["", "Upper", "a_b", "-a", "a..b", "a/b", "a" * 201])
def test_a_prefix_that_is_no_dns_name_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="label_prefix"):
        EmitSettings(label_prefix=prefix)
