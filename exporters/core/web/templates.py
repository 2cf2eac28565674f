"""How pages are made of templates: every text is escaped, and a name that a template misspells is an error."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


@cache
def environment(*packages: str) -> Environment:
    """This will return the templates of packages, looked for in their order.

    Args:
        packages: import names; each has a folder ``templates``.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(one) for one in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
