"""What policy, labels and usage columns say of each workload, as one row of checked attributes.

The order, most telling first: a label or column of the workload, a label of its namespace, the first rule of the policy
that matches, the default. One exception guards compliance: a label may narrow the residency that a rule gives, never
widen it, so the rule's class stands where the label's class allows a jurisdiction that the rule's does not. A label
that names a class the policy does not have is passed on: place then advises nothing of that workload.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import dataframely as dy
import polars as pl
from pydantic import TypeAdapter, ValidationError

from recommender.frames import WORKLOAD_KEY, Flow, StatedAttribute
from recommender.observe.usage import PRIORITY_CLASS
from recommender.settings import Attributes, FlowSettings, Policy, ResidencyClass, WorkloadMatch

TYPES: Mapping[str, pl.DataType] = {
    "residency_class": pl.String(),
    "owner": pl.String(),
    "criticality": pl.String(),
    "interruption_tolerance": pl.String(),
    "checkpoint_minutes": pl.Float64(),
    "gang_size": pl.UInt32(),
    "latency_class": pl.String(),
    "state_gib": pl.Float64(),
    "minimum_runtime_minutes": pl.Float64(),
    "architecture": pl.String(),
    "local_volume": pl.Boolean(),
    "flows": pl.String(),
    PRIORITY_CLASS: pl.String(),
}
"""Columns of the attributes; flows travel as JSON text until they become rows."""

DEFAULTS: Mapping[str, object] = {
    "criticality": "medium",
    "interruption_tolerance": "none",
    "checkpoint_minutes": 0.0,
    "gang_size": 1,
    "state_gib": 0.0,
    "minimum_runtime_minutes": 0.0,
    "local_volume": False,
}
"""What holds where nobody says anything; texts that are not here are empty."""

KEY = list(WORKLOAD_KEY)
NAMESPACE_KEY = ["cluster", "namespace"]

_FLOWS = TypeAdapter(tuple[FlowSettings, ...])


@dataclass(frozen=True, slots=True)
class Attributed:
    """Attributes of the workloads asked for.

    Args:
        attributes: WORKLOAD_KEY and the columns of TYPES without flows, none null.
        flows: their data flows.
        mistakes: WORKLOAD_KEY and `why`: a value that cannot be right; such a workload must not be advised.
    """

    attributes: pl.DataFrame
    flows: dy.DataFrame[Flow]
    mistakes: pl.DataFrame


def attributes_of(workloads: pl.DataFrame, stated: dy.DataFrame[StatedAttribute], policy: Policy) -> Attributed:
    """This will give every workload its attributes.

    Args:
        workloads: WORKLOAD_KEY, one row each.
        stated: what labels and columns say.
        policy: classes and rules; in a rule's match, * and ? are wildcards.
    """
    keys = workloads.select(KEY)
    checked = stated.join(_check(stated), on=["attribute", "value"])
    good = checked.filter(pl.col("error") == "")
    of_namespace = pl.col("workload") == ""
    joined = (
        keys.join(_wide(good.filter(~of_namespace), KEY, ".own"), on=KEY, how="left")
        .join(_wide(good.filter(of_namespace), NAMESPACE_KEY, ".namespace"), on=NAMESPACE_KEY, how="left")
        .join(_by_rule(keys, policy), on=KEY, how="left")
    )
    resolved = joined.select(*KEY, _residency(policy), *(_first(name) for name in TYPES if name != "residency_class"))
    return Attributed(
        attributes=resolved.drop("flows"),
        flows=_flow_rows(resolved.select(*KEY, "flows")),
        mistakes=_mistakes(keys, checked.filter(pl.col("error") != "")),
    )


def _first(name: str) -> pl.Expr:
    default = DEFAULTS.get(name, "")
    return pl.coalesce(f"{name}.own", f"{name}.namespace", f"{name}.rule", pl.lit(default, dtype=TYPES[name])).alias(
        name
    )


def _residency(policy: Policy) -> pl.Expr:
    label = pl.coalesce("residency_class.own", "residency_class.namespace")
    rule = pl.col("residency_class.rule")
    widening = [
        (label == wide) & (rule == narrow)
        for wide, narrow in product(policy.classes, repeat=2)
        if _allows_more(policy.classes[wide], policy.classes[narrow])
    ]
    rule_stands = pl.any_horizontal(widening).fill_null(value=False) if widening else pl.lit(value=False)
    return pl.when(rule_stands).then(rule).otherwise(pl.coalesce(label, rule, pl.lit(""))).alias("residency_class")


def _allows_more(label: ResidencyClass, rule: ResidencyClass) -> bool:
    if not rule.residency:
        return False
    return not label.residency or not set(label.residency) <= set(rule.residency)


def _check(stated: pl.DataFrame) -> pl.DataFrame:
    """Each distinct statement once: attribute, value, checked (as text of its type), error (empty: none)."""
    rows = [
        (name, value, *_checked_value(name, value))
        for name, value in stated.select("attribute", "value").unique().iter_rows()
    ]
    schema = dict.fromkeys(("attribute", "value", "checked", "error"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _checked_value(name: str, value: str) -> tuple[str, str]:
    if name == PRIORITY_CLASS:
        return value, ""
    try:
        read = _read(name, value)
    except ValidationError as error:
        return "", f"{name} is {value!r}: {error.errors()[0]['msg']}"
    except ValueError as error:
        return "", f"{name} is {value!r}: {error}"
    return _text(read), ""


def _read(name: str, value: str) -> object:
    read: object = getattr(Attributes.model_validate({name: json.loads(value) if name == "flows" else value}), name)
    if isinstance(read, float) and not math.isfinite(read):
        raise ValueError("this is not a finite number")
    return read


def _text(read: object) -> str:
    if isinstance(read, tuple):
        return _FLOWS.dump_json(read).decode()
    return str(read).lower() if isinstance(read, bool) else str(read)


def _wide(good: pl.DataFrame, key: Sequence[str], suffix: str) -> pl.DataFrame:
    """One row a key, one typed column an attribute, all of them there; null: not said."""
    return good.group_by(key).agg(
        _typed(pl.col("checked").filter(pl.col("attribute") == name).first(), dtype).alias(name + suffix)
        for name, dtype in TYPES.items()
    )


def _typed(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    return text == "true" if dtype == pl.Boolean else text.cast(dtype)


def _by_rule(keys: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The attributes of the first rule that matches; nothing of a later one."""
    said = [
        {"_rule": number} | {f"{name}.rule": _ruled(rule.set, name) for name in TYPES}
        for number, rule in enumerate(policy.rules)
    ]
    schema = {"_rule": pl.Int64()} | {f"{name}.rule": dtype for name, dtype in TYPES.items()}
    if not policy.rules:
        first: pl.Expr = pl.lit(None, dtype=pl.Int64)
    else:
        first = pl.coalesce(pl.when(matches(rule.match)).then(number) for number, rule in enumerate(policy.rules))
    return keys.with_columns(first.cast(pl.Int64).alias("_rule")).join(
        pl.DataFrame(said, schema=schema), on="_rule", how="left"
    )


def _ruled(attributes: Attributes, name: str) -> object:
    value = getattr(attributes, name, None)
    return _text(value) if isinstance(value, tuple) else value


def matches(match: WorkloadMatch) -> pl.Expr:
    """This will return whether a rule is for a workload, by the columns of WORKLOAD_KEY."""
    return pl.all_horizontal(
        pl.col(name).str.contains(_pattern(getattr(match, name))) if getattr(match, name) != "*" else pl.lit(value=True)
        for name in KEY
    )


def _pattern(glob: str) -> str:
    parts = (".*" if letter == "*" else "." if letter == "?" else re.escape(letter) for letter in glob)
    return f"(?s)^{''.join(parts)}$"


def _flow_rows(flows: pl.DataFrame) -> dy.DataFrame[Flow]:
    """Flows to the same place and direction are added up."""
    rows = [
        (*row[:-1], flow["to"], flow["direction"], float(flow["gib_per_hour"]))
        for row in flows.filter(pl.col("flows") != "").iter_rows()
        for flow in json.loads(row[-1])
    ]
    key = Flow.primary_key()
    schema = {name: dtype for name, dtype in Flow.create_empty().schema.items() if name in (*key, "gib_per_hour")}
    together = pl.DataFrame(rows, schema=schema, orient="row").group_by(key).agg(pl.col("gib_per_hour").sum())
    said = together.with_columns(flow_source=pl.lit("policy"), confidence=pl.lit("stated"))
    return Flow.validate(said.sort(key))


def _mistakes(keys: pl.DataFrame, wrong: pl.DataFrame) -> pl.DataFrame:
    of_namespace = pl.col("workload") == ""
    own = keys.join(wrong.filter(~of_namespace), on=KEY)
    inherited = keys.join(wrong.filter(of_namespace).select(*NAMESPACE_KEY, "error"), on=NAMESPACE_KEY)
    both = pl.concat([own.select(*KEY, "error"), inherited.select(*KEY, "error")])
    return both.group_by(KEY).agg(pl.col("error").sort().str.join("; ").alias("why")).sort(KEY)
