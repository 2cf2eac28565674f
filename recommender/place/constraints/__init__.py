"""Hard constraints, one file each; a place that one of them refuses is never advised, whatever it saves.

A new constraint is a module here with a `RULE` and a line in CONSTRAINTS. The order is the order in which reasons are
told: law first, then what cannot run, then what has no room, then what has no price.
"""

from __future__ import annotations

from recommender.place.constraints import (
    architecture,
    capacity,
    cluster_observed,
    gang,
    gpu_model,
    interruption,
    latency,
    local_volume,
    machine_size,
    price_cap,
    price_known,
    quota,
    residency,
)
from recommender.place.rule import Rule

CONSTRAINTS: tuple[Rule, ...] = (
    residency.RULE,
    local_volume.RULE,
    interruption.RULE,
    latency.RULE,
    architecture.RULE,
    gpu_model.RULE,
    machine_size.RULE,
    cluster_observed.RULE,
    gang.RULE,
    price_cap.RULE,
    capacity.RULE,
    quota.RULE,
    price_known.RULE,
)
"""Every hard constraint."""

BINDING: tuple[Rule, ...] = tuple(rule for rule in CONSTRAINTS if rule.binds_current)
"""Those that a running workload can be in breach of."""
