"""The API: the plan as it is, its recommendations filtered, sorted and page by page, and what happened to each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from recommender.advise.capacity_record import CAPACITY_KINDS, CapacityRecommendation
from recommender.advise.plan import Plan
from recommender.advise.record import Confidence, Kind, Recommendation, State
from recommender.serve.advice_index import Advice, Order
from recommender.serve.advice_index import Query as Asked
from recommender.serve.answers import answer, as_json, served_now
from recommender.serve.api_models import AdviceId, CapacityPage, EventsPage, RecommendationPage
from recommender.serve.deciding import Desk, Story
from recommender.serve.last_plan import LastPlan, etag_of
from recommender.serve.problem import ProblemError, problems

UNCHANGED: Mapping[int | str, dict[str, Any]] = {304: {"description": "Not Modified: If-None-Match names it."}}


class Wanted(BaseModel):
    """Query parameters of the list; one that is not here is an error, because a misspelt filter must not show all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = None
    confidence: Confidence | None = None
    effort: str | None = Field(default=None, pattern="^(low|medium|high)$")
    owner: str | None = None
    cluster: str | None = Field(default=None, description="The cluster that the workload is in now.")
    namespace: str | None = None
    state: State | None = None
    text: str = Field(
        default="", max_length=300, description="Part of title, workload, owner or id, whatever the case."
    )
    min_saving_gbp_per_month: float | None = Field(default=None, ge=0)
    sort: Order = Order.RANK
    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=10_000_000)

    @field_validator("kind")
    @classmethod
    def _of_workloads(cls, kind: Kind | None) -> Kind | None:
        if kind in CAPACITY_KINDS:
            raise ValueError("advice on owned capacity is listed under /api/v1/capacity")
        return kind

    def asked(self) -> Asked:
        """This will return the query of the index."""
        return Asked(
            **self.model_dump(exclude={"state", "limit", "offset"}),
            states=() if self.state is None else (self.state,),
            of_plan=True,
            of_capacity=False,
        )


class WantedCapacity(BaseModel):
    """Query parameters of the list of advice on owned capacity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = None
    cluster: str | None = Field(default=None, description="The cluster whose owned nodes it is about.")


def api(last: LastPlan, desk: Desk) -> APIRouter:
    """This will return the routes under /api/v1 that read."""
    router = APIRouter(prefix="/api/v1", tags=["advice"])
    _add_lists(router, last)
    _add_single(router, last, desk)
    return router


def _add_lists(router: APIRouter, last: LastPlan) -> None:
    @router.get("/plan", response_model=Plan, responses={**UNCHANGED, **problems(503)}, operation_id="plan")
    def _plan(request: Request) -> Response:
        """The last good evaluation as a whole."""
        return answer(request, served_now(last).document)

    @router.get(
        "/recommendations",
        response_model=RecommendationPage,
        responses={**UNCHANGED, **problems(422, 503)},
        operation_id="recommendations",
    )
    def _recommendations(request: Request, wanted: Annotated[Wanted, Query()]) -> Response:
        """A page of the plan's recommendations; the header Link leads to the pages before and after."""
        served = served_now(last)
        rows = served.index.found(wanted.asked())
        page = served.index.at(rows.slice(wanted.offset, wanted.limit))
        body = {
            "generated_at": served.plan.generated_at.isoformat(),
            "total": len(rows),
            "limit": wanted.limit,
            "offset": wanted.offset,
            "items": [one.model_dump(mode="json", exclude_none=True) for one in page],
        }
        sent = answer(request, as_json(body))
        if links := _links(request, wanted, total=len(rows)):
            sent.headers["link"] = links
        return sent

    @router.get(
        "/capacity",
        response_model=CapacityPage,
        responses={**UNCHANGED, **problems(422, 503)},
        operation_id="capacity",
    )
    def _capacity(request: Request, wanted: Annotated[WantedCapacity, Query()]) -> Response:
        """Advice on owned capacity: bursts, returns, more nodes."""
        served = served_now(last)
        asked = Asked(kind=wanted.kind, cluster=wanted.cluster, of_plan=True, of_capacity=True)
        found = served.index.at(served.index.found(asked))
        body = {
            "generated_at": served.plan.generated_at.isoformat(),
            "total": len(found),
            "items": [one.model_dump(mode="json", exclude_none=True) for one in found],
        }
        return answer(request, as_json(body))


def _add_single(router: APIRouter, last: LastPlan, desk: Desk) -> None:
    @router.get(
        "/recommendations/{advice_id}",
        response_model=Recommendation | CapacityRecommendation,
        responses={**UNCHANGED, **problems(404, 422, 503)},
        operation_id="recommendation",
    )
    def _recommendation(request: Request, advice_id: AdviceId) -> Response:
        """One recommendation, of the plan or of the ledger; its ETag is what a decision names in If-Match."""
        story = desk.story(advice_id)
        body = as_json(advice_now(last, story, advice_id).model_dump(mode="json", exclude_none=True))
        return answer(request, body, etag=tag_of(body, story))

    @router.get(
        "/recommendations/{advice_id}/events",
        response_model=EventsPage,
        responses={**UNCHANGED, **problems(404, 422, 503)},
        operation_id="events",
    )
    def _events(request: Request, advice_id: AdviceId) -> Response:
        """What happened to a recommendation, oldest first, as the ledger has it."""
        story = desk.story(advice_id)
        if not story.events:
            raise unknown(advice_id)
        return answer(request, EventsPage.of(story.events).model_dump_json(exclude_none=True).encode())


def advice_now(last: LastPlan, story: Story, advice_id: str) -> Advice:
    """This will return advice in the state that the ledger says: the plan's, else as it was last proposed.

    Raises:
        ProblemError: 404, neither knows it.
    """
    served = last.state.served
    given = served.index.get(advice_id) if served is not None and served.index.is_of_plan(advice_id) else None
    if given is not None:
        return given if story.now is None else given.model_copy(update={"state": story.now.state})
    if story.record is None:
        raise unknown(advice_id)
    return story.record


def unknown(advice_id: str) -> ProblemError:
    """This will say that there is no such recommendation."""
    return ProblemError(
        404,
        "The plan has no such recommendation, and the ledger does not know it; it may have been superseded.",
        where=f"recommendation {advice_id}",
        next_step="See /api/v1/recommendations for those that there are.",
    )


def tag_of(body: bytes, story: Story) -> str:
    """This will return the validator of one recommendation: of its record, and of what happened to it."""
    return f'{etag_of(body)[:-1]}-{story.sequence}"'


def _links(request: Request, wanted: Wanted, *, total: int) -> str:
    """The header Link (RFC 8288) of a page."""

    def to(offset: int, relation: str) -> str:
        url = request.url.include_query_params(offset=offset)
        return f'<{url.path}?{url.query}>; rel="{relation}"'

    found = []
    if wanted.offset:
        found.append(to(0, "first"))
        found.append(to(max(0, wanted.offset - wanted.limit), "prev"))
    if wanted.offset + wanted.limit < total:
        found.append(to(wanted.offset + wanted.limit, "next"))
    return ", ".join(found)
