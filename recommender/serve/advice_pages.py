"""The pages of advice: the list with filter and order, one recommendation with all it rests on, and its forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from exporters.core.clock import LONDON, Clock
from exporters.core.errors import StoreError
from recommender.advise.capacity_record import CapacityRecommendation
from recommender.advise.record import Confidence, Kind, Recommendation, State
from recommender.report import words
from recommender.report.view_model import place_of
from recommender.serve import advice_view as view
from recommender.serve.access import Access, Visitor, set_session
from recommender.serve.advice_index import LIVE, AdviceIndex, Order, owner_of, target_of
from recommender.serve.advice_index import Query as Asked
from recommender.serve.answers import served_now
from recommender.serve.api import advice_now
from recommender.serve.api_models import AdviceId, DecisionBody
from recommender.serve.deciding import Desk, Story, allowed
from recommender.serve.decisions_api import decided
from recommender.serve.last_plan import LastPlan
from recommender.serve.layout import html
from recommender.serve.problem import ProblemError

PAGE = 50
_FORM_BYTES = 64 * 1024
_HERE = "/recommendations"
_DECISION: TypeAdapter[DecisionBody] = TypeAdapter(DecisionBody)
_SORTED = {
    Order.RANK: "#",
    Order.SAVING_DOWN: "Saving a month",
    Order.OWNER: "Owner",
    Order.CONFIDENCE: "Confidence",
    Order.EFFORT: "Effort",
    Order.STATE: "State",
}


class ListQuery(BaseModel):
    """What the list's address asks for; an empty field of the form is no filter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind | None = None
    owner: str | None = None
    cluster: str | None = None
    confidence: Confidence | None = None
    effort: str | None = Field(default=None, pattern="^(low|medium|high)$")
    state: str = Field(default="live", pattern=f"^(live|all|{'|'.join(State)})$")
    text: str = Field(default="", max_length=300)
    sort: Order = Order.RANK
    page: int = Field(default=1, ge=1, le=1_000_000)

    @field_validator("kind", "owner", "cluster", "confidence", "effort", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return None if value == "" else value

    def asked(self) -> Asked:
        """This will return the query of the index."""
        states = {"live": LIVE, "all": ()}.get(self.state)
        return Asked(
            **self.model_dump(exclude={"state", "page"}), states=(State(self.state),) if states is None else states
        )

    def address(self, **changes: object) -> str:
        """This will return the address of the same list with something changed; changed order begins at page 1."""
        values = self.model_copy(update={"page": 1, **changes}).model_dump(mode="json", exclude_defaults=True)
        return f"{_HERE}?{urlencode(values)}" if values else _HERE

    @property
    def is_filtered(self) -> bool:
        """Whether something is left out that is shown by default."""
        return bool(self.model_dump(exclude_defaults=True, exclude={"sort", "page"}))


@dataclass(frozen=True, slots=True)
class SortLink:
    """A heading that sorts."""

    name: str
    href: str
    direction: str


@dataclass(frozen=True, slots=True)
class _Desk:
    last: LastPlan
    desk: Desk
    access: Access
    clock: Clock


def advice_pages(last: LastPlan, desk: Desk, access: Access, clock: Clock) -> APIRouter:
    """This will return the routes of the pages of advice."""
    router = APIRouter(include_in_schema=False)
    of = _Desk(last, desk, access, clock)

    @router.api_route(_HERE, methods=["GET", "HEAD"])
    def _list(request: Request, query: Annotated[ListQuery, Query()]) -> Response:
        return _list_page(served_now(last).index, query, access.visitor(request))

    @router.api_route(f"{_HERE}/{{advice_id}}", methods=["GET", "HEAD"])
    def _one(request: Request, advice_id: AdviceId) -> Response:
        return _advice_page(of, request, advice_id)

    @router.post(f"{_HERE}/{{advice_id}}/decisions")
    def _decide(request: Request, advice_id: AdviceId, form: Annotated[Mapping[str, str], Depends(_form)]) -> Response:
        visitor = access.must_decide(request)
        access.check_form(request, form.get("token", ""))
        try:
            asked = _asked(form)
            seen = form.get("seen", "")
            decided(last, desk, advice_id, asked.of(visitor.name), seen=int(seen) if seen.isdecimal() else -1)
        except ProblemError as error:
            return _advice_page(of, request, advice_id, problem=error, form=form)
        return RedirectResponse(f"{_HERE}/{advice_id}", status_code=303)

    return router


def _list_page(index: AdviceIndex, query: ListQuery, visitor: Visitor) -> Response:
    rows = index.found(query.asked())
    pages = max(1, -(-len(rows) // PAGE))
    page = min(query.page, pages)
    start = (page - 1) * PAGE
    links = {one.value: _sort_link(query, one, name) for one, name in _SORTED.items()}
    return html(
        "recommendations.html",
        here=_HERE,
        who=visitor.shown_name,
        rows=[view.line_of(one) for one in index.at(rows.slice(start, PAGE))],
        query=query,
        links=links,
        total=len(rows),
        first=start + 1,
        counts=index.counts(),
        pages=pages,
        page=page,
        previous=query.address(page=page - 1) if page > 1 else "",
        following=query.address(page=page + 1) if page < pages else "",
        start_page=query.address(),
        end_page=query.address(page=pages),
        kinds=[(kind.value, name) for kind, name in words.KINDS.items()],
        states=[("all", "all"), *((state.value, state.value) for state in State)],
        owners=index.owners[:_OFFERED],
        clusters=[(name, words.shown(name)) for name in index.clusters[:_OFFERED]],
    )


_OFFERED = 200
"""Owners and clusters that the form offers; others can be typed or linked."""


def _sort_link(query: ListQuery, order: Order, name: str) -> SortLink:
    descending = order is Order.SAVING_DOWN
    direction = ("descending" if descending else "ascending") if query.sort is order else ""
    return SortLink(name=name, href=query.address(sort=order), direction=direction)


def _advice_page(
    of: _Desk,
    request: Request,
    advice_id: str,
    *,
    problem: ProblemError | None = None,
    form: Mapping[str, str] | None = None,
) -> Response:
    """The page of one recommendation; after a refused decision with the reason, and what was typed kept."""
    visitor, unread = of.access.visitor(request), ""
    try:
        story = of.desk.story(advice_id)
    except StoreError as error:
        story, unread = Story(), str(error)
    one = advice_now(of.last, story, advice_id)
    if story.now is not None:
        of.last.decided(advice_id, story.now.state)
    token, session = of.access.form_token(request)
    page = html(
        "recommendation.html",
        here=_HERE,
        status_code=200 if problem is None else problem.status_code,
        who=visitor.shown_name,
        one=one,
        line=view.line_of(one),
        is_capacity=isinstance(one, CapacityRecommendation),
        target=words.shown(target_of(one)),
        owner=words.shown(owner_of(one) or words.NOBODY),
        history=view.history_of(story.events),
        unread=words.shown(unread),
        is_of_plan=(served := of.last.state.served) is not None and served.index.is_of_plan(advice_id),
        choices=[(kind.value, view.VERBS[kind]) for kind in allowed(one.state)] if story.events else [],
        why_not=words.shown(visitor.why_not),
        token=token,
        seen=story.sequence,
        problem=None if problem is None else problem.problem,
        typed=form or {},
        tomorrow=of.clock.now().astimezone(LONDON).date().isoformat(),
        prices=view.prices_of(one.prices, now=of.clock.now()),
        refused=view.refused_of(one.refused),
        **(_of_workload(one) if isinstance(one, Recommendation) else _of_capacity(one)),
    )
    set_session(request, page, session)
    if problem is not None:
        page.headers.update(problem.headers or {})
    return page


def _of_workload(one: Recommendation) -> dict[str, Any]:
    return {
        "current": place_of(one.current),
        "recommended": place_of(one.recommended),
        "current_month": words.monthly(one.current.gbp_per_hour),
        "recommended_month": words.monthly(one.recommended.gbp_per_hour),
        "current_ratio": view.place_ratio(one, one.current),
        "recommended_ratio": view.place_ratio(one, one.recommended),
        "terms": view.terms_of(one),
        "flows": view.flows_of(one),
        "gates": view.gates_of(one),
        "usage": view.usage_of(one),
    }


def _of_capacity(one: CapacityRecommendation) -> dict[str, Any]:
    return {"facts": [words.shown(line) for line in view.capacity_facts(one)]}


async def _form(request: Request) -> Mapping[str, str]:
    """The fields of a form (application/x-www-form-urlencoded); of a name given twice the last.

    Raises:
        ProblemError: 413, it is larger than any form of ours; 415, it is no form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise ProblemError(415, "This is no form.", where="Content-Type", next_step="Programs: POST to /api/v1.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _FORM_BYTES:
            raise ProblemError(413, "The form is too large.", where=request.url.path, next_step="Shorten the reason.")
    try:
        return dict(
            parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=50, encoding="utf-8", errors="strict")
        )
    except ValueError as error:
        raise ProblemError(400, "The form cannot be read.", where=request.url.path) from error


def _asked(form: Mapping[str, str]) -> DecisionBody:
    """The decision that a form asks for.

    Raises:
        ProblemError: 422, it lacks something; said in the words of the form.
    """
    kind = form.get("decision", "")
    fields: dict[str, object] = {"decision": kind}
    fields |= {name: form[name].strip() for name in _FIELDS.get(kind, ()) if form.get(name, "").strip()}
    if "until" in fields:
        fields["until"] = _day(str(fields["until"]))
    if kind == "dismissed" and "reason" not in fields:
        raise ProblemError(
            422, "A dismissal needs a reason.", where="reason", next_step="Say why; later plans show it to others."
        )
    if kind == "snoozed" and "until" not in fields:
        raise ProblemError(422, "A snooze needs an end.", where="until", next_step="Give the day it comes back on.")
    try:
        return _DECISION.validate_python(fields)
    except ValidationError as error:
        said = "; ".join(f"{one['loc'][-1] if one['loc'] else 'decision'}: {one['msg']}" for one in error.errors())
        raise ProblemError(422, said, where="the form", next_step="Mend it and send it again.") from error


_FIELDS = {
    "accepted": ("reason",),
    "dismissed": ("reason", "until"),
    "snoozed": ("reason", "until"),
    "implemented": ("reason", "applied_by"),
    "reopened": ("reason",),
}


def _day(text: str) -> datetime:
    """The beginning of a day by London's clock."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), tzinfo=LONDON).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ProblemError(
            422, f"{text[:20]!r} is no day.", where="until", next_step="Give it as 2027-01-31."
        ) from error
