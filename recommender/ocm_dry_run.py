"""The edge of predictions: each Placement sent to the placement controller as a dry run, and what it would choose.

The controller answers a POST of a Placement under /debug/placements/ with its filters' and prioritizers' results and
`aggregatedScores`, the best first, and changes nothing (open-cluster-management.io/ocm, pkg/placement/debugger). It
uses the scores and labels that stand on the hub, so a difference says that these are not what is handed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exporters.core.errors import SettingsError, TerminalSourceError, TransientSourceError
from exporters.core.http import RETRYABLE_STATUS, checked_endpoint, client
from exporters.core.secrets import read_secret
from recommender.emit.contract import Manifest, Subject
from recommender.emit.ocm import managed_clusters
from recommender.emit.ocm_placement import Placed, placed, placement_document, predictions
from recommender.emit.order import live
from recommender.emit.score import scores_of
from recommender.emit.score_scale import Prediction
from recommender.emit_settings import OcmSettings

DEBUG_PATH: Final = "/debug/placements/"
MOST_BYTES: Final = 1_048_576
"""Of a request, by the controller's own limit."""

_SETTING: Final = "emit.ocm.debug_url"


class _Answer(BaseModel):
    """What the controller says, as far as it is read."""

    model_config = ConfigDict(extra="ignore")

    class Sum(BaseModel):
        """The weighted sum of a cluster."""

        cluster: str = Field(alias="clusterName")
        score: int

    sums: tuple[Sum, ...] = Field(default=(), alias="aggregatedScores")
    error: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A prediction beside what the controller says.

    Args:
        recommendation: the advice's id; empty: the choice of a Placement for which no move is advised.
        placement: its name.
        foretold: the cluster that was foretold.
        answered: the cluster that the controller would choose; empty: none.
        sums: weighted sums of the controller, by cluster.
    """

    recommendation: str
    placement: str
    foretold: str
    answered: str
    sums: Mapping[str, int]

    @property
    def agrees(self) -> bool:
        """Whether both name the same cluster."""
        return self.foretold == self.answered

    def sentence(self) -> str:
        """This will say it for a person."""
        about = f"Placement {self.placement}" + (f", advice {self.recommendation}" if self.recommendation else "")
        if self.agrees:
            return f"{about}: the placement controller agrees on {self.answered}"
        answered = self.answered or "no cluster"
        return (
            f"{about}: {self.foretold} was foretold, the placement controller would choose {answered}; the scores, "
            "labels or decisions on the hub are not those of this hand-over"
        )


def dry_runs(subject: Subject) -> tuple[Checked, ...]:
    """This will ask the controller about every Placement of a subject.

    Raises:
        SettingsError: no debug_url is set, or it or the token is wrong.
        SourceError: the controller did not answer, or refused.
    """
    ocm = subject.settings.ocm
    managed = managed_clusters(subject)
    classes = tuple(one for one in placed(subject, scores_of(subject)) if one.values.keys() <= managed.keys())
    foretold = predictions(subject, classes, live(subject))
    found: list[Checked] = []
    with _session(ocm) as session:
        for group in classes:
            mine = {key: said for key, (of, said) in sorted(foretold.items()) if of == group}
            found += _checked(session, subject, group, mine)
    return tuple(found)


def _checked(
    session: httpx2.Client, subject: Subject, group: Placed, foretold: Mapping[str, Prediction]
) -> Iterable[Checked]:
    (placement,) = placement_document(subject, group, (), ()).objects
    sums = {one.cluster: one.score for one in ask(session, str(session.base_url), placement).sums}
    answered = next(iter(sums), "")
    if not foretold:
        first = group.first_choice(subject.settings.hub.managed_clusters)
        yield Checked("", group.name, first, answered, sums)
    for identifier, said in foretold.items():
        yield Checked(identifier, group.name, said.winner, answered, sums)


def ask(session: httpx2.Client, url: str, placement: Manifest) -> _Answer:
    """This will send one Placement as a dry run.

    Raises:
        SourceError: no answer, a refusal, or an answer in another form.
    """
    metadata: Mapping[str, Any] = placement["metadata"]
    body = json.dumps(dict(placement)).encode()
    where = f"{url.rstrip('/')}{DEBUG_PATH}{quote(metadata['namespace'])}/{quote(metadata['name'])}"
    if len(body) > MOST_BYTES:
        raise TerminalSourceError(
            f"the Placement has {len(body):,} bytes, the controller takes {MOST_BYTES:,}",
            where=where,
            next_step="Give the class fewer jurisdictions, or check it by hand.",
        )
    try:
        response = session.post(where, content=body, headers={"content-type": "application/json"})
    except httpx2.RequestError as error:
        raise TransientSourceError(
            f"the placement controller did not answer ({type(error).__name__}: {error})",
            where=where,
            next_step=f"Check {_SETTING}, the network and emit.ocm.debug_ca_file.",
        ) from error
    return _read(response, where)


def _read(response: httpx2.Response, where: str) -> _Answer:
    try:
        answer = _Answer.model_validate_json(response.content)
    except ValidationError as error:
        if response.is_success:
            raise TerminalSourceError(
                f"the answer is not that of a placement controller ({error.error_count()} mistakes)",
                where=where,
                next_step=f"Check that {_SETTING} is the placement controller of Open Cluster Management.",
            ) from error
        answer = _Answer(error=response.text[:200])
    if response.is_success and not answer.error:
        return answer
    kind = TransientSourceError if response.status_code in RETRYABLE_STATUS else TerminalSourceError
    steps = {
        401: "Set emit.ocm.debug_token_file to a fresh token.",
        403: "Let the token's account create Placements in emit.ocm.namespace.",
    }
    raise kind(
        f"the placement controller answered {response.status_code}: {answer.error!r}",
        where=where,
        next_step=steps.get(response.status_code, f"Check {_SETTING}."),
    )


def _session(ocm: OcmSettings) -> httpx2.Client:
    if ocm.debug_url is None:
        raise SettingsError("no placement controller is named", where=_SETTING, next_step="Set its URL.")
    url = checked_endpoint(ocm.debug_url, setting=_SETTING)
    headers = {}
    if ocm.debug_token_file is not None:
        token = read_secret(ocm.debug_token_file, setting="emit.ocm.debug_token_file")
        headers["authorization"] = f"Bearer {token}"
    verify = True if ocm.debug_ca_file is None else str(ocm.debug_ca_file)
    session = client(timeout_seconds=30, headers=headers, verify=verify)
    session.base_url = httpx2.URL(url)
    return session
