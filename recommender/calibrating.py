"""The edge of calibration: the ledger's evidence becomes a proposal, and an approved proposal the policy's figures.

An approval is written into the ledger before the file is changed. A proposal that cannot be put into the file is not
approved; approved twice at once it gives the same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from exporters.core.errors import SettingsError
from recommender.advise.capacity_record import advice_of
from recommender.advise.record import Guards, Recommendation
from recommender.inputs import policy_of
from recommender.ledger.approvals import Approval
from recommender.ledger.bounds import Change
from recommender.ledger.calibrate import Calibration, Evidence, Verified, calibration
from recommender.ledger.events import Event, EventKind
from recommender.ledger.measurement import Savings
from recommender.ledger.memory import verified
from recommender.ledger.store import Histories, Ledger, Reader
from recommender.ledger.weights import Decided
from recommender.policy_file import edited, written
from recommender.settings import RecommenderSettings

SUBJECT = "calibration"
_WEEK = timedelta(days=7)
_DECISIONS = (EventKind.ACCEPTED, EventKind.DISMISSED, EventKind.IMPLEMENTED, EventKind.REOPENED)


@dataclass(frozen=True, slots=True)
class PolicyPlace:
    """Where the policy stands.

    Args:
        file: the settings file, or the policy's own; None: there is none.
        section: the keys that lead to the policy in it.
    """

    file: Path | None
    section: tuple[str, ...]


def policy_place(settings: RecommenderSettings, settings_file: Path | None) -> PolicyPlace:
    """This will say where the policy of some settings stands.

    Args:
        settings: checked settings.
        settings_file: the file that they came from; None: there is none.
    """
    if isinstance(settings.policy, Path):
        return PolicyPlace(settings.policy, ())
    return PolicyPlace(settings_file, ("policy",))


def calibrated(settings: RecommenderSettings, *, at: datetime) -> Calibration:
    """This will propose changes of the policy from what the ledger holds; see ledger.calibrate.

    Raises:
        TuppenceError: the ledger or the policy cannot be read.
    """
    with Ledger.at(settings.ledger).reading() as reader:
        return _calibrated(settings, reader, at=at)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a ledger says of the policy's figures.

    Args:
        calibration: the proposal.
        savings: of all measured moves.
    """

    calibration: Calibration
    savings: Savings


def learnt(settings: RecommenderSettings, *, at: datetime) -> Learnt:
    """This will return the proposal beside the savings that it rests on.

    Raises:
        TuppenceError: the ledger or the policy cannot be read.
    """
    with Ledger.at(settings.ledger).reading() as reader:
        rows = verified(reader, reader.histories(), at=at)
        return Learnt(_calibrated(settings, reader, at=at), Savings.of(rows))


def approve(
    settings: RecommenderSettings, place: PolicyPlace, *, at: datetime, author: str, reason: str
) -> tuple[Calibration, Approval | None]:
    """This will write an approval of what is proposed into the ledger, and then the figures into the file.

    Returns:
        The proposal and its approval; None: nothing is proposed, and nothing was written.

    Raises:
        SettingsError: nobody is named who approves, there is no file, or a figure cannot be changed in its place;
            nothing was written.
        StoreError: the ledger refused, and nothing was written; or the file did, and the approval stands.
    """
    if not author.strip():
        raise SettingsError(
            "nobody is named who approves", where="calibrate --apply", next_step="Give --author, or set $USER."
        )
    if place.file is None:
        raise SettingsError(
            "there is no settings file to write into",
            where="calibrate --apply",
            next_step="Write one and name it with --config.",
        )
    made: list[tuple[Calibration, str]] = []

    def decide(reader: Reader) -> Approval | None:
        proposal = _calibrated(settings, reader, at=at)
        made[:] = [(proposal, _text(place, proposal.changes))]
        if not proposal.changes:
            return None
        detail = json.dumps({"file": str(place.file), "changes": [asdict(one) for one in proposal.changes]})
        return Approval(reader.next_approval(), SUBJECT, at, author, reason, detail)

    approval = Ledger.at(settings.ledger).approve(decide)
    proposal, text = made[-1]
    if approval is not None:
        written(place.file, text)
    return proposal, approval


def _text(place: PolicyPlace, changes: Sequence[Change]) -> str:
    assert place.file is not None, "approve has looked"
    values = {(*place.section, *one.setting.split(".")): one.proposed for one in changes}
    return edited(place.file.read_text(encoding="utf-8"), values, source=str(place.file))


def _calibrated(settings: RecommenderSettings, reader: Reader, *, at: datetime) -> Calibration:
    histories = reader.histories()
    evidence = Evidence(
        verified=_items(reader, histories, at),
        decided=_decided(reader, histories, at),
        guards_week_ago=_guards_of(reader, histories, at=at - _WEEK),
        approved=_approved(reader, at),
    )
    return calibration(evidence, policy_of(settings))


def _approved(reader: Reader, at: datetime) -> dict[str, float]:
    """What settings had been before the first approval of the week."""
    before: dict[str, float] = {}
    for one in reader.approvals(SUBJECT):
        if at - _WEEK < one.at <= at:
            before = {change["setting"]: float(change["now"]) for change in json.loads(one.detail)["changes"]} | before
    return before


def _decided(reader: Reader, histories: Histories, at: datetime) -> list[Decided]:
    """The last decision about each recommendation that nobody took back, with what was decided on."""
    pairs: list[tuple[Event, Event]] = []
    for events in histories.values():
        known = [event for event in events if event.at <= at]
        decision = next((event for event in reversed(known) if event.kind in _DECISIONS), None)
        if decision is None or decision.kind is EventKind.REOPENED:
            continue
        proposals = [one for one in known if one.kind is EventKind.PROPOSED and one.sequence < decision.sequence]
        pairs.append((decision, proposals[-1]))
    texts = reader.documents(proposal for _, proposal in pairs)
    told = ((decision, advice_of(texts[one.recommendation_id, one.sequence])) for decision, one in pairs)
    return [
        Decided(advice, accepted=decision.kind is not EventKind.DISMISSED, reason=decision.reason)
        for decision, advice in told
        if isinstance(advice, Recommendation)
    ]


def _items(reader: Reader, histories: Histories, at: datetime) -> list[Verified]:
    """Every measurement beside the thresholds that its proposal passed."""
    rows = verified(reader, histories, at=at)
    proposals = {
        one.recommendation_id: event
        for one in rows
        for event in histories[one.recommendation_id]
        if event.kind is EventKind.PROPOSED and event.at <= one.implemented_at
    }
    texts = reader.documents(proposals.values())
    items = []
    for row in rows:
        proposal = proposals[row.recommendation_id]
        advice = Recommendation.model_validate_json(texts[row.recommendation_id, proposal.sequence])
        if advice.guards is not None and row.predicted_gbp is not None and row.realised_gbp is not None:
            predicted, saved = float(row.predicted_gbp), float(row.realised_gbp)
            items.append(Verified(advice.kind.value, predicted, saved, advice.guards))
    return items


def _guards_of(reader: Reader, histories: Histories, *, at: datetime) -> Guards | None:
    """The thresholds that the newest advice of a moment was judged by; None: there was none yet."""
    proposals = sorted(
        (event for told in histories.values() for event in told if event.kind is EventKind.PROPOSED and event.at <= at),
        key=lambda event: (event.at, event.recommendation_id),
        reverse=True,
    )
    for event in proposals:
        text = reader.documents([event])[event.recommendation_id, event.sequence]
        advice = advice_of(text)
        if isinstance(advice, Recommendation) and advice.guards is not None:
            return advice.guards
    return None
