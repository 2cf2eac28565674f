"""The billing APIs at the local AWS: Cost Explorer over a small ledger, Savings Plans, Budgets, reserved instances.

Each question and each answer is held against botocore's own service model, and Cost Explorer's rules beside it: two
groups at most, two members at least in an And, a page token only for the question that it came with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

from tests.fakes.aws import AwsServer
from tests.fakes.aws_rows import Json

LISTS = {
    "GetSavingsPlansUtilizationDetails": ("ce", "SavingsPlansUtilizationDetails", "NextToken"),
    "GetSavingsPlansCoverage": ("ce", "SavingsPlansCoverages", "NextToken"),
    "GetReservationUtilization": ("ce", "UtilizationsByTime", "NextPageToken"),
    "GetReservationCoverage": ("ce", "CoveragesByTime", "NextPageToken"),
    "GetDimensionValues": ("ce", "DimensionValues", "NextPageToken"),
    "DescribeSavingsPlans": ("savingsplans", "savingsPlans", "nextToken"),
    "DescribeSavingsPlansOfferingRates": ("savingsplans", "searchResults", "nextToken"),
    "DescribeBudgets": ("budgets", "Budgets", "NextToken"),
}
"""Calls that list something: their service, the member that holds the list, that of the page token."""

DIMENSIONS = {"LINKED_ACCOUNT": "account", "SERVICE": "service", "REGION": "region", "RECORD_TYPE": "record_type"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One charge in the books of AWS."""

    day: date
    account: str
    service: str
    region: str
    record_type: str
    unblended: str
    amortized: str
    unit: str = "USD"


@dataclass(frozen=True, slots=True)
class Renewed:
    """The books change after so many answers: AWS renews its data several times a day."""

    after: int
    ledger: tuple[Entry, ...]


class BillingServer(AwsServer):
    """An account that pays, with its books; lists of everything else are plain attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger: list[Entry] = []
        self.lists: dict[str, list[Json]] = {}
        self.more: dict[str, Json] = {}
        """Further members of the answers to a call."""
        self.forecast: Json = {}
        self.reservations: dict[str, list[Json]] = {}
        self.renewed: Renewed | None = None
        self.same_token = False
        self.forget: str | None = None
        """A member that answers of GetCostAndUsage leave out."""
        self.refused: list[str] = []

    def asked(self, operation: str) -> list[Json]:
        """The arguments of each call of an operation."""
        return [arguments for name, _, arguments in self.calls if name == operation]

    def _post(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        path = urlsplit(handler.path).path.strip("/")
        if path.startswith("DescribeSavingsPlans"):
            handler.headers["X-Amz-Target"] = f"SavingsPlans.{path}"
        super()._post(handler, body)

    def _answer(self, operation: str, region: str, arguments: Mapping[str, Any]) -> tuple[bytes, str]:
        if operation == "DescribeReservedInstances":
            return self._reserved(region, arguments), "text/xml"
        service = "ce" if operation in {"GetCostAndUsage", "GetCostForecast"} else LISTS.get(operation, ("",))[0]
        if not service:
            return super()._answer(operation, region, arguments)
        try:
            shapes = _model(service, operation)
            _hold(arguments, shapes.question)
            if operation == "GetCostAndUsage":
                answer = self._costs(arguments)
            elif operation == "GetCostForecast":
                answer = dict(self.forecast)
            else:
                answer = self._listed(operation, arguments)
            _hold(answer, shapes.answer)
        except AssertionError as error:
            self.refused.append(f"{operation}: {error}")
            raise
        if operation == "GetCostAndUsage" and self.forget:
            answer.pop(self.forget)
        return json.dumps(answer).encode(), "application/x-amz-json-1.1"

    def _listed(self, operation: str, arguments: Mapping[str, Any]) -> Json:
        _, member, token = LISTS[operation]
        items = self.lists.get(operation, [])
        start = int(arguments.get(token, "0"))
        end = start + self.page_size
        answer = {member: items[start:end], **self.more.get(operation, {})}
        if operation == "GetDimensionValues":
            answer |= {"ReturnSize": len(answer[member]), "TotalSize": len(items)}
        following = str(start if self.same_token else end)
        return answer | ({token: following} if end < len(items) else {})

    def _costs(self, arguments: Mapping[str, Any]) -> Json:
        groups = [one["Key"] for one in arguments.get("GroupBy", [])]
        assert len(groups) <= 2, "at most two groups"
        assert arguments["Granularity"] == "DAILY"
        first, end = (date.fromisoformat(arguments["TimePeriod"][name]) for name in ("Start", "End"))
        assert first < end, "the end is exclusive"
        question = {name: value for name, value in arguments.items() if name != "NextPageToken"}
        digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:8]
        token = arguments.get("NextPageToken", f"{digest}-0")
        assert token.startswith(digest), "a page token of another question"
        if self.renewed and len(self.asked("GetCostAndUsage")) > self.renewed.after:
            self.ledger = list(self.renewed.ledger)
        days = [first + timedelta(days=number) for number in range((end - first).days)]
        parts = [part for day in days for part in self._parts(day, groups, arguments)]
        start = int(token.partition("-")[2])
        results: dict[str, Json] = {}
        for day, group in parts[start : start + self.page_size]:
            result = results.setdefault(day.isoformat(), _result(day))
            if groups and group is not None:
                result["Groups"].append(group)
            elif group is not None:
                result["Total"] = group["Metrics"]
        following = start + self.page_size
        more = (
            {"NextPageToken": f"{digest}-{start if self.same_token else following}"} if following < len(parts) else {}
        )
        return {"ResultsByTime": list(results.values()), **more}

    def _parts(self, day: date, groups: list[str], arguments: Mapping[str, Any]) -> Iterable[tuple[date, Json | None]]:
        found: dict[tuple[str, ...], list[Entry]] = {} if groups else {(): []}
        for entry in self.ledger:
            if entry.day == day and _within(entry, arguments.get("Filter")):
                keys = tuple(str(getattr(entry, DIMENSIONS[group])) for group in groups)
                found.setdefault(keys, []).append(entry)
        named: list[tuple[date, Json | None]] = [
            (day, {"Keys": list(keys), "Metrics": {name: _sum(entries, name) for name in arguments["Metrics"]}})
            for keys, entries in sorted(found.items())
        ]
        return named or [(day, None)]

    def _reserved(self, region: str, arguments: Mapping[str, str]) -> bytes:
        assert arguments["Filter.1.Name"] == "state"
        wanted = {value for name, value in arguments.items() if name.startswith("Filter.1.Value.")}
        items = "".join(
            f"<item>{_xml(one)}</item>" for one in self.reservations.get(region, []) if one["state"] in wanted
        )
        inner = f"<reservedInstancesSet>{items}</reservedInstancesSet>"
        return f"<DescribeReservedInstancesResponse>{inner}</DescribeReservedInstancesResponse>".encode()


@dataclass(frozen=True, slots=True)
class _Shapes:
    question: Shape
    answer: Shape


@cache
def _model(service: str, operation: str) -> _Shapes:
    model = botocore.session.get_session().get_service_model(service).operation_model(operation)
    assert model.input_shape is not None
    assert model.output_shape is not None
    return _Shapes(model.input_shape, model.output_shape)


def _hold(value: Mapping[str, Any], shape: Shape) -> None:
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()


def _within(entry: Entry, chosen: Json | None) -> bool:
    if not chosen:
        return True
    assert len(chosen) == 1, "an expression has one root"
    if "And" in chosen:
        assert len(chosen["And"]) >= 2, "an And joins two or more"
        return all(_within(entry, one) for one in chosen["And"])
    if "Not" in chosen:
        return not _within(entry, chosen["Not"])
    one = chosen["Dimensions"]
    assert one["MatchOptions"] == ["EQUALS"]
    assert one["Values"], "a dimension has values"
    return getattr(entry, DIMENSIONS[one["Key"]]) in one["Values"]


def _sum(entries: list[Entry], metric: str) -> Json:
    """Rounded to ten places, as AWS states sums."""
    column = "amortized" if "Amortized" in metric else "unblended"
    total = sum((Decimal(getattr(one, column)) for one in entries), Decimal(0))
    return {"Amount": f"{total:.10f}".rstrip("0").rstrip("."), "Unit": entries[0].unit if entries else "USD"}


def _result(day: date) -> Json:
    period = {"Start": day.isoformat(), "End": (day + timedelta(days=1)).isoformat()}
    return {"TimePeriod": period, "Total": {}, "Groups": [], "Estimated": True}


def _xml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "".join(f"<{name}>{_xml(one)}</{name}>" for name, one in value.items())
    if isinstance(value, list):
        return "".join(f"<item>{_xml(one)}</item>" for one in value)
    return escape(str(value))
