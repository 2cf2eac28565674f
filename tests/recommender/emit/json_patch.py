"""A JSON Patch (RFC 6902) applied as an API server applies it: all operations or none.

A test of null holds where nothing is, as in the table of tests of github.com/evanphx/json-patch (patch_test.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any


class PatchRefusedError(Exception):
    """An operation found something else than what it names."""


def apply_patch(target: Mapping[str, Any], operations: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """This will return the patched object.

    Raises:
        PatchRefusedError: a test failed, or a path is not there.
    """
    made: dict[str, Any] = deepcopy(dict(target))
    for one in operations:
        *way, last = one["path"].removeprefix("/").replace("~1", "/").split("/")
        parent: Any = made
        try:
            for step in way:
                parent = parent[int(step) if isinstance(parent, list) else step]
            place = int(last) if isinstance(parent, list) else last
            absent = isinstance(parent, dict) and place not in parent
            if one["op"] == "test" and (None if absent else parent[place]) != one["value"]:
                raise PatchRefusedError(one["path"])
            if one["op"] in ("replace", "remove") and absent:
                raise PatchRefusedError(one["path"])
        except (KeyError, IndexError) as error:
            raise PatchRefusedError(one["path"]) from error
        if one["op"] in ("add", "replace"):
            parent[place] = deepcopy(one["value"])
        if one["op"] == "remove":
            del parent[place]
    return made
