"""Who may do what: viewers look, approvers decide. And a form counts only if it came from a page that was served here.

A decision by a form is protected against being sent by another site (OWASP, "Cross-Site Request Forgery Prevention"):
its token is signed, bound to the session's cookie and to the user, and ends; the cookie is SameSite=Strict; and
Origin, where the browser sends one, must be this address. Tokens of machines are sent by no browser on its own.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import structlog
from fastapi import Request, Response
from pydantic import Field, StringConstraints

from exporters.core.config_file import Section, read_document, validate
from exporters.core.errors import SettingsError
from exporters.core.secrets import read_secret
from exporters.core.web.auth import Caller
from recommender.serve.problem import ProblemError
from recommender.settings import RecommenderWebSettings

_log = structlog.get_logger(__name__)

COOKIE = "tuppence_session"
FORM_LIFE = timedelta(hours=12)
NOBODY = "somebody without login"
_SESSION = re.compile(r"[A-Za-z0-9_-]{43}")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Role(StrEnum):
    """What somebody may do."""

    VIEWER = "viewer"
    APPROVER = "approver"


class Token(Section):
    """A machine's token; the file holds only its hash, so that who reads the file cannot use it."""

    role: Role
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] = Field(repr=False)


class Tokens(Section):
    """The file of tokens."""

    tokens: dict[Annotated[str, StringConstraints(min_length=1, max_length=100)], Token] = Field(default_factory=dict)


class TokenFile:
    """The tokens in use; a changed file holds from the next request on, a wrong one lets nobody in.

    Args:
        path: of the file; None: there are no tokens.

    Raises:
        SettingsError: the file is wrong at the start.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen = _fingerprint(path)
        self._tokens = _read(path)

    def caller(self, token: str) -> Caller | None:
        """This will tell whose a token is."""
        if (now := _fingerprint(self._path)) != self._seen:
            self._seen = now
            try:
                self._tokens = _read(self._path)
            except SettingsError as error:
                self._tokens = Tokens()
                _log.error("tokens_refused", error=str(error))
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = [name for name, one in self._tokens.tokens.items() if hmac.compare_digest(one.sha256, digest)]
        return Caller(f"token {found[0]}", self._tokens.tokens[found[0]].role.value) if found else None


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks at a page or calls the API.

    Args:
        name: the author of what they decide.
        caller: None: nobody has to log in here.
        why_not: why they may not decide; empty: they may.
    """

    name: str
    caller: Caller | None
    why_not: str

    @property
    def shown_name(self) -> str:
        """Their name on pages; empty: they have none."""
        return "" if self.caller is None else self.name


class Access:
    """Tells who may decide, and signs forms.

    Args:
        settings: of the web, as they are now.
        host: the address that is listened on, whatever settings read later say.
        now: the clock.

    Raises:
        SettingsError: the key's file cannot be read.
    """

    def __init__(
        self, settings: Callable[[], RecommenderWebSettings], *, host: str, now: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._is_loopback = host in _LOOPBACK
        self._now = now
        file = settings().session_key_file
        text = None if file is None else read_secret(file, setting="recommender_web.session_key_file")
        self._key = secrets.token_bytes(32) if text is None else hashlib.sha256(text.encode()).digest()

    def visitor(self, request: Request) -> Visitor:
        """This will say who a request comes from."""
        caller = request.scope.get("state", {}).get("caller")
        if caller is None:
            return Visitor(NOBODY, None, self._without_login(request))
        if caller.role:
            may = caller.role == Role.APPROVER.value
            return Visitor(caller.name, caller, "" if may else f"The {caller.name} has the role viewer.")
        may = caller.name in self._settings().approvers
        why = f"{caller.name} is not among recommender_web.approvers, and may look only."
        return Visitor(caller.name, caller, "" if may else why)

    def must_decide(self, request: Request) -> Visitor:
        """This will return who decides.

        Raises:
            ProblemError: 401, the token is not known; 403, they may not.
        """
        found = self.visitor(request)
        given = request.headers.get("authorization", "").partition(" ")[0].lower()
        if found.caller is None and given == "bearer":
            raise ProblemError(
                401,
                "The bearer token is not known.",
                where="Authorization",
                next_step="Give a token of recommender_web.tokens_file.",
                headers={"www-authenticate": 'Bearer realm="Tuppence"'},
            )
        if found.why_not:
            raise ProblemError(
                403,
                found.why_not,
                where=request.url.path,
                next_step="Ask an approver, or for the role: docs/how-to/pages.md.",
            )
        return found

    def form_token(self, request: Request) -> tuple[str, str]:
        """This will return a token for a form, and the session that its cookie must hold."""
        session = _session(request) or secrets.token_urlsafe(32)
        issued = f"{self._now().timestamp():.0f}"
        return f"{issued}.{self._signed(session, self.visitor(request).name, issued)}", session

    def check_form(self, request: Request, token: str) -> None:
        """This will make sure that a form came from a page that was served here to the same person.

        Raises:
            ProblemError: 403, it did not, or too long ago.
        """
        _same_origin(request)
        issued, _, signature = token.partition(".")
        session = _session(request)
        expected = self._signed(session or "", self.visitor(request).name, issued)
        is_ours = session is not None and hmac.compare_digest(expected.encode(), signature.encode())
        if not is_ours or datetime.fromtimestamp(int(issued), tz=self._now().tzinfo) + FORM_LIFE < self._now():
            raise ProblemError(
                403,
                "The form is too old, or did not come from this page.",
                where=request.url.path,
                next_step="Open the recommendation again and decide there; cookies of this address must be allowed.",
            )

    def _signed(self, session: str, user: str, issued: str) -> str:
        return hmac.new(self._key, f"{session}\n{issued}\n{user}".encode(), hashlib.sha256).hexdigest()

    def _without_login(self, request: Request) -> str:
        if self._settings().decide_without_login:
            return ""
        # Of both: a name that an attacker lets resolve to loopback is no loopback name (DNS rebinding).
        if self._is_loopback and _host(request) in _LOOPBACK:
            return ""
        return (
            "Nobody logs in here, so nobody may decide: set users in the web-config file and recommender_web.approvers."
        )


def set_session(request: Request, response: Response, session: str) -> None:
    """This will set the session's cookie."""
    response.set_cookie(
        COOKIE, session, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )


def _session(request: Request) -> str | None:
    found = request.cookies.get(COOKIE, "")
    return found if _SESSION.fullmatch(found) else None


def _same_origin(request: Request) -> None:
    """Origin's host must be ours; its scheme need not, for a proxy may end TLS before us."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    host = request.headers.get("host", "")
    if (origin is not None and urlsplit(origin).netloc != host) or site not in {None, "same-origin", "none"}:
        raise ProblemError(
            403,
            f"The form was sent from {origin or 'another site'}, not from here.",
            where="Origin",
            next_step=f"Decide at {host}; a proxy in front must pass on the Host header.",
        )


def _host(request: Request) -> str:
    return urlsplit(f"//{request.headers.get('host', '')}").hostname or ""


def _read(path: Path | None) -> Tokens:
    return Tokens() if path is None else validate(read_document(path), Tokens, known=frozenset(Tokens.model_fields))


def _fingerprint(path: Path | None) -> tuple[int, int, int] | None:
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
