"""Decisions by programs: POST /api/v1/recommendations/{id}/decisions, only of what the program has just read.

If-Match must name the ETag of the recommendation (RFC 9110, section 13.1.1; RFC 6585 for 428): a script that decides of
figures that have changed since is told so with 412, and one that was overtaken with 409 and where the advice stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Request, Security
from fastapi.security import HTTPBasic, HTTPBearer

from exporters.core.errors import SettingsError, StoreError
from recommender.ledger.decide import Decision
from recommender.ledger.standing import Standing
from recommender.serve.access import Access
from recommender.serve.answers import as_json
from recommender.serve.api import advice_now, tag_of, unknown
from recommender.serve.api_models import AdviceId, DecisionBody, StandingNow
from recommender.serve.deciding import ConflictError, Desk, NotProposedError
from recommender.serve.last_plan import LastPlan
from recommender.serve.problem import ProblemError, problems, unavailable

Decided = Callable[[str, Decision, int], Standing]


def decisions_api(last: LastPlan, desk: Desk, access: Access) -> APIRouter:
    """This will return the route that decides."""
    # Checked by the guard around the application and by Access; here they are declared for the OpenAPI document.
    schemes = [Security(HTTPBearer(auto_error=False)), Security(HTTPBasic(auto_error=False))]
    router = APIRouter(prefix="/api/v1", tags=["decisions"], dependencies=schemes)

    @router.post(
        "/recommendations/{advice_id}/decisions",
        response_model=StandingNow,
        status_code=201,
        responses=problems(400, 401, 403, 404, 409, 412, 422, 428, 503),
        operation_id="decide",
    )
    def _decide(
        request: Request,
        advice_id: AdviceId,
        asked: Annotated[DecisionBody, Body()],
        if_match: Annotated[
            str | None, Header(description="The ETag of GET /api/v1/recommendations/{advice_id}; required.")
        ] = None,
    ) -> StandingNow:
        """Accept, dismiss, snooze, say that it was carried out, or reopen. The author is whose token it is."""
        visitor = access.must_decide(request)
        story = desk.story(advice_id)
        body = as_json(advice_now(last, story, advice_id).model_dump(mode="json", exclude_none=True))
        _must_match(if_match, tag_of(body, story), now=None if story.now is None else _now(story.now))
        return StandingNow.of(decided(last, desk, advice_id, asked.of(visitor.name), seen=story.sequence))

    return router


def decided(last: LastPlan, desk: Desk, advice_id: str, decision: Decision, *, seen: int) -> Standing:
    """This will decide, and list the advice in its new state from now on.

    Args:
        last: where it is listed.
        desk: where it is decided.
        advice_id: what about.
        decision: what was decided.
        seen: the last event that whoever decides knew of.

    Raises:
        ProblemError: 404, the ledger does not know it; 409, something happened meanwhile or it does not fit; 422, the
            decision lacks something; 503, the ledger is locked or out of reach. Nothing was written then.
    """
    try:
        standing = desk.decide(advice_id, decision, seen=seen)
    except NotProposedError as error:
        raise unknown(advice_id) from error
    except ConflictError as error:
        last.decided(advice_id, error.now.state)
        raise ProblemError(
            409,
            error.why,
            where=f"recommendation {advice_id}",
            next_step="Look at where it stands now, and decide again if it should be different.",
            now=_now(error.now),
        ) from error
    except StoreError as error:
        raise unavailable(error) from error
    except SettingsError as error:
        raise ProblemError(422, error.what, where=error.where, next_step=error.next_step) from error
    last.decided(advice_id, standing.state)
    return standing


def _must_match(given: str | None, tag: str, *, now: dict[str, Any] | None) -> None:
    if given is None:
        raise ProblemError(
            428,
            "If-Match is missing.",
            where="If-Match",
            next_step="Read the recommendation and give its ETag, so that what is decided is what was read.",
        )
    if tag not in {one.strip() for one in given.split(",")}:
        raise ProblemError(
            412,
            "The recommendation has changed since it was read.",
            where="If-Match",
            next_step="Read it again and decide about that.",
            now=now,
        )


def _now(standing: Standing) -> dict[str, Any]:
    return StandingNow.of(standing).model_dump(mode="json", exclude_none=True)
