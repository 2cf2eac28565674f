"""Every source of costs, one row each, in the order in which they are listed to people.

Importing this needs no cloud SDK: each source imports its own when it is called, and says which extra is missing.
"""

from __future__ import annotations

from exporters.fetch import aws_costs, azure_costs, gcp_costs, opencost
from exporters.fetch.cost_contract import CostSource

COST_SOURCES: tuple[CostSource, ...] = (aws_costs.SOURCE, azure_costs.SOURCE, gcp_costs.SOURCE, opencost.SOURCE)
