"""What may be written: the lower of the setting and the approval, and no more than the approval covered."""

from __future__ import annotations

import pytest

from recommender.emit.live.modes import Allowed, Mode, allowed, approval
from recommender.emit_settings import HubSettings
from tests.builders import NOON

HUB = HubSettings(pilot_namespaces=("eks-lon",))


def force(setting: Mode, *approved: Mode, hub: HubSettings = HUB, then: HubSettings | None = None) -> Allowed:
    given = [approval(number, mode, hub, at=NOON, author="ann", reason="") for number, mode in enumerate(approved, 1)]
    return allowed(setting, then or hub, given)


@pytest.mark.parametrize("setting", list(Mode))
def test_nothing_is_allowed_that_nobody_approved(setting: Mode) -> None:
    found = force(setting)
    assert (found.mode, found.name) == (Mode.RECOMMEND, None)
    assert not found.covers("finops", "eks-lon")


@pytest.mark.parametrize("setting", list(Mode))
@pytest.mark.parametrize("approved", list(Mode))
def test_the_lower_of_the_two_is_in_force(setting: Mode, approved: Mode) -> None:
    assert force(setting, approved).mode is min(setting, approved)


def test_the_last_approval_counts() -> None:
    assert force(Mode.PUBLISH, Mode.PUBLISH, Mode.SHADOW).mode is Mode.SHADOW
    assert force(Mode.PUBLISH, Mode.RECOMMEND, Mode.PUBLISH).mode is Mode.PUBLISH


def test_a_shadow_writes_its_own_name_only() -> None:
    found = force(Mode.SHADOW, Mode.SHADOW)
    assert found.covers("finops-shadow", "anywhere")
    assert not found.covers("finops", "anywhere")


def test_a_pilot_writes_in_its_namespaces_only() -> None:
    found = force(Mode.PILOT, Mode.PILOT)
    assert found.covers("finops", "eks-lon")
    assert not found.covers("finops", "gke-bel")


def test_an_approval_does_not_cover_what_was_listed_later() -> None:
    more = HubSettings(pilot_namespaces=("eks-lon", "gke-bel"))
    found = force(Mode.PILOT, Mode.PILOT, then=more)
    assert found.namespaces == {"eks-lon"}
    assert found.missing == "not approved: gke-bel: tuppence mode set pilot"


def test_who_approved_all_clusters_approved_each() -> None:
    more = HubSettings(pilot_namespaces=("eks-lon", "gke-bel"))
    assert force(Mode.PILOT, Mode.PUBLISH, then=more).namespaces == {"eks-lon", "gke-bel"}


def test_an_approval_does_not_cover_another_name() -> None:
    found = force(Mode.PUBLISH, Mode.PUBLISH, then=HubSettings(score_name="money"))
    assert (found.mode, found.name) == (Mode.RECOMMEND, None)
    assert found.missing == "money is not a name that was approved: tuppence mode set publish"


def test_a_word_that_is_no_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="'auto' is not a mode"):
        Mode.of("auto")


def test_a_pilot_without_namespaces_writes_nothing_and_says_so() -> None:
    found = force(Mode.PILOT, Mode.PILOT, hub=HubSettings())
    assert (found.mode, found.name) == (Mode.RECOMMEND, None)
    assert found.missing == "namespaces of the hub in emit.hub.pilot_namespaces"
