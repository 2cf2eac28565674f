"""Google APIs that Tuppence reads without an SDK of their own: every page of a list, or an error. A thin edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions as api_errors
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession

from exporters.core.errors import IntegrityError
from exporters.fetch.deadline import Deadline
from exporters.fetch.gcp_session import as_source_errors, default_credentials, page_retry, page_timeout


@dataclass(frozen=True, slots=True)
class Rest:
    """One API with its limits.

    Args:
        endpoint: checked https:// URL, or http:// to this machine.
        scope: the OAuth scope that it needs.
        deadline: the time left.
        first_wait: seconds before the first retry of a page.
    """

    endpoint: str
    scope: str
    deadline: Deadline
    first_wait: float

    def pages(self, path: str, params: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """This will return the pages of a list, one after the other.

        Raises:
            SourceError: a page did not arrive.
            IntegrityError: a page is no JSON object, or its token repeats itself.
        """
        where = f"{self.endpoint}/{path}"
        session = self._session()
        token = ""
        while True:
            page = self._page(session, where, {**params, **({"pageToken": token} if token else {})})
            yield page
            following = str(page.get("nextPageToken", ""))
            if not following:
                return
            if following == token:
                raise unlike("the page token repeats itself", where)
            token = following

    def _page(self, session: AuthorizedSession, where: str, params: Mapping[str, str]) -> Mapping[str, Any]:
        def ask() -> Mapping[str, Any]:
            response = session.get(where, params=params, timeout=page_timeout(self.deadline, where=where))
            if response.status_code != 200:
                raise api_errors.from_http_response(response)  # type: ignore[no-untyped-call]
            page = response.json()
            if not isinstance(page, dict):
                raise unlike("the answer is JSON but no list", where)
            return page

        with as_source_errors(where):
            return page_retry(self.deadline, first_wait=self.first_wait, where=where)(ask)()

    def _session(self) -> AuthorizedSession:
        """A session with the default credentials; with none at all for http:// to this machine."""
        plain = self.endpoint.startswith("http://")
        credentials = AnonymousCredentials() if plain else default_credentials(self.scope)  # type: ignore[no-untyped-call]
        return AuthorizedSession(credentials)  # type: ignore[no-untyped-call]


def unlike(what: str, where: str) -> IntegrityError:
    """This will return the error of an answer that is not whole or not what the API promises."""
    return IntegrityError(what, where=where, next_step="It will be asked again; what was known stays.")
