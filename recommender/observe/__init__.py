"""From usage and settings to workloads, data flows and pools: the recommender's first stage."""
