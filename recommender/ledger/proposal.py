"""A calibration in words: the findings as comments, the changes as a diff of the policy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recommender.ledger.bounds import Change
from recommender.ledger.calibrate import Calibration


def as_diff(made: Calibration, *, file: str, section: Sequence[str], taken: str = "") -> str:
    """This will write a proposal as a diff of the policy, each finding above it as a comment.

    Args:
        made: the proposal.
        file: the settings file, or the policy's own, for the reader.
        section: the keys that lead to the policy in it.
        taken: that it was, in words; empty: it was not.
    """
    lines = [f"# {one.subject}: {one.says}" for one in made.findings]
    if made.changes:
        offer = f"Nothing was changed. To take it: tuppence calibrate --apply, or edit {file}:"
        lines.append(f"# {file} was changed; {taken}:" if taken else f"# {offer}")
        lines += [f"  {'  ' * depth}{key}:" for depth, key in enumerate(section)]
        lines += _sections(made.changes, indent="  " * len(section))
    return "\n".join(lines) + "\n"


def _sections(changes: Sequence[Change], *, indent: str) -> Iterator[str]:
    shown = ""
    for one in changes:
        section, _, name = one.setting.partition(".")
        if section != shown:
            yield f"  {indent}{section}:"
            shown = section
        yield f"- {indent}  {name}: {one.now:g}"
        yield f"+ {indent}  {name}: {one.proposed:g}"
