"""The edge of delivery: what is due is claimed in the ledger, sent, and its outcome written down.

The ledger is asked before and after each sending, so that two replicas send a report once, and one that failed is tried
again by whichever comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import structlog

from exporters.core.errors import SettingsError, TuppenceError
from recommender.deliver_settings import DeliverSettings
from recommender.ledger.deliveries import Delivery, DeliveryState, standing_of
from recommender.ledger.store import Ledger, Reader
from recommender.report.deliver.contract import DeliveryUnsureError, Parcel
from recommender.report.deliver.due import EVERY_OWNER, Due, due, due_week
from recommender.report.deliver.registry import send
from recommender.week.calendar import Week

_log = structlog.get_logger(__name__)

Parcels = Mapping[str, Parcel]
"""The report of each scope: an owner, or empty for all."""


def deliver_due(
    ledger: Ledger,
    settings: DeliverSettings,
    *,
    now: Callable[[], datetime],
    make: Callable[[Week], Parcels],
    owners: Callable[[Week], Iterable[str] | None] = lambda _week: None,
) -> tuple[Delivery, ...]:
    """This will deliver the report that is due, if one is and it has not gone out yet.

    Args:
        ledger: where deliveries are written down.
        settings: channels and times.
        now: the clock.
        make: makes the reports of a week; asked only when something is to be sent.
        owners: the scopes of a week's report, where the caller has made it before; None: it has not.

    Returns:
        The outcomes, one an attempt; empty: nothing was due.

    Raises:
        TuppenceError: the ledger or the report failed; nothing was sent then.
    """
    week = due_week(settings, now=now())
    if week is None or not settings.channels or _all_done(ledger, settings, week, now(), owners(week)):
        return ()
    return deliver(ledger, settings, week, now=now, parcels=make(week))


def deliver(
    ledger: Ledger,
    settings: DeliverSettings,
    week: Week,
    *,
    now: Callable[[], datetime],
    parcels: Parcels,
    by_hand: bool = False,
    again: bool = False,
) -> tuple[Delivery, ...]:
    """This will try what is to be tried of a week now, each delivery by itself.

    Args:
        ledger: see deliver_due.
        settings: see deliver_due.
        week: whose report.
        now: the clock.
        parcels: its reports.
        by_hand: see due.
        again: see due.

    Raises:
        TuppenceError: the ledger failed. What is claimed and not sent then ends as `unknown`.
    """
    for one in settings.channels:
        for owner in set(one.owners) - {EVERY_OWNER} - set(parcels):
            _log.warning(
                "no_report_for_owner", why="nothing of theirs ran", owner=owner, channel=one.name, week=week.id
            )
    with ledger.reading() as reader:
        known = standing_of(reader.deliveries(week=week.id), at=now())
    asked = due(settings, week, owners=parcels, known=known, now=now(), by_hand=by_hand, again=again)
    outcomes = (_one(ledger, settings, one, parcels[one.scope], now) for one in asked)
    return tuple(one for one in outcomes if one is not None)


def _all_done(
    ledger: Ledger, settings: DeliverSettings, week: Week, now: datetime, owners: Iterable[str] | None
) -> bool:
    """Whether nothing is due; who are the owners is known once the report was made or their channel was tried."""
    with ledger.reading() as reader:
        known = standing_of(reader.deliveries(week=week.id), at=now)
    if owners is not None:
        return not due(settings, week, owners=owners, known=known, now=now)
    named = {scope for _, scope, _ in known if scope}
    tried = {channel for _, _, channel in known}
    untried = [one for one in settings.channels if one.name not in tried]
    return not untried and not due(settings, week, owners=named, known=known, now=now)


def _one(
    ledger: Ledger, settings: DeliverSettings, asked: Due, parcel: Parcel, now: Callable[[], datetime]
) -> Delivery | None:
    claim = _claim(ledger, asked, now())
    if claim is None:
        return None
    channel = next(one for one in settings.channels if one.name == asked.channel)
    try:
        state, detail = DeliveryState.SENT, send(parcel, channel)
    except DeliveryUnsureError as error:
        state, detail = DeliveryState.UNKNOWN, str(error)
    except TuppenceError as error:
        state, detail = DeliveryState.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 - a mistake of ours in one channel keeps no report from the others
        state, detail = DeliveryState.UNKNOWN, f"{type(error).__name__}: {error}"
        _log.error("delivery_broke", channel=asked.channel, exc_info=True)
    (_log.info if state is DeliveryState.SENT else _log.error)(
        "report_delivery",
        state=state.value,
        channel=asked.channel,
        scope=asked.scope,
        week=asked.week.id,
        attempt=asked.attempt,
        detail=detail,
    )
    made = ledger.deliver(lambda reader: [_step(reader, asked, state, detail, now())])
    return made[0]


def _claim(ledger: Ledger, asked: Due, now: datetime) -> Delivery | None:
    """The claim; None: somebody else has it, or has sent it meanwhile."""

    def claimed(reader: Reader) -> Sequence[Delivery]:
        last = standing_of(reader.deliveries(week=asked.week.id), at=now).get(asked.key)
        if (last.attempt if last else 0) != asked.attempt - 1:
            return ()
        if last is not None and last.state in {DeliveryState.SENT, DeliveryState.CLAIMED}:
            return ()
        return (_step(reader, asked, DeliveryState.CLAIMED, "", now),)

    return next(iter(ledger.deliver(claimed)), None)


def _step(reader: Reader, asked: Due, state: DeliveryState, detail: str, now: datetime) -> Delivery:
    return Delivery(
        number=reader.next_delivery(),
        at=now,
        week=asked.week.id,
        scope=asked.scope,
        channel=asked.channel,
        state=state,
        attempt=asked.attempt,
        detail=detail,
    )


def only(settings: DeliverSettings, names: Sequence[str]) -> DeliverSettings:
    """This will keep the named channels.

    Raises:
        SettingsError: there is no channel of a name, or there is none at all.
    """
    known = [one.name for one in settings.channels]
    if not known:
        raise SettingsError(
            "no channel is set", where="deliver.channels", next_step="Add one; docs/how-to/deliver-reports.md has each."
        )
    if wrong := [name for name in names if name not in known]:
        raise SettingsError(
            f"there is no channel {wrong[0]!r}", where="--channel", next_step=f"Name some of: {', '.join(known)}."
        )
    kept = tuple(one for one in settings.channels if not names or one.name in names)
    return settings.model_copy(update={"channels": kept})
