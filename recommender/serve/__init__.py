"""Serve: the last plan as pages, as an API and as metrics. Nothing here evaluates."""
