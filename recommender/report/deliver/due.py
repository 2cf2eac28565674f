"""What has to be delivered now: the week whose report is due, by its channels and scopes, and what the ledger knows.

A pure function of the time, the settings and the steps written down. A report is due once a week at its time by the
clock of its zone; one that was missed stays due for `catch_up_hours`; one that failed is due again after
`retry_minutes` until its attempts are used up; one that nobody knows of is due only when a person asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from recommender.deliver_settings import Channel, DeliverSettings
from recommender.ledger.deliveries import Delivery, DeliveryState
from recommender.week.calendar import Week

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EVERY_OWNER = "*"

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Due:
    """One delivery that is to be tried.

    Args:
        week: of the report.
        scope: an owner; empty: all.
        channel: its name.
        attempt: 1, 2, 3 …
    """

    week: Week
    scope: str
    channel: str
    attempt: int

    @property
    def key(self) -> Key:
        """What is delivered once."""
        return (self.week.id, self.scope, self.channel)


def due_week(settings: DeliverSettings, *, now: datetime) -> Week | None:
    """This will return the week whose report is due now; None: none is."""
    last = last_time(settings, now=now)
    return Week.last_whole(last) if now - last <= timedelta(hours=settings.catch_up_hours) else None


def last_time(settings: DeliverSettings, *, now: datetime) -> datetime:
    """This will return the last moment at which a report was to go out, by the clock of the zone, in UTC."""
    zone = ZoneInfo(settings.time_zone)
    hour, minute = (int(part) for part in settings.time.split(":"))
    here = now.astimezone(zone)
    day = here.date() - timedelta(days=(here.weekday() - DAYS.index(settings.day)) % 7)
    moment = datetime.combine(day, time(hour, minute), tzinfo=zone).astimezone(UTC)
    if moment <= now:
        return moment
    return datetime.combine(day - timedelta(days=7), time(hour, minute), tzinfo=zone).astimezone(UTC)


def scopes_of(channel: Channel, owners: Iterable[str]) -> tuple[str, ...]:
    """This will return whose reports go through a channel: the owners it names, all that there are, or one for all."""
    if not channel.owners:
        return ("",)
    there = sorted({owner for owner in owners if owner})
    return tuple(there) if EVERY_OWNER in channel.owners else tuple(one for one in channel.owners if one in there)


def due(
    settings: DeliverSettings,
    week: Week,
    *,
    owners: Iterable[str],
    known: Mapping[Key, Delivery],
    now: datetime,
    by_hand: bool = False,
    again: bool = False,
) -> tuple[Due, ...]:
    """This will return what is to be tried now.

    Args:
        settings: channels and patience.
        week: whose report.
        owners: owners that the report has.
        known: the last step of each delivery, from ledger.deliveries.standing_of.
        now: the time (UTC).
        by_hand: a person asks: what failed is tried whatever its attempts and its pause.
        again: a person has looked: what nobody knows of is tried, too. What was sent never is.
    """
    asked = [(week.id, scope, one.name) for one in settings.channels for scope in scopes_of(one, owners)]
    tries = ((key, _attempt(known.get(key), settings, now=now, by_hand=by_hand, again=again)) for key in asked)
    return tuple(Due(week, key[1], key[2], attempt) for key, attempt in tries if attempt)


def _attempt(last: Delivery | None, settings: DeliverSettings, *, now: datetime, by_hand: bool, again: bool) -> int:
    """The number of the attempt to make; 0: none."""
    if last is None:
        return 1
    if last.state in {DeliveryState.SENT, DeliveryState.CLAIMED}:
        return 0
    if again or (by_hand and last.state is DeliveryState.FAILED):
        return last.attempt + 1
    waited = now - last.at >= timedelta(minutes=settings.retry_minutes)
    tried = last.state is DeliveryState.FAILED and last.attempt < settings.attempts
    return last.attempt + 1 if tried and waited else 0
