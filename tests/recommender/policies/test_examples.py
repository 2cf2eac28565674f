"""The example policies can be used as they are, and say on what each class rests."""

from __future__ import annotations

from pathlib import Path

import pytest

import recommender
from exporters.core.config_file import read_document, validate
from exporters.core.geography import regions
from recommender.settings import Policy
from tests.recommender.world import BELGIUM, GENERAL, METAL, SPOT, plan, pools, workload

FOLDER = Path(recommender.__file__).parent / "policies"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
PAGE = Path(recommender.__file__).parents[1] / "docs" / "how-to" / "policy.md"


def policy_in(file: Path) -> Policy:
    return validate(read_document(file), Policy, known=frozenset(Policy.model_fields))


def test_there_is_one_for_uk_gdpr_one_for_the_fca_and_one_for_the_nhs() -> None:
    assert [file.stem for file in EXAMPLES] == ["fca", "nhs-dspt", "uk-gdpr"]
    page = PAGE.read_text(encoding="utf-8")
    assert all(file.name in page for file in EXAMPLES)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_class_says_on_what_it_rests_and_names_jurisdictions_that_exist(file: Path) -> None:
    known = set(regions()["jurisdiction"])
    made = policy_in(file)
    assert "not legal advice" in file.read_text(encoding="utf-8").splitlines()[0]
    for one in made.classes.values():
        assert one.legal_basis
        assert known.issuperset(one.residency)
    assert {rule.set.residency_class for rule in made.rules} == set(made.classes)


@pytest.mark.parametrize(
    ("name", "residency_class", "basis"),
    [
        ("uk-gdpr", "special-category", "UK GDPR Art. 9"),
        ("fca", "important-business-service", "FCA SYSC 15A"),
        ("nhs-dspt", "patient-identifiable", "NHS DSPT"),
    ],
)
def test_a_cheaper_place_abroad_is_refused_with_the_legal_basis(name: str, residency_class: str, basis: str) -> None:
    made = plan(
        workload(residency_class=residency_class),
        pools=pools(GENERAL, BELGIUM),
        policy=policy_in(FOLDER / f"{name}.yaml"),
    )
    [refusal] = [one for one in made.refused if one.rule == "residency"]
    assert refusal.cluster == "gke-bel"
    assert refusal.legal_basis is not None
    assert refusal.legal_basis.startswith(basis)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_no_class_that_names_jurisdictions_goes_where_the_jurisdiction_is_not_known(file: Path) -> None:
    nowhere = BELGIUM | {"jurisdiction": ""}
    made = policy_in(file)
    for name, one in made.classes.items():
        if one.residency:
            stays = plan(workload(residency_class=name), pools=pools(GENERAL, SPOT, METAL, nowhere), policy=made)
            assert "gke-bel" not in {advice.recommended.cluster for advice in stays.recommendations}
