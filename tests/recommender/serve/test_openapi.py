"""The API against its own OpenAPI document: the file is up to date, and whatever is sent is answered as it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from exporters.core.clock import FixedClock
from recommender.ledger.store import Ledger
from recommender.serve.app import Recommender, create_app
from recommender.serve.last_plan import LastPlan
from recommender.serve.openapi import document
from recommender.settings import LedgerSettings, RecommenderSettings, RecommenderWebSettings
from tests.builders import NOON
from tests.recommender.report.example import example_plan
from tests.recommender.serve.conftest import propose

FILE = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]


def test_the_document_among_the_docs_is_that_of_the_api() -> None:
    assert FILE.read_text(encoding="utf-8") == document(), (
        "run: python -m recommender.serve.openapi > docs/reference/openapi.json"
    )


def test_it_is_openapi_3_1_and_every_answer_has_a_model() -> None:
    told = json.loads(document())
    assert told["openapi"].startswith("3.1.")
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            for code, answer in operation["responses"].items():
                assert code == "304" or answer["content"]["application/json"]["schema"], (path, method, code)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> BaseSchema:
    """The real application with the example plan and a ledger, in which whoever asks may decide."""
    made = RecommenderSettings(
        ledger=LedgerSettings(url=str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")),
        recommender_web=RecommenderWebSettings(decide_without_login=True),
    )
    propose(Ledger.at(made.ledger))
    last = LastPlan()
    last.succeeded(example_plan(), at=NOON, duration_seconds=0.5)
    app = create_app(Recommender(last=last, clock=FixedClock(NOON), reload=lambda: None, settings=lambda: made))
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)


OPERATIONS = [
    pytest.param(path, method, mode, id=f"{method} {path} {mode.value}")
    for path, operations in json.loads(FILE.read_text(encoding="utf-8"))["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    # Of an operation without parameters nothing can be asked wrongly.
    if mode is GenerationMode.POSITIVE or "parameters" in operation
]
KNOWN = [one.id for one in (*example_plan().recommendations, *example_plan().capacity)]


@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_whatever_is_sent_is_answered_as_the_document_says(
    api: BaseSchema, path: str, method: str, mode: GenerationMode
) -> None:
    send(api, path, method, mode, settings(max_examples=10, derandomize=True))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("path", "method", "mode"), OPERATIONS)
def test_the_same_with_many_more_requests(api: BaseSchema, path: str, method: str, mode: GenerationMode) -> None:
    send(api, path, method, mode, settings(max_examples=500))


def send(api: BaseSchema, path: str, method: str, mode: GenerationMode, many: settings) -> None:
    """This will send requests that the document allows, or that it does not, and check every answer against it."""
    quiet = settings(
        many, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )

    @quiet
    @given(case=api[path][method].as_strategy(generation_mode=mode), known=st.sampled_from([None, *KNOWN]))
    def run(case: Case, known: str | None) -> None:
        if known is not None and "advice_id" in case.path_parameters:
            case.path_parameters["advice_id"] = known
            if method == "post":
                read = api["/api/v1/recommendations/{advice_id}"]["get"].Case(path_parameters={"advice_id": known})
                case.headers["If-Match"] = read.call().headers["etag"][0]
        case.validate_response(case.call(), checks=CHECKS)

    run()
