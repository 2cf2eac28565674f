"""The top-level sections of the settings file, by package: a typo in one half is an error in the other too."""

from __future__ import annotations

from typing import Final

EXPORTER_SECTIONS: Final = frozenset({"sources", "filters", "packaged", "store", "costs", "exporter_web"})
RECOMMENDER_SECTIONS: Final = frozenset(
    {
        "prices",
        "usage",
        "clusters",
        "region_quotas",
        "latency",
        "policy",
        "recommend",
        "ledger",
        "forecast",
        "burst",
        "emit",
        "deliver",
        "rollout",
        "recommender_web",
    }
)
ALL_SECTIONS: Final = EXPORTER_SECTIONS | RECOMMENDER_SECTIONS
