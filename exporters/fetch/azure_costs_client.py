"""Azure costs, the edge: the SDK's client, and answers as tables with every page and every digit.

Promises all pages or an error, numbers as they were sent (JSON is read anew, because the SDK makes floats of them), and
columns by name. `next_link` is not followed by the SDK: the same body is posted to it.

Source: azure-mgmt-costmanagement 5 (API version 2025-03-01): query.usage, forecast.usage.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias

from azure.core.pipeline.policies import HeadersPolicy
from azure.core.rest import HttpRequest
from azure.identity import DefaultAzureCredential
from azure.mgmt.costmanagement import CostManagementClient

from exporters.core.errors import IntegrityError, TransientSourceError
from exporters.fetch.azure_costs_throttle import Patience
from exporters.fetch.azure_session import OnlyToEndpoint, Sdk, as_source_errors
from exporters.fetch.deadline import Deadline

Json: TypeAlias = Any
READER: Final = "the role Cost Management Reader"
_OK, _NOTHING = 200, 204
_MOST_PAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Access:
    """How one refresh reaches the API.

    Args:
        endpoint: checked base URL of Azure Resource Manager.
        ca_file: a CA bundle for it; None: the system's.
        client_type: the program's name, which has a limit of requests of its own.
        first_pause_seconds: after a throttle that names no time.
        deadline: of the refresh.
    """

    endpoint: str
    ca_file: str | None
    client_type: str
    first_pause_seconds: float
    deadline: Deadline


@dataclass(slots=True)
class Table:
    """An answer: columns found by name, in any case, and rows of all pages.

    Args:
        place: what was asked and where, for messages.
        names: of the columns.
        rows: values; numbers are int or Decimal.
    """

    place: str
    names: tuple[str, ...] = ()
    rows: list[list[Json]] = field(default_factory=list)

    def column(self, *spellings: str) -> int:
        """This will return where a column stands.

        Raises:
            IntegrityError: there is none of these names, or two.
        """
        wanted = {spelling.casefold() for spelling in spellings}
        found = [place for place, name in enumerate(self.names) if name.casefold() in wanted]
        if len(found) != 1:
            raise IntegrityError(
                f"the answer has {len(found)} columns {' or '.join(spellings)} (its columns: {', '.join(self.names)})",
                where=self.place,
                next_step="The API may have changed; report it. Nothing of this answer was taken.",
            )
        return found[0]

    def has(self, name: str) -> bool:
        """This will tell whether there is a column of a name."""
        return name.casefold() in {one.casefold() for one in self.names}


class Costs:
    """The client of one refresh.

    Args:
        client: of the SDK.
        access: how it was made.
    """

    def __init__(self, client: Sdk, access: Access) -> None:
        self.sdk = client
        self.access = access
        self.asked = 0

    def table(self, call: Callable[..., Sdk], scope: str, body: Sdk, *, what: str) -> Table:
        """This will ask query.usage or forecast.usage and return all pages.

        Args:
            call: the operation.
            scope: path of the scope.
            body: its definition.
            what: what is asked, as the subject of a sentence.

        Raises:
            SourceError: it was not given.
            IntegrityError: pages that lead elsewhere or in a circle, or that do not have the same columns.
        """
        place = f"{self.access.endpoint}{scope}"
        table = Table(f"{what} of {scope}")
        with as_source_errors(place, what=what, right=f"{READER} on {scope}"):
            self.asked += 1
            first = call(scope, body, cls=lambda answer, _found, _headers: answer)
            sent, link = first.http_request.content, _take(first.http_response, table)
        seen: set[str] = set()
        while link:
            if link in seen or len(seen) >= _MOST_PAGES:
                raise IntegrityError(
                    "the pages lead in a circle", where=table.place, next_step="It will be asked again."
                )
            seen.add(link)
            self.asked += 1
            request = HttpRequest("POST", link, content=sent, headers={"Content-Type": "application/json"})
            with as_source_errors(place, what=what, right=f"{READER} on {scope}"):
                response = self.sdk.send_request(request)
                response.raise_for_status()
                link = _take(response, table)
        return table

    def resources(self, path: str, *, api_version: str, what: str, right: str) -> list[Json]:
        """This will list resources of Resource Manager that the SDK has no operation for, every page of them.

        Args:
            path: of the list, such as /providers/Microsoft.Capacity/reservations.
            api_version: of that resource provider.
            what: what is listed, as the subject of a sentence.
            right: the right that the identity needs.
        """
        link: str | None = f"{self.access.endpoint}{path}?api-version={api_version}"
        found: list[Json] = []
        seen: set[str] = set()
        while link:
            if link in seen:
                raise IntegrityError("the pages lead in a circle", where=path, next_step="It will be asked again.")
            seen.add(link)
            answer = self._get(link, what=what, right=right)
            with as_source_errors(path, what=what, right=right):
                found += [one for one in answer["value"] if one["id"] and one["properties"] is not None]
            link = answer.get("nextLink")
        return found

    def resource(self, path: str, *, api_version: str, what: str, right: str) -> Json:
        """This will return one resource of Resource Manager; see resources."""
        joint = "&" if "?" in path else "?"
        return self._get(f"{self.access.endpoint}{path}{joint}api-version={api_version}", what=what, right=right)

    def _get(self, link: str, *, what: str, right: str) -> Json:
        with as_source_errors(link.partition("?")[0], what=what, right=right):
            self.asked += 1
            response = self.sdk.send_request(HttpRequest("GET", link))
            response.raise_for_status()
            return exact(response.text())


def exact(text: str) -> Json:
    """This will read JSON with every digit of its numbers; NaN and Infinity, which are none, are refused.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(text, parse_float=Decimal, parse_constant=_no_number)


def _no_number(word: str) -> Json:
    raise ValueError(f"{word} is no number")


def _take(response: Sdk, table: Table) -> str | None:
    """This will add the rows of a page and return the link to the next."""
    if response.status_code == _NOTHING:
        return None
    if response.status_code != _OK:
        raise TransientSourceError(
            f"the next page was answered with {response.status_code}",
            where=table.place,
            next_step="It will be asked again at the next refresh.",
        )
    answer = exact(response.text())
    properties = answer["properties"]
    names = tuple(str(column["name"]) for column in properties["columns"])
    rows = properties["rows"]
    if table.names and names != table.names:
        raise IntegrityError(
            f"two pages have different columns ({', '.join(table.names)}; {', '.join(names)})",
            where=table.place,
            next_step="It will be asked again at the next refresh.",
        )
    if any(len(row) != len(names) for row in rows):
        raise IntegrityError(
            f"a row has more or fewer values than the {len(names)} columns",
            where=table.place,
            next_step="It will be asked again at the next refresh.",
        )
    table.names = names
    table.rows += rows
    return properties.get("nextLink") or None


@contextmanager
def costs_client(access: Access) -> Iterator[Costs]:
    """This will open the client of one refresh; a token goes only to the configured endpoint."""
    client = CostManagementClient(
        DefaultAzureCredential(),
        base_url=access.endpoint,
        retry_policy=Patience(access.deadline, first_pause_seconds=access.first_pause_seconds, place=access.endpoint),
        per_call_policies=[
            OnlyToEndpoint(access.endpoint, what="costs"),
            HeadersPolicy(base_headers={"ClientType": access.client_type}),
        ],
        connection_verify=access.ca_file or True,
    )
    with client:
        yield Costs(client, access)
