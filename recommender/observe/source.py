"""Which usage source the settings name; whichever it is, what comes back has one form."""

from __future__ import annotations

from exporters.core.errors import SettingsError
from recommender.observe import usage_file, usage_prometheus
from recommender.observe.coverage import Window
from recommender.observe.usage import Usage
from recommender.settings import UsageSettings


def read_usage(settings: UsageSettings, window: Window) -> Usage:
    """This will read the usage of a window; a file is read whole, and what lies outside the window is not used later.

    Raises:
        SettingsError: no source is named, or the file is not what it should be.
        SourceError, IntegrityError: Prometheus did not give the whole of it.
    """
    if settings.file is not None:
        return usage_file.read_usage(settings.file.path)
    if settings.prometheus is not None:
        return usage_prometheus.read_usage(settings.prometheus, window)
    raise SettingsError(
        "no source of usage is named",
        where="usage",
        next_step="Name usage.file.path or usage.prometheus.url (docs/how-to/usage.md).",
    )
