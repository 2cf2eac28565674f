"""What panels of all dashboards share: queries, and panels with the same manners.

A panel cannot be made without a title, a description and a unit; every query goes to the data source variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from grafana_foundation_sdk.builders import bargauge, common, prometheus, stat, table, text, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import Dataquery, PromQueryFormat
from grafana_foundation_sdk.models.text import TextMode

DATA_SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")

YES: Final = True
"""The builders' setters take a bare boolean."""

Colours: TypeAlias = Sequence[tuple[float | None, str]]
"""Steps of a threshold: from this value on (None: from the start), this colour."""

PLAIN: Final[Colours] = ((None, "blue"),)


def now(expression: str, *, legend: str = "", ref_id: str = "A") -> Builder[Dataquery]:
    """This will return a query of the present values, one row a series."""
    query = prometheus.Dataquery().expr(expression).instant().ref_id(ref_id).datasource(DATA_SOURCE)
    return query.legend_format(legend) if legend else query.format(PromQueryFormat.TABLE)


def over_time(expression: str, *, legend: str, ref_id: str = "A") -> Builder[Dataquery]:
    """This will return a query over the dashboard's time range."""
    return prometheus.Dataquery().expr(expression).range().legend_format(legend).ref_id(ref_id).datasource(DATA_SOURCE)


def steps(colours: Colours) -> Builder[models.ThresholdsConfig]:
    """This will return absolute thresholds."""
    made = [models.Threshold(value=value, color=colour) for value, colour in colours]
    return builders.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(made)


def words(mapping: dict[str, tuple[str, str]]) -> models.ValueMapping:
    """This will return a mapping of values to a word and a colour."""
    return models.ValueMap(
        options={
            value: models.ValueMappingResult(text=word, color=colour, index=place)
            for place, (value, (word, colour)) in enumerate(mapping.items())
        }
    )


def numbers(
    title: str,
    *,
    description: str,
    unit: str,
    query: Builder[Dataquery],
    decimals: int | None = None,
    colours: Colours = PLAIN,
    none: str = "no data",
    names: bool = False,
) -> stat.Panel:
    """This will return a panel of large figures.

    Args:
        title: of the panel.
        description: shown behind the (i).
        unit: in Grafana's words, such as currencyGBP.
        query: of the present values.
        decimals: shown; None: as many as needed.
        colours: thresholds.
        none: what is shown when nothing comes back.
        names: whether each figure's series is named.
    """
    panel = stat.Panel().title(title).description(description).datasource(DATA_SOURCE).with_target(query)
    panel.unit(unit).thresholds(steps(colours)).no_value(none).graph_mode(looks.BigValueGraphMode.NONE)
    panel.text_mode(looks.BigValueTextMode.VALUE_AND_NAME if names else looks.BigValueTextMode.VALUE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return panel if decimals is None else panel.decimals(decimals)


def bars(
    title: str,
    *,
    description: str,
    unit: str,
    query: Builder[Dataquery],
    decimals: int,
    colours: Colours = PLAIN,
    none: str = "no data",
) -> bargauge.Panel:
    """This will return a panel of horizontal bars, one a series."""
    panel = bargauge.Panel().title(title).description(description).datasource(DATA_SOURCE).with_target(query)
    panel.unit(unit).decimals(decimals).min(0).thresholds(steps(colours)).no_value(none)
    panel.orientation(looks.VizOrientation.HORIZONTAL).display_mode(looks.BarGaugeDisplayMode.BASIC)
    return panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))


def lines(
    title: str,
    *,
    description: str,
    unit: str,
    queries: Sequence[Builder[Dataquery]],
    decimals: int | None = None,
    none: str = "no data",
) -> timeseries.Panel:
    """This will return a panel of lines over time, with a table of the last values as its legend."""
    panel = timeseries.Panel().title(title).description(description).datasource(DATA_SOURCE)
    for query in queries:
        panel.with_target(query)
    panel.no_value(none).unit(unit).min(0).line_width(1).fill_opacity(0).show_points(looks.VisibilityMode.NEVER)
    panel.line_interpolation(looks.LineInterpolation.STEP_AFTER)
    shown = common.VizLegendOptions().show_legend(YES).placement(looks.LegendPlacement.RIGHT)
    panel.legend(shown.display_mode(looks.LegendDisplayMode.TABLE).calcs(["lastNotNull"]))
    panel.tooltip(common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI).sort(looks.SortOrder.ASCENDING))
    return panel if decimals is None else panel.decimals(decimals)


def rows(
    title: str,
    *,
    description: str,
    unit: str,
    queries: Sequence[Builder[Dataquery]],
    decimals: int | None = None,
    none: str = "no data",
) -> table.Panel:
    """This will return a table whose columns the reader can filter."""
    panel = table.Panel().title(title).description(description).datasource(DATA_SOURCE)
    for query in queries:
        panel.with_target(query)
    panel.no_value(none).unit(unit).filterable(YES).thresholds(steps(PLAIN)).cell_height(looks.TableCellHeight.SM)
    return panel if decimals is None else panel.decimals(decimals)


def matrix(
    title: str,
    *,
    description: str,
    unit: str,
    expression: str,
    row: str,
    column: str,
    decimals: int,
    low_is_good: bool = True,
) -> table.Panel:
    """This will return a table with one row and one column a value of two labels; a pair without a series stays empty.

    Cells are shaded between the lowest and the highest value of the table, green for the good end.
    """
    panel = rows(title, description=description, unit=unit, queries=[now(expression)], decimals=decimals)
    mode = models.FieldColorModeId
    panel.color_scheme(
        builders.FieldColor().mode(mode.CONTINUOUS_GR_YL_RD if low_is_good else mode.CONTINUOUS_RD_YL_GR)
    )
    shading = looks.TableColoredBackgroundCellOptions(mode=looks.TableCellBackgroundDisplayMode.BASIC)
    panel.cell_options(shading)
    panel.override_by_name(f"{row}\\{column}", [plain_cell()])
    return panel.with_transformation(
        models.DataTransformerConfig(
            id_val="groupingToMatrix",
            options={"rowField": row, "columnField": column, "valueField": "Value", "emptyValue": "null"},
        )
    )


def plain_cell() -> models.DynamicConfigValue:
    """This will return the override of a cell without colour."""
    return models.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "auto"})


def note(content: str, *, title: str, description: str) -> text.Panel:
    """This will return a panel of Markdown."""
    panel = text.Panel().title(title).description(description).content(content)
    return panel.mode(TextMode.MARKDOWN)


def named_columns(panel: table.Panel, columns: dict[str, str]) -> table.Panel:
    """This will keep only the named columns of a table, in this order, under readable heads.

    Args:
        panel: the table.
        columns: field name → head.
    """
    keep = models.DataTransformerConfig(id_val="filterFieldsByName", options={"include": {"names": list(columns)}})
    order = {name: place for place, name in enumerate(columns)}
    head = models.DataTransformerConfig(
        id_val="organize", options={"indexByName": order, "renameByName": columns, "excludeByName": {}}
    )
    return panel.with_transformation(keep).with_transformation(head)


def joined_by(panel: table.Panel, label: str) -> table.Panel:
    """This will put the rows of several queries side by side where a label has the same value."""
    return panel.with_transformation(
        models.DataTransformerConfig(id_val="joinByField", options={"byField": label, "mode": "outer"})
    )


def as_number(panel: table.Panel, label: str) -> table.Panel:
    """This will sort and show a label's values as numbers."""
    return panel.with_transformation(
        models.DataTransformerConfig(
            id_val="convertFieldType",
            options={"conversions": [{"targetField": label, "destinationType": "number"}], "fields": {}},
        )
    )


def merged(panel: table.Panel) -> table.Panel:
    """This will put the values of several queries with the same labels into one row."""
    return panel.with_transformation(models.DataTransformerConfig(id_val="merge", options={}))


def dashed() -> list[models.DynamicConfigValue]:
    """This will return the override that draws lines dashed: what is expected, not what was."""
    return [models.DynamicConfigValue(id_val="custom.lineStyle", value={"dash": [8, 6], "fill": "dash"})]


def shown_as(unit: str, *, decimals: int | None = None) -> list[models.DynamicConfigValue]:
    """This will return the override of a column's unit."""
    value = [models.DynamicConfigValue(id_val="unit", value=unit)]
    return value if decimals is None else [*value, models.DynamicConfigValue(id_val="decimals", value=decimals)]


def coloured(colours: Colours) -> list[models.DynamicConfigValue]:
    """This will return the override that writes a column's figures in the colour of their threshold."""
    return [
        models.DynamicConfigValue(id_val="thresholds", value=steps(colours).build()),
        models.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
    ]


def worded(mapping: dict[str, tuple[str, str]]) -> list[models.DynamicConfigValue]:
    """This will return the override that writes a column's values as coloured words."""
    return [
        models.DynamicConfigValue(id_val="mappings", value=[words(mapping)]),
        models.DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
    ]
