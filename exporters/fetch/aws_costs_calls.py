"""Fetch, AWS costs: one call to a billing API, all its pages, with plain errors; paid requests are counted.

Promises that a run of pages ends (a token that comes twice is an error), that an answer without the list it should
have is no last page, and that a paid request past the budget is never sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any

from dataframely.exc import ValidationError

from exporters.core.errors import IntegrityError, TerminalSourceError, TransientSourceError
from exporters.fetch.aws_clients import Call, error_code, plain_errors

AGAIN = "It will be tried again at the next time of asking; the costs that are known stay."
NO_DATA = "DataUnavailableException"
MOVED = frozenset(
    {"InvalidNextTokenException", "ExpiredNextTokenException", "RequestChangedException", "LimitExceededException"}
)
"""What only a later time of asking can mend: pages that no longer belong together, too many calls."""


class Spending:
    """Counts paid requests, also those that are sent again, and stops before the first that is too many.

    Args:
        most: how many one time of asking may make.
    """

    __slots__ = ("made", "most")

    def __init__(self, most: int) -> None:
        self.made = 0
        self.most = most

    def spend(self) -> None:
        """This will count a request that is about to be sent.

        Raises:
            TerminalSourceError: it would be one too many.
        """
        if self.made >= self.most:
            raise TerminalSourceError(
                f"the {self.most} paid requests that one time of asking may make are used up",
                where="costs.aws.max_requests_per_day",
                next_step="Raise it (USD 0.01 a request), choose a coarser costs.aws.breakdown, lower history_days or "
                "restated_days, or ask less often; nothing of this time was taken.",
            )
        self.made += 1


@contextmanager
def billing_errors(where: str, *, action: str) -> Iterator[None]:
    """This will turn the SDK's exceptions into ours, those of the billing APIs among them.

    Args:
        where: the call.
        action: the IAM action that it needs.
    """
    try:
        with plain_errors(where, action=action):
            yield
    except TerminalSourceError as error:
        code = error_code(error.__cause__)
        if code in MOVED:
            raise TransientSourceError(error.what, where=where, next_step=AGAIN) from error.__cause__
        step = {
            NO_DATA: "Enable Cost Explorer once, in the console of the account that pays (Billing): "
            "data follow within a day. A member account may see its costs only if that account allows it.",
            "BillExpirationException": "Lower costs.aws.history_days: Cost Explorer keeps the last 13 months by day.",
        }.get(code)
        if step is None:
            raise
        raise TerminalSourceError(error.what, where=where, next_step=step) from error.__cause__


@contextmanager
def stated_whole(where: str) -> Iterator[None]:
    """This will turn a member that is missing, or is not what it should be, into an IntegrityError.

    Args:
        where: the call.
    """
    try:
        yield
    except KeyError as error:
        raise whole_error(f"an item came without {error.args[0]}", where) from error
    except (TypeError, ValueError, ZeroDivisionError, ValidationError) as error:
        raise whole_error(f"an item is not what it should be ({str(error).splitlines()[0]})", where) from error


def pages(
    call: Call, arguments: Mapping[str, Any], *, items: str, next_page: str, action: str
) -> Iterator[Mapping[str, Any]]:
    """This will yield every page of a call, each of which has the list `items`.

    Args:
        call: a method of a client.
        arguments: of its first page.
        items: the member that every page must have.
        next_page: the member, in question and answer, that leads to the next page.
        action: the IAM action, which also names the call in messages.

    Raises:
        IntegrityError: a page without its list, or a token that comes twice.
    """
    seen: set[str] = set()
    following: dict[str, str] = {}
    while True:
        with billing_errors(action, action=action):
            page = call(**arguments, **following)
        if items not in page:
            raise whole_error(f"an answer came without {items}: it was cut off, or something else answered", action)
        yield page
        after = page.get(next_page)
        if not after:
            return
        if after in seen:
            raise whole_error("the pages do not end: a page token came twice", action)
        seen.add(after)
        following = {next_page: after}


def whole_error(what: str, where: str) -> IntegrityError:
    """This will return the error for an answer that is not whole or not believable."""
    return IntegrityError(what, where=where, next_step=AGAIN)


def exact(value: object, *, where: str) -> Decimal:
    """This will read an amount, which AWS writes as text, exactly.

    Raises:
        IntegrityError: it is absent or no finite number.
    """
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if value is None or not amount.is_finite():
        raise whole_error(f"an amount is {value!r}, which is no number", where)
    return amount
