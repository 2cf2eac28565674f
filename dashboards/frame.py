"""What every dashboard begins with: British time, no change in the browser, the data source, links to the rest.

Addresses of the two services are constants, so that a link made by somebody else cannot lead a reader elsewhere; they
are set when the dashboards are written (``python -m dashboards --recommender-url …``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as models

from dashboards.parts import DATA_SOURCE, YES

TAG: Final = "tuppence"
"""By it each dashboard links to the others."""

CLUSTERS: Final = 'tuppence_cluster_info{provider=~"$provider", region=~"$region"}'
IN_CLUSTERS: Final = 'cluster=~"$cluster"'


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a reader's browser reaches the two services.

    Args:
        exporter: without a trailing slash.
        recommender: likewise.
    """

    exporter: str = "http://127.0.0.1:10210"
    recommender: str = "http://127.0.0.1:10211"


def new_dashboard(title: str, *, uid: str, description: str, addresses: Addresses, since: str = "now-7d") -> Dashboard:
    """This will begin a dashboard.

    Args:
        title: after "Tuppence: ".
        uid: its fixed id, by which links find it.
        description: one sentence on what it answers.
        addresses: of the services.
        since: where its time range begins.
    """
    board = Dashboard(f"Tuppence: {title}").uid(uid).tags([TAG, "finops"]).readonly().description(description)
    board.timezone("Europe/London").week_start("monday").time(since, "now").refresh("5m")
    board.tooltip(models.DashboardCursorSync.CROSSHAIR)
    board.with_variable(_data_source_variable())
    board.with_variable(_address("exporter_url", "Exporter", addresses.exporter))
    board.with_variable(_address("recommender_url", "Recommender", addresses.recommender))
    board.link(_link_to_others())
    board.link(_link("Advice", "${recommender_url}/", "The recommender: what it advises, with its evidence"))
    board.link(_link("Report", "${recommender_url}/report", "The whole report of the last evaluation"))
    return board.link(_link("Exporter", "${exporter_url}/", "Each source of prices: last refresh, origin, next one"))


def label_variable(name: str, title: str, *, values_of: str, label: str = "") -> Builder[models.VariableModel]:
    """This will return a variable over the values of a label.

    Args:
        name: of the variable.
        title: shown beside it.
        values_of: selector of the series to look at.
        label: whose values; empty: it is called as the variable.
    """
    variable = builders.QueryVariable(name).label(title).datasource(DATA_SOURCE)
    variable.query(f"label_values({values_of}, {label or name})").refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
    variable.sort(models.VariableSort.ALPHABETICAL_ASC).multi(YES).include_all(YES).all_value(".*")
    everything = models.VariableOption(selected=True, text=["All"], value=["$__all"])
    return variable.current(everything)


def add_cluster_variables(board: Dashboard) -> None:
    """This will let the reader choose clusters, by provider and region."""
    board.with_variable(label_variable("provider", "Provider", values_of="tuppence_cluster_info"))
    board.with_variable(label_variable("region", "Region", values_of='tuppence_cluster_info{provider=~"$provider"}'))
    board.with_variable(label_variable("cluster", "Cluster", values_of=CLUSTERS))


def _data_source_variable() -> Builder[models.VariableModel]:
    return builders.DatasourceVariable("datasource").label("Data source").type("prometheus").allow_custom_value(not YES)


def _address(name: str, title: str, address: str) -> Builder[models.VariableModel]:
    return builders.ConstantVariable(name).label(title).value(address)


def _link_to_others() -> Builder[models.DashboardLink]:
    """The others, with the time range and the variables that they share."""
    made = builders.DashboardLink("Tuppence").type(models.DashboardLinkType.DASHBOARDS).icon("external link")
    return made.tags([TAG]).as_dropdown(not YES).include_vars(YES).keep_time(YES)


def _link(title: str, url: str, tooltip: str) -> Builder[models.DashboardLink]:
    made = builders.DashboardLink(title).type(models.DashboardLinkType.LINK).icon("external link")
    return made.url(url).tooltip(tooltip).target_blank(YES)
