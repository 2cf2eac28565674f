"""The API: the plan as it is, and its recommendations filtered, sorted and page by page. Read only."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import HTTPException
from pydantic import BaseModel, ConfigDict, Field, field_validator

from recommender.advise.capacity_record import CAPACITY_KINDS, CapacityRecommendation
from recommender.advise.record import Confidence, Kind, Recommendation
from recommender.serve.last_plan import LastPlan, Served, etag_of

NOT_YET = "There is no plan yet: the first evaluation has not succeeded."


class Order(StrEnum):
    """What the list is sorted by; a minus stands for greatest first."""

    RANK = "rank"
    SAVING = "saving"
    SAVING_DOWN = "-saving"
    OWNER = "owner"


class Wanted(BaseModel):
    """Query parameters of the list; one that is not here is an error, because a misspelt filter must not show all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = None
    confidence: Confidence | None = None
    effort: str | None = Field(default=None, pattern="^(low|medium|high)$")
    owner: str | None = None
    cluster: str | None = Field(default=None, description="The cluster that the workload is in now.")
    namespace: str | None = None
    min_saving_gbp_per_month: float | None = Field(default=None, ge=0)
    sort: Order = Order.RANK
    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0)

    @field_validator("kind")
    @classmethod
    def _of_workloads(cls, kind: Kind | None) -> Kind | None:
        if kind in CAPACITY_KINDS:
            raise ValueError("advice on owned capacity is listed under /api/v1/capacity")
        return kind


class WantedCapacity(BaseModel):
    """Query parameters of the list of advice on owned capacity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = None
    cluster: str | None = Field(default=None, description="The cluster whose owned nodes it is about.")


def api(last: LastPlan) -> APIRouter:
    """This will return the routes under /api/v1."""
    router = APIRouter(prefix="/api/v1")

    @router.get("/plan")
    def _plan(request: Request) -> Response:
        return _answer(request, served_now(last).document)

    @router.get("/recommendations")
    def _recommendations(request: Request, wanted: Annotated[Wanted, Query()]) -> Response:
        served = served_now(last)
        found = chosen(served.plan.recommendations, wanted)
        page = found[wanted.offset : wanted.offset + wanted.limit]
        body = {
            "generated_at": served.plan.generated_at.isoformat(),
            "total": len(found),
            "limit": wanted.limit,
            "offset": wanted.offset,
            "items": [one.model_dump(mode="json", exclude_none=True) for one in page],
        }
        answer = _answer(request, _json(body))
        if wanted.offset + wanted.limit < len(found):
            following = request.url.include_query_params(offset=wanted.offset + wanted.limit)
            answer.headers["link"] = f'<{following.path}?{following.query}>; rel="next"'
        return answer

    @router.get("/capacity")
    def _capacity(request: Request, wanted: Annotated[WantedCapacity, Query()]) -> Response:
        served = served_now(last)
        found = [
            one
            for one in served.plan.capacity
            if wanted.kind in {None, one.kind} and wanted.cluster in {None, one.target.cluster}
        ]
        body = {
            "generated_at": served.plan.generated_at.isoformat(),
            "total": len(found),
            "items": [one.model_dump(mode="json", exclude_none=True) for one in found],
        }
        return _answer(request, _json(body))

    @router.get("/recommendations/{advice_id}")
    def _recommendation(request: Request, advice_id: str) -> Response:
        plan = served_now(last).plan
        everything: tuple[Recommendation | CapacityRecommendation, ...] = (*plan.recommendations, *plan.capacity)
        for one in everything:
            if one.id == advice_id:
                return _answer(request, _json(one.model_dump(mode="json", exclude_none=True)))
        raise HTTPException(404, "The plan has no such recommendation; it may have been superseded.")

    return router


def chosen(recommendations: tuple[Recommendation, ...], wanted: Wanted) -> list[Recommendation]:
    """This will return the wanted recommendations in the wanted order; equal ones by rank."""
    kept = [one for one in recommendations if _is_wanted(one, wanted)]
    if wanted.sort is Order.OWNER:
        return sorted(kept, key=lambda one: (one.target.owner or "", one.rank))
    if wanted.sort is Order.SAVING:
        return sorted(kept, key=lambda one: (_saving(one), one.rank))
    if wanted.sort is Order.SAVING_DOWN:
        return sorted(kept, key=lambda one: (-_saving(one), one.rank))
    return sorted(kept, key=lambda one: one.rank)


def served_now(last: LastPlan) -> Served:
    """This will return what is served.

    Raises:
        HTTPException: 503, there is no plan yet.
    """
    state = last.state
    if state.served is None:
        raise HTTPException(503, f"{NOT_YET} {state.error}".strip())
    return state.served


def _is_wanted(one: Recommendation, wanted: Wanted) -> bool:
    asked = (
        (wanted.kind, one.kind),
        (wanted.confidence, one.risk.confidence),
        (wanted.effort, one.effort),
        (wanted.owner, one.target.owner),
        (wanted.cluster, one.target.cluster),
        (wanted.namespace, one.target.namespace),
    )
    enough = wanted.min_saving_gbp_per_month is None or _saving(one) >= wanted.min_saving_gbp_per_month
    return enough and all(value == found for value, found in asked if value is not None)


def _saving(one: Recommendation) -> float:
    return float(one.monthly.saving.p50) if one.monthly else 0.0


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, ensure_ascii=False).encode()


def _answer(request: Request, body: bytes) -> Response:
    etag = etag_of(body)
    headers = {"etag": etag, "cache-control": "no-cache", "x-content-type-options": "nosniff"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)
