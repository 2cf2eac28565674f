"""The index for people: index.md, which opens the pull request.

Names come from clusters and price lists; whatever they hold, they stay text in their cell.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from recommender.advise.plan import Inputs
from recommender.emit.index import Advised, Index, NotHandedOver, SystemPart

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~])")


def page(index: Index) -> str:
    """This will return the index as Markdown."""
    return "\n".join(_lines(index)) + "\n"


def plain(text: str) -> str:
    """This will return a text on one line, without letters that cannot be seen."""
    seen = "".join(" " if unicodedata.category(letter) in _UNSEEN else letter for letter in text)
    return " ".join(seen.split())


def _lines(index: Index) -> Iterator[str]:
    yield f"# Hand-over of {_moment(index.evaluated_at)}"
    yield ""
    if index.recommendations:
        number = len(index.recommendations)
        yield (
            f"{number} recommendation{'s' if number > 1 else ''}, priced at that time; "
            f"those that save, save £{index.saving_gbp_per_month:,.2f} a month together. "
            "Nothing here has been applied. Each file says how it is applied, how it is undone and when it lapses. "
            "Paths in commands begin at the folder of their system; FILE is the file of the row."
        )
    else:
        yield "Nothing is advised at this time, so that nothing moves. What stands below serves whole classes."
    yield from _recommendations(index)
    yield from _gone("Superseded: do not apply", index.superseded)
    yield from _gone("Left out", index.left_out)
    ids = {one.id for one in index.recommendations}
    for part in index.systems:
        yield from _system(part, ids)
    yield from _prices(index.inputs)


def _recommendations(index: Index) -> Iterator[str]:
    if not index.recommendations:
        return
    yield from ("", "## Recommendations", "")
    for one in index.recommendations:
        yield f"### {_text(one.title)}"
        yield ""
        yield f"`{one.id}`, {one.kind.value}, {one.state.value}; {_money(one)}; lapses {_moment(one.expires_at)}."
        yield ""
        yield from _table(("system", "files", "not expressed"), _by_system(one, index.systems))
        yield ""


def _by_system(one: Advised, systems: Sequence[SystemPart]) -> Iterator[tuple[str, ...]]:
    for part in systems:
        paths = ", ".join(f"[{_text(path)}]({path})" for path in one.written.get(part.name, ()))
        reasons = " ".join(_text(why) for why in one.not_expressed.get(part.name, ()))
        if paths or reasons:
            yield (_text(part.title), paths or "–", reasons or "–")


def _gone(title: str, rows: Sequence[NotHandedOver]) -> Iterator[str]:
    if rows:
        yield from ("", f"## {title}", "")
        cells = ((f"`{one.id}`", _text(one.title), one.state.value, _text(one.why)) for one in rows)
        yield from _table(("id", "advice", "state", "why"), cells)


def _system(part: SystemPart, ids: Collection[str]) -> Iterator[str]:
    yield from ("", f"## {_text(part.title)}", "")
    if part.documents:
        rows = (
            (
                f"[{_text(one.path)}]({one.path})",
                _text(one.says),
                _text(one.apply),
                _undo(one.rollback_path, one.rollback),
            )
            for one in part.documents
        )
        yield from _table(("file", "what it changes", "apply", "undo"), rows)
    else:
        yield "Nothing to write."
    rest = [one for one in part.not_expressed if one.what not in ids]
    if rest:
        yield from ("", "Not expressed:", "")
        yield from (f"- {_text(one.what)}: {_text(one.why)}" for one in rest)


def _undo(path: str | None, how: str) -> str:
    return _text(how) if path is None else f"[{_text(path)}]({path}): {_text(how)}"


def _prices(inputs: Inputs) -> Iterator[str]:
    yield from ("", "## Prices", "")
    rows = ((_text(one.id), one.origin, _moment(one.taken_at)) for one in inputs.snapshots)
    yield from _table(("snapshot", "origin", "taken"), rows)
    if inputs.exchange_rates:
        yield ""
        rates = (
            (_text(one.currency), f"{one.gbp_per_unit:g}", f"{one.rate_date:%-d %B %Y}", _text(one.fx_source))
            for one in inputs.exchange_rates
        )
        yield from _table(("currency", "£ a unit", "date", "source"), rates)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _money(one: Advised) -> str:
    if one.saving_gbp_per_month is not None:
        return f"saves £{one.saving_gbp_per_month:,.2f} a month"
    delta = one.cost_delta_gbp_per_hour or 0.0
    return f"its cost changes by {'−' if delta < 0 else '+'}£{abs(delta):,.2f} an hour, which is counted as no saving"


def _text(text: str) -> str:
    return _MARKUP.sub(r"\\\1", plain(text))


def _moment(at: datetime) -> str:
    return f"{at:%-d %B %Y at %H:%M} UTC"
