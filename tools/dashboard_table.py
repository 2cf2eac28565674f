"""What a table panel shows of its frames: queries joined as its transformations say, columns named, cells written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.dashboard_picture import Frame

GOOD, MIDDLE, BAD = (0xB7, 0xE1, 0xC1), (0xFD, 0xF0, 0xB8), (0xF6, 0xB8, 0xB0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its place, what it says, and the colour behind it (empty: none)."""

    row: int
    head: str
    text: str
    fill: str = ""


def shown(value: float, defaults: Mapping[str, Any]) -> str:
    """This will write a value in a panel's unit and decimals."""
    unit, decimals = defaults.get("unit", "short"), defaults.get("decimals")
    if unit == "currencyGBP":
        return f"{'-' if value < 0 else ''}£{abs(value):,.{decimals or 2}f}"
    if unit == "percentunit":
        return f"{value * 100:,.{decimals or 0}f} %"
    if unit == "s":
        return _duration(value)
    if unit == "gbytes":
        return f"{value:,.0f} GiB"
    return f"{value:,.{decimals}f}" if decimals is not None else f"{value:,.4g}" if value % 1 else f"{value:,.0f}"


def _duration(seconds: float) -> str:
    for length, name in ((604_800, "weeks"), (86_400, "days"), (3_600, "hours"), (60, "min")):
        if abs(seconds) >= length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds:.1f} s"


def matrix_of(panel: Mapping[str, Any], frames: Sequence[Frame]) -> list[Cell]:
    """This will return the cells of a matrix: one row and one column a value of two labels."""
    [transformation] = [one for one in panel["transformations"] if one["id"] == "groupingToMatrix"]
    row, column = transformation["options"]["rowField"], transformation["options"]["columnField"]
    defaults = panel["fieldConfig"]["defaults"]
    [frame] = frames
    values = {(labels.get(row, ""), labels.get(column, "")): samples[-1][1] for labels, samples in frame.series}
    rows, heads = sorted({one for one, _ in values}), sorted({one for _, one in values})
    low, high = min(values.values()), max(values.values())
    low_is_good = defaults["color"]["mode"] == "continuous-GrYlRd"
    cells = [Cell(place, f"{row} \\ {column}", name) for place, name in enumerate(rows)]
    for place, name in enumerate(rows):
        for head in heads:
            value = values.get((name, head))
            if value is None:
                cells.append(Cell(place, head, ""))
            else:
                share = (value - low) / (high - low) if high > low else 0.0
                cells.append(Cell(place, head, shown(value, defaults), _shade(share if low_is_good else 1 - share)))
    return sorted(cells, key=lambda cell: cell.row)


def _shade(bad: float) -> str:
    """From the good colour (0) by the middle one to the bad one (1)."""
    one, other, share = (GOOD, MIDDLE, bad * 2) if bad < 0.5 else (MIDDLE, BAD, bad * 2 - 1)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(one, other, strict=True))


def table_of(panel: Mapping[str, Any], frames: Sequence[Frame]) -> list[Cell]:
    """This will return the cells of a table: rows of several queries side by side, under the panel's heads."""
    options = {one["id"]: one["options"] for one in panel.get("transformations", [])}
    by = options.get("joinByField", {}).get("byField")
    joined: dict[tuple[str, ...], dict[str, Any]] = {}
    for frame in frames:
        name = f"Value #{frame.ref_id}" if len(frames) > 1 else "Value"
        for labels, samples in frame.series:
            key = (labels.get(by, ""),) if by else tuple(f"{label}={labels[label]}" for label in sorted(labels))
            joined.setdefault(key, {}).update(labels | {name: samples[-1][1]})
    organised = options["organize"]
    fields = sorted(organised["renameByName"], key=organised["indexByName"].__getitem__)
    heads = {field: organised["renameByName"][field] for field in fields}
    ordered = [joined[key] for key in sorted(joined)]
    return [
        Cell(place, head, _written(panel, head, one.get(field)))
        for place, one in enumerate(ordered)
        for field, head in heads.items()
    ]


def _written(panel: Mapping[str, Any], head: str, value: object) -> str:
    properties = {
        one["id"]: one["value"]
        for override in panel["fieldConfig"].get("overrides", [])
        if override["matcher"]["options"] == head
        for one in override["properties"]
    }
    for mapping in properties.get("mappings", []):
        word = mapping["options"].get(f"{value:g}" if isinstance(value, float) else str(value))
        if word is not None:
            return str(word["text"])
    if isinstance(value, float):
        return shown(value, panel["fieldConfig"]["defaults"] | properties)
    return "" if value is None else str(value)
