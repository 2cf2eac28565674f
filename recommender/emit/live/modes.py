"""What may be written outside Tuppence: the lower of what the settings say and of what was approved last.

Pure. A step up needs both the setting and an approval in the ledger; a step down needs either, so it is immediate.
An approval covers the score names and, for a pilot, the namespaces that stood in the settings when it was given;
what is added to the settings later waits for another approval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from recommender.emit_settings import HubSettings
from recommender.ledger.approvals import Approval

SUBJECT = "mode"
"""Of approvals in the ledger."""


class Mode(IntEnum):
    """How much is written, the lowest first."""

    RECOMMEND = 0
    SHADOW = 1
    PILOT = 2
    PUBLISH = 3

    @property
    def word(self) -> str:
        """As settings and commands write it."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Mode:
        """This will return the mode of a word.

        Raises:
            ValueError: it is none.
        """
        try:
            return cls[word.upper()]
        except KeyError:
            raise ValueError(f"{word!r} is not a mode") from None


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be written now.

    Args:
        mode: the mode in force.
        setting: what the settings say.
        approved: what was approved last; RECOMMEND: nothing was.
        name: of the objects that may be written; None: none.
        namespaces: of the hub, in which they may be; None: all.
        missing: what would have to happen for the setting to come into force; empty: nothing.
    """

    mode: Mode
    setting: Mode
    approved: Mode
    name: str | None
    namespaces: frozenset[str] | None
    missing: str = ""

    def covers(self, name: str, namespace: str) -> bool:
        """This will tell whether an object may be written."""
        return name == self.name and (self.namespaces is None or namespace in self.namespaces)


def allowed(setting: Mode, hub: HubSettings, approvals: Sequence[Approval]) -> Allowed:
    """This will say what may be written.

    Args:
        setting: `recommend.mode`.
        hub: `emit.hub`.
        approvals: those of SUBJECT, oldest first; the last one counts.
    """
    detail = json.loads(approvals[-1].detail) if approvals else {"mode": Mode.RECOMMEND.word}
    approved = Mode.of(detail["mode"])
    mode = min(setting, approved)
    if mode is Mode.RECOMMEND:
        return Allowed(mode, setting, approved, None, frozenset(), _missing(setting, approved))
    name = hub.shadow_name if mode is Mode.SHADOW else hub.score_name
    if name not in {detail["score_name"], detail["shadow_name"]}:
        why = f"{name} is not a name that was approved: tuppence mode set {setting.word}"
        return Allowed(Mode.RECOMMEND, setting, approved, None, frozenset(), why)
    if mode is not Mode.PILOT:
        return Allowed(mode, setting, approved, name, None, _missing(setting, approved))
    listed = frozenset(hub.pilot_namespaces)
    # Who approved all of them approved each.
    covered = listed if approved is Mode.PUBLISH else listed & frozenset(detail["namespaces"])
    late = sorted(listed - covered)
    why = f"not approved: {', '.join(late)}: tuppence mode set pilot" if late else _missing(setting, approved)
    if not listed:
        why = "namespaces of the hub in emit.hub.pilot_namespaces"
    if not covered:
        return Allowed(Mode.RECOMMEND, setting, approved, None, covered, why)
    return Allowed(mode, setting, approved, name, covered, why)


def approval(number: int, mode: Mode, hub: HubSettings, *, at: datetime, author: str, reason: str) -> Approval:
    """This will return the approval of a mode, with what it covers.

    Args:
        number: of the approval in the ledger.
        mode: what is approved.
        hub: names and namespaces as they stand now.
        at: now (UTC).
        author: who approves.
        reason: why.
    """
    detail = {
        "mode": mode.word,
        "score_name": hub.score_name,
        "shadow_name": hub.shadow_name,
        "namespaces": sorted(hub.pilot_namespaces),
    }
    return Approval(number, SUBJECT, at, author, reason, json.dumps(detail))


def _missing(setting: Mode, approved: Mode) -> str:
    if setting > approved:
        return f"an approval: tuppence mode set {setting.word}"
    if approved > setting:
        return f"the setting: recommend.mode: {approved.word}"
    return ""
