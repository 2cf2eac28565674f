"""Every price source, one row each, in the order in which they are listed to people.

Importing this needs no cloud SDK: each source imports its own when it is called, and says which extra is missing.
"""

from __future__ import annotations

from exporters.fetch import aws, azure, book, gcp, onprem
from exporters.fetch.contract import Source

SOURCES: tuple[Source, ...] = (aws.SOURCE, gcp.SOURCE, azure.SOURCE, onprem.SOURCE, book.SOURCE)
