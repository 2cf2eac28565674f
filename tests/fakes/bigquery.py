"""A local BigQuery that really runs what it is asked: the query is translated for DuckDB and answered from its tables.

It keeps the API's manners that matter to a reader: a job that is not done at first, pages by token, dry runs, a limit
of bytes, locations, parameters with types, standard SQL only. Numbers travel as texts, as BigQuery sends them.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import sqlglot

PAIRS = "STRUCT(key VARCHAR, value VARCHAR)[]"
USAGE = {
    "_PARTITIONTIME": "TIMESTAMPTZ",
    "billing_account_id": "VARCHAR",
    "service": "STRUCT(id VARCHAR, description VARCHAR)",
    "sku": "STRUCT(id VARCHAR, description VARCHAR)",
    "usage_start_time": "TIMESTAMPTZ",
    "project": f"STRUCT(id VARCHAR, labels {PAIRS})",
    "labels": PAIRS,
    "system_labels": PAIRS,
    "location": "STRUCT(location VARCHAR, region VARCHAR)",
    "cost": "DOUBLE",
    "cost_at_list": "DOUBLE",
    "currency": "VARCHAR",
    "usage": "STRUCT(pricing_unit VARCHAR, amount_in_pricing_units DOUBLE)",
    "credits": "STRUCT(type VARCHAR, amount DOUBLE)[]",
    "invoice": 'STRUCT("month" VARCHAR)',
    "cost_type": "VARCHAR",
    "subscription": "STRUCT(instance_id VARCHAR)",
    "consumption_model": "STRUCT(description VARCHAR)",
}
"""Columns of a usage cost export as DuckDB has them; BigQuery's floats are DuckDB's doubles."""

FOCUS = {
    **dict.fromkeys(("BillingAccountId", "SubAccountId", "ServiceName", "RegionId", "ChargeCategory"), "VARCHAR"),
    **dict.fromkeys(
        ("PricingCategory", "CommitmentDiscountId", "CommitmentDiscountStatus", "BillingCurrency"), "VARCHAR"
    ),
    **dict.fromkeys(("BillingPeriodStart", "ChargePeriodStart"), "TIMESTAMPTZ"),
    **dict.fromkeys(("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"), "DECIMAL(38, 18)"),
    "Tags": PAIRS,
}

_KINDS = {"DATE": "DATE", "VARCHAR": "STRING", "BOOLEAN": "BOOLEAN", "DOUBLE": "FLOAT", "BIGINT": "INTEGER"}


@dataclass(slots=True)
class FakeBigQuery:
    """Its tables and its manners.

    Args:
        database: holds the tables as project.dataset.table.
        columns: the columns of each table that it tells of.
        partitioning: by table: the answer's timePartitioning; None: a view.
        location: where everything lies.
        scanned: bytes that a query reads.
        polls: how often a job is not done when it is asked for.
        page: rows a page, whatever is asked for.
        refusals: answers (status, body) before anything else, by kind of request: table, insert, query, results.
        asked: kind and body or query of every request.
    """

    database: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    columns: dict[str, list[str]] = field(default_factory=dict)
    partitioning: dict[str, dict[str, str] | None] = field(default_factory=dict)
    location: str = "EU"
    scanned: int = 2_147_483_648
    polls: int = 0
    page: int = 2
    refusals: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    jobs: dict[str, tuple[list[dict[str, str]], list[tuple[Any, ...]]]] = field(default_factory=dict)
    url: str = ""

    def add_table(
        self,
        name: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        columns: Mapping[str, str] = USAGE,
        partitioning: dict[str, str] | None = None,
    ) -> None:
        """This will make a table; what a row does not name is null. Without partitioning it is by time of ingestion."""
        project, dataset, _ = name.split(".")
        known = {row[0] for row in self.database.execute("SELECT database_name FROM duckdb_databases()").fetchall()}
        if project not in known:
            self.database.execute(f"ATTACH ':memory:' AS \"{project}\"")
        self.database.execute(f'CREATE SCHEMA IF NOT EXISTS "{project}"."{dataset}"')
        path = ".".join(f'"{part}"' for part in name.split("."))
        self.database.execute(f"CREATE TABLE {path} ({', '.join(f'{key} {kind}' for key, kind in columns.items())})")
        for row in rows:
            marks = ", ".join(f"CAST(? AS {kind})" for kind in columns.values())
            self.database.execute(f"INSERT INTO {path} VALUES ({marks})", [row.get(key) for key in columns])
        self.columns[name] = [key for key in columns if key != "_PARTITIONTIME"]
        is_view = "_PARTITIONTIME" not in columns and partitioning is None
        self.partitioning[name] = None if is_view else partitioning or {"type": "DAY"}

    def answer(self, kind: str, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.asked.append((kind, body))
        if self.refusals.get(kind):
            status, text = self.refusals[kind].pop(0)
            return status, text
        match kind:
            case "table":
                return self._table(name)
            case "insert":
                return self._insert(body)
            case "query":
                return self._query(body)
            case "job":
                return 200, self._job(name)
            case "unknown":
                return error(404, "notFound", "Not Found")
            case "cancel":
                return 200, {"job": self._job(name)}
            case _:
                return self._results(name, body)

    def _table(self, name: str) -> tuple[int, Any]:
        if name not in self.columns:
            return error(404, "notFound", f"Not found: Table {name}")
        parts = name.split(".")
        reference = dict(zip(("projectId", "datasetId", "tableId"), parts, strict=True))
        schema = {"fields": [{"name": column, "type": "STRING"} for column in self.columns[name]]}
        body: dict[str, Any] = {"tableReference": reference, "schema": schema, "location": self.location}
        if self.partitioning[name] is not None:
            body["timePartitioning"] = self.partitioning[name]
        return 200, body

    def _insert(self, body: dict[str, Any]) -> tuple[int, Any]:
        asked = body["configuration"]["query"]
        assert body["configuration"]["dryRun"] is True
        assert asked["useLegacySql"] is False
        assert body["jobReference"].get("location") == self.location
        self._run(asked["query"], asked.get("queryParameters", []))
        return 200, {
            "jobReference": body["jobReference"],
            "configuration": body["configuration"],
            "status": {"state": "DONE"},
            "statistics": {
                "totalBytesProcessed": str(self.scanned),
                "query": {"totalBytesProcessed": str(self.scanned)},
            },
        }

    def _query(self, body: dict[str, Any]) -> tuple[int, Any]:
        assert body["useLegacySql"] is False
        assert body["location"] == self.location
        if self.scanned > int(body["maximumBytesBilled"]):
            return error(400, "bytesBilledLimitExceeded", "Query exceeded limit for bytes billed")
        job = f"job_{len(self.jobs)}"
        self.jobs[job] = self._run(body["query"], body.get("queryParameters", []))
        if self.polls:
            return 200, {"kind": "bigquery#queryResponse", "jobReference": self._reference(job), "jobComplete": False}
        return 200, self._page(job, 0, int(body.get("maxResults", self.page)))

    def _results(self, job: str, query: dict[str, Any]) -> tuple[int, Any]:
        if self.polls:
            self.polls -= 1
            return 200, {"jobReference": self._reference(job), "jobComplete": False}
        return 200, self._page(job, int(query.get("pageToken", 0)), int(query.get("maxResults", self.page)))

    def _page(self, job: str, start: int, most: int) -> dict[str, Any]:
        fields, rows = self.jobs[job]
        end = start + min(most, self.page)
        body: dict[str, Any] = {
            "jobReference": self._reference(job),
            "jobComplete": True,
            "schema": {"fields": fields},
            "totalRows": str(len(rows)),
            "rows": [{"f": [{"v": as_text(value)} for value in row]} for row in rows[start:end]],
        }
        return body | ({"pageToken": str(end)} if end < len(rows) else {})

    def _job(self, job: str) -> dict[str, Any]:
        table = {"projectId": "p", "datasetId": "_anonymous", "tableId": job}
        return {
            "jobReference": self._reference(job),
            "configuration": {"query": {"query": "", "destinationTable": table}},
            "status": {"state": "RUNNING" if self.polls else "DONE"},
        }

    def _reference(self, job: str) -> dict[str, str]:
        return {"projectId": "payer", "jobId": job, "location": self.location}

    def _run(self, sql: str, parameters: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, str]], list[Any]]:
        (translated,) = sqlglot.transpile(sql, read="bigquery", write="duckdb")
        exact = translated.replace("DECIMAL(38, 5)", "DECIMAL(38, 18)")
        values = {item["name"]: value_of(item) for item in parameters}
        unknown = set(re.findall(r"\$(\w+)", exact)) ^ set(values)
        assert not unknown, unknown
        cursor = self.database.cursor()
        cursor.execute("SET TimeZone = 'UTC'")
        found = cursor.execute(exact, values)
        fields = [
            {"name": name, "type": _KINDS.get(str(kind), "BIGNUMERIC"), "mode": "NULLABLE"}
            for name, kind, *_ in found.description
        ]
        return fields, found.fetchall()


def error(status: int, reason: str, message: str) -> tuple[int, Any]:
    """An error in the API's form."""
    held = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
    return status, {"error": held}


def value_of(parameter: Mapping[str, Any]) -> Any:
    """A query parameter as DuckDB takes it."""
    kind, held = parameter["parameterType"]["type"], parameter["parameterValue"]
    if kind == "ARRAY":
        assert parameter["parameterType"]["arrayType"] == {"type": "STRING"}
        return [item["value"] for item in held.get("arrayValues", [])]
    return date.fromisoformat(held["value"]) if kind == "DATE" else held["value"]


def as_text(value: Any) -> str | None:
    """A value as BigQuery's JSON has it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return value.isoformat() if isinstance(value, date) else repr(value)


def usage_row(
    day: str = "2026-11-28T10:00:00Z",
    *,
    account: str = "01AB23-45CD67-89EF01",
    service: tuple[str, str] = ("6F81-5844-456A", "Compute Engine"),
    sku: str = "N2 Instance Core running in London",
    cost: float | None = 1.0,
    unit: str = "hour",
    quantity: float | None = None,
    credits: Mapping[str, float] | None = None,  # noqa: A002 - the export's own word
    project: str | None = "shop",
    region: str | None = "europe-west2",
    labels: Mapping[str, str] | None = None,
    project_labels: Mapping[str, str] | None = None,
    machine: str | None = None,
    exported: str | None = None,
    month: str = "202611",
    **more: Any,
) -> dict[str, Any]:
    """A line of a usage cost export."""
    spec = {} if machine is None else {"compute.googleapis.com/machine_spec": machine}
    return {
        "_PARTITIONTIME": exported or f"{day[:10]}T00:00:00Z",
        "billing_account_id": account,
        "service": {"id": service[0], "description": service[1]},
        "sku": {"id": "ABCD-1234", "description": sku},
        "usage_start_time": day,
        "project": None if project is None else {"id": project, "labels": pairs(project_labels)},
        "labels": pairs(labels),
        "system_labels": pairs(spec),
        "location": {"location": region or "global", "region": region},
        "cost": cost,
        "cost_at_list": cost,
        "currency": "GBP",
        "usage": {"pricing_unit": unit, "amount_in_pricing_units": quantity},
        "credits": [{"type": kind, "amount": amount} for kind, amount in (credits or {}).items()],
        "invoice": {"month": month},
        "cost_type": "regular",
        **more,
    }


def pairs(held: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Labels as the export has them."""
    return [{"key": key, "value": value} for key, value in (held or {}).items()]


@contextmanager
def fake_bigquery() -> Iterator[FakeBigQuery]:
    """A BigQuery on a free port of this machine."""
    fake = FakeBigQuery()
    lock = threading.Lock()
    paths = (
        ("table", "GET", re.compile(r"^/bigquery/v2/projects/([^/]+)/datasets/([^/]+)/tables/([^/]+)$")),
        ("insert", "POST", re.compile(r"^/bigquery/v2/projects/[^/]+/jobs$")),
        ("query", "POST", re.compile(r"^/bigquery/v2/projects/[^/]+/queries$")),
        ("job", "GET", re.compile(r"^/bigquery/v2/projects/[^/]+/jobs/([^/]+)$")),
        ("cancel", "POST", re.compile(r"^/bigquery/v2/projects/[^/]+/jobs/([^/]+)/cancel$")),
        ("results", "GET", re.compile(r"^/bigquery/v2/projects/[^/]+/queries/([^/]+)$")),
        ("unknown", "GET", re.compile("")),
    )

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one packet, or the other side waits for the second

        def do_GET(self) -> None:
            self._answer("GET", {})

        def do_POST(self) -> None:
            self._answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}"))

        def _answer(self, method: str, body: dict[str, Any]) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            kind, found = next(
                (kind, match) for kind, verb, path in paths if verb == method and (match := path.match(parts.path))
            )
            with lock:
                status, answer = fake.answer(kind, ".".join(found.groups()), body or query)
            held = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(held)))
            self.end_headers()
            self.wfile.write(held)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        fake.database.close()
