"""The demonstration company's settings, policy and workloads, as files."""
