"""Azure costs, before the first arrow: what a scope string means, and which of several would count a charge twice.

Pure. Source: Microsoft Learn, "Understand and work with Cost Management scopes": the scopes of costs are subscriptions,
resource groups, management groups, and the parts of a billing account, each named by its Resource Manager path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator

_ID: Final = r"[\w:.-]+"
_SUBSCRIPTION: Final = r"/subscriptions/(?P<subscription>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_BILLING: Final = rf"/providers/microsoft\.billing/billingaccounts/(?P<account>{_ID}"
_FORMS: Final = (
    ("subscription", _SUBSCRIPTION),
    ("resource group", rf"{_SUBSCRIPTION}/resourcegroups/[\w.()-]{{1,90}}"),
    ("management group", r"/providers/microsoft\.management/managementgroups/(?P<account>[\w.()-]{1,90})"),
    ("billing account", rf"{_BILLING})"),
    ("billing profile", rf"{_BILLING}/billingprofiles/{_ID})"),
    ("invoice section", rf"{_BILLING}/billingprofiles/{_ID}/invoicesections/{_ID})"),
    ("department", rf"{_BILLING}/departments/{_ID})"),
    ("enrollment account", rf"{_BILLING}/enrollmentaccounts/{_ID})"),
    ("customer", rf"{_BILLING}/customers/{_ID})"),
)
NARROW: Final = ("subscription", "resource group")
UNREPORTED: Final = ("management group", "resource group")
"""Scopes of which Azure makes no report of cost details."""

BILLED: Final = ("billing account", "billing profile")
"""Scopes that have price sheets."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where costs are asked for.

    Args:
        path: as Resource Manager has it, without a slash at the end.
        kind: subscription, resource group, management group, billing account, …
        account: what its charges have as billing account: the id of a subscription, a management group, or a billing
            account with the part of it.
        subscription: the only subscription that it can hold, in lower case; empty: it may hold several.
    """

    path: str
    kind: str
    account: str
    subscription: str

    @property
    def is_wide(self) -> bool:
        """Whether it may hold several subscriptions."""
        return not self.subscription

    def holds(self, other: Scope) -> bool:
        """This will tell whether every charge of another scope is also one of this one, as far as paths tell."""
        return f"{other.path.casefold()}/".startswith(f"{self.path.casefold()}/")


def scope_of(path: str) -> Scope:
    """This will read a scope.

    Raises:
        ValueError: it is none.
    """
    bare = path.strip().rstrip("/")
    for kind, form in _FORMS:
        if match := re.fullmatch(form, bare, re.IGNORECASE):
            found = match.groupdict()
            subscription = (found.get("subscription") or "").lower()
            group = bare.rpartition("/")[2] if kind == "resource group" else ""
            account = found.get("account") or "/".join(part for part in (subscription, group) if part)
            return Scope(path=bare, kind=kind, account=account, subscription=subscription)
    raise ValueError(
        f"{path!r} is no scope of costs; write /subscriptions/ID, /subscriptions/ID/resourceGroups/NAME, "
        "/providers/Microsoft.Management/managementGroups/ID or /providers/Microsoft.Billing/billingAccounts/ID[/…]"
    )


ScopePath = Annotated[str, AfterValidator(lambda path: scope_of(path).path)]
"""A scope in the settings."""


def require_apart(paths: Sequence[str]) -> None:
    """This will see to it that no scope lies in another, whose charges would count twice.

    Raises:
        ValueError: one does.
    """
    scopes = [scope_of(path) for path in paths]
    for place, one in enumerate(scopes):
        for other in scopes[:place] + scopes[place + 1 :]:
            if one.holds(other):
                raise ValueError(f"{other.path} lies in {one.path}, so that its charges would count twice; name one")
