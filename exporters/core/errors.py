"""Errors of every stage. Each says what happened, where, and what to do next.

TuppenceError
├── SettingsError            the user's files or arguments are wrong (exit code 2)
├── SourceError              a price source, or Prometheus, did not give what was asked
│   ├── TransientSourceError     worth another try: throttled, timed out, 5xx, cut off
│   └── TerminalSourceError      another try cannot help: credentials, permissions, a malformed answer
│       └── MissingExtraError    the SDK that a source needs is not installed
├── IntegrityError           data arrived, but not whole or not believable; the last good stays
├── StoreError               the disk or the object store refused
└── PricesUnavailableError   there is no snapshot to read prices from
"""

from __future__ import annotations


class TuppenceError(Exception):
    """An error a user can act on.

    Args:
        what: what happened, as a sentence without a full stop.
        where: the file, setting, URL or source it happened at.
        next_step: what the reader should do now.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str, next_step: str) -> None:
        super().__init__(what, where, next_step)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.next_step}"


class SettingsError(TuppenceError):
    """A settings file, a policy, a book or a command-line argument is wrong."""

    exit_code = 2


class SourceError(TuppenceError):
    """A price source or Prometheus did not give what was asked."""


class TransientSourceError(SourceError):
    """The other side is throttling, slow or down; the same request may succeed later."""


class TerminalSourceError(SourceError):
    """The same request will fail again until somebody changes something."""


class MissingExtraError(TerminalSourceError):
    """The SDK of a source is not installed."""

    def __init__(self, source: str, extra: str, *, section: str = "sources") -> None:
        super().__init__(
            f"the source needs the optional dependencies of the extra '{extra}'",
            where=f"{section}.{source}",
            next_step=f"Install them with: pip install 'tuppence[{extra}]'",
        )


class IntegrityError(TuppenceError):
    """Data arrived, but not whole or not believable."""


class StoreError(TuppenceError):
    """The snapshot store could not be read or written."""


class PricesUnavailableError(TuppenceError):
    """No snapshot holds the prices that were asked for."""
