"""The row rule of each source, by the source's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from exporters.fetch.contract import Fetched
from exporters.normalise.chosen import Chosen, Filters
from exporters.normalise.row_rules import aws, azure, book, gcp, onprem

RULES: Mapping[str, Callable[[Fetched, Filters], Chosen]] = MappingProxyType(
    {"aws": aws.choose, "gcp": gcp.choose, "azure": azure.choose, "onprem": onprem.choose, "book": book.choose}
)
