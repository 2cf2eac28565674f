"""What a hard constraint and a guard are: a named test over a workload beside a place, with the reason it gives.

A rule is a polars expression, so that two thousand workloads times sixty pools are judged without a loop. Columns a
rule may read are those of place/candidates.py, place/cost.py and place/capacity.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Rule:
    """One test.

    Args:
        id: the word in plans and documents.
        says: the rule as a sentence.
        refuses: true where the rule says no; never null.
        why: the reason for one row, as text.
        has_legal_basis: whether the class's legal basis belongs beside a refusal.
        binds_current: whether a workload that already runs against the rule is in breach of it.
    """

    id: str
    says: str
    refuses: pl.Expr
    why: pl.Expr
    has_legal_basis: bool = False
    binds_current: bool = False


def judge(pairs: pl.DataFrame, rules: Sequence[Rule], *, into: str) -> pl.DataFrame:
    """This will add a column with the ids of the rules that refuse each row, in the order of the rules.

    Args:
        pairs: rows with the columns that the rules read.
        rules: the rules, most telling first.
        into: the name of the new column, a list of text; empty where nothing refuses.
    """
    return named(pairs.with_columns(__code=refusal_code(rules)), rules, code="__code", into=into)


def refusal_code(rules: Sequence[Rule]) -> pl.Expr:
    """This will number the set of rules that refuse a row, one bit a rule in their order: 0 where nothing refuses."""
    bits = (pl.when(rule.refuses).then(2**bit).otherwise(0).cast(pl.UInt32) for bit, rule in enumerate(rules))
    return pl.sum_horizontal(pl.lit(0, pl.UInt32), *bits).cast(pl.UInt32)


def named(coded: pl.DataFrame, rules: Sequence[Rule], *, code: str, into: str) -> pl.DataFrame:
    """This will put the ids of the rules in the place of their code; see refusal_code.

    The names come from a short table: millions of rows refuse in few different ways.

    Args:
        coded: rows with the code.
        rules: the rules that it is of.
        code: the column with it, which goes.
        into: the name of the new column.
    """
    codes = coded[code].unique().to_list()
    names = pl.DataFrame(
        {code: codes, into: [[rule.id for bit, rule in enumerate(rules) if one >> bit & 1] for one in codes]},
        schema={code: pl.UInt32, into: pl.List(pl.String)},
    )
    return coded.drop(into, strict=False).join(names, on=code, how="left", maintain_order="left").drop(code)


def refused_by_any(rules: Sequence[Rule]) -> pl.Expr:
    """This will say whether any of the rules refuses a row."""
    return pl.any_horizontal(rule.refuses for rule in rules)


def reasons(rows: pl.DataFrame, rules: Sequence[Rule], *, rule: str) -> pl.DataFrame:
    """This will add `why`, the text that the rule named in the column `rule` gives for each row."""
    why = pl.lit(None, pl.String)
    for one in rules:
        why = pl.when(pl.col(rule) == one.id).then(one.why).otherwise(why)
    return rows.with_columns(why=why)
