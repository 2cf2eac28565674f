"""The written row rule of each source: from raw rows to exactly one row per offer key, the rest counted by reason.

A rule is a function from Fetched and Filters to Chosen, in a module named like its source,
and one row in RULES (registry.py).
"""
