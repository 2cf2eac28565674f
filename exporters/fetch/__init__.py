"""First arrow of the flow: one file per source. Network in, raw rows out, whole or not at all."""
