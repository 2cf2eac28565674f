"""Forms as a browser sends them: read from the page, with what a person fills in."""

from __future__ import annotations

import re
from typing import Any

import httpx2

HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">')


def filled(page: str, **fields: str) -> dict[str, str]:
    """This will return the form of a recommendation's page with fields filled in."""
    return {**dict(HIDDEN.findall(page)), **fields}


def decide(client: httpx2.Client, advice_id: str, **fields: Any) -> httpx2.Response:
    """This will open a recommendation and send its form."""
    page = client.get(f"/recommendations/{advice_id}")
    return send(client, advice_id, filled(page.text, **fields))


def send(
    client: httpx2.Client, advice_id: str, form: dict[str, str], headers: dict[str, str] | None = None
) -> httpx2.Response:
    """This will send a form; a redirection is not followed."""
    path = f"/recommendations/{advice_id}/decisions"
    return client.post(path, data=form, headers={"accept": "text/html", **(headers or {})})
